"""Command lines of pagers."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence

from worldline.kernels.screen.programs.base import Host, Operator, Program
from worldline.kernels.screen.programs.less import Less, LessOptions, Text
from worldline.kernels.screen.programs.replay import command_line
from worldline.kernels.screen.programs.said import Said
from worldline.kernels.shell.builtins.base import Unknown

__all__ = ["less_program", "page"]


def page(text: str, *, quit_if_one_page: bool = False, main_screen: bool = False) -> Less:
    """Return the pager over a text that is piped into it, as `git log` and `man` start it."""
    return Less([Text("", text)], LessOptions(one_page=quit_if_one_page, main_screen=main_screen))


def less_program(words: Sequence[str], host: Host) -> Program | None:
    """Build the program for `less` over files, or at the end of a pipe."""
    own, piped = list(words), ""
    if any(isinstance(word, Operator) for word in words):
        place = max(
            (index for index, word in enumerate(words) if isinstance(word, Operator) and word == "|"), default=0
        )
        own = list(words[place + 1 :])
        if not place or any(isinstance(word, Operator) for word in own):
            return None
        piped = command_line(words[:place])
    options, names, doubt, command = _options(own[1:])
    if doubt == "none":
        return None
    if piped and not names:
        run = host.run(piped, keep=False)
        why = doubt or ("" if run.known else run.why)
        return Less([Text("", run.text)], options, command, source=piped, doubt=why)
    if not names:
        return Said('Missing filename ("less --help" for help)\n', 1)
    texts: list[Text] = []
    for name in names:
        try:
            texts.append(Text(name, host.read(name).decode("utf-8", "surrogateescape")))
        except Unknown as error:
            return Less([Text(name, "")], options, command, doubt=str(error) or "the content of the file")
        except OSError as error:
            what = "is a directory" if isinstance(error, IsADirectoryError) else ""
            said = f"{name} {what}" if what else f"{name}: {os.strerror(error.errno or errno.EIO)}"
            if len(names) > 1:
                return Less(
                    texts or [Text(name, "")], options, command, doubt="less over files of which one is missing"
                )
            return Said(f"{said}\n", 1)
    return Less(texts, options, command, doubt=doubt)


def _options(words: Sequence[str]) -> tuple[LessOptions, list[str], str, str]:
    """Read options and names; also why they are not all known, and keys to begin with."""
    options, names, doubt, command = LessOptions(), list[str](), "", ""
    for word in words:
        if word.startswith("+"):
            command = f"{word[1:]}g" if word[1:].isdigit() else word[1:] + ("\r" if word[1:2] in ("/", "?") else "")
        elif word in ("--help", "-?", "--version", "-V"):
            return options, names, "none", command
        elif word.startswith("--") or not word.startswith("-") or word == "-":
            long = {"--LINE-NUMBERS": "-N", "--chop-long-lines": "-S", "--quit-if-one-screen": "-F", "--no-init": "-X",
                    "--ignore-case": "-i", "--RAW-CONTROL-CHARS": "-R"}.get(word)  # fmt: skip
            if long is not None:
                _letters(options, long[1:])
            elif word.startswith("--"):
                doubt = f"the option {word} of less"
            else:
                names.append(word)
        elif not re.fullmatch(r"-[NSiIMmXFeERrnKqQs]+", word):
            doubt = f"the option {word} of less"
        else:
            _letters(options, word[1:])
    return options, names, doubt, command


def _letters(options: LessOptions, letters: str) -> None:
    for letter in letters:
        if letter in "Nn":
            options.numbers = 2 if letter == "N" else 0
        elif letter in "iI":
            options.case = 1 if letter == "i" else 2
        elif letter in "mM":
            options.prompt = 1 if letter == "m" else 2
        elif letter in "eE":
            options.at_end = 1 if letter == "e" else 2
        elif letter == "S":
            options.chop = True
        elif letter == "X":
            options.main_screen = True
        elif letter == "F":
            options.one_page = True
