"""GNU make 4.3: the command line, the makefiles, the goals."""

from __future__ import annotations

import posixpath
import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.make.make_implicit import DEFAULTS, builtin_rules
from worldline.kernels.shell.builtins.make.make_parts import MakeError, Variable
from worldline.kernels.shell.builtins.make.make_reader import ASSIGNMENT
from worldline.kernels.shell.builtins.make.make_session import MakeOptions, Session
from worldline.kernels.shell.builtins.make.make_update import Updater
from worldline.kernels.shell.builtins.shared.messages import strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, parse
from worldline.kernels.shell.builtins.shared.textio import escape

__all__ = ["COMMANDS"]

_SHORT = "bBC:deE:f:hiI:j::kl::LmnpqrRsStvwW:o:O::"
_LONG = (
    "always-make directory= debug=? environment-overrides eval= file= makefile= help ignore-errors include-dir="
    " jobs=? keep-going load-average=? max-load=? check-symlink-times just-print dry-run recon old-file="
    " assume-old= output-sync=? print-data-base question no-builtin-rules no-builtin-variables silent quiet"
    " no-silent no-keep-going stop touch trace version print-directory no-print-directory what-if= new-file="
    " assume-new= warn-undefined-variables"
)
_SAME = {
    "--always-make": "-B",
    "--directory": "-C",
    "--debug": "-d",
    "--environment-overrides": "-e",
    "--eval": "-E",
    "--file": "-f",
    "--makefile": "-f",
    "--help": "-h",
    "--ignore-errors": "-i",
    "--include-dir": "-I",
    "--jobs": "-j",
    "--keep-going": "-k",
    "--load-average": "-l",
    "--max-load": "-l",
    "--check-symlink-times": "-L",
    "--just-print": "-n",
    "--dry-run": "-n",
    "--recon": "-n",
    "--old-file": "-o",
    "--assume-old": "-o",
    "--output-sync": "-O",
    "--print-data-base": "-p",
    "--question": "-q",
    "--no-builtin-rules": "-r",
    "--no-builtin-variables": "-R",
    "--silent": "-s",
    "--quiet": "-s",
    "--no-keep-going": "-S",
    "--stop": "-S",
    "--touch": "-t",
    "--version": "-v",
    "--print-directory": "-w",
    "--what-if": "-W",
    "--new-file": "-W",
    "--assume-new": "-W",
}
_STOP = "  Stop."


def _make(call: Call) -> Result:
    try:
        options = _read_options(call)
    except UsageError as error:
        call.unknown("the text of the usage", Result(stderr=f"make: {error.message}\n", status=2))
    level = call.env.get("MAKELEVEL", "")
    session = Session(call, options, call.cwd, int(level) if level.isdigit() else 0)
    for folder in options.folders:
        place = posixpath.normpath(posixpath.join(session.cwd, folder))
        try:
            if call.files.stat(place).kind != "directory":
                session.complain(f"{folder}: Not a directory.{_STOP}")
                return session.result(2)
        except OSError as error:
            session.complain(f"{folder}: {strerror(error)}.{_STOP}")
            return session.result(2)
        session.cwd = place
    if options.folders:
        session = Session(call, options, session.cwd, session.level)
    shown = "w" in options.flags or (
        (bool(options.folders) or session.level > 0) and "s" not in options.flags and "noprint" not in options.flags
    )
    if shown:
        session.out(f"{session.name}: Entering directory '{session.cwd}'\n")
    status = _run(session)
    if shown:
        session.out(f"{session.name}: Leaving directory '{session.cwd}'\n")
    return session.result(status)


def _read_options(call: Call) -> MakeOptions:
    options = MakeOptions()
    inherited = call.env.get("MAKEFLAGS", "")
    letters, _, rest = inherited.partition(" ")
    if inherited and not letters.startswith("-"):
        options.flags |= set(letters) & set("Beiknqrst")
    if inherited and re.search(r"--(?!\s|$)|-j", inherited):
        call.unknown("options handed down to another make")
    for assignment in rest.partition("-- ")[2].split():
        name, _, value = assignment.partition("=")
        options.assignments.append((name, "=", value))
    argv = list(call.argv)
    for index, word in enumerate(argv[:-1]):
        if word in ("-j", "-l") and re.fullmatch(r"[\d.]+", argv[index + 1]):
            argv[index : index + 2] = [word + argv[index + 1], "--warn-nothing"]
    argv = [word for word in argv if word != "--warn-nothing"]
    given, operands = parse(call, _SHORT, _LONG, same=_SAME, argv=argv)
    for name, value in given:
        _option(call, options, name, value)
    for word in operands:
        match = ASSIGNMENT.match(word)
        if match is not None:
            options.assignments.append((match[1], match[2], match[3]))
        else:
            options.goals.append(word)
    return options


