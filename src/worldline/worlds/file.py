"""World files: YAML that a person writes, checked with errors that point at the line."""

from __future__ import annotations

import codecs
import difflib
import posixpath
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError

from worldline.control import ControlSpec, VerifierSpec
from worldline.domains import Domain, get_domain
from worldline.errors import ConfigError, InputError, WorldFileError, boundary
from worldline.types import Action, Demonstration, JsonDict, Observation, Turn, WorldSpec
from worldline.worlds.demonstrations import read_demonstrations
from worldline.worlds.marked_yaml import Key, MarkedYaml, MarkedYamlError, is_scalar_value, parse_marked

__all__ = ["KEYS", "dump_world", "load_world_file", "parse_world"]

KEYS = tuple(WorldSpec.model_fields)
"""The keys of a world file."""

_MAX_BYTES = 16 << 20
_RELAXED = {"string_type", "model_type", "model_attributes_type"}
"""Errors that go away where an unquoted number or truth value is taken as the text it was written as."""


def load_world_file(path: str | Path) -> WorldSpec:
    """Read and check a world file.

    Raises:
        WorldFileError: It is missing, not YAML, or a key is wrong; names the line and the key.
        StorageError: It may not be read.
    """
    file = Path(path)
    if file.is_dir():
        raise WorldFileError("is a directory; a YAML file was expected", path=str(path))
    if not file.exists():
        raise WorldFileError("no such file", path=str(path))
    with boundary(WorldFileError, f"reading {path}", OSError), file.open("rb") as handle:
        data = handle.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise WorldFileError(f"is larger than {_MAX_BYTES:,} bytes", path=str(path))
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise WorldFileError("is UTF-16; UTF-8 is expected", path=str(path), line=1)
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise WorldFileError(f"invalid UTF-8 at byte {exc.start + 1}", path=str(path), line=line) from exc
    return parse_world(text, file)


def parse_world(text: str, path: str | Path | None = None) -> WorldSpec:
    """Check the text of a world file.

    Args:
        text: The YAML text.
        path: Where it comes from: named in errors, and the place `demonstrations` files are looked up beside.

    Raises:
        WorldFileError: It is not YAML, or a key is wrong; names the line and the key.
    """
    name = str(path) if path is not None else "world"
    try:
        document = parse_marked(text)
    except MarkedYamlError as exc:
        raise WorldFileError(exc.message, path=name, line=exc.line, hint=exc.hint) from exc
    return _Checker(document, name, None if path is None else Path(path).parent).world()


