"""JSON as jq 1.6 reads it: its messages about bad input, and its way of writing numbers."""

from __future__ import annotations

import re

__all__ = ["JsonProblem", "canonical", "number_text", "scan"]

_BLANK = " \t\r\n"
_MARKS = "[,]{:}"
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|-?\.\d+(?:[eE][-+]?\d+)?|nan(?![a-z])', re.DOTALL
)
_STRTOD = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


class JsonProblem(Exception):
    """Bad input; `str()` is jq's message, `end` is how much of the text was good."""

    def __init__(self, message: str, line: int, column: int, end: int, *, at_end: bool = False) -> None:
        super().__init__(f"{message}{' at EOF' if at_end else ''} at line {line}, column {column}")
        self.end = end


def number_text(value: float) -> str:
    """Write a number as jq 1.6 does: the shortest digits, an exponent for what is very large or small."""
    if value != value:
        return "null"
    if value in (float("inf"), float("-inf")):
        return "-1.7976931348623157e+308" if value < 0 else "1.7976931348623157e+308"
    sign = "-" if value < 0 or str(value).startswith("-") else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0")
    if not digits:
        return f"{sign}0"
    if point <= -4 or point > len(digits) + 15:
        power = point - 1
        body = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
        return f"{sign}{body}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def canonical(text: str) -> str:
    """Write all numbers in JSON text, or in a jq program, as jq 1.6 prints them."""

    def mend(found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith('"'):
            return token
        if token == "nan":
            return "null"
        before = text[found.start() - 1 : found.start()]
        if before and (before.isalnum() or before in "_$@."):
            return token
        return number_text(float(token)) if re.fullmatch(r"-?\d+", token) is None or len(token) > 15 else token

    return _TOKEN.sub(mend, text)


def scan(text: str) -> int:
    """Check a text of JSON values as jq's parser does.

    Returns:
        How many values there are.

    Raises:
        JsonProblem: In jq's words.
    """
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.line, self.column = 1, 0
        self.stack: list[str] = []
        self.sizes: list[int] = []
        self.next: str | None = None
        self.values = 0
        self.good = 0

    def run(self) -> int:
        word, at = "", 0
        while at < len(self.text):
            char = self.text[at]
            self.step(char)
            if char == '"':
                self.word(word)
                word = ""
                self.done(at)
                at = self.string(at)
                continue
            if char in _BLANK or char in _MARKS:
                self.word(word)
                word = ""
                if char in _MARKS:
                    self.mark(char)
                at += 1
                self.done(at)
                continue
            word += char
            at += 1
        self.word(word, at_end=True)
        if self.stack:
            raise self.problem("Unfinished JSON term", at_end=True)
        self.done(at)
        return self.values

    def step(self, char: str) -> None:
        self.column += len(char.encode("utf-8", "surrogatepass"))
        if char == "\n":
            self.line, self.column = self.line + 1, 0

    def problem(self, message: str, *, at_end: bool = False) -> JsonProblem:
        return JsonProblem(message, self.line, self.column, self.good, at_end=at_end)

    def done(self, at: int) -> None:
        if not self.stack and self.next is not None:
            self.next = None
            self.values += 1
            self.good = at

    def word(self, word: str, *, at_end: bool = False) -> None:
        if not word:
            return
        plain = {"t": "true", "f": "false", "n": "null"}.get(word[0])
        if word[0] == "n" and len(word) == 3:
            # Three letters might be `nan`, which is read as a number.
            plain = None if word != "nan" else word
        if plain is not None:
            if word != plain:
                raise self.problem("Invalid literal", at_end=at_end)
        elif not _STRTOD.fullmatch(word):
            raise self.problem("Invalid numeric literal", at_end=at_end)
        self.value("scalar")

    def string(self, at: int) -> int:
        at += 1
        wrong = False
        while at < len(self.text):
            char = self.text[at]
            self.step(char)
            if char == '"':
                if wrong:
                    # Escapes are looked at when the string ends.
                    raise self.problem("Invalid escape")
                self.value("string")
                self.done(at + 1)
                return at + 1
            if char == "\\":
                at += 1
                if at < len(self.text):
                    self.step(self.text[at])
                    wrong = wrong or self.text[at] not in '"\\/bfnrtu'
            at += 1
        raise self.problem("Unfinished string", at_end=True)

    def value(self, kind: str) -> None:
        if self.next is not None:
            raise self.problem("Expected separator between values")
        self.next = kind

    def mark(self, char: str) -> None:
        top = self.stack[-1] if self.stack else ""
        if char in "[{":
            if self.next is not None:
                raise self.problem("Expected separator between values")
            self.stack.append(char)
            self.sizes.append(0)
        elif char == ":":
            if not top:
                raise self.problem("':' not as part of an object")
            if self.next is None:
                raise self.problem("Expected string key before ':'")
            if top != "{":
                raise self.problem("':' not as part of an object" if top == "[" else "':' should follow a key")
            if self.next != "string":
                raise self.problem("Object keys must be strings")
            self.stack.append("key")
            self.sizes.append(0)
            self.next = None
        elif char == ",":
            if self.next is None:
                raise self.problem("Expected value before ','")
            if top == "[":
                self.sizes[-1] += 1
            elif top == "key":
                self.close_key()
            else:
                raise self.problem("Objects must consist of key:value pairs")
            self.next = None
        elif char == "]":
            self.close_array(top)
        else:
            self.close_object(top)

    def close_key(self) -> None:
        self.stack.pop()
        self.sizes.pop()
        self.sizes[-1] += 1

    def close_array(self, top: str) -> None:
        if top != "[":
            raise self.problem("Unmatched ']'")
        if self.next is None and self.sizes[-1]:
            raise self.problem("Expected another array element")
        self.stack.pop()
        self.sizes.pop()
        self.next = "container"

    def close_object(self, top: str) -> None:
        if not top:
            raise self.problem("Unmatched '}'")
        if self.next is not None:
            if top != "key":
                raise self.problem("Objects must consist of key:value pairs")
            self.close_key()
        else:
            if top != "{":
                raise self.problem("Unmatched '}'")
            if self.sizes[-1]:
                raise self.problem("Expected another key-value pair")
        self.stack.pop()
        self.sizes.pop()
        self.next = "container"
