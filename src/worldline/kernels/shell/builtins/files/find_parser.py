"""The expression of `find`: what stands behind the starting points, as one rule."""

from __future__ import annotations

from worldline.kernels.shell.builtins.files.find_actions import ACTIONS, command_action, print_format, print_to
from worldline.kernels.shell.builtins.files.find_tests import TESTS, FindError, Rule, Run, Visit
from worldline.kernels.shell.builtins.shared.messages import quote, shell_quote_if_needed, strerror

__all__ = ["parse_expression", "split_arguments"]

_NEGATION = ("!", "-not")
_AND = ("-a", "-and")
_OR = ("-o", "-or")
_QUIET_OPTIONS = ("-noleaf", "-nowarn", "-warn", "-xdev", "-mount", "-ignore_readdir_race", "-noignore_readdir_race")

_SYNTAXES = (
    "findutils-default", "ed", "emacs", "gnu-awk", "grep", "posix-awk", "awk", "posix-basic", "posix-egrep", "egrep",
    "posix-extended", "posix-minimal-basic", "sed",
)  # fmt: skip


def split_arguments(run: Run, argv: list[str]) -> tuple[list[str], list[str]]:
    """Take the leading options off, and split the rest into starting points and expression."""
    words = list(argv)
    while words and words[0] in ("-H", "-L", "-P"):
        option = words.pop(0)
        run.follow = option == "-L"
        run.follow_operands = option in ("-L", "-H")
    while words and words[0] in ("-O0", "-O1", "-O2", "-O3"):
        words.pop(0)
    if words and (words[0] == "-D" or words[0].startswith("-O")):
        run.call.unknown(f"the option {words[0]}")
    starts: list[str] = []
    while words and not (words[0].startswith("-") and len(words[0]) > 1) and words[0] not in ("(", "!", ")", ","):
        starts.append(words.pop(0))
    return starts or ["."], words


def parse_expression(run: Run, words: list[str]) -> Rule:
    """Read an expression; without an action it prints.

    Raises:
        FindError: It is wrong.
        Unknown: It holds something that is not simulated.
    """
    parser = _Parser(run, words)
    if not words:
        return ACTIONS["-print"]
    rule = parser.sequence()
    if parser.words:
        if parser.words[0] == ")":
            raise FindError("you have too many ')'")
        raise FindError(f"paths must precede expression: `{parser.words[0]}'")
    if parser.acts:
        return rule
    show = ACTIONS["-print"]
    return lambda run, visit: rule(run, visit) and not run.quit and show(run, visit)


