"""The commands `split` and `csplit`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.messages import quote, shell_quote, shell_quote_if_needed, strerror
from worldline.kernels.shell.builtins.shared.options import UsageError, command, extra_operand, missing_operand, parse
from worldline.kernels.shell.builtins.shared.patterns import PatternError, basic_regex
from worldline.kernels.shell.builtins.shared.sizes import SizeError, parse_size
from worldline.kernels.shell.builtins.shared.textio import escape, read

__all__ = ["COMMANDS"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST = 676


@dataclass
class _Names:
    """File names of `split`: prefix, counter, additional suffix."""

    prefix: str
    alphabet: str = _LETTERS
    length: int = 0
    """0: two characters, longer ones once those run out."""
    start: int = 0
    extra: str = ""

    def name(self, call: Call, index: int) -> str:
        number, width, base = self.start + index, self.length or 2, len(self.alphabet)
        if not self.length and number >= base * (base - 1):
            call.unknown("so many output files")
        if number >= base**width:
            raise UsageError("output file suffixes exhausted", hint=False)
        text = ""
        for _ in range(width):
            number, digit = divmod(number, base)
            text = self.alphabet[digit] + text
        return self.prefix + text + self.extra


def _lines(data: bytes, separator: bytes) -> list[bytes]:
    parts = data.split(separator)
    whole = [part + separator for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _by_lines(data: bytes, count: int, separator: bytes) -> Iterator[bytes]:
    lines = _lines(data, separator)
    for start in range(0, len(lines), count):
        yield b"".join(lines[start : start + count])


def _by_line_bytes(data: bytes, size: int, separator: bytes) -> Iterator[bytes]:
    """Pieces of at most `size` bytes that end with a line, unless a line alone is longer."""
    piece = b""
    for line in _lines(data, separator):
        if len(piece) + len(line) > size and piece:
            yield piece
            piece = b""
        while len(line) > size:
            yield line[:size]
            line = line[size:]
        piece += line
    if piece:
        yield piece


def _chunks(data: bytes, kind: str, count: int, separator: bytes) -> list[bytes]:
    size = max(1, len(data) // count)
    if kind == "":
        return [data[i * size : (i + 1) * size if i < count - 1 else len(data)] for i in range(count)]
    chunks = [b""] * count
    position = 0
    for index, line in enumerate(_lines(data, separator)):
        place = index % count if kind == "r" else min(count - 1, position // size)
        chunks[place] += line
        position += len(line)
    return chunks


_SPLIT_SAME = {
    "--suffix-length": "-a",
    "--bytes": "-b",
    "--line-bytes": "-C",
    "--elide-empty-files": "-e",
    "--lines": "-l",
    "--number": "-n",
    "--separator": "-t",
    "--unbuffered": "-u",
}


@command()
def _split(call: Call) -> Result:
    argv = [f"-l{word[1:]}" if re.fullmatch(r"-\d+", word) else word for word in call.argv]
    options, operands = parse(
        call,
        "a:b:C:del:n:t:ux",
        "bytes= lines= line-bytes= number= elide-empty-files unbuffered suffix-length= additional-suffix="
        " numeric-suffixes=? hex-suffixes=? filter= verbose separator=",
        same=_SPLIT_SAME,
        argv=argv,
    )
    if len(operands) > 2:
        raise extra_operand(operands[2])
    given = dict(options)
    how = [(name, value) for name, value in options if name in ("-l", "-b", "-C", "-n")]
    if len({name for name, _ in how}) > 1:
        raise UsageError("cannot split in more than one way")
    if "--filter" in given:
        call.unknown("--filter")
    names = _names(given, operands[1] if len(operands) == 2 else "x")
    separator = _separator(given.get("-t", "\n"))
    kind, amount = how[-1] if how else ("-l", "1000")
    number = _amount(call, kind, amount) if kind != "-n" else 0
    source = operands[0] if operands else "-"
    try:
        data = read(call, source)
    except IsADirectoryError:
        raise UsageError(f"{shell_quote_if_needed(source, colon=True)}: Is a directory", hint=False) from None
    except OSError as error:
        raise UsageError(f"cannot open {shell_quote(source)} for reading: {strerror(error)}", hint=False) from error
    if kind == "-n":
        return _numbered(call, given, names, data, amount, separator)
    if kind == "-l":
        return _write(call, given, names, _by_lines(data, number, separator))
    if kind == "-C":
        return _write(call, given, names, _by_line_bytes(data, number, separator))
    return _write(call, given, names, (data[start : start + number] for start in range(0, len(data), number)))


def _names(given: dict[str, str], prefix: str) -> _Names:
    names = _Names(prefix, extra=given.get("--additional-suffix", ""))
    if "-a" in given:
        if not given["-a"].isdigit():
            raise UsageError(f"invalid suffix length: {quote(given['-a'])}", hint=False)
        names.length = int(given["-a"])
    for option, alphabet in (("-d", "0123456789"), ("--numeric-suffixes", "0123456789"), ("-x", "0123456789abcdef"),
                             ("--hex-suffixes", "0123456789abcdef")):  # fmt: skip
        if option in given:
            names.alphabet = alphabet
            names.start = int(given[option], len(alphabet)) if given[option] else 0
    if "/" in names.extra:
        raise UsageError(f"invalid suffix {quote(names.extra)}, contains directory separator")
    return names


def _separator(text: str) -> bytes:
    if text == "\\0":
        return b"\0"
    if len(text.encode()) != 1:
        raise UsageError(f"multi-character separator {quote(text)}" if text else "empty record separator", hint=False)
    return text.encode()


def _amount(call: Call, kind: str, text: str) -> int:
    what = "lines" if kind == "-l" else "bytes"
    try:
        number = parse_size(text)
    except SizeError:
        raise UsageError(f"invalid number of {what}: {quote(text)}", hint=False) from None
    if number == 0:
        raise UsageError(f"invalid number of {what}: {quote(text)}: Numerical result out of range", hint=False)
    return number


def _numbered(call: Call, given: dict[str, str], names: _Names, data: bytes, text: str, separator: bytes) -> Result:
    match = re.fullmatch(r"(?:([lr])/)?(?:(\d+)/)?(\d+)", text)
    if match is None or int(match.group(3)) == 0:
        shown = text.rpartition("/")[2]
        reason = ": Numerical result out of range" if match is not None else ""
        raise UsageError(f"invalid number of chunks: {quote(shown)}{reason}", hint=False)
    kind, single, count = match.group(1) or "", match.group(2), int(match.group(3))
    if count > _MOST:
        call.unknown("so many output files")
    chunks = _chunks(data, kind, count, separator)
    if single is not None:
        if not 1 <= int(single) <= count:
            raise UsageError(f"invalid chunk number: {quote(single)}", hint=False)
        return Result(escape(chunks[int(single) - 1]))
    if "-e" in given:
        chunks = [chunk for chunk in chunks if chunk]
    return _write(call, given, names, iter(chunks))


def _write(call: Call, given: dict[str, str], names: _Names, pieces: Iterator[bytes]) -> Result:
    out = ""
    for index, piece in enumerate(pieces):
        if index > _MOST:
            call.unknown("so many output files")
        name = names.name(call, index)
        if "--verbose" in given:
            out += f"creating file {shell_quote(name)}\n"
        try:
            call.files.write(name, piece)
        except OSError as error:
            return Result(out, f"split: {name}: {strerror(error)}\n", 1)
    return Result(out)


# --- csplit


class _CsplitError(Exception):
    pass


@dataclass
class _Pattern:
    text: str
    regex: re.Pattern[str] | None = None
    skip: bool = False
    offset: int = 0
    line: int = 0
    repeat: int | None = 0
    """How often it is applied again; None: as long as it matches."""


def _patterns(call: Call, words: list[str]) -> list[_Pattern]:
    found: list[_Pattern] = []
    for word in words:
        repeat = re.fullmatch(r"\{(\d+|\*)\}", word)
        if repeat and found:
            found[-1].repeat = None if repeat.group(1) == "*" else int(repeat.group(1))
            continue
        match = re.fullmatch(r"([/%])(.*)\1([-+]?\d+)?", word, re.DOTALL)
        if match:
            try:
                regex = basic_regex(match.group(2))
            except PatternError:
                call.unknown(f"the pattern {word}")
            found.append(_Pattern(word, regex, match.group(1) == "%", int(match.group(3) or 0)))
        elif word.isdigit():
            if int(word) == 0:
                raise UsageError(f"{word}: line number must be greater than zero", hint=False)
            found.append(_Pattern(word, line=int(word)))
        else:
            raise UsageError(f"{quote(word)}: invalid pattern", hint=False)
    return found


class _Csplit:
    def __init__(self, lines: list[bytes], *, suppress: bool) -> None:
        self.lines = lines
        self.suppress = suppress
        self.done = 0
        """Lines that were written or skipped."""
        self.current = 0
        """The line (1-based) that the last pattern stopped at."""
        self.pieces: list[bytes] = []

    def apply(self, pattern: _Pattern, round_number: int) -> None:
        if pattern.regex is None:
            wanted = pattern.line * (round_number + 1)
            if wanted > len(self.lines):
                again = f" on repetition {round_number}" if round_number else ""
                self.pieces.append(b"".join(self.lines[self.done :]))
                raise _CsplitError(f"{quote(pattern.text)}: line number out of range{again}")
            self._cut(wanted - 1, skip=False)
            self.current = wanted
            return
        position = self.current
        while position < len(self.lines):
            text = self.lines[position].rstrip(b"\n").decode("utf-8", "replace")
            if pattern.regex.search(text):
                break
            position += 1
        else:
            if pattern.repeat is None and round_number > 0:
                raise StopIteration
            again = f" on repetition {round_number}" if round_number else ""
            if not pattern.skip:
                self.pieces.append(b"".join(self.lines[self.done :]))
            raise _CsplitError(f"{quote(pattern.text)}: match not found{again}")
        target = position + pattern.offset
        if not 0 <= target <= len(self.lines) or target < self.done:
            raise _CsplitError(f"{quote(pattern.text)}: line number out of range")
        self._cut(target, skip=pattern.skip)
        self.current = position + 1 if pattern.offset <= 0 else target + 1

    def _cut(self, target: int, *, skip: bool) -> None:
        if not skip:
            self.pieces.append(b"".join(self.lines[self.done : target]))
        self.done = target + self.suppress


@command()
def _csplit(call: Call) -> Result:
    options, operands = parse(
        call,
        "f:b:kn:sqz",
        "digits= quiet silent keep-files elide-empty-files prefix= suffix-format= suppress-matched",
        same={
            "--digits": "-n",
            "--quiet": "-s",
            "--silent": "-s",
            "-q": "-s",
            "--keep-files": "-k",
            "--elide-empty-files": "-z",
            "--prefix": "-f",
            "--suffix-format": "-b",
        },
    )
    given = dict(options)
    if len(operands) < 2:
        raise missing_operand(operands[0] if operands else None)
    shape = given.get("-b")
    if shape is not None and not re.fullmatch(r"[^%]*%(0?\d*)[di][^%]*", shape):
        call.unknown(f"--suffix-format={shape}")
    patterns = _patterns(call, operands[1:])
    try:
        lines = _lines(read(call, operands[0]), b"\n")
    except OSError as error:
        message = f"cannot open {shell_quote(operands[0])} for reading: {strerror(error)}"
        raise UsageError(message, hint=False) from error
    run, error_text = _Csplit(lines, suppress="--suppress-matched" in given), ""
    try:
        _apply_all(run, patterns)
        run.pieces.append(b"".join(lines[run.done :]))
    except _CsplitError as error:
        error_text = f"csplit: {error}\n"
    pieces = [piece for piece in run.pieces if piece or "-z" not in given]
    digits = int(given.get("-n", "2"))
    keep = not error_text or "-k" in given
    for index, piece in enumerate(pieces):
        name = given.get("-f", "xx") + (f"{index:0{digits}d}" if shape is None else shape % index)
        call.files.write(name, piece)
        if not keep:
            call.files.remove(name)
    sizes = "" if "-s" in given else "".join(f"{len(piece)}\n" for piece in pieces)
    return Result(sizes, error_text, 1 if error_text else 0)


def _apply_all(run: _Csplit, patterns: list[_Pattern]) -> None:
    for pattern in patterns:
        count = 0
        while pattern.repeat is None or count <= pattern.repeat:
            try:
                run.apply(pattern, count)
            except StopIteration:
                return
            count += 1


COMMANDS: dict[str, Builtin] = {"split": _split, "csplit": _csplit}
