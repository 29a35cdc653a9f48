"""Commands that run another one: `timeout nohup nice ionice stdbuf setsid`, and `sync`."""

from __future__ import annotations

import re

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import quote, shell_quote, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, missing_operand, parse
from worldline.kernels.shell.builtins.system.running import refusal

__all__ = ["COMMANDS"]

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIGNALS = {"TERM": 15, "KILL": 9, "INT": 2, "HUP": 1, "QUIT": 3, "USR1": 10, "USR2": 12}


def _run(call: Call, words: list[str], *, prefix: str, quoted: str) -> Result:
    return _executed(call, words, f"{prefix}: failed to run command {quoted}")


def _executed(call: Call, words: list[str], failure: str) -> Result:
    """Run a command; of one that cannot be run the wrapper says `failure` and why."""
    result = call.run(words, stdin=call.stdin)
    reason = refusal(result)
    if reason is not None:
        return Result(stderr=f"{failure}: {reason}\n", status=result.status)
    return result


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", text)
    if match is None:
        raise UsageError(f"invalid time interval {quote(text)}")
    return float(match.group(1)) * _UNITS[match.group(2)]


@command(usage_status=125)
def _timeout(call: Call) -> Result:
    options, words = parse(
        call,
        "k:s:v",
        "foreground kill-after= preserve-status signal= verbose",
        same={"--kill-after": "-k", "--signal": "-s", "--verbose": "-v"},
        permute=False,
    )
    given = dict(options)
    if len(words) < 2:
        return Result(stderr="Try 'timeout --help' for more information.\n", status=125)
    if "-k" in given:
        _seconds(given["-k"])
    name = given.get("-s", "TERM").removeprefix("SIG")
    signal = _SIGNALS.get(name) or (int(name) if name.isdigit() and 0 < int(name) < 65 else None)
    if signal is None:
        raise UsageError(f"{quote(given['-s'])}: invalid signal")
    limit = _seconds(words[0])
    if words[1] == "sleep" and len(words) > 2 and limit:
        try:
            wanted = sum(_seconds(word) for word in words[2:])
        except UsageError:
            wanted = 0.0
        if wanted > limit:
            return _timed_out(call, given, limit, signal)
    if words[1] in ("yes", "watch") or (words[1] == "tail" and {"-f", "-F"} & set(words)):
        call.unknown(f"what {words[1]} writes in {words[0]} seconds")
    return _run(call, words[1:], prefix="timeout", quoted=quote(words[1]))


def _timed_out(call: Call, given: dict[str, str], limit: float, signal: int) -> Result:
    if signal == 9 or "-v" in given:
        call.unknown("what is said about the end of the command")
    call.run(["sleep", f"{limit:g}"])
    return Result(status=128 + signal if "--preserve-status" in given else 124)


@command(usage_status=125)
def _nohup(call: Call) -> Result:
    _, words = parse(call, permute=False)
    if not words:
        raise missing_operand()
    return _run(call, words, prefix="nohup", quoted=shell_quote(words[0]))


@command(usage_status=125)
def _nice(call: Call) -> Result:
    argv = list(call.argv)
    if argv and re.fullmatch(r"--?\d+", argv[0]):
        argv = ["-n", argv[0][1:], *argv[1:]]
    options, words = parse(call, "n:", "adjustment=", same={"--adjustment": "-n"}, permute=False, argv=argv)
    for _, value in options:
        if not re.fullmatch(r"[-+]?\d+", value):
            raise UsageError(f"invalid adjustment {quote(value)}", hint=False)
        if int(value) < 0:
            call.unknown("a negative niceness")
    if not words:
        if options:
            raise UsageError("a command must be given with an adjustment")
        return Result("0\n")
    if words == ["nice"]:
        return Result(f"{min(19, int(options[-1][1]) if options else 10)}\n")
    return _executed(call, words, f"nice: {quote(words[0])}")


@command(usage_status=125)
def _stdbuf(call: Call) -> Result:
    options, words = parse(
        call,
        "i:o:e:",
        "input= output= error=",
        same={"--input": "-i", "--output": "-o", "--error": "-e"},
        permute=False,
    )
    if not words:
        raise missing_operand()
    if not options:
        raise UsageError("you must specify a buffering mode option")
    return _run(call, words, prefix="stdbuf", quoted=quote(words[0]))


@command()
def _setsid(call: Call) -> Result:
    options, words = parse(call, "cfw", "ctty fork wait", permute=False)
    if not words or any(name in ("-f", "--fork") for name, _ in options):
        call.unknown("setsid without a command, or with --fork")
    return _executed(call, words, f"setsid: failed to execute {words[0]}")


@command()
def _ionice(call: Call) -> Result:
    _, words = parse(call, "c:n:p:t", "class= classdata= pid= ignore", permute=False)
    if not words:
        call.unknown("the priority of processes")
    return _executed(call, words, f"ionice: failed to execute {words[0]}")


@command()
def _sync(call: Call) -> Result:
    _, operands = parse(call, "df", "data file-system")
    err = ""
    for operand in operands:
        try:
            call.files.stat(operand)
        except OSError as error:
            err += f"sync: error opening {shell_quote(operand)}: {strerror(error)}\n"
    return Result(stderr=err, status=1 if err else 0)


COMMANDS: dict[str, Builtin] = {
    "timeout": _timeout,
    "nohup": _nohup,
    "nice": _nice,
    "stdbuf": _stdbuf,
    "setsid": _setsid,
    "ionice": _ionice,
    "sync": _sync,
}
