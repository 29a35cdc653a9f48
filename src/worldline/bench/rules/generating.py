"""Making rule checks of trajectories: deterministic, from what the turns themselves show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from worldline.bench.rules.checks import AllOf, Contains, ExitCode, JsonPath, Not
from worldline.bench.rules.records import Axis, RuleCheck, turns_anchor
from worldline.types import Action, JsonDict, Observation, Trajectory, content_id

__all__ = ["rules_by_turn", "rules_of"]

_MESSAGES = re.compile(
    r"No such file or directory|command not found|Permission denied|Is a directory|Not a directory|File exists"
    r"|Directory not empty|Operation not permitted|No such process|Connection refused|syntax error"
    r"|unbound variable|division by 0|invalid option|unrecognized option|missing operand|no such table|no such column"
    r"|Traceback \(most recent call last\)|not a git repository"
)
_EXCEPTION = re.compile(r"^(?:[a-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration))\b", re.MULTILINE)
_SET = re.compile(
    r"(?:^|[;&\n]\s*|\bexport\s+|\bdeclare\s+(?:-\w+\s+)*)([A-Za-z_]\w*)=(\"[^\"$`\\\n]+\"|'[^'\n]+'|[\w./:@+-]+)"
)
_CHANGES_DIRECTORY = re.compile(r"(?:^|[;&|\n(]\s*)(?:cd|pushd|popd)\b")
_PWD = re.compile(r"(?:^|[;&\n]\s*)pwd\s*(?:$|[;&\n])")
_SQL_WRITE = re.compile(r"\b(?:INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|REPLACE\s+INTO)\b", re.IGNORECASE)
_SQL_READ = re.compile(r"\bSELECT\b", re.IGNORECASE)
_PLAIN_WORD = re.compile(r"(?<![\w./$=-])([a-z]{5,16})(?![\w./=(-])")
_WRITES = re.compile(r"\b(?:echo|printf|tee|cat\s*>|cat\s*<<)")
_PROGRAM = re.compile(r"[a-z][\w.-]*")
_SHORTEST, _LONGEST, _MOST_LINES = 6, 400, 3


@dataclass(frozen=True, slots=True)
class _Found:
    """A rule before it is tied to its turn."""

    axis: Axis
    kind: str
    why: str
    check: Any
    evidence: int | None = None
    control: JsonDict | None = None
    replace: dict[str, str] | None = None
    expected: Observation | None = None


def rules_of(trajectory: Trajectory) -> Iterator[RuleCheck]:
    """Make every rule check that a trajectory gives; none is validated yet."""
    cluster = trajectory.family or trajectory.id
    for number in range(1, len(trajectory.turns) + 1):
        for found in _of_turn(trajectory, number):
            content = {
                "axis": found.axis,
                "kind": found.kind,
                "domain": trajectory.world.domain,
                "trajectory": trajectory.id,
                "cluster": cluster,
                "turn": number,
                "anchor": turns_anchor(trajectory.world.domain, trajectory.turns[:number]),
                "why": found.why,
                "check": found.check.model_dump(mode="json"),
                "evidence_turn": found.evidence,
                "control": found.control,
                "replace": found.replace or {},
            }
            yield RuleCheck.model_validate({**content, "key": content_id(content), "expected": found.expected})


def rules_by_turn(trajectory: Trajectory) -> dict[int, list[JsonDict]]:
    """The rule checks of a trajectory as it is, as plain data, by position (from 0): what rewards read."""
    found: dict[int, list[JsonDict]] = {}
    for rule in rules_of(trajectory):
        if not rule.variation:
            found.setdefault(rule.turn - 1, []).append(rule.model_dump(mode="json"))
    return found


def _of_turn(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    yield from _error(trajectory, number)
    named = [*_variable(trajectory, number), *_directory(trajectory, number)]
    yield from named or _written(trajectory, number)
    yield from _replaced_value(trajectory, number)
    yield from _told_to_fail(trajectory, number)


def _error(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    """Error handling: status, class of message, error field of JSON."""
    turn = trajectory.turns[number - 1]
    truth = turn.observation
    if (found := _json_error(truth)) is not None:
        yield found
        return
    text = truth.stderr if truth.stderr is not None else truth.text
    asked = _words_of(turn.action)
    shown_before = trajectory.turns[number - 2].observation.text if number > 1 else ""
    failed = truth.exit_code is not None and truth.exit_code != 0
    told = next((m for m in (_EXCEPTION.search(text), _MESSAGES.search(text)) if m is not None), None)
    if told is not None and not (failed or truth.is_error):
        # Without a status, a message that was asked for or stood there before is no failure.
        known = truth.exit_code is None and truth.is_error is None
        told = told if known and told.group() not in asked and told.group() not in shown_before else None
    parts: list[Any] = [ExitCode(code=truth.exit_code)] if failed and truth.exit_code is not None else []
    if told is not None:
        parts.append(Contains(text=told.group(told.lastindex or 0)))
    if not parts:
        return
    said = f"; it says {told.group(told.lastindex or 0)!r}" if told is not None else ""
    status = f"the command fails with status {truth.exit_code}" if failed else "the action fails"
    yield _Found("error_handling", "message" if told is not None else "status", status + said, AllOf(of=tuple(parts)))


def _json_error(truth: Observation) -> _Found | None:
    """Demand the error of a JSON answer: its code or type, or that there is one."""
    value = _json(truth.text)
    if not isinstance(value, dict):
        return None
    for name in ("error", "isError"):
        error = value.get(name)
        if not error:
            continue
        path: tuple[str, ...] = (name,)
        if isinstance(error, dict):
            key = next((k for k in ("code", "type", "status") if isinstance(error.get(k), str | int)), None)
            if key is not None:
                check = JsonPath(path=(name, key), equals=error[key])
                return _Found("error_handling", "json_error", f"the answer's {name}.{key} is {error[key]!r}", check)
        check = JsonPath(path=path, equals=True) if error is True else JsonPath(path=path, exists=True)
        return _Found("error_handling", "json_error", f"the answer holds {name!r}", check)
    return None


def _written(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    """Long context: lines that an earlier action wrote and that the answer shows again."""
    turn = trajectory.turns[number - 1]
    asked = _words_of(turn.action)
    before = trajectory.turns[number - 2].observation.text if number > 1 else ""
    by_turn: dict[int, list[str]] = {}
    earlier = [_words_of(one.action) for one in trajectory.turns[: number - 1]]
    for line in dict.fromkeys(piece.strip() for piece in turn.observation.text.split("\n")):
        if not _SHORTEST <= len(line) <= _LONGEST or not re.search(r"\w{3}", line) or line in asked or line in before:
            continue
        writer = next((n for n in range(number - 1, 0, -1) if line in earlier[n - 1]), None)
        if writer is not None:
            by_turn.setdefault(writer, []).append(line)
    for writer, lines in by_turn.items():
        sql = _SQL_WRITE.search(earlier[writer - 1]) and _SQL_READ.search(asked)
        kind = "database" if sql else "write_read"
        why = f"the answer shows what turn {writer} wrote: {lines[0]!r}"
        parts = tuple(Contains(text=line) for line in lines[:_MOST_LINES])
        yield _Found("long_context", kind, why, AllOf(of=parts), writer)


def _variable(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    """Long context: a variable set in an earlier turn."""
    turn = trajectory.turns[number - 1]
    asked = _words_of(turn.action)
    values: dict[str, tuple[int, str]] = {}
    for earlier in range(1, number):
        for name, value in _SET.findall(_words_of(trajectory.turns[earlier - 1].action)):
            values[name] = (earlier, value.strip("\"'"))
    for name, (setter, value) in values.items():
        used = re.search(rf"\$\{{?{name}\b|\bprintenv\s+{name}\b", asked)
        again = re.search(rf"\b{name}=", asked)
        if used and not again and len(value) > 1 and value in turn.observation.text and value not in asked:
            why = f"turn {setter} set {name} to {value!r}"
            yield _Found("long_context", "variable", why, Contains(text=value), setter)


def _directory(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    """Long context: where earlier turns went."""
    turn = trajectory.turns[number - 1]
    asked = _words_of(turn.action)
    moved = [n for n in range(1, number) if _CHANGES_DIRECTORY.search(_words_of(trajectory.turns[n - 1].action))]
    if not moved or not _PWD.search(asked) or _CHANGES_DIRECTORY.search(asked):
        return
    path = next((line for line in turn.observation.text.split("\n") if re.fullmatch(r"/[\w./-]*", line)), None)
    if path is not None:
        why = f"since turn {moved[-1]} the directory is {path}"
        yield _Found("long_context", "directory", why, Contains(text=path, line=True), moved[-1])


def _replaced_value(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    """Controllability: the same history with another word in it must give an answer with the other word."""
    turn = trajectory.turns[number - 1]
    asked = _words_of(turn.action)
    lines = {line.strip() for line in turn.observation.text.split("\n")}
    whole = "\n".join(_words_of(one.action) for one in trajectory.turns)
    world = json.dumps([trajectory.world.model_dump(mode="json")], ensure_ascii=False)
    for writer in range(number - 1, 0, -1):
        text = _words_of(trajectory.turns[writer - 1].action)
        if not _WRITES.search(text):
            continue
        for word in dict.fromkeys(_PLAIN_WORD.findall(text)):
            shown = [line for line in lines if word in line and line in text]
            if not shown or word in asked or word in world:
                continue
            if re.search(rf"[\w./$=-]{word}|{word}[\w./=(-]|(?:^|[;&|\n]\s*){word}\b", whole):  # used otherwise
                continue
            other = _other_word(word)
            check = AllOf(of=(Contains(text=other), Not(of=Contains(text=word))))
            why = f"in this history turn {writer} wrote {other!r} instead of {word!r}"
            data = json.loads(turn.observation.model_dump_json().replace(word, other))
            expected = Observation.model_validate(data)
            replace = {word: other}
            yield _Found("controllability", "other_value", why, check, writer, replace=replace, expected=expected)
            return


def _other_word(word: str) -> str:
    """A word of the same length that no text holds by chance; the same for the same word."""
    digits = int(content_id(["other", word]), 16)
    letters = []
    for place in range(len(word)):
        digits, index = divmod(digits, 20) if digits else (int(content_id([word, place]), 16), 0)
        letters.append("bcdfghjklmnpqrstvwxz"[index])
    return "".join(letters)


def _told_to_fail(trajectory: Trajectory, number: int) -> Iterator[_Found]:
    """Controllability: a failure that the world is told to answer with, at a turn that really went well."""
    turn = trajectory.turns[number - 1]
    command = turn.action.command
    if command is None or turn.observation.exit_code not in (0, None) or turn.observation.is_error:
        return
    head = _PROGRAM.match(command)
    first_use = head is not None and not any(
        (one.action.command or "").startswith(head.group()) for one in trajectory.turns[: number - 1]
    )
    if head is None or not first_use or head.group() in ("cd", "export", "set", "exit"):
        return
    program = head.group()
    code = f"E{int(content_id([trajectory.id, number]), 16) % 9000 + 1000}"
    message = f"{program}: resource temporarily locked ({code})"
    apart = turn.observation.exit_code is not None
    answer = Observation.from_streams(b"", f"{message}\n".encode(), 75) if apart else Observation(text=f"{message}\n")
    status = " and ends with status 75" if apart else ""
    instruction = (
        f"At turn {number} the command is refused: it has no effect, prints exactly `{message}` on standard "
        f"error{status}. All other turns are answered as usual."
    )
    fire = {"name": "told-to-fail", "turns": [number], "answer": answer.model_dump(mode="json", exclude_defaults=True)}
    parts: tuple[Any, ...] = (Contains(text=message), *([ExitCode(code=75)] if apart else []))
    why = f"the world is told to refuse {program} with {code}"
    control: JsonDict = {"instruction": instruction, "rules": [fire]}
    yield _Found("controllability", "told_to_fail", why, AllOf(of=parts), control=control, expected=answer)


def _words_of(action: Action) -> str:
    """Every text that an action holds, one a line."""
    found: list[str] = [action.text] if action.text is not None else []
    waiting: list[Any] = list(action.arguments.values())
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            waiting[:0] = value.values()
        elif isinstance(value, list):
            waiting[:0] = value
    return "\n".join(found)


def _json(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
