"""Parses the statements of Perl."""

from __future__ import annotations

import re

from worldline.kernels.perl.expressions import ENDS, ExpressionParser, Node
from worldline.kernels.perl.lexer import tokens
from worldline.kernels.perl.values import PerlGap

__all__ = ["Node", "parse"]


def parse(source: str) -> list[Node]:
    """Parse a program.

    Raises:
        PerlGap: It uses what is not simulated, or is wrong.
    """
    return _Parser(tokens(source)).program()


class _Parser(ExpressionParser):
    def program(self) -> list[Node]:
        found = self._statements()
        if self.peek.kind != "end":
            raise PerlGap(f"syntax near {self.peek.text!r}")
        return found

    def _statements(self) -> list[Node]:
        found = []
        while self.peek.kind != "end" and not self.at("}"):
            if self.accept(";"):
                continue
            statement = self._statement()
            if statement is not None:
                found.append(statement)
        return found

    def block(self) -> list[Node]:
        """Read `{ ... }`."""
        self.expect("{")
        found = self._statements()
        self.expect("}")
        return found

    def _statement(self) -> Node | None:
        token = self.peek
        line = token.line
        if token.kind == "word":
            word = token.text
            if word in ("if", "unless"):
                return self._if()
            if word in ("while", "until"):
                return self._while("")
            if word in ("for", "foreach"):
                return self._for("")
            if word == "sub" and self.ahead(1).kind == "word":
                self.take()
                name = self.take().text
                return Node("sub", (name, self.block()), line)
            if word in ("use", "no"):
                return self._use()
            if word in ("BEGIN", "END") and self.ahead(1).text == "{":
                self.take()
                return Node(word, (self.block(),), line)
            label = self.ahead(1)
            if re.fullmatch(r"[A-Z_]+", word) and label.text == ":" and self.ahead(2).text in (
                "for", "foreach", "while", "until"
            ):  # fmt: skip
                self.index += 2
                return self._for(word) if self.at("for", "foreach") else self._while(word)
        following, after = (self.ahead(1), self.ahead(2))
        if self.at("{") and not (following.kind in ("word", "str", "interp") and after.text in ("=>", ",")):
            return Node("bare", (self.block(),), line)
        node = self.expression()
        node = self._modifier(node)
        if not self.at("}") and self.peek.kind != "end":
            self.expect(";")
        return node

    def _modifier(self, node: Node) -> Node:
        while self.at(*ENDS):
            word = self.take().text
            condition = self.expression()
            line = node.line
            if word in ("if", "unless"):
                node = Node("if", ([(Node("not", (condition,)) if word == "unless" else condition, [node])], []), line)
            elif word in ("while", "until"):
                test = Node("not", (condition,), line) if word == "until" else condition
                node = Node("while", ("", _reading(test), [node], [], node.kind == "do"), line)
            else:
                node = Node("foreach", ("", None, condition, [node]), line)
        return node

    def _use(self) -> Node | None:
        line = self.take().line
        name = self.take()
        words = []
        while not self.at(";") and self.peek.kind != "end":
            words.append(self.take().text)
        if name.kind == "num" or re.match(r"v?5", name.text) or name.text in ("strict", "utf8", "feature", "integer"):
            if name.text in ("utf8", "integer"):
                raise PerlGap(f"use {name.text}")
            return None
        if name.text == "warnings":
            return Node("warnings", (), line)
        if name.text in ("List::Util", "POSIX", "Data::Dumper") and name.text == "List::Util":
            return None
        raise PerlGap(f"the module {name.text}")

    def _if(self) -> Node:
        line = self.peek.line
        branches = []
        word = self.take().text
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        branches.append((Node("not", (condition,)) if word == "unless" else condition, self.block()))
        otherwise: list[Node] = []
        while self.accept("elsif"):
            self.expect("(")
            condition = self.expression()
            self.expect(")")
            branches.append((condition, self.block()))
        if self.accept("else"):
            otherwise = self.block()
        return Node("if", (branches, otherwise), line)

    def _while(self, label: str) -> Node:
        line = self.peek.line
        word = self.take().text
        self.expect("(")
        condition = Node("num", (1,)) if self.at(")") else self.expression()
        self.expect(")")
        body = self.block()
        after = self.block() if self.accept("continue") else []
        test = Node("not", (condition,)) if word == "until" else _reading(condition)
        return Node("while", (label, test, body, after, False), line)

    def _for(self, label: str) -> Node:
        line = self.take().line
        variable: Node | None = None
        if self.accept("my", "our"):
            variable = Node("my", ([self.take().text],), line)
        elif self.peek.kind == "var":
            variable = Node("scalar", (self.take().text[1:],), line)
        self.expect("(")
        if variable is None:
            first = None if self.at(";") else self.expression()
            if self.accept(";"):
                test = None if self.at(";") else self.expression()
                self.expect(";")
                step = None if self.at(")") else self.expression()
                self.expect(")")
                return Node("for", (label, first, test, step, self.block()), line)
            self.expect(")")
            return Node("foreach", (label, None, first, self.block()), line)
        values = Node("list", ([],)) if self.at(")") else self.expression()
        self.expect(")")
        return Node("foreach", (label, variable, values, self.block()), line)


def _reading(test: Node) -> Node:
    """`while (<FH>)` assigns to `$_` and goes on until the end."""
    if test.kind == "read":
        return Node("defined", (Node("assign", ("=", Node("scalar", ("_",)), test)),), test.line)
    if test.kind == "assign" and test.args[2].kind == "read" and test.args[1].kind in ("scalar", "my"):
        return Node("defined", (test,), test.line)
    return test