def _option(call: Call, options: MakeOptions, name: str, value: str) -> None:
    lists = {"-C": options.folders, "-f": options.files, "-I": options.includes, "-W": options.new, "-o": options.old}
    if name in lists:
        lists[name].append(value)
    elif name in ("-v", "-h", "-d", "-p", "-L", "-E", "--trace"):
        if name == "-v":
            call.unknown("the text of --version", Result("GNU Make 4.3\nBuilt for x86_64-pc-linux-gnu\n"))
        call.unknown(f"the option {name}")
    elif name == "-j":
        if value and (not value.isdigit() or value == "0"):
            call.unknown("a number of jobs that is none")
        options.jobs = int(value) if value else None
    elif name == "-S":
        options.flags.discard("k")
    elif name == "--no-silent":
        options.flags.discard("s")
    elif name == "--no-print-directory":
        options.flags.add("noprint")
    elif name == "--warn-undefined-variables":
        options.flags.add("warn")
    elif name == "-R":
        options.flags |= {"r", "R"}
    elif name not in ("-b", "-m", "-l", "-O"):
        options.flags.add(name[1:])


def _run(session: Session) -> int:
    try:
        _define_variables(session)
        if not _read_makefiles(session):
            return 2
        goals = session.options.goals or session.default_goal.split()
        if not goals:
            raise MakeError("No targets" if session.makefiles else "No targets specified and no makefile found")
        return _update(session, goals)
    except MakeError as error:
        if error.place is not None:
            session.err(f"{error.place}: *** {error.message}.{_STOP}\n")
        else:
            session.complain(f"{error.message}.{_STOP}")
        return 2


def _update(session: Session, goals: list[str]) -> int:
    cleaned = [goal[2:] if goal.startswith("./") and len(goal) > 2 else goal for goal in goals]
    updater = Updater(session)
    status = updater.goals(cleaned)
    if session.skewed:
        session.err(f"{session.name}: warning:  Clock skew detected.  Your build may be incomplete.\n")
    parallel = session.options.jobs != 1 and ".NOTPARALLEL" not in session.special
    if parallel and updater.remade > 1 and updater.noisy:
        session.call.unknown("the order of what parallel jobs write", session.result(status))
    if session.mixed and session.call.world.shell.merged:
        session.call.unknown("the order in which a recipe wrote to both streams", session.result(status))
    return status


def _define_variables(session: Session) -> None:
    table = session.expander.table
    options = session.options
    if "R" not in options.flags:
        for name, value in DEFAULTS.items():
            table[name] = Variable(value, True, "default")
    origin = "environment override" if "e" in options.flags else "environment"
    for name, value in session.call.env.items():
        if name not in ("SHELL", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "_"):
            table[name] = Variable(value, True, origin)
    for name, value in {
        "MAKE": "make",
        "MAKE_COMMAND": "make",
        "MAKE_VERSION": "4.3",
        "MAKE_HOST": "x86_64-pc-linux-gnu",
        "SHELL": "/bin/sh",
        ".SHELLFLAGS": "-c",
        "MAKELEVEL": str(session.level),
        "CURDIR": session.cwd,
        "MAKEFILE_LIST": "",
        ".RECIPEPREFIX": "",
        "SUFFIXES": "",
        "MAKEFLAGS": _makeflags(options),
    }.items():
        table[name] = Variable(value, False, "default")
    table["MAKECMDGOALS"] = Variable(" ".join(options.goals), False, "default")
    for name, operator, value in options.assignments:
        session.expander.define(session.expander.expand(name), operator, value, "command line")
    if "r" not in options.flags:
        session.patterns = builtin_rules()


def _makeflags(options: MakeOptions) -> str:
    flags = options.letters()
    jobs = "" if options.jobs == 1 else " -j"
    assigned = " ".join(f"{name}{operator}{value}" for name, operator, value in options.assignments)
    return f"{flags}{jobs} -- {assigned}" if assigned else f"{flags}{jobs}"


def _read_makefiles(session: Session) -> bool:
    """Read the makefiles; False where one that was asked for cannot be read."""
    names = session.options.files
    if not names:
        names = [name for name in ("GNUmakefile", "makefile", "Makefile") if session.exists(name)][:1]
    for name in names:
        if name == "-":
            session.read("-", session.call.stdin or "")
            continue
        try:
            text = escape(session.call.files.read(session.path(name)))
        except OSError as error:
            if isinstance(error, IsADirectoryError):
                raise MakeError(f"{name}: {strerror(error)}") from error
            session.err(f"{session.name}: {name}: {strerror(error)}\n")
            if isinstance(error, FileNotFoundError):
                raise MakeError(f"No rule to make target '{name}'") from error
            session.unknown("a makefile that cannot be read")
        session.read(name, text)
    session.patterns = [rule for rule in session.patterns if not rule.builtin] + [
        rule for rule in session.patterns if rule.builtin
    ]
    for name in session.makefiles:
        target = session.targets.get(name)
        if target is not None and target.is_target:
            session.unknown("a makefile that is made itself")
    return _missing_includes(session)


def _missing_includes(session: Session) -> bool:
    for name, place, silent in session.missing_includes:
        target = session.targets.get(name)
        if target is not None and target.is_target:
            session.unknown("an included file that is made itself")
        if not silent:
            session.err(f"{place}: {name}: No such file or directory\n")
    for name, _, silent in session.missing_includes:
        if not silent:
            raise MakeError(f"No rule to make target '{name}'")
    return True


COMMANDS: dict[str, Builtin] = {"make": _make}
