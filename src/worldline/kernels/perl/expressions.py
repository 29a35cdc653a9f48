"""Parses the expressions of Perl by precedence, and variables inside of strings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from worldline.kernels.perl.lexer import Token, tokens
from worldline.kernels.perl.strings import pieces
from worldline.kernels.perl.values import PerlGap

__all__ = ["ENDS", "ExpressionParser", "Node"]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of the syntax tree: a kind and its parts."""

    kind: str
    args: tuple[Any, ...]
    line: int = 1


_BINARY = {
    "**": (16, "right"),
    "=~": (14, "left"),
    "!~": (14, "left"),
    "*": (13, "left"),
    "/": (13, "left"),
    "%": (13, "left"),
    "x": (13, "left"),
    "+": (12, "left"),
    "-": (12, "left"),
    ".": (12, "left"),
    "<<": (11, "left"),
    ">>": (11, "left"),
    "<": (9, "none"),
    ">": (9, "none"),
    "<=": (9, "none"),
    ">=": (9, "none"),
    "lt": (9, "none"),
    "gt": (9, "none"),
    "le": (9, "none"),
    "ge": (9, "none"),
    "==": (8, "none"),
    "!=": (8, "none"),
    "<=>": (8, "none"),
    "eq": (8, "none"),
    "ne": (8, "none"),
    "cmp": (8, "none"),
    "&": (7, "left"),
    "|": (6, "left"),
    "^": (6, "left"),
    "&&": (5, "left"),
    "||": (4, "left"),
    "//": (4, "left"),
    "..": (3, "none"),
    "...": (3, "none"),
}
_ASSIGN = frozenset(
    ("=", "+=", "-=", "*=", "/=", ".=", "%=", "x=", "**=", "||=", "&&=", "//=", "|=", "&=", "^=", "<<=", ">>=")
)
_UNARY = frozenset(
    """length uc lc ucfirst lcfirst defined ref scalar abs int sqrt sin cos exp log hex oct ord chr chomp chop shift pop
    keys values each delete exists quotemeta exit undef close eof rand srand lock fc caller localtime gmtime chdir rmdir
    readline local require umask sleep pos""".split()  # noqa: SIM905
)
_LISTS = frozenset(
    """print printf say push unshift splice join split sprintf substr index rindex reverse die warn return open unlink
    sort map grep pack unpack printf wantarray time times atan2 binmode mkdir rename system exec bless sum max min first
    uniq sum0 any all none shuffle product maxstr minstr reduce opendir readdir closedir""".split()  # noqa: SIM905
)
ENDS = frozenset(("if", "unless", "while", "until", "for", "foreach"))


