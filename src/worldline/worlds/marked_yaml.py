"""YAML whose values remember their lines, with the traps of YAML taken out.

The core schema of YAML 1.2 is used: only `true` and `false` are truth values (`no` is a word), times stay text,
`0644` stays text, there are no merge keys and no tags that build objects. Duplicate keys are errors, and aliases may
not blow a small file up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

__all__ = ["Key", "MarkedYaml", "MarkedYamlError", "is_scalar_value", "parse_marked"]

Key = tuple[str | int, ...]

_MAX_VALUES = 200_000
_MAX_DEPTH = 60
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG = "tag:yaml.org,2002:"
_RESOLVERS: tuple[tuple[str, str, str], ...] = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?(?:0|[1-9][0-9]{0,300})$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
)


class MarkedYamlError(Exception):
    """The text is not acceptable YAML; `line` is 1-based."""

    def __init__(self, message: str, line: int | None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.hint = hint


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 # PyYAML's own shape


for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(_pattern), ["" if char == "\0" else char for char in _first])


def is_scalar_value(text: str) -> bool:
    """Whether an unquoted `text` would be read as a number, a truth value or nothing."""
    return any(re.match(pattern, text) for _, pattern, _ in _RESOLVERS)


@dataclass(slots=True)
class MarkedYaml:
    """A parsed document: plain data, and where each key stands."""

    value: Any = None
    lines: dict[Key, int] = field(default_factory=dict)
    """Line of each key or list item, by its path from the root."""
    source: dict[Key, str] = field(default_factory=dict)
    """The text of each plain scalar that is not a string (`8080`, `true`), as written."""

    def line_of(self, path: Key) -> int:
        """Return the line of the key at `path`, or of the nearest one above it."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 1


def parse_marked(text: str) -> MarkedYaml:
    """Parse one YAML document.

    Raises:
        MarkedYamlError: The text is not YAML, holds several documents, a duplicate key, an unknown tag, or is
            nested or aliased beyond reason.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        builder = _Builder(loader)
        if node is not None:
            builder.result.value = builder.build(node, (), 0)
        return builder.result
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position) + 1
        raise MarkedYamlError(f"the character U+{exc.character:04X} may not stand in YAML", line) from exc
    except yaml.MarkedYAMLError as exc:
        raise _syntax_error(exc) from exc
    except RecursionError as exc:
        raise MarkedYamlError("nested too deeply", None) from exc


def _syntax_error(exc: yaml.MarkedYAMLError) -> MarkedYamlError:
    mark = exc.problem_mark or exc.context_mark
    problem = exc.problem or str(exc)
    hint = None
    if "'\\t'" in problem:
        hint = "indent with blanks, not with tabs"
    elif "mapping values are not allowed" in problem:
        hint = "quote a text that holds ': '"
    elif "expected a single document" in str(exc):
        hint = "one world is one document: take out the line ---"
    return MarkedYamlError(f"not YAML: {problem}", mark.line + 1 if mark else None, hint)


class _Builder:
    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader = loader
        self._count = 0
        self._open: set[int] = set()
        self.result = MarkedYaml()

    def build(self, node: Node, path: Key, depth: int) -> Any:
        line = node.start_mark.line + 1
        self._count += 1
        if self._count > _MAX_VALUES:
            raise MarkedYamlError(f"more than {_MAX_VALUES:,} values", line, "aliases (*name) count each time")
        if depth > _MAX_DEPTH:
            raise MarkedYamlError(f"nested more than {_MAX_DEPTH} levels deep", line)
        if id(node) in self._open:
            raise MarkedYamlError("an alias (*name) that holds itself", line)
        self._open.add(id(node))
        try:
            return self._value(node, path, depth, line)
        finally:
            self._open.discard(id(node))

    def _value(self, node: Node, path: Key, depth: int, line: int) -> Any:
        if isinstance(node, ScalarNode):
            return self._scalar(node, path, line)
        if isinstance(node, SequenceNode) and node.tag == _TAG + "seq":
            items = []
            for index, child in enumerate(node.value):
                self.result.lines[*path, index] = child.start_mark.line + 1
                items.append(self.build(child, (*path, index), depth + 1))
            return items
        if isinstance(node, MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path, depth)
        raise MarkedYamlError(f"the tag {node.tag.replace(_TAG, '!!')} is not allowed", line)

    def _mapping(self, node: MappingNode, path: Key, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, child in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode):
                raise MarkedYamlError("a key must be a text", line)
            key = key_node.value
            if key == "<<" and key_node.style is None:
                raise MarkedYamlError("merge keys (<<) are not supported", line, "write the keys out")
            if key in mapping:
                raise MarkedYamlError(f"the key {key!r} is there twice", line, f"first in line {self._line(path, key)}")
            self.result.lines[*path, key] = line
            mapping[key] = self.build(child, (*path, key), depth + 1)
        return mapping

    def _line(self, path: Key, key: str) -> int:
        return self.result.lines[*path, key]

    def _scalar(self, node: ScalarNode, path: Key, line: int) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if kind not in {"str", "bool", "int", "float", "null", "binary"} or node.tag == kind:
            raise MarkedYamlError(f"the tag {node.tag.replace(_TAG, '!!')} is not allowed", line)
        if kind == "str":
            if _SURROGATE.search(node.value):
                raise MarkedYamlError("a lone surrogate is no character", line, "give a file's bytes under `base64:`")
            return node.value
        if kind == "binary":
            raise MarkedYamlError("!!binary is not supported", line, "give a file's bytes under `base64:`")
        if node.style is None:
            self.result.source[path] = node.value
        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError, KeyError) as exc:
            raise MarkedYamlError(f"{node.value!r} is not a {kind}", line) from exc
