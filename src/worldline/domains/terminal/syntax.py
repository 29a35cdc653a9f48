"""What a text typed at bash means as a whole: is it complete, and which commands does it consist of.

Only so much is read as the terminal needs: where bash would ask for another line, and the lists, loops and conditions
that can be gone through command by command when time passes inside them. What is inside a simple command, and every
syntax error, is left to the shell kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NoReturn

from worldline.domains.terminal.commands import AndOr, Case, If, List, Loop, Node, Other, Pipe, Simple

__all__ = ["Fault", "Incomplete", "parse"]


class Incomplete(Exception):
    """More lines are needed.

    Args:
        kind: What is open: `'` `"` `` ` `` (a quote), `(` (a substitution), `array`, `heredoc`, `backslash`, or
            `command`.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Fault(Exception):
    """The text is no command; the shell says why."""


_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_REDIRECT = re.compile(
    r"(?:\d+|\{[A-Za-z_]\w*\})?(?:<<<|<<-|<<|<>|<&|>>|>&|>\||<(?!\()|>(?!\())(?:[\d-]+(?![\w./]))?|&>>|&>"
)
_OPERATOR = re.compile(r";;&|;;|;&|&&|\|\||\|&|[|&;()\n]")
_PLAIN = re.compile(r"[^\s|&;()<>'\"\\`$=\[]+")
_RESERVED = frozenset(("then", "else", "elif", "fi", "do", "done", "esac", "}", "in"))
_DOCUMENT = re.compile(r"\d*<<-?")


def parse(text: str) -> List:
    """Read what was typed so far, without the last newline.

    Raises:
        Incomplete: bash would ask for another line.
        Fault: It cannot be a command.
    """
    reader = _Reader(text + "\n")
    found = reader.list(frozenset(), top=True)
    if reader.place < len(reader.text):
        raise Fault
    return found


class _Reader:
    """A recursive descent over the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.open_documents: list[tuple[int, str, bool]] = []
        """Where the operator stands, the delimiter, and whether tabs are stripped."""
        self.documents: list[tuple[int, str]] = []
        """Where the operator stands, and the body with its delimiter."""

    # --- tokens

    def blanks(self) -> None:
        """Skip blanks, joined lines and comments."""
        found = _BLANK.match(self.text, self.place)
        assert found is not None
        if found.end() > self.place or self.place == 0 or self.text[self.place - 1] in "\n;&|()":
            self.place = found.end()
            if self.text.startswith("#", self.place):
                self.place = self.text.index("\n", self.place)
        if self.place >= len(self.text) and found[0].endswith("\\\n"):
            raise Incomplete("backslash")

    def peek(self) -> str:
        """The next operator, or empty at a word or the end."""
        self.blanks()
        if self.place >= len(self.text):
            return ""
        if _REDIRECT.match(self.text, self.place):
            return ""
        found = _OPERATOR.match(self.text, self.place)
        return found[0] if found else ""

    def take(self, operator: str) -> None:
        """Pass over an operator; a newline brings the bodies of here-documents."""
        self.place += len(operator)
        if operator == "\n":
            self.bodies()

    def bodies(self) -> None:
        for place, delimiter, stripped in self.open_documents:
            start = self.place
            while True:
                end = self.text.find("\n", self.place)
                if end < 0:
                    raise Incomplete("heredoc")
                line = self.text[self.place : end]
                self.place = end + 1
                if (line.lstrip("\t") if stripped else line) == delimiter:
                    break
            self.documents.append((place, self.text[start : self.place]))
        self.open_documents.clear()

    def word(self) -> str:
        """Read a word as typed; empty where there is none."""
        start = self.place
        text = self.text
        while self.place < len(text):
            letter = text[self.place]
            if letter in " \t\n|&;)":
                break
            if letter == "(":
                if text[self.place - 1] == "=" and self.place > start:
                    self.enclosed("(", ")")
                    continue
                break
            if letter in "<>":
                if text.startswith("(", self.place + 1):
                    self.place += 1
                    self.enclosed("(", ")")
                    continue
                break
            self.piece(letter)
        return text[start : self.place]

    def piece(self, letter: str) -> None:
        """Pass over one quoted or expanded stretch, or a plain letter."""
        text = self.text
        if letter == "'":
            self.until("'")
        elif letter == '"':
            self.double()
        elif letter == "`":
            self.until("`", escapes=True)
        elif letter == "\\":
            if self.place + 2 >= len(text) and text.endswith("\\\n"):
                raise Incomplete("backslash")
            self.place += 2
        elif letter == "$" and text[self.place + 1 : self.place + 2] in ("(", "{", "'"):
            opened = text[self.place + 1]
            self.place += 1
            if opened == "'":
                self.until("'", escapes=True)
            else:
                self.enclosed(opened, ")" if opened == "(" else "}")
        else:
            found = _PLAIN.match(text, self.place)
            self.place = found.end() if found else self.place + 1

    def until(self, end: str, *, escapes: bool = False) -> None:
        text, place = self.text, self.place + 1
        while place < len(text):
            if escapes and text[place] == "\\":
                place += 2
            elif text[place] == end:
                self.place = place + 1
                return
            else:
                place += 1
        raise Incomplete(end)

    def double(self) -> None:
        text = self.text
        self.place += 1
        while self.place < len(text):
            letter = text[self.place]
            if letter == '"':
                self.place += 1
                return
            if letter == "\\":
                self.place += 2
            elif letter == "`":
                self.until("`", escapes=True)
            elif letter == "$" and text[self.place + 1 : self.place + 2] in ("(", "{"):
                opened = text[self.place + 1]
                self.place += 1
                self.enclosed(opened, ")" if opened == "(" else "}")
            else:
                self.place += 1
        raise Incomplete('"')

    def enclosed(self, opened: str, closed: str) -> None:
        """Pass over a bracket and what is in it."""
        text, depth, opening = self.text, 0, self.place
        while self.place < len(text):
            letter = text[self.place]
            if letter == opened:
                depth += 1
                self.place += 1
            elif letter == closed:
                depth -= 1
                self.place += 1
                if not depth:
                    return
            elif letter == "#" and opened == "(" and text[self.place - 1] in " \t\n;":
                end = text.find("\n", self.place)
                self.place = end if end >= 0 else len(text)
            elif letter in "'\"`\\$":
                if letter == "'" and opened == "{":
                    self.place += 1
                else:
                    self.piece(letter)
            else:
                self.place += 1
        raise Incomplete("array" if text[opening - 1 : opening] == "=" else "(" if opened == "(" else "command")

    def missing(self) -> NoReturn:
        """Something else was expected here."""
        if self.place >= len(self.text):
            raise Incomplete("command")
        raise Fault

    def reserved(self) -> str:
        """The word at this place, where it could be a reserved one."""
        self.blanks()
        found = re.compile(r"[a-z]+|[{}!]|\[\[").match(self.text, self.place)
        if found is None or not re.match(r"[\s;&|()<>]|\Z", self.text[found.end() : found.end() + 1]):
            return ""
        return found[0]

    def expect(self, word: str) -> None:
        """Pass over a reserved word, after newlines."""
        self.newlines()
        if self.reserved() != word:
            self.missing()
        self.place += len(word)

    def newlines(self) -> None:
        while self.peek() == "\n":
            self.take("\n")

    def source(self, start: int) -> str:
        """What was read since a place, with the bodies of the here-documents named in it."""
        end = self.place
        text = self.text[start:end].rstrip()
        bodies = [body for place, body in self.documents if start <= place < end]
        if not bodies or any(body in text for body in bodies):
            return text
        return text + "\n" + "".join(bodies).rstrip("\n")

    # --- grammar

    def list(self, stops: frozenset[str], *, top: bool = False) -> List:
        """Read commands up to a stop word or bracket, or up to the end of the line at the top."""
        items: list[AndOr] = []
        self.blanks()
        start = self.place
        while True:
            if not top:
                self.newlines()
            operator = self.peek()
            if top and operator == "\n":
                self.take("\n")
                if self.place >= len(self.text):
                    break
                continue
            if self.place >= len(self.text):
                if top:
                    break
                raise Incomplete("command")
            if operator == ")" or (not operator and self.reserved() in stops):
                break
            if operator and operator != "(":
                if operator in (";;", ";&", ";;&") and ";;" in stops:
                    break
                raise Fault
            items.append(self.and_or())
        if top and self.open_documents:
            raise Incomplete("heredoc")
        return List(self.source(start), tuple(items))

    def and_or(self) -> AndOr:
        self.blanks()
        start = self.place
        parts: list[tuple[str, Node]] = [("", self.pipeline())]
        while (operator := self.peek()) in ("&&", "||"):
            self.take(operator)
            self.newlines()
            if self.place >= len(self.text):
                raise Incomplete("command")
            parts.append((operator, self.pipeline()))
        end = self.place
        background = operator == "&"
        if operator in (";", "&"):
            self.take(operator)
        elif operator == "\n":
            self.take("\n")
        elif operator not in (")", ";;", ";&", ";;&", "") or (operator == "" and self.place < len(self.text)):
            raise Fault
        text = self.text[start:end].rstrip()
        bodies = [body for place, body in self.documents if start <= place < end]
        if bodies and not any(body in text for body in bodies):
            text += "\n" + "".join(bodies).rstrip("\n")
        return AndOr(text, tuple(_with_documents(self, parts)), background)

    def pipeline(self) -> Node:
        self.blanks()
        start, modified = self.place, False
        while self.reserved() in ("!", "time"):
            self.place += len(self.reserved())
            modified = True
        parts = [self.command()]
        while (operator := self.peek()) in ("|", "|&"):
            self.take(operator)
            self.newlines()
            if self.place >= len(self.text):
                raise Incomplete("command")
            parts.append(self.command())
        if len(parts) == 1 and not modified:
            return parts[0]
        return Pipe(self.source(start), tuple(parts))

    def command(self) -> Node:
        self.blanks()
        start, operator = self.place, self.peek()
        if operator == "(":
            if self.text.startswith("((", self.place):
                self.enclosed("(", ")")
                return self.other(start, "((")
            self.take("(")
            self.list(frozenset())
            self.close(")")
            return self.other(start, "(")
        if operator:
            raise Fault
        word = self.reserved()
        if word in _RESERVED:
            raise Fault
        reader = {
            "{": self.group, "for": self.loop_over, "select": self.loop_over,
            "while": self.loop_while, "until": self.loop_while,
            "if": self.condition, "case": self.case, "[[": self.test, "function": self.function,
        }.get(word)  # fmt: skip
        return reader(start) if reader is not None else self.simple(start)

    def close(self, bracket: str) -> None:
        if self.peek() != bracket:
            self.missing()
        self.take(bracket)

    def other(self, start: int, kind: str) -> Other:
        self.redirections()
        return Other(self.source(start), kind)

    def redirections(self) -> bool:
        """Read redirections behind a compound command; tell whether there were any."""
        any_of_them = False
        while True:
            self.blanks()
            found = _REDIRECT.match(self.text, self.place)
            if found is None:
                return any_of_them
            any_of_them = True
            self.redirection(found)

    def redirection(self, found: re.Match[str]) -> tuple[str, str]:
        at = self.place
        self.place = found.end()
        if re.search(r"&[\d-]+$", found[0]):
            return found[0], ""
        self.blanks()
        word = self.word()
        if not word:
            raise Fault
        if _DOCUMENT.fullmatch(found[0]):
            delimiter = re.sub(r"\\(.)|['\"]", lambda match: match[1] or "", word)
            self.open_documents.append((at, delimiter, found[0].endswith("-")))
        return found[0], word

    def simple(self, start: int) -> Node:
        tokens: list[tuple[str, bool]] = []
        while True:
            self.blanks()
            found = _REDIRECT.match(self.text, self.place)
            if found is not None:
                operator, word = self.redirection(found)
                tokens.append((operator, True))
                if word:
                    tokens.append((word, False))
                continue
            operator = self.peek()
            if operator == "(" and len(tokens) == 1 and not tokens[0][1]:
                return self.defined(start)
            if operator or self.place >= len(self.text):
                break
            word = self.word()
            if not word:
                raise Fault
            tokens.append((word, False))
        if not tokens:
            self.missing()
        return Simple(self.source(start), tuple(tokens))

    def defined(self, start: int) -> Node:
        """The body of `name() ...`."""
        self.take("(")
        self.close(")")
        self.newlines()
        self.command()
        return Other(self.source(start), "function")

    def function(self, start: int) -> Node:
        self.place += len("function")
        self.blanks()
        if not self.word():
            self.missing()
        if self.peek() == "(":
            self.take("(")
            self.close(")")
        self.newlines()
        self.command()
        return Other(self.source(start), "function")

    def group(self, start: int) -> Node:
        self.place += 1
        self.list(frozenset(("}",)))
        self.expect("}")
        return self.other(start, "{")

    def loop_over(self, start: int) -> Node:
        kind = self.reserved()
        self.place += len(kind)
        self.blanks()
        variable, head = "", ""
        if kind == "for" and self.text.startswith("((", self.place):
            kind, opened = "cfor", self.place
            self.enclosed("(", ")")
            head = self.text[opened + 2 : self.place - 2]
        else:
            variable = self.word()
            if not variable:
                self.missing()
            self.newlines()
            head = '"$@"'
            if self.reserved() == "in":
                self.place += 2
                self.blanks()
                begin = self.place
                while not self.peek() and self.place < len(self.text):
                    if not self.word():
                        raise Fault
                    self.blanks()
                head = self.text[begin : self.place].strip()
        if self.peek() == ";":
            self.take(";")
        body = self.do_group()
        redirected = self.redirections()
        text = self.source(start)
        if redirected:
            return Other(text, "loop")
        return Loop(text, kind, variable, head, None, body)

    def do_group(self) -> List:
        self.expect("do")
        body = self.list(frozenset(("done",)))
        self.expect("done")
        return body

    def loop_while(self, start: int) -> Node:
        kind = self.reserved()
        self.place += len(kind)
        test = self.list(frozenset(("do",)))
        body = self.do_group()
        redirected = self.redirections()
        text = self.source(start)
        return Other(text, "loop") if redirected else Loop(text, kind, "", "", test, body)

    def condition(self, start: int) -> Node:
        clauses: list[tuple[List, List]] = []
        otherwise = None
        self.place += len("if")
        while True:
            test = self.list(frozenset(("then",)))
            self.expect("then")
            body = self.list(frozenset(("elif", "else", "fi")))
            clauses.append((test, body))
            self.newlines()
            word = self.reserved()
            self.place += len(word)
            if word == "elif":
                continue
            if word == "else":
                otherwise = self.list(frozenset(("fi",)))
                self.expect("fi")
            elif word != "fi":
                self.missing()
            break
        redirected = self.redirections()
        text = self.source(start)
        return Other(text, "if") if redirected else If(text, tuple(clauses), otherwise)

    def case(self, start: int) -> Node:
        self.place += len("case")
        self.blanks()
        subject = self.word()
        if not subject:
            self.missing()
        self.expect("in")
        clauses: list[tuple[tuple[str, ...], List, str]] = []
        while True:
            self.newlines()
            if self.reserved() == "esac":
                self.place += len("esac")
                break
            if self.peek() == "(":
                self.take("(")
            patterns = self.patterns()
            self.close(")")
            body = self.list(frozenset((";;", "esac")))
            operator = self.peek()
            ended = operator in (";;", ";&", ";;&")
            if ended:
                self.take(operator)
            clauses.append((patterns, body, operator if ended else ";;"))
        redirected = self.redirections()
        text = self.source(start)
        return Other(text, "case") if redirected else Case(text, subject, tuple(clauses))

    def patterns(self) -> tuple[str, ...]:
        """The patterns of a clause of `case`."""
        found: list[str] = []
        while True:
            self.blanks()
            word = self.word()
            if not word:
                self.missing()
            found.append(word)
            if self.peek() != "|":
                return tuple(found)
            self.take("|")

    def test(self, start: int) -> Node:
        self.place += 2
        while True:
            found = re.compile(r"[\s&|()<>]+").match(self.text, self.place)
            self.place = found.end() if found else self.place
            if self.place >= len(self.text):
                raise Incomplete("command")
            word = self.word()
            if word == "]]":
                return self.other(start, "[[")
            if not word:
                raise Fault


def _with_documents(reader: _Reader, parts: list[tuple[str, Node]]) -> Iterator[tuple[str, Node]]:
    """Give simple commands the bodies of their here-documents, which were read after them."""
    bodies = dict(reader.documents)
    if not bodies:
        yield from parts
        return
    for operator, node in parts:
        if isinstance(node, Simple) and "<<" in node.text and not any(body in node.text for body in bodies.values()):
            at = reader.text.find(node.text)
            mine = [body for place, body in reader.documents if at <= place < at + len(node.text)]
            if mine:
                node = Simple(node.text + "\n" + "".join(mine).rstrip("\n"), node.tokens)
        yield operator, node