class _Checker:
    """Turns a parsed document into a WorldSpec, or points at what is wrong."""

    def __init__(self, document: MarkedYaml, name: str, folder: Path | None) -> None:
        self._document = document
        self._name = name
        self._folder = folder

    def world(self) -> WorldSpec:
        root = self._document.value
        if not isinstance(root, dict):
            self._fail((), "a mapping of keys was expected", f"keys: {', '.join(KEYS)}")
        for key in root:
            if key not in KEYS:
                self._unknown((key,), KEYS)
        domain = self._domain(root)
        fields: JsonDict = {key: value for key, value in root.items() if value is not None}
        if "initial_state" in fields:
            fields["initial_state"] = self._state(domain, fields["initial_state"])
        if "control" in fields:
            fields["control"] = self._control(fields["control"])
        if "verifier" in fields:
            self._validated(VerifierSpec, fields["verifier"], ("verifier",))
        if "demonstrations" in fields:
            fields["demonstrations"] = self._demonstrations(domain, fields["demonstrations"])
        if not isinstance(fields.get("hidden_state", ""), str | dict):
            self._fail(("hidden_state",), "a text or a mapping was expected")
        spec = self._validated(WorldSpec, fields, ())
        assert isinstance(spec, WorldSpec)
        return spec

    def _domain(self, root: JsonDict) -> Domain:
        if not isinstance(root.get("domain"), str):
            self._fail(("domain",), "missing: which kind of environment this is", "for instance domain: terminal")
        try:
            return get_domain(root["domain"])
        except ConfigError as exc:
            self._fail(("domain",), exc.message, exc.hint)

    def _state(self, domain: Domain, state: Any) -> JsonDict:
        """Check what is declared about the start; returned as declared, without the defaults."""
        if not isinstance(state, dict):
            self._fail(("initial_state",), "a mapping was expected")
        for _ in range(2):
            try:
                filled = domain.validate_state(state)
                self._distinct_files(state.get("files"), filled.get("files"))
                return state
            except ValidationError as exc:
                if not self._relax(exc, state, ("initial_state",)):
                    self._report(exc, ("initial_state",), state, domain)
        return state

    def _distinct_files(self, declared: Any, normal: Any) -> None:
        """Refuse two spellings of one path (`/a` and `/a/`)."""
        if not isinstance(declared, dict) or not isinstance(normal, dict) or len(declared) == len(normal):
            return
        seen: set[str] = set()
        for path in declared:
            if (plain := posixpath.normpath(path)) in seen:
                self._fail(("initial_state", "files", path), f"the path {plain} is there twice")
            seen.add(plain)

    def _relax(self, exc: ValidationError, data: Any, at: Key) -> bool:
        """Take unquoted scalars as text where text is wanted (`mode: 644`); tell whether any was replaced."""
        changed = False
        for error in exc.errors(include_url=False, include_context=False, include_input=False):
            written = self._document.source.get((*at, *error["loc"]))
            if error["type"] in _RELAXED and written is not None and _get(data, error["loc"]) is not None:
                parent = _get(data, error["loc"][:-1])
                if isinstance(parent, dict | list):
                    parent[error["loc"][-1]] = written  # type: ignore[index]
                    changed = True
        return changed

    def _validated(self, model: type[Any], data: Any, at: Key) -> Any:
        for _ in range(2):
            try:
                return model.model_validate(data)
            except ValidationError as exc:
                if not self._relax(exc, data, at):
                    self._report(exc, at, data, None, model)
        return model.model_validate(data)

    def _control(self, control: Any) -> JsonDict:
        rules = control.get("rules") if isinstance(control, dict) else None
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and "answer" in rule:
                answer = self._observation(rule["answer"], ("control", "rules", index, "answer"))
                rule["answer"] = {"text": answer.text, **answer.model_dump(mode="json", exclude_defaults=True)}
        self._validated(ControlSpec, control, ("control",))
        assert isinstance(control, dict)
        return control

    def _demonstrations(self, domain: Domain, value: Any) -> list[Demonstration]:
        if not isinstance(value, list):
            self._fail(("demonstrations",), "a list was expected")
        found: list[Demonstration] = []
        for index, item in enumerate(value):
            at: Key = ("demonstrations", index)
            if not isinstance(item, dict):
                self._fail(at, "a mapping with `turns` or `from` was expected")
            elif "from" in item:
                found.extend(self._demonstrations_from(item, at))
            else:
                self._only(item, at, ("turns", "note"))
                if not isinstance(item.get("turns"), list):
                    self._fail(at, "a list of `turns` was expected")
                turns = [self._turn(domain, turn, (*at, "turns", n)) for n, turn in enumerate(item["turns"])]
                found.append(Demonstration(turns=tuple(turns), note=str(item.get("note") or "")))
        return found

    def _demonstrations_from(self, item: JsonDict, at: Key) -> list[Demonstration]:
        self._only(item, at, ("from", "limit", "note"))
        limit = item.get("limit", 1)
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            self._fail((*at, "limit"), "a number of at least 1 was expected")
        try:
            return read_demonstrations(self._folder, item["from"], limit, str(item.get("note") or ""))
        except InputError as exc:
            self._fail((*at, "from"), exc.message, exc.hint)

    def _turn(self, domain: Domain, value: Any, at: Key) -> Turn:
        if not isinstance(value, dict) or "action" not in value or "observation" not in value:
            self._fail(at, "a mapping with `action` and `observation` was expected")
        fields = {
            **value,
            "action": self._action(domain, value["action"], (*at, "action")),
            "observation": self._observation(value["observation"], (*at, "observation")),
        }
        turn = self._validated(Turn, fields, at)
        assert isinstance(turn, Turn)
        return turn

    def _action(self, domain: Domain, value: Any, at: Key) -> Action:
        if isinstance(value, dict) and value and set(value) <= set(Action.model_fields):
            action = self._validated(Action, value, at)
            assert isinstance(action, Action)
            return action
        try:
            return domain.parse_action(value)
        except InputError as exc:
            self._fail(at, exc.message, exc.hint)

    def _observation(self, value: Any, at: Key) -> Observation:
        """Read an observation: a text, or fields; without `text` it is stdout followed by stderr."""
        if isinstance(value, dict):
            if "text" not in value and ("stdout" in value or "stderr" in value or "exit_code" in value):
                value = {"stdout": "", "stderr": "", "exit_code": 0, **value}
                value["text"] = f"{value['stdout']}{value['stderr']}"
                value.setdefault("is_error", value["exit_code"] != 0)
        elif value is not None:
            value = {"text": self._document.source.get(at, value)}
        observation = self._validated(Observation, value, at)
        assert isinstance(observation, Observation)
        return observation

    def _only(self, item: JsonDict, at: Key, keys: Iterable[str]) -> None:
        for key in item:
            if key not in keys:
                self._unknown((*at, key), keys)

    def _unknown(self, path: Key, known: Iterable[str]) -> NoReturn:
        known = sorted(known)
        close = difflib.get_close_matches(str(path[-1]), known, n=1)
        did = f"did you mean {close[0]!r}? " if close else ""
        self._fail(path, "unknown key", f"{did}known: {', '.join(known)}" if known else None)

    def _report(
        self, exc: ValidationError, at: Key, data: Any, domain: Domain | None, model: type[BaseModel] | None = None
    ) -> NoReturn:
        """Raise the first error by line; the others follow in the hint."""
        errors = exc.errors(include_url=False, include_context=False, include_input=False)
        located = sorted(
            ((*_place(data, error["loc"], error["type"]), error["type"], error["msg"]) for error in errors),
            key=lambda item: (item[2] != "extra_forbidden", self._document.line_of((*at, *item[0]))),
        )
        path, in_key, kind, message = located[0]
        if kind == "extra_forbidden":
            self._unknown((*at, *path), _known_keys(path[:-1], domain, model, data))
        others = {f"line {self._document.line_of((*at, *item[0]))}" for item in located[1:]}
        hint = f"more problems in {', '.join(sorted(others))}" if others else None
        text = "missing" if kind == "missing" else message.removeprefix("Value error, ")
        self._fail((*at, *path), f"the key {text}" if in_key else text, hint)

    def _fail(self, path: Key, message: str, hint: str | None = None) -> NoReturn:
        place = ".".join(str(part) for part in path)
        line = self._document.line_of(path) if self._document.lines else None
        raise WorldFileError(f"{place}: {message}" if place else message, path=self._name, line=line, hint=hint)