class _Parser:
    def __init__(self, run: Run, words: list[str]) -> None:
        self.run = run
        self.words = list(words)
        self.acts = False
        self._before = ""

    def sequence(self) -> Rule:
        """`A , B`."""
        rule = self.either()
        while self.words and self.words[0] == ",":
            self._take()
            rule = _comma(rule, self.either())
        return rule

    def either(self) -> Rule:
        """`A -o B`."""
        rule = self.both()
        while self.words and self.words[0] in _OR:
            word = self._take()
            if not self.words:
                raise FindError(f"expected an expression after '{word}'")
            rule = _or(rule, self.both())
        return rule

    def both(self) -> Rule:
        """`A B` and `A -a B`."""
        rule = self.single()
        while self.words and self.words[0] not in (*_OR, ",", ")"):
            if self.words[0] in _AND:
                word = self._take()
                if not self.words:
                    raise FindError(f"expected an expression after '{word}'")
            rule = _and(rule, self.single())
        return rule

    def single(self) -> Rule:
        """`! A`, `( A )`, a test, an action or an option."""
        word = self._take()
        if word in _NEGATION:
            if not self.words:
                raise FindError(f"expected an expression after '{word}'")
            inner = self.single()
            return lambda run, visit: not inner(run, visit)
        if word == "(":
            return self._group()
        if word in (*_AND, *_OR, ","):
            raise FindError(f"invalid expression; you have used a binary operator '{word}' with nothing before it.")
        if word == ")":
            raise FindError("invalid expression; you have too many ')'")
        return self._primary(word)

    def _group(self) -> Rule:
        if self.words and self.words[0] == ")":
            raise FindError("invalid expression; empty parentheses are not allowed.")
        if not self.words:
            raise FindError("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
        rule = self.sequence()
        if not self.words:
            raise FindError("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
        self._take()
        return rule

    def _take(self) -> str:
        return self.words.pop(0)

    def _argument(self, word: str) -> str:
        if not self.words:
            raise FindError(f"missing argument to `{word}'")
        return self._take()

    def _primary(self, word: str) -> Rule:
        run = self.run
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            self.acts = True
            return self._command(word)
        if word in ("-printf", "-fprintf"):
            self.acts = True
            target = self._target(word) if word == "-fprintf" else None
            return print_format(self._argument(word), target)
        if word in ("-fprint", "-fprint0"):
            self.acts = True
            return print_to(self._target(word), "\n" if word == "-fprint" else "\0")
        if word in ACTIONS:
            self.acts |= word not in ("-prune", "-quit")
            run.depth_first |= word == "-delete"
            return ACTIONS[word]
        if word in TESTS:
            count, build = TESTS[word]
            self._before = word
            return build(run, self._argument(word) if count else "")
        return self._option(word)

    def _target(self, word: str) -> str:
        """Take the name of a file to write to, and empty it: it may be found on the way."""
        name = self._argument(word)
        if name.startswith("/dev/"):
            self.run.call.unknown(f"writing to {name}")
        try:
            self.run.call.files.write(name, b"")
        except OSError as error:
            raise FindError(f"{shell_quote_if_needed(name)}: {strerror(error)}") from error
        self.run.saved.setdefault(name, [])
        return name

    def _option(self, word: str) -> Rule:
        run = self.run
        if word in ("-maxdepth", "-mindepth"):
            text = self._argument(word)
            if not text.isdigit():
                raise FindError(f"Expected a positive decimal integer argument to {word}, but got {quote(text)}")
            if word == "-maxdepth":
                run.max_depth = int(text)
            else:
                run.min_depth = int(text)
        elif word in ("-depth", "-d"):
            run.depth_first = True
        elif word == "-follow":
            run.follow = run.follow_operands = True
        elif word == "-regextype":
            run.regex = self._argument(word)
            if run.regex not in _SYNTAXES:
                valid = ", ".join(quote(name) for name in _SYNTAXES)
                raise FindError(f"Unknown regular expression type {quote(run.regex)}; valid types are {valid}.")
        elif word not in _QUIET_OPTIONS:
            self._stranger(word)
        return _true

    def _stranger(self, word: str) -> None:
        known = ("-daystart", "-fls", "-files0-from", "-fstype", "-inum", "-used", "-anewer", "-cnewer")
        if word in known or word.startswith("-newer") or word in ("-help", "--help", "-version", "--version"):
            self.run.call.unknown(f"the primary {word}")
        if word.startswith("-"):
            raise FindError(f"unknown predicate `{word}'")
        message = f"paths must precede expression: `{word}'"
        if self.run.call.files.exists(word):
            message += f"\nfind: possible unquoted pattern after predicate `{self._before}'?"
        raise FindError(message)

    def _command(self, word: str) -> Rule:
        words: list[str] = []
        while self.words:
            part = self._take()
            if part == ";":
                if not words:
                    break
                return command_action(self.run, word, words, batch=False)
            if part == "+" and words and words[-1] == "{}":
                return command_action(self.run, word, words, batch=True)
            words.append(part)
        raise FindError(f"missing argument to `{word}'")


def _true(run: Run, visit: Visit) -> bool:
    return True


def _and(first: Rule, second: Rule) -> Rule:
    return lambda run, visit: first(run, visit) and (run.quit or second(run, visit))


def _or(first: Rule, second: Rule) -> Rule:
    return lambda run, visit: first(run, visit) or (not run.quit and second(run, visit))


def _comma(first: Rule, second: Rule) -> Rule:
    def both(run: Run, visit: Visit) -> bool:
        first(run, visit)
        return run.quit or second(run, visit)

    return both
