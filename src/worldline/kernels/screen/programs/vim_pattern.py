"""Patterns and replacements as vim writes them, and the names of its commands."""

from __future__ import annotations

import re

__all__ = ["is_command", "regex_of", "replaced"]

_SAME = {"s": r"\s", "S": r"\S", "d": r"\d", "D": r"\D", "w": r"\w", "W": r"\W", "<": r"\b(?=\w)", ">": r"\b(?<=\w)",
         "(": "(", ")": ")", "|": "|", "+": "+", "=": "?", "?": "?", "a": "[A-Za-z]", "l": "[a-z]", "u": "[A-Z]",
         "x": "[0-9A-Fa-f]", "t": "\t"}  # fmt: skip
"""What follows a backslash, in Python's words."""
_COMMAND_NAMES = """
abbreviate abclear aboveleft all append args argument autocmd badd ball bdelete behave belowright bfirst blast
bmodified bnext botright bprevious break browse bufdo buffer buffers bunload bwipeout call cclose cd center
cfile change changes chdir checktime clast clist close cmap cnext cnoremap colorscheme command confirm
continue copen copy cprevious cquit cunmap cwindow debug delcommand delete delfunction delmarks diffthis
digraphs display doautocmd earlier echo echoerr echomsg echon edit else elseif emenu endfor endfunction endif
endtry endwhile enew execute exit file files filetype find finally finish first fold foldclose foldopen for
function global goto grep help helpgrep helptags hide highlight history iabbrev if imap inoremap insert iunmap
join jumps keepjumps keepmarks language last later lclose left leftabove let list lmap lnext ls lopen make map
mark marks match messages mkexrc mksession mkview mkvimrc mode move new next nmap nnoremap nohlsearch noremap
normal number nunmap oldfiles omap only open options packadd perl preserve previous print profile promptfind
put pwd python qall quit quitall read recover redir redo redraw redrawstatus registers resize retab return
rewind right rightbelow ruby rundo runtime rviminfo sall saveas sbuffer scriptnames set setfiletype setglobal
setlocal sfind shell sign silent sleep smagic snext snomagic sort source spelldump split sprevious stag
startinsert stopinsert substitute sview swapname syntax tab tabclose tabdo tabedit tabfirst tablast tabnew
tabnext tabonly tabprevious tabs tag tags terminal throw tmap topleft try tselect undo undojoin undolist
unhide unlet unmap update vertical version view vimgrep visual vmap vnew vsplit wall while windo winsize wnext
wprevious wq wqall write wviminfo xall xit xmap yank k t z x
"""
_COMMANDS = _COMMAND_NAMES.split()


def is_command(word: str) -> bool:
    """Whether vim may know a command of this name, or one that it abbreviates."""
    return any(name.startswith(word) for name in _COMMANDS)


def regex_of(pattern: str) -> re.Pattern[str] | None:
    """Translate a pattern of vim, with its usual settings; None where it has what is not translated."""
    out, index = "", 0
    if "~" in pattern or r"\{" in pattern:
        return None
    while index < len(pattern):
        letter = pattern[index]
        index += 1
        if letter == "\\":
            following = pattern[index : index + 1]
            index += 1
            if not following or (following.isalnum() and following not in _SAME):
                return None
            out += _SAME.get(following, re.escape(following))
        elif letter == "[":
            end = pattern.find("]", index + 1)
            if end < 0:
                out += r"\["
                continue
            out += "[" + pattern[index:end].replace("\\", "\\\\").replace("[", r"\[") + "]"
            index = end + 1
        elif letter == "*" and out in ("", "^"):
            out += r"\*"
        elif letter == "^" and out and not out.endswith(("(", "|")):
            out += r"\^"
        elif letter == "$" and index < len(pattern) and pattern[index : index + 2] not in (r"\|", r"\)"):
            out += r"\$"
        else:
            out += letter if letter in ".*^$" else re.escape(letter)
    try:
        return re.compile(out)
    except re.error:
        return None


def replaced(match: re.Match[str], replacement: str) -> str:
    r"""What a replacement of vim becomes for a match; `\r` begins a new line."""
    groups = match.groups("")

    def fill(part: re.Match[str]) -> str:
        word = part[0]
        if word in ("&", r"\0"):
            return match[0]
        if word[1].isdigit():
            number = int(word[1])
            return groups[number - 1] if number <= len(groups) else ""
        return {"r": "\n", "t": "\t", "n": "\0"}.get(word[1], word[1])

    return re.sub(r"\\.|&", fill, replacement)