class ExpressionParser:
    """Reads expressions off a list of tokens.

    Args:
        found: The tokens.
    """

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.index = 0

    def block(self) -> list[Node]:
        """Read `{ ... }`."""
        raise NotImplementedError

    def program(self) -> list[Node]:
        """Read all statements."""
        raise NotImplementedError

    @property
    def peek(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    def ahead(self, count: int) -> Token:
        """The token that many places behind the next one."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def take(self) -> Token:
        """Take the next token."""
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these."""
        return self.peek.kind in ("op", "word") and self.peek.text in texts

    def accept(self, *texts: str) -> bool:
        """Take the next token if it is one of these."""
        if self.at(*texts):
            self.index += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take the next token, which must be this."""
        if not self.at(text):
            raise PerlGap(f"syntax near {self.peek.text!r}")
        return self.take()

    def expression(self) -> Node:
        """Read an expression down to `or`."""
        node = self._and()
        while self.at("or", "xor"):
            word = self.take().text
            node = Node("or" if word == "or" else "xor", (node, self._and()), node.line)
        return node

    def _and(self) -> Node:
        node = self._not()
        while self.accept("and"):
            node = Node("and", (node, self._not()), node.line)
        return node

    def _not(self) -> Node:
        if self.at("not"):
            line = self.take().line
            return Node("not", (self._not(),), line)
        return self.comma()

    def comma(self) -> Node:
        """Read a list without parentheses."""
        first = self.assignment()
        if not self.at(",", "=>"):
            return first
        items = [first]
        while self.accept(",", "=>"):
            if self._ends():
                break
            items.append(self.assignment())
        return Node("list", (items,), first.line)

    def _ends(self) -> bool:
        return self.peek.kind == "end" or self.at(
            ")", "]", "}", ";", ":", "if", "unless", "while", "until", "for", "foreach", "or", "and", "xor", "not"
        )

    def assignment(self) -> Node:
        """Read an assignment or a conditional."""
        node = self._conditional()
        if self.peek.kind == "op" and self.peek.text in _ASSIGN:
            operator = self.take().text
            value = self.assignment()
            return Node("assign", (operator, node, value), node.line)
        return node

    def _conditional(self) -> Node:
        node = self._binary(3)
        if self.accept("?"):
            yes = self.assignment()
            self.expect(":")
            no = self.assignment()
            return Node("cond", (node, yes, no), node.line)
        return node

    def _binary(self, lowest: int) -> Node:
        node = self._unary()
        while self.peek.kind in ("op", "word") and self.peek.text in _BINARY:
            operator = self.peek.text
            level, side = _BINARY[operator]
            if level < lowest:
                break
            line = self.take().line
            right = self._binary(level if side == "right" else level + 1)
            kind = {
                "&&": "and",
                "||": "or",
                "//": "dor",
                "=~": "bind",
                "!~": "nobind",
                "..": "range",
                "...": "range",
            }.get(operator, "binary")
            node = Node(kind, (operator, node, right) if kind == "binary" else (node, right), line)
        return node

    def _unary(self) -> Node:
        token = self.peek
        if token.kind == "op" and token.text in ("!", "-", "+", "\\", "++", "--", "~"):
            if token.text == "-" and self.ahead(1).kind == "word":
                test = self.ahead(1)
                if re.fullmatch(r"[edfrwxszl]", test.text) and not test.spaced:
                    self.index += 2
                    operand = Node("scalar", ("_",)) if self._ends() else self._unary()
                    return Node("filetest", (test.text, operand), token.line)
            self.take()
            if token.text in ("++", "--"):
                return Node("preinc", (token.text, self._unary()), token.line)
            level = 16 if token.text in ("-", "+") else 15
            operand = self._binary(level) if token.text in ("-", "+") else self._unary()
            kind = {"!": "not", "-": "neg", "+": "plus", "\\": "ref", "~": "complement"}[token.text]
            return Node(kind, (operand,), token.line)
        node = self._postfix(self._primary())
        if self.at("++", "--"):
            return Node("postinc", (self.take().text, node), node.line)
        if self.at("**"):
            self.take()
            return Node("binary", ("**", node, self._unary()), node.line)
        return node

    def _postfix(self, node: Node) -> Node:
        while True:
            if self.at("->"):
                following = self.ahead(1)
                self.take()
                if following.text == "[":
                    node = Node("elem", (Node("deref", ("@", node)), self._index()), node.line)
                elif following.text == "{":
                    node = Node("helem", (Node("deref", ("%", node)), self._key()), node.line)
                elif following.text == "(":
                    node = Node("callref", (node, self._arguments()), node.line)
                elif following.text == "@" or following.kind == "var":
                    if following.text not in ("@", "@*"):
                        raise PerlGap("a method call")
                    self.take()
                    self.expect("*")
                    node = Node("deref", ("@", node), node.line)
                else:
                    raise PerlGap("a method call")
            elif node.kind in ("elem", "helem", "callref") and self.at("["):
                node = Node("elem", (Node("deref", ("@", node)), self._index()), node.line)
            elif node.kind in ("elem", "helem", "callref") and self.at("{"):
                node = Node("helem", (Node("deref", ("%", node)), self._key()), node.line)
            elif node.kind == "parens" and self.at("["):
                node = Node("lslice", (node, self._index()), node.line)
            else:
                return node

    def _index(self) -> Node:
        self.expect("[")
        node = self.expression()
        self.expect("]")
        return node

    def _key(self) -> Node:
        self.expect("{")
        token, after = self.peek, self.ahead(1)
        if token.kind == "word" and after.text == "}":
            self.index += 2
            return Node("str", (token.text,), token.line)
        if token.text == "-" and after.kind == "word" and self.ahead(2).text == "}":
            self.index += 3
            return Node("str", (f"-{after.text}",), token.line)
        node = self.expression()
        self.expect("}")
        return node

    def _arguments(self) -> Node:
        self.expect("(")
        node = Node("list", ([],)) if self.at(")") else self.expression()
        self.expect(")")
        return node

    def _primary(self) -> Node:
        token = self.take()
        line = token.line
        if token.kind == "num":
            text = token.text.lower()
            if re.fullmatch(r"0[0-7]+", text):
                return Node("num", (int(text, 8),), line)
            if text.startswith(("0x", "0b")):
                return Node("num", (int(text, 0),), line)
            return Node("num", (int(text) if text.isdigit() else float(text),), line)
        if token.kind == "str":
            return Node("str", (token.text,), line)
        if token.kind == "interp":
            return self.interpolated(token.text, line)
        if token.kind == "words":
            return Node("parens", ([Node("str", (word,)) for word in token.text.split()],), line)
        if token.kind in ("match", "qr"):
            flags, mark = token.extra[0], (*token.extra, "/")[1]
            return Node(token.kind, (self._pattern(token.text, mark, line), flags), line)
        if token.kind == "subst":
            second, flags, mark = token.extra
            if "e" in flags:
                replacement = Node("do", (type(self)(tokens(second)).program(),), line)
            else:
                replacement = Node("str", (second,), line) if mark == "'" else self.interpolated(second, line)
            return Node("subst", (self._pattern(token.text, mark, line), replacement, flags), line)
        if token.kind == "trans":
            return Node("trans", (token.text, token.extra[0], token.extra[1]), line)
        if token.kind == "read":
            return Node("read", (token.text,), line)
        if token.kind == "lastindex":
            name = token.text
            array = Node("deref", ("@", Node("scalar", (name[1:],)))) if name[0] == "$" else Node("array", (name,))
            return Node("last", (array,), line)
        if token.kind == "var":
            return self._variable(token)
        if token.kind == "word":
            return self._word(token)
        return self._operator(token)

    def _pattern(self, text: str, mark: str, line: int) -> Node:
        return Node("str", (text,), line) if mark == "'" else self.interpolated(text, line, pattern=True)

    def interpolated(self, text: str, line: int, *, pattern: bool = False) -> Node:
        """Build the node of a string with variables in it."""
        parts: list[Node] = []
        for kind, value in pieces(text, pattern=pattern):
            if kind == "text":
                parts.append(Node("str", (value,), line))
            elif kind in ("lower", "upper", "end", "quote", "first", "firstlow"):
                parts.append(Node("case", (kind,), line))
            else:
                inner = type(self)(tokens(value))
                node = inner.expression()
                if inner.peek.kind != "end":
                    raise PerlGap("an expression in a string")
                parts.append(Node("joined", (node,), line) if kind == "list" else node)
        if len(parts) == 1 and parts[0].kind == "str":
            return parts[0]
        return Node("interp", (parts, pattern), line)

    def _variable(self, token: Token) -> Node:
        sign, name, line = token.text[0], token.text[1:], token.line
        if sign == "$":
            if self.at("[") and name not in ("&",):
                return Node("elem", (Node("array", (name,), line), self._index()), line)
            if self.at("{"):
                return Node("helem", (Node("hash", (name,), line), self._key()), line)
            return Node("scalar", (name,), line)
        if sign == "@":
            if self.at("["):
                return Node("slice", (Node("array", (name,), line), self._index()), line)
            if self.at("{"):
                return Node("hslice", (Node("hash", (name,), line), self._key()), line)
            return Node("array", (name,), line)
        if sign == "%":
            return Node("hash", (name,), line)
        if self.at("("):
            return Node("call", (name, self._arguments()), line)
        return Node("coderef", (name,), line)

    def _operator(self, token: Token) -> Node:
        line = token.line
        if token.text == "(":
            items: list[Node] = []
            if not self.at(")"):
                node = self.expression()
                items = node.args[0] if node.kind == "list" else [node]
            self.expect(")")
            return Node("parens", (items,), line)
        if token.text == "[":
            node = Node("list", ([],)) if self.at("]") else self.expression()
            self.expect("]")
            return Node("newarray", (node,), line)
        if token.text == "{":
            node = Node("list", ([],)) if self.at("}") else self.expression()
            self.expect("}")
            return Node("newhash", (node,), line)
        if token.text in ("$", "@", "%", "&", "$#"):
            return self._dereference(token)
        if token.text == "<":
            raise PerlGap("a glob")
        raise PerlGap(f"syntax near {token.text!r}")

    def _dereference(self, token: Token) -> Node:
        sign, line = token.text, token.line
        if self.at("{"):
            self.take()
            inner = self.expression()
            self.expect("}")
        else:
            name = self.take()
            if name.kind != "var":
                raise PerlGap("a dereference")
            inner = Node("scalar", (name.text[1:],), line)
        if sign == "$#":
            return Node("last", (Node("deref", ("@", inner)),), line)
        if sign == "$" and self.at("["):
            return Node("elem", (Node("deref", ("@", inner)), self._index()), line)
        if sign == "$" and self.at("{"):
            return Node("helem", (Node("deref", ("%", inner)), self._key()), line)
        if sign == "@" and self.at("["):
            return Node("slice", (Node("deref", ("@", inner)), self._index()), line)
        if sign == "@" and self.at("{"):
            return Node("hslice", (Node("deref", ("%", inner)), self._key()), line)
        if sign == "&":
            return Node("callref", (inner, self._arguments() if self.at("(") else Node("list", ([],))), line)
        return Node("deref", (sign, inner), line)

    # --- words

    def _word(self, token: Token) -> Node:
        word, line = token.text, token.line
        if self.at("=>"):
            return Node("str", (word,), line)
        if word in ("my", "our", "state"):
            return self._my(line)
        if word == "sub":
            return Node("anon", (self.block(),), line)
        if word == "do" and self.at("{"):
            return Node("do", (self.block(),), line)
        if word == "eval":
            if not self.at("{"):
                raise PerlGap("eval of a string")
            return Node("eval", (self.block(),), line)
        if word in ("next", "last", "redo"):
            label = self.take().text if self.peek.kind == "word" and self.peek.text.isupper() else ""
            return Node(word, (label,), line)
        if word in ("map", "grep", "sort", "first", "any", "all", "none", "reduce"):
            return self._with_block(word, line)
        if word in ("print", "printf", "say"):
            return self._print(word, line)
        if word in ("STDIN", "STDOUT", "STDERR", "ARGV"):
            return Node("handle", (word,), line)
        if word in ("__FILE__", "__LINE__", "__PACKAGE__", "wait", "goto", "format", "package", "tie", "local"):
            if word == "local":
                return Node("local", (self._unary(),), line)
            raise PerlGap(word)
        if word in _UNARY or word in _LISTS:
            return Node("func", (word, self._operands(word)), line)
        if self.at("("):
            return Node("call", (word, self._arguments()), line)
        if self.at("::", "->"):
            raise PerlGap(f"the name {word}")
        if re.fullmatch(r"[A-Z][A-Z0-9_]*", word):
            return Node("handle", (word,), line)
        return Node("call", (word, Node("list", ([],)) if self._ends() else self.comma()), line)

    def _operands(self, word: str) -> list[Node]:
        if self.at("("):
            node = self._arguments()
            return list(node.args[0]) if node.kind == "list" else [node]
        if self._ends() or self.at(
            "=", "==", "?", ",", "=>", "=~", ".", "*", "x", "||", "&&", "//", "<", ">", "eq", "ne"
        ):
            return []
        if word in _UNARY:
            starts = self.peek.kind != "op" or self.at("+", "-", "(", "$", "@", "%", "\\", "!", "{", "[")
            return [self._binary(10)] if starts else []
        node = self.comma()
        return list(node.args[0]) if node.kind == "list" else [node]

    def _my(self, line: int) -> Node:
        if self.accept("("):
            names = []
            while not self.at(")"):
                names.append(self.take().text)
                self.accept(",")
            self.expect(")")
            return Node("mylist", (names,), line)
        return Node("my", ([self.take().text],), line)

    def _with_block(self, word: str, line: int) -> Node:
        enclosed = self.accept("(")
        body: Node | None = None
        if self.at("{") and self._is_block(word):
            body = Node("do", (self.block(),), line)
            self.accept(",")
        elif word in ("map", "grep"):
            body = self.assignment()
            self.expect(",")
        elif word == "sort" and self.peek.kind == "var" and self.ahead(1).kind == "var":
            name = self.take()
            body = Node("callref", (Node("scalar", (name.text[1:],)), Node("list", ([],))), line)
        elif (
            word == "sort"
            and self.peek.kind == "word"
            and self.peek.text not in _UNARY | _LISTS | {"map", "grep", "qw"}
            and self.ahead(1).text != "("
        ):
            body = Node("call", (self.take().text, Node("list", ([],))), line)
        items = Node("list", ([],)) if self._ends() else self.comma()
        if enclosed:
            self.expect(")")
        return Node("blockfunc", (word, body, items), line)

    def _is_block(self, word: str) -> bool:
        """Whether a brace opens a block rather than a hash."""
        if word != "map":
            return True
        following, after = self.ahead(1), self.ahead(2)
        if following.text == "}":
            return False
        if following.kind in ("interp", "str") and after.text in (",", "=>"):
            raise PerlGap("a block that may be a hash")
        return True

    def _print(self, word: str, line: int) -> Node:
        enclosed = (self.at("(") and not self.peek.spaced) or (self.at("(") and self._closes_statement())
        if enclosed:
            self.take()
        handle: Node | None = None
        following = self.ahead(1)
        bare = self.peek.kind == "word" and re.fullmatch(r"[A-Z][A-Z0-9_]*", self.peek.text) is not None
        if bare and (following.kind not in ("op", "end") or following.text in ("$", "@")):
            handle = Node("handle", (self.take().text,), line)
        elif self.at("{"):
            self.take()
            handle = self.expression()
            self.expect("}")
        elif self.peek.kind == "var" and self.peek.text[0] == "$":
            word_after = following.kind == "word" and following.text not in {*_BINARY, *ENDS, "and", "or", "x"}
            if word_after or following.kind in ("interp", "str", "var", "num"):
                handle = Node("scalar", (self.take().text[1:],), line)
        items = Node("list", ([],)) if self._ends() else self.comma()
        if enclosed:
            self.expect(")")
        return Node("print", (word, handle, items), line)

    def _closes_statement(self) -> bool:
        """Whether the parenthesis ahead closes right before the statement's end."""
        depth = 0
        for place in range(self.index, len(self.tokens)):
            token = self.tokens[place]
            if token.kind == "op" and token.text == "(":
                depth += 1
            elif token.kind == "op" and token.text == ")":
                depth -= 1
                if not depth:
                    following = self.tokens[place + 1]
                    if following.kind == "end" or following.text in (";", "}", *ENDS, "or", "and"):
                        return True
                    raise PerlGap("print (...) with something behind it")
        return False
