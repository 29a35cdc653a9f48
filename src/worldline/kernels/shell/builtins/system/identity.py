"""Who and where one is: `id whoami groups logname hostname uname arch nproc tty who users`, and `locale`."""

from __future__ import annotations

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import Report, quote
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, parse
from worldline.kernels.shell.builtins.shared.people import account, own_ids

__all__ = ["COMMANDS"]


@command()
def _id(call: Call) -> Result:
    options, operands = parse(
        call,
        "agGnruzZ",
        "context group groups name real user zero",
        same={"--group": "-g", "--groups": "-G", "--name": "-n", "--real": "-r", "--user": "-u", "--zero": "-z"},
    )
    names = {name for name, _ in options}
    chosen = names & {"-u", "-g", "-G"}
    if "-Z" in names or "--context" in names:
        raise UsageError("--context (-Z) works only on an SELinux-enabled kernel", hint=False)
    if len(chosen) > 1:
        raise UsageError('cannot print "only" of more than one choice', hint=False)
    if not chosen and names & {"-n", "-r"}:
        raise UsageError("cannot print only names or real IDs in default format", hint=False)
    if not chosen and "-z" in names:
        raise UsageError("option --zero not permitted in default format", hint=False)
    report = Report("id")
    for operand in operands or [own_ids(call)[0]]:
        found = account(call, operand)
        if found is None:
            report.fail(f"{quote(operand)}: no such user")
            continue
        user, uid, group, gid = found
        if not chosen:
            report.out(f"uid={uid}({user}) gid={gid}({group}) groups={gid}({group})\n")
        else:
            name, number = (user, uid) if "-u" in chosen else (group, gid)
            report.out(f"{name if '-n' in names else number}" + ("\0" if "-z" in names else "\n"))
    return report.result()


@command()
def _whoami(call: Call) -> Result:
    _, operands = parse(call)
    if operands:
        raise extra_operand(operands[0])
    return Result(own_ids(call)[0] + "\n")


@command()
def _groups(call: Call) -> Result:
    _, operands = parse(call)
    if not operands:
        return Result(own_ids(call)[0] + "\n")
    report = Report("groups")
    for operand in operands:
        found = account(call, operand)
        if found is None:
            report.fail(f"{quote(operand)}: no such user")
        else:
            report.out(f"{operand} : {found[2]}\n")
    return report.result()


@command()
def _logname(call: Call) -> Result:
    _, operands = parse(call)
    if operands:
        raise extra_operand(operands[0])
    return Result(stderr="logname: no login name\n", status=1)


@command(usage_status=2)
def _tty(call: Call) -> Result:
    options, operands = parse(call, "s", "silent quiet")
    if operands:
        raise extra_operand(operands[0])
    return Result("" if options else "not a tty\n", status=1)


def _hostname(call: Call) -> Result:
    name = call.world.hostname
    short = name.partition(".")[0]
    words = call.argv
    if not words:
        return Result(name + "\n")
    if words in (["-s"], ["--short"]):
        return Result(short + "\n")
    if len(words) == 1 and not words[0].startswith("-"):
        if call.world.user_id == 0:
            call.unknown("setting the host's name")
        return Result(stderr="hostname: you must be root to change the host name\n", status=1)
    call.unknown(f"hostname {' '.join(words)}")


_UNAME = {
    "--all": "-a",
    "--kernel-name": "-s",
    "--nodename": "-n",
    "--kernel-release": "-r",
    "--kernel-version": "-v",
    "--machine": "-m",
    "--processor": "-p",
    "--hardware-platform": "-i",
    "--operating-system": "-o",
}


