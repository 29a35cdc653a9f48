"""Bash scripts that read from the terminal, run again with each further line.

The shell library knows no terminal: `read` takes what is piped in. So a script runs with functions of its own for
`read` and `select` put before its first line. They take the lines typed so far, one after the other also across
subshells, and end the script with a mark where it would wait for another line.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from worldline.kernels.screen.programs.base import Host, Program, Run, Shown
from worldline.kernels.screen.programs.replay import timed

__all__ = ["BashScript", "bash_script", "reads_in_bash"]

_TTY = "@@worldline-tty@@"
"""What stands on the standard input of the script, so that redirected input can be told from the terminal."""
_WAITS = re.compile(r"@@worldline-waits-(s?)(\d*)@@")
_ODD = "@@worldline-odd@@"
_END = "@@worldline-end@@"
"""Stands for C-d among the lines typed."""
_COUNTER = "/tmp/.worldline-line"
_MOST_READS = 400

_SLEEP = 'sleep() { printf "@@worldline-sleeps-%s@@" "$*" >&2; }; '
_PRELUDE = r"""
__read() {
local __a __p="" __x="" __odd="" __q="" __c="" __l __n;
for __a in "$@"; do
if [[ -n $__x ]]; then if [[ $__x == p ]]; then __p=$__a; elif [[ $__x == n ]]; then __c=$__a; fi; __x=""; continue; fi;
case $__a in --) ;; -*)
case $__a in -*p?*) ;; *s*) __q=s;; esac;
case $__a in -p*) ;; *[tdu]*) __odd=1;; esac;
case $__a in -p*) ;; *[nN][0-9]*) __c=${__a##*[nN]};; esac;
case $__a in *p) __x=p;; *[nN]) __x=n;; *[aditu]) __x=o;; *p?*) __p=${__a#*p};; esac;; esac;
done;
if [[ -n $__odd ]]; then printf "@ODD@" >&2; exit 77; fi;
if ! IFS= builtin read -r __l; then builtin read "$@" </dev/null; return 1; fi;
if [[ $__l != "@TTY@" ]]; then builtin read "$@" <<< "$__l"; return; fi;
printf %s "$__p" >&2;
builtin read -r __n < @COUNTER@;
if [[ $__n -ge ${#__typed[@]} ]]; then
printf "@@worldline-waits-$__q$__c@@" >&2; exit 77;
fi;
echo $((__n+1)) > @COUNTER@;
if [[ ${__typed[$__n]} == @END@ ]]; then builtin read "$@" </dev/null; return 1; fi;
builtin read "$@" <<< "${__typed[$__n]}";
};
read() { __read "$@"; };
__menu() {
local __i __w=0;
for __i in "${__items[@]}"; do if [[ ${#__i} -gt $__w ]]; then __w=${#__i}; fi; done;
if [[ $(( (__w + 5) * ${#__items[@]} )) -gt @COLUMNS@ || ${#__items[@]} -gt 9 ]]; then printf "@ODD@" >&2; exit 77; fi;
for ((__i = 0; __i < ${#__items[@]}; __i++)); do printf "%d) %s\n" $((__i+1)) "${__items[$__i]}" >&2; done;
};
__pick() {
while true; do
printf %s "${PS3-#? }" >&2;
if ! read -r REPLY; then echo >&2; return 1; fi;
if [[ -z $REPLY ]]; then __menu; continue; fi;
if [[ $REPLY =~ ^[0-9]+$ && $REPLY -ge 1 && $REPLY -le ${#__items[@]} ]]; then
printf -v "$1" %s "${__items[$((REPLY-1))]}"; else printf -v "$1" %s ""; fi;
return 0;
done;
};
"""
_COUNTED = re.compile(r"(?<![\w-])read(?=(?:\s+-[a-mo-zA-MO-Z]\w*(?:\s+(?:'[^']*'|\"[^\"]*\"))?)*\s+-\w*[nN])")
"""The shell kernel takes `read -n` by itself where it stands under its own name."""
_SELECT = re.compile(r"(?<![\w-])select[ \t]+(\w+)(?:[ \t]+in[ \t]+([^\n;]*?))?[ \t]*(?:;|\n)\s*do(?!\w)")
_READS = re.compile(r"(?:^|[\s;&|({!])(?:read|select|mapfile|readarray)(?=\s|;|$|\))", re.MULTILINE)
_TAKES_ALL = re.compile(
    r"(?:^|[;&({]|\$\()\s*(?:cat|wc(?: -\w)?|sort|tac|head(?: -\w+)?|tail|bc|tr [^|;\n]*|mapfile[^<|;\n]*|"
    r"readarray[^<|;\n]*)\s*(?:$|[;)|])|/dev/(?:stdin|tty)",
    re.MULTILINE,
)
"""Commands that read all of the terminal by themselves."""
_ORDER = "the order in which"
_VOLATILE = re.compile(
    r"\bS?RANDOM\b|\$\{?(?:EPOCHREALTIME|BASHPID|PPID|\$)|\bshuf\b|/dev/u?random|\bsort -R\b|\bmktemp\b"
)
"""What differs from run to run."""


def reads_in_bash(text: str) -> bool:
    """Whether a script may read from the terminal."""
    bare = re.sub(r"(?m)(^|\s)#[^\n]*", r"\1", text)
    return _READS.search(bare) is not None


@dataclass
class BashScript:
    """A script in the foreground."""

    name: ClassVar[str] = "bash script"
    silent: ClassVar[bool] = False
    path: str
    """As it was named on the command line."""
    arguments: list[str]
    source: str
    raw: bool = False
    raw_count: int = 0
    """How many letters a `read` takes, where it takes letters."""
    letters: str = ""
    hidden: bool = False
    readline: bool = False
    lines: list[str] = field(default_factory=list)
    text: str = ""
    seconds: float = 0.0
    doubts: list[str] = field(default_factory=list)

    def start(self, host: Host) -> Shown:
        """Begin."""
        if _TAKES_ALL.search(self.source):
            self.doubts.append("a command in the script that may read the terminal itself")
        if _VOLATILE.search(self.source):
            self.doubts.append("the script uses what differs from run to run")
        return self._go_on(host)

    def feed(self, text: str, host: Host) -> Shown:
        """Take a line."""
        if not self.raw:
            self.lines.append(text)
            return self._go_on(host)
        if text == "\x03":
            self.raw = False
            return replace(self.interrupt(host), text="^C\n")
        shown = "" if self.hidden else text.replace("\r", "\n")
        done = text in ("\r", "\n")
        self.letters += "" if done else text
        if not done and len(self.letters) < self.raw_count:
            return Shown(shown, echo=not self.hidden)
        self.lines.append(f"{self.letters}\n")
        self.raw, self.letters = False, ""
        found = self._go_on(host)
        return replace(found, text=shown + found.text)

    def end_of_input(self, host: Host) -> Shown:
        """Take C-d: the `read` that waits finds nothing."""
        self.lines.append(_END)
        return self._go_on(host)

    def interrupt(self, host: Host) -> Shown:
        """Take C-c: the script ends, what it has done stays."""
        if "trap" in self.source:
            return Shown(ended=True, status=130, unknown="a script that catches signals")
        self._run(host, keep=True)
        return Shown(ended=True, status=130, unknown="; ".join(self.doubts[:3]))

    def _go_on(self, host: Host) -> Shown:
        run = self._run(host, keep=False)
        waits = _WAITS.search(run.text)
        text = run.text[: waits.start()] if waits else run.text
        text, odd, _ = text.partition(_ODD)
        if not run.known:
            self.doubts += [doubt for doubt in run.why.split("; ") if not doubt.startswith(_ORDER)]
        if odd or _TTY in text:
            self.doubts.append("a way of reading that is not simulated")
        if not text.startswith(self.text):
            self.doubts.append("what it writes changes with what it reads later")
        new, self.text = text[len(self.text) :], text
        seconds, self.seconds = max(run.seconds - self.seconds, 0.0), max(run.seconds, self.seconds)
        unknown = "; ".join(self.doubts[:3])
        first, later = timed(new)
        if waits:
            self.raw, self.raw_count, self.hidden = bool(waits[2]), int(waits[2] or 0), bool(waits[1])
            return Shown(first, later=later, seconds=seconds, echo=not waits[1], unknown=unknown)
        self._run(host, keep=True)
        return Shown(first, later=later, ended=True, status=run.status, seconds=seconds, unknown=unknown)

    def _run(self, host: Host, *, keep: bool) -> Run:
        """Run the script on the lines so far.

        A trial runs it under its own name. The run that is kept leaves the script's file alone.
        """
        path = self.path
        if keep:
            place, name = posixpath.split(self.path)
            path = posixpath.join(place, f".{name}.running")
        data = b64encode(self._wrapped(keep, host.columns).encode()).decode()
        quoted = shlex.quote(path)
        before = f"printf %s {data} | base64 -d > {quoted}; printf 0 > {_COUNTER}; "
        after = f"; set -- $?; rm -f {quoted} {_COUNTER}; (exit $1)" if keep else ""
        words = shlex.join(["bash", path, *self.arguments])
        return host.run(before + words + after, stdin=f"{_TTY}\n" * _MOST_READS, keep=keep)

    def _wrapped(self, keep: bool, columns: int) -> str:
        """The script with our functions on its first line, so that the numbers of its lines stay."""
        first, rest = "", self.source
        if rest.startswith("#!"):
            _, first, rest = rest.partition("\n")
        prelude = (
            _PRELUDE.replace("@ODD@", _ODD).replace("@TTY@", _TTY).replace("@END@", _END).replace("@COUNTER@", _COUNTER)
        )
        prelude = prelude.replace("@COLUMNS@", str(columns))
        typed = " ".join(_quote(line.removesuffix("\n")) for line in self.lines)
        head = " ".join(prelude.split("\n")) + f"__typed=({typed}); "
        if not keep and "sleep" in rest and not re.search(r"\bdate\b|SECONDS", rest):
            head = _SLEEP + head
        body = _SELECT.sub(_menu, _COUNTED.sub("__read", rest))
        return f"{{ {head}{first}{body}\n}} 2>&1\n"


def _menu(match: re.Match[str]) -> str:
    words = match[2] if match[2] is not None else '"$@"'
    return f"__items=({words}); __menu; while __pick {match[1]}; " + "\n" * match[0].count("\n") + "do"


def _quote(text: str) -> str:
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def bash_script(path: str, arguments: Sequence[str], source: str) -> Program | None:
    """Build the program for a script that reads; None for one that does not.

    Args:
        path: The script as it was named.
        arguments: What follows its name.
        source: Its text.
    """
    return BashScript(path, list(arguments), source) if reads_in_bash(source) else None
