"""GNU parallel: one command line per input, run one after the other as far as that makes no difference."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.recipe_shell import run_line
from worldline.kernels.shell.builtins.system.parallel_inputs import InputError, read_inputs

__all__ = ["COMMANDS"]

_LSCPU = "lscpu: failed to determine number of CPUs: /sys/devices/system/cpu/possible: No such file or directory\n"
"""Asked for its processors, a machine without /sys says this."""
_SHORT = "j:P:kn:N:I:a:C:d:0rqtvmXuL:s:S:i::D:x"
_LONG = (
    "jobs= max-procs= keep-order dry-run dryrun max-args= max-replace-args= arg-file= colsep= delimiter= null"
    " no-run-if-empty quote verbose tag no-notice will-cite link xapply group ungroup line-buffer lb trim= delay="
    " retries= halt= halt-on-error= joblog= results= pipe plus shuf bar eta progress env= wd= workdir= tagstring="
    " timeout= nice= semaphore sem colsep= max-lines= files sshlogin= basefile= linebuffer no-keep-order citation"
    " number-of-cpus number-of-cores xargs replace=? block= recend= round-robin memfree= load= silent arg-sep="
)
_SAME = {
    "--jobs": "-j",
    "--max-procs": "-j",
    "-P": "-j",
    "--keep-order": "-k",
    "--dryrun": "--dry-run",
    "--max-args": "-n",
    "--max-replace-args": "-N",
    "--arg-file": "-a",
    "--colsep": "-C",
    "--delimiter": "-d",
    "--null": "-0",
    "--no-run-if-empty": "-r",
    "--quote": "-q",
    "--verbose": "-t",
    "--xapply": "--link",
    "--ungroup": "-u",
    "--xargs": "-X",
}
_NOTHING = frozenset(
    ("--no-notice", "--will-cite", "--group", "-r", "--delay", "--retries", "--nice", "--env", "-x", "--silent", "-D")
)
_FIELD = re.compile(r"\{(-?\d+)?(\.|/\.|//|/|#|%)?\}")
_SPECIAL = re.compile(r"([\x02-\x09\x0b-\x1a\\#?`(){}\[\]^*<=>~|; \"!$&'])")


@dataclass(slots=True)
class Plan:
    """What is to be run, and how it is shown."""

    jobs: int | None = None
    """None: as many as there are processors."""
    ordered: bool = False
    dry: bool = False
    tag: bool = False
    shown: str = ""
    """`-v` or `-t` where the command lines are shown."""
    quoted: bool = False
    replacement: str = "{}"
    batch: int = 1
    sources: list[tuple[str, list[str]]] = field(default_factory=list)
    """Kind of each input source (`:::`, `::::`, with `+` where it is linked) and its words."""
    files: list[str] = field(default_factory=list)
    linked: bool = False
    column: str | None = None
    delimiter: str = "\n"
    trim: str = "n"
    halting: bool = False
    mixed: bool = False
    """Output appears as it is written (`-u`, `--line-buffer`)."""
    whole: bool = False
    """All inputs go to one command line (`-m`, `-X`)."""


def _parallel(call: Call) -> Result:
    plan, words = _read(call)
    try:
        inputs = read_inputs(
            call, plan.sources, plan.files, linked=plan.linked, column=plan.column, delimiter=plan.delimiter
        )
    except InputError as error:
        call.unknown(f"an input that cannot be read: {error}")
    if plan.trim != "n":
        inputs = [[_trimmed(word, plan.trim) for word in row] for row in inputs]
    if plan.whole:
        if plan.jobs != 1:
            call.unknown("how many inputs each job gets")
        inputs = [[word for row in inputs for word in row]] if inputs else []
    elif plan.batch > 1:
        flat = [word for row in inputs for word in row]
        inputs = [flat[start : start + plan.batch] for start in range(0, len(flat), plan.batch)]
    command = " ".join(_quote(word) for word in words) if plan.quoted else " ".join(words)
    lines = [_fill(call, plan, command, row, number) for number, row in enumerate(inputs, 1)]
    head = Result(stderr=_LSCPU if plan.jobs is None else "")
    if plan.dry:
        return Result("".join(f"{line}\n" for line in lines), head.stderr)
    return _run(call, plan, lines, inputs, head)


def _read(call: Call) -> tuple[Plan, list[str]]:
    plan = Plan()
    argv = list(call.argv)
    marks = [index for index, word in enumerate(argv) if re.fullmatch(r":::\+?|::::\+?", word)]
    if marks:
        for start, end in zip(marks, [*marks[1:], len(argv)], strict=True):
            plan.sources.append((argv[start], argv[start + 1 : end]))
        argv = argv[: marks[0]]
    try:
        options, words = parse(call, _SHORT, _LONG, same=_SAME, permute=False, argv=argv)
    except UsageError as error:
        call.unknown(f"the text of the usage: {error}")
    for name, value in options:
        _option(call, plan, name, value)
    return plan, words


def _option(call: Call, plan: Plan, name: str, value: str) -> None:
    if name == "-j":
        plan.jobs = int(value) if value.isdigit() else None
    elif name == "-k":
        plan.ordered = True
    elif name == "--dry-run":
        plan.dry = True
    elif name == "--tag":
        plan.tag = True
    elif name in ("-t", "-v"):
        plan.shown = name
    elif name == "-q":
        plan.quoted = True
    elif name == "-I":
        plan.replacement = value
    elif name in ("-n", "-N"):
        if not value.isdigit() or value == "0":
            call.unknown("a number of arguments that is none")
        plan.batch = int(value)
    elif name == "-a":
        plan.files.append(value)
    elif name == "--link":
        plan.linked = True
    elif name == "-C":
        plan.column = value
    elif name in ("-d", "-0"):
        plan.delimiter = "\0" if name == "-0" else value.replace("\\n", "\n").replace("\\t", "\t").replace("\\0", "\0")
    elif name == "--trim":
        plan.trim = value
    elif name in ("--halt", "--halt-on-error"):
        plan.halting = True
    elif name in ("-u", "--line-buffer", "--lb", "--linebuffer"):
        plan.mixed = True
    elif name == "-L" and value == "1":
        pass
    elif name in ("-m", "-X"):
        plan.whole = True
    elif name not in _NOTHING:
        call.unknown(f"the option {name}")


def _trimmed(word: str, how: str) -> str:
    if "l" in how:
        word = word.lstrip(" \t")
    return word.rstrip(" \t") if "r" in how else word


def _quote(word: str) -> str:
    if not word:
        return "''"
    return _SPECIAL.sub(r"\\\1", word).replace("\n", "'\n'")


def _fill(call: Call, plan: Plan, command: str, row: list[str], number: int) -> str:
    """Put one row of inputs into the command line."""
    if not command:
        return " ".join(row)
    if "{=" in command or "--plus" in call.argv:
        call.unknown("a replacement in Perl")
    if plan.replacement != "{}":
        command = command.replace(plan.replacement, "{}")
    if not any(match[2] not in ("#", "%") for match in _FIELD.finditer(command)):
        command += " {}"

    def replace(match: re.Match[str]) -> str:
        if match[2] == "#":
            return str(number)
        if match[2] == "%":
            if plan.jobs != 1 and number > 1:
                call.unknown("which slot a job gets")
            return "1"
        words = row
        if match[1] is not None:
            index = int(match[1])
            place = index - 1 if index > 0 else len(row) + index
            words = [row[place]] if 0 <= place < len(row) else [""] if match[1] else []
            if not 0 <= place < len(row):
                return ""
        return " ".join(_quote(_part(word, match[2])) for word in words)

    if plan.whole and not re.search(r"(?:^|\s)\{\}(?:\s|$)", command):
        if command.count("{}") != 1:
            call.unknown("the context of several replacements")
        return re.sub(r"\S*\{\}\S*", lambda found: _context(found[0], row), command)
    return _FIELD.sub(replace, command)


def _context(word: str, row: list[str]) -> str:
    return " ".join(word.replace("{}", _quote(value)) for value in row)


def _part(word: str, kind: str | None) -> str:
    folder, slash, base = word.rpartition("/")
    if kind == ".":
        return re.sub(r"\.[^/.]+$", "", word)
    if kind == "/":
        return base
    if kind == "//":
        return folder if slash else "."
    if kind == "/.":
        return re.sub(r"\.[^/.]+$", "", base)
    return word


def _run(call: Call, plan: Plan, lines: list[str], inputs: list[list[str]], head: Result) -> Result:
    shell = "/usr/bin/sh" if call.world.shell.program == "sh" else "/usr/bin/bash"
    out, err, both, failed, writing = "", head.stderr, head.stderr, 0, 0
    for number, (line, row) in enumerate(zip(lines, inputs, strict=True)):
        stdin = call.stdin if number == 0 and plan.sources else None
        result = run_line(call, line, shell=shell, stdin=stdin)
        if ": command not found" in result.stderr:
            call.unknown("whether there is an exported function of this name")
        if result.status and plan.halting:
            call.unknown("what --halt does after a failure")
        failed += result.status != 0
        told, told_err = result.stdout, result.stderr
        if plan.tag:
            mark = " ".join(row) + "\t"
            told = "".join(mark + part for part in told.splitlines(keepends=True))
            told_err = "".join(mark + part for part in told_err.splitlines(keepends=True))
        if plan.shown == "-v":
            told = f"{line}\n{told}"
        elif plan.shown:
            told_err = f"{line}\n{told_err}"
        writing += bool(told or told_err)
        out, err, both = out + told, err + told_err, both + told + told_err
    done = Result(out, err, min(failed, 101), both)
    if writing > 1 and plan.jobs != 1 and (plan.mixed or not plan.ordered):
        call.unknown("in which order jobs end", done)
    return done


COMMANDS: dict[str, Builtin] = {"parallel": _parallel}