@command()
def _uname(call: Call) -> Result:
    options, operands = parse(
        call,
        "asnrvmpio",
        "all kernel-name sysname nodename kernel-release release kernel-version machine processor hardware-platform"
        " operating-system",
        same={**_UNAME, "--sysname": "-s", "--release": "-r"},
    )
    if operands:
        raise extra_operand(operands[0])
    names = {name[1] for name, _ in options} or {"s"}
    if names & set("arv"):
        call.unknown("the kernel's release and version")
    known = {"s": "Linux", "n": call.world.hostname, "m": "x86_64", "p": "unknown", "i": "unknown", "o": "GNU/Linux"}
    return Result(" ".join(known[letter] for letter in "snmpio" if letter in names) + "\n")


@command()
def _arch(call: Call) -> Result:
    _, operands = parse(call)
    if operands:
        raise extra_operand(operands[0])
    return Result("x86_64\n")


@command()
def _nproc(call: Call) -> Result:
    options, operands = parse(call, "", "all ignore=")
    if operands:
        raise extra_operand(operands[0])
    for name, value in options:
        if name == "--ignore" and not value.isdigit():
            raise UsageError(f"invalid number to ignore: {quote(value)}", hint=False)
    call.unknown("how many processors there are")


@command()
def _nobody_is_in(call: Call) -> Result:
    """`who` and `users`: nobody has logged in to a sandbox."""
    if call.argv:
        call.unknown("options of who and users")
    return Result()


_CATEGORIES = (
    "CTYPE", "NUMERIC", "TIME", "COLLATE", "MONETARY", "MESSAGES", "PAPER", "NAME", "ADDRESS", "TELEPHONE",
    "MEASUREMENT", "IDENTIFICATION",
)  # fmt: skip


def _locale(call: Call) -> Result:
    if call.argv == ["charmap"]:
        value = call.env.get("LC_ALL") or call.env.get("LC_CTYPE") or call.env.get("LANG") or "POSIX"
        if value.upper() in ("C.UTF-8", "C.UTF8"):
            return Result("UTF-8\n")
        if value in ("C", "POSIX"):
            return Result("ANSI_X3.4-1968\n")
    if call.argv:
        call.unknown(f"locale {' '.join(call.argv)}")
    everything, language = call.env.get("LC_ALL", ""), call.env.get("LANG", "")
    if (everything or language) not in ("C.UTF-8", "C", "POSIX", ""):
        call.unknown("whether the locale is installed")
    lines = [f"LANG={language}", f"LANGUAGE={call.env.get('LANGUAGE', '')}"]
    for category in _CATEGORIES:
        own = call.env.get(f"LC_{category}")
        if own and not everything:
            lines.append(f"LC_{category}={own}")
        else:
            lines.append(f'LC_{category}="{everything or language or "POSIX"}"')
    lines.append(f"LC_ALL={everything}")
    return Result("\n".join(lines) + "\n")


def _getent(call: Call) -> Result:
    """`getent passwd NAME` and `getent group NAME` for the accounts that a world declares."""
    words = call.argv
    if len(words) < 2 or words[0] not in ("passwd", "group") or f"/etc/{words[0]}" in call.world.files:
        call.unknown("these entries of the system's databases")
    out, status = "", 0
    for word in words[1:]:
        found = account(call, word)
        if found is None:
            status = 2
            continue
        user, uid, group, gid = found
        if user not in ("root", call.world.user):
            call.unknown(f"the account {word}")
        if words[0] == "group":
            out += f"{group}:x:{gid}:\n"
        else:
            home = "/root" if uid == 0 else call.world.home
            out += f"{user}:x:{uid}:{gid}:{'root' if uid == 0 else ''}:{home}:/bin/bash\n"
    return Result(out, "", status)


COMMANDS: dict[str, Builtin] = {
    "id": _id,
    "whoami": _whoami,
    "groups": _groups,
    "logname": _logname,
    "tty": _tty,
    "hostname": _hostname,
    "uname": _uname,
    "arch": _arch,
    "nproc": _nproc,
    "who": _nobody_is_in,
    "users": _nobody_is_in,
    "locale": _locale,
    "getent": _getent,
}
