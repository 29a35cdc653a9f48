"""`join`: relational join of two sorted files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from worldline.kernels.shell.builtins.base import Builtin, Call, Result
from worldline.kernels.shell.builtins.shared.options import UsageError, command, parse
from worldline.kernels.shell.builtins.shared.textio import Output, curly, is_c_locale, records

__all__ = ["COMMANDS"]

_Spec = tuple[int, int]


@dataclass
class _Plan:
    call: Call
    keys: list[int] = field(default_factory=lambda: [0, 0])
    separator: bytes | None = None
    empty: bytes = b""
    unpaired: set[int] = field(default_factory=set)
    paired: bool = True
    fold: bool = False
    order: list[_Spec] | None = None
    auto: bool = False
    check: str = "default"
    header: bool = False
    end: bytes = b"\n"
    counts: list[int] = field(default_factory=lambda: [0, 0])


@command()
def join(call: Call) -> Result:
    """Join lines of two files on a common field."""
    options, names = parse(
        call, "1:2:a:e:ij:o:t:v:z", ("ignore-case", "check-order", "nocheck-order", "zero-terminated", "header"),
        same={"--ignore-case": "-i", "--zero-terminated": "-z"},
    )  # fmt: skip
    plan = _Plan(call)
    specs: list[str] = []
    for name, value in options:
        _option(plan, name, value, specs)
    if not names:
        raise UsageError("missing operand")
    if len(names) == 1:
        raise UsageError(f"missing operand after {curly(call, names[0])}")
    if len(names) > 2:
        if specs:
            call.unknown("a list of fields in several words")
        raise UsageError(f"extra operand {curly(call, names[2])}")
    if not is_c_locale(call):
        call.unknown("the order of another locale")
    if names == ["-", "-"]:
        raise UsageError("both files cannot be standard input", hint=False)
    if specs:
        plan.order = [] if plan.order is None else plan.order
        plan.order += [_spec(call, part) for spec in specs for part in re.split("[, \t]", spec) if part]
    out = Output(call)
    sides = []
    for name in names:
        data = out.open(name, directory="!read error: Is a directory")
        if data is None:
            return out.result()
        sides.append([_split(line, plan.separator) for line in records(data, plan.end)])
        plan.counts[len(sides) - 1] = len(sides[-1][0]) if sides[-1] else 0
    raw = [records(out.open(name) or b"", plan.end) for name in names] if "-" not in names else None
    _Join(plan, out, names, sides, raw).run()
    return out.result()


def _option(plan: _Plan, name: str, value: str, specs: list[str]) -> None:
    call = plan.call
    if name in ("-1", "-2", "-j"):
        if not value.isdigit() or int(value) == 0:
            raise UsageError(f"invalid field number: {curly(call, value)}", hint=False)
        for side in (0, 1) if name == "-j" else (int(name[1]) - 1,):
            plan.keys[side] = int(value) - 1
    elif name in ("-a", "-v"):
        if value not in ("1", "2"):
            raise UsageError(f"invalid field number: {curly(call, value)}", hint=False)
        plan.unpaired.add(int(value) - 1)
        plan.paired = plan.paired and name == "-a"
    elif name == "-e":
        plan.empty = value.encode()
    elif name == "-i":
        plan.fold = True
    elif name == "-o":
        if value == "auto":
            plan.auto = True
        else:
            specs.append(value)
    elif name == "-t":
        if value == "":
            plan.separator = b"\n"
        elif len(value.encode()) > 1 and value != "\\0":
            raise UsageError(f"multi-character tab {curly(call, value)}", hint=False)
        else:
            plan.separator = b"\0" if value == "\\0" else value.encode()
    elif name == "-z":
        plan.end = b"\0"
    elif name == "--header":
        plan.header = True
    else:
        plan.check = name[2:]


def _spec(call: Call, text: str) -> _Spec:
    if text == "0":
        return -1, 0
    found = re.fullmatch(r"([12])\.([1-9]\d*)", text)
    if found is None and re.match(r"[^0]", text) and text[:1] not in "12":
        raise UsageError(f"invalid file number in field spec: {curly(call, text)}", hint=False)
    if found is None:
        raise UsageError(f"invalid field specifier: {curly(call, text)}", hint=False)
    return int(found[1]) - 1, int(found[2]) - 1


def _split(line: bytes, separator: bytes | None) -> list[bytes]:
    if separator is None:
        return re.findall(rb"[^ \t\n]+", line)
    return [line] if separator == b"\n" else line.split(separator)


class _Join:
    def __init__(
        self, plan: _Plan, out: Output, names: list[str], sides: list[list[list[bytes]]], raw: list[list[bytes]] | None
    ) -> None:
        self.plan, self.out, self.names, self.sides, self.raw = plan, out, names, sides, raw
        self.warned = [False, False]
        self.unpaired_seen = False
        self.stopped = False

    def key(self, side: int, index: int) -> bytes:
        fields = self.sides[side][index]
        place = self.plan.keys[side]
        value = fields[place] if place < len(fields) else b""
        return value.upper() if self.plan.fold else value

    def run(self) -> None:
        left, right = self.sides
        i = j = 0
        if self.plan.header and (left or right):
            self.emit(left[0] if left else [], right[0] if right else [])
            i, j = min(1, len(left)), min(1, len(right))
        while i < len(left) and j < len(right) and not self.stopped:
            a, b = self.key(0, i), self.key(1, j)
            if a < b:
                self.lonely(0, i)
                i = self.advance(0, i)
            elif a > b:
                self.lonely(1, j)
                j = self.advance(1, j)
            else:
                i, j = self.match(i, j)
        for side, at in ((0, i), (1, j)):
            while at < len(self.sides[side]) and not self.stopped:
                self.lonely(side, at)
                at = self.advance(side, at)
        if any(self.warned) and not self.stopped:
            self.out.fail("input is not in sorted order")

    def match(self, i: int, j: int) -> tuple[int, int]:
        start_i, start_j, key = i, j, self.key(0, i)
        while True:
            i = self.advance(0, i)
            if self.stopped:
                return i, j
            if i >= len(self.sides[0]) or self.key(0, i) != key:
                break
        while True:
            j = self.advance(1, j)
            if self.stopped:
                return i, j
            if j >= len(self.sides[1]) or self.key(1, j) != key:
                break
        if self.plan.paired:
            for a in range(start_i, i):
                for b in range(start_j, j):
                    self.emit(self.sides[0][a], self.sides[1][b])
        return i, j

    def lonely(self, side: int, index: int) -> None:
        self.unpaired_seen = True
        if side in self.plan.unpaired:
            fields = self.sides[side][index]
            self.emit(*((fields, None) if side == 0 else (None, fields)))

    def advance(self, side: int, index: int) -> int:
        """Go to the next line; complain about disorder where GNU would."""
        index += 1
        if index >= len(self.sides[side]) or self.plan.check == "nocheck-order" or self.warned[side]:
            return index
        if self.plan.header and index == 1:
            return index
        checked = self.plan.check == "check-order" or self.unpaired_seen
        if checked and self.key(side, index) < self.key(side, index - 1):
            if self.raw is None:
                self.plan.call.unknown("disorder in standard input")
            line = self.raw[side][index].decode("utf-8", "replace")
            self.out.fail(f"{self.names[side]}:{index + 1}: is not sorted: {line}")
            self.warned[side] = True
            self.stopped = self.plan.check == "check-order"
        return index

    def emit(self, left: list[bytes] | None, right: list[bytes] | None) -> None:
        plan = self.plan
        sides = (left, right)
        order = plan.order
        if order is None and plan.auto:
            order = [(-1, 0)] + [
                (side, place) for side in (0, 1) for place in range(plan.counts[side]) if place != plan.keys[side]
            ]
        if order is None:
            key = self.cell(sides, 0 if left is not None else 1, None)
            cells = [key]
            for side in (0, 1):
                fields = sides[side] or []
                cells += [value for place, value in enumerate(fields) if place != plan.keys[side]]
            cells = [cells[0], *(cell or plan.empty for cell in cells[1:])]
        else:
            cells = [
                self.cell(sides, side if side >= 0 else (0 if left is not None else 1), None if side < 0 else place)
                for side, place in order
            ]
        joiner = b" " if plan.separator in (None, b"\n") else plan.separator or b" "
        self.out.write(joiner.join(cells) + plan.end)

    def cell(self, sides: tuple[list[bytes] | None, list[bytes] | None], side: int, place: int | None) -> bytes:
        fields = sides[side]
        index = self.plan.keys[side] if place is None else place
        if fields is None or index >= len(fields):
            return self.plan.empty
        return fields[index] or self.plan.empty


COMMANDS: dict[str, Builtin] = {"join": join}