def _get(data: Any, path: tuple[int | str, ...]) -> Any:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _place(data: Any, loc: tuple[int | str, ...], kind: str) -> tuple[Key, bool]:
    """Cut pydantic's location down to keys that are in the data; tell whether the error is about a key.

    What else it names in between says which of several models was tried.
    """
    path: list[str | int] = []
    for number, part in enumerate(loc, 1):
        if _holds(data, part):
            path.append(part)
            data = data[part]
        elif kind == "missing" and number == len(loc):
            path.append(part)
    return tuple(path), loc[-1:] == ("[key]",)


def _holds(data: Any, part: int | str) -> bool:
    if isinstance(data, Mapping):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and part < len(data)


def _known_keys(path: Key, domain: Domain | None, model: type[BaseModel] | None, data: Any) -> list[str]:
    """Return the keys allowed at `path`, read off the fields of the model or the defaults of the domain."""
    model = model or getattr(domain, "state", None)
    if model is not None:
        return _fields_at(model, path, data)
    assert domain is not None
    try:
        found = _get(domain.validate_state(_minimal(path)), path)
    except ValidationError:
        return []  # something that must be there is not: the defaults tell nothing
    return list(found) if isinstance(found, dict) else []


def _fields_at(annotation: Any, path: Key, data: Any) -> list[str]:
    """Names of the fields at a path below a type; `data` says which one of several models is meant."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields = {field.alias or name: field for name, field in annotation.model_fields.items()}
        if not path:
            return list(fields)
        field = fields.get(str(path[0]))
        return _fields_at(field.annotation, path[1:], _get(data, path[:1])) if field else []
    origin, parts = get_origin(annotation), get_args(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping | list | tuple):
        path, data = path[1:], _get(data, path[:1])
    for part in parts:
        if not _is_other_kind(part, data) and (found := _fields_at(part, path, data)):
            return found
    return []


def _is_other_kind(annotation: Any, data: Any) -> bool:
    """Whether a model is not that of the data, by the field `kind` that tells several of them apart."""
    field = getattr(annotation, "model_fields", {}).get("kind")
    kinds = get_args(field.annotation) if field is not None else ()
    return bool(kinds) and isinstance(data, Mapping) and data.get("kind") not in kinds


def _minimal(path: Key) -> JsonDict:
    """Build the smallest state in which there is something at `path`."""
    state: Any = {}
    for part in reversed(path):
        state = {part: state}
    return state if isinstance(state, dict) else {}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text_node(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))


def _style(text: str) -> str | None:
    """Choose how a text is quoted, so that it is read back the same."""
    lines = text.split("\n")
    if not all(line.isprintable() for line in lines):
        return '"'
    if is_scalar_value(text):
        return "'"
    # A block keeps neither blanks before a line end nor a first line that begins with a blank reliably.
    plain = all(line == line.rstrip() for line in lines) and not text[:1].isspace()
    return "|" if len(lines) > 1 and plain else None


_Dumper.add_representer(str, _text_node)


def dump_world(spec: WorldSpec) -> str:
    """Write a world as a world file; :func:`parse_world` reads it back equal."""
    plain = spec.model_dump(mode="json", exclude_defaults=True)
    for demonstration, dumped in zip(spec.demonstrations, plain.get("demonstrations", ()), strict=False):
        for turn, entry in zip(demonstration.turns, dumped["turns"], strict=True):
            entry["action"] = entry.get("action") or {"name": ""}
            entry["observation"] = {"text": turn.observation.text, **entry.get("observation", {})}
    ordered = {"schema_version": spec.schema_version, **{key: plain[key] for key in KEYS if key in plain}}
    return yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
