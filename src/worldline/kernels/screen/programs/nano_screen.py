"""How nano 7.2 draws itself: title, text, status, and the two lines of shortcuts."""

from __future__ import annotations

from collections.abc import Sequence

from worldline.kernels.screen.programs.rows import shown_line

__all__ = ["HELP", "draw", "margin_of", "page_start"]

HELP: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "main": (
        ("^G Help", "^O Write Out", "^W Where Is", "^K Cut", "^T Execute", "^C Location", "M-U Undo", "M-A Set Mark"),
        ("^X Exit", "^R Read File", "^\\ Replace", "^U Paste", "^J Justify", "^/ Go To Line", "M-E Redo", "M-6 Copy"),
    ),
    "write": (
        ("^G Help", "M-D DOS Format", "M-A Append", "M-B Backup File"),
        ("^C Cancel", "M-M Mac Format", "M-P Prepend", "^T Browse"),
    ),
    "search": (
        ("^G Help", "M-C Case Sens", "M-B Backwards", "^P Older", "^T Go To Line"),
        ("^C Cancel", "M-R Reg.exp.", "^R Replace", "^N Newer"),
    ),
    "goto": (
        ("^G Help", "^W Begin of Paragr.", "^Y First Line", "^T Go To Text"),
        ("^C Cancel", "^O End of Paragraph", "^V Last Line"),
    ),
    "yesno": ((" Y Yes",), (" N No", "^C Cancel")),
}
"""The two lines of shortcuts, by what nano is at."""


def page_start(column: int, room: int) -> int:
    """The first column shown of a line whose cursor is in `column`."""
    if column == 0 or column + 2 < room:
        return 0
    return column - 6 - (column - 6) % (room - 8)


def margin_of(count: int) -> int:
    """Columns that line numbers take in a text of so many lines."""
    return max(len(str(count)), 2) + 1


def draw(
    *,
    size: tuple[int, int],
    title: str,
    lines: Sequence[str],
    top: int,
    cursor: tuple[int, int],
    numbers: bool,
    status: str,
    prompt: str | None,
    shortcuts: str,
) -> str:
    """Return what draws the whole screen.

    Args:
        size: Columns and lines.
        title: Name of the buffer, with the star of a modified one.
        lines: The text.
        top: Index of the line in the first row.
        cursor: Line and column of the cursor, from 0.
        numbers: Whether line numbers are shown.
        status: The message in the status line.
        prompt: What is asked there instead.
        shortcuts: Key into :data:`HELP`.
    """
    columns, height = size
    name = title.removesuffix(" *")
    rows = ["  GNU nano 7.2".ljust(15 + (columns - 25 - len(name)) // 2) + title]
    margin = margin_of(len(lines)) if numbers else 0
    for number in range(top, top + height - 4):
        if number >= len(lines):
            rows.append("")
            continue
        label = f"{number + 1:>{margin - 1}} " if numbers else ""
        start = page_start(cursor[1], columns - margin) if number == cursor[0] else 0
        rows.append(label + _part(shown_line(lines[number]), start, columns - margin))
    if prompt is not None:
        rows.append(prompt)
    else:
        rows.append(" " * ((columns - len(status) - 4) // 2) + f"[ {status} ]" if status else "")
    rows += _shortcuts(shortcuts, columns)
    body = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(rows, 1) if row)
    row = cursor[0] - top + 2
    column = cursor[1] - page_start(cursor[1], columns - margin) + margin + 1
    if prompt is not None:
        row, column = height - 2, len(prompt) + 1
    return f"\x1b[H\x1b[2J{body}\x1b[{row};{column}H"


def _part(text: str, start: int, room: int) -> str:
    shown = text[start : start + room]
    if start:
        shown = "<" + shown[1:]
    if len(text) > start + room:
        shown = shown[:-1] + ">"
    return shown


def _shortcuts(kind: str, columns: int) -> list[str]:
    first, second = HELP[kind]
    if kind == "yesno":
        return [first[0], f"{second[0]:<16}{second[1]}"]
    count = {"main": 8, "write": 4, "search": 5, "goto": 4}[kind]
    width = columns // count
    return ["".join(word.ljust(width) for word in words).rstrip() for words in (first, second)]
