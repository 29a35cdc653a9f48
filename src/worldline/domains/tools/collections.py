"""Collections: what a tool world declares when it is described by records and rules instead of code.

A world file holds it under `initial_state.collections`: *stores* of records, what each *tool* does with them, and
answers that were *recorded*. Texts and values are templates: `"{{ args.id }}"` is the value of an expression
(Jinja's), a text around it makes a text of it. docs/tool-worlds.md explains every key.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from worldline.domains.terminal.state import TerminalState
from worldline.types import Frozen, JsonDict

__all__ = [
    "CaseSpec",
    "CollectionsSpec",
    "Dialect",
    "EffectSpec",
    "GuessSpec",
    "HarvestSpec",
    "IdSpec",
    "JsonStyle",
    "KeyedRecord",
    "MessageSpec",
    "PagingSpec",
    "RecordedRead",
    "StoreSpec",
    "SupportSpec",
    "ToolRule",
]

Dialect = Literal["", "zod", "pydantic", "pydantic-strict", "jsonschema"]
"""What words the refusals of arguments that a schema does not allow; empty: the texts of the world itself."""
Operation = Literal["create", "read", "update", "delete", "list", "search", "shell"]

_NUMBERED = re.compile(r"(?:[^{}]|\{\{|\}\})*\{n(?::0?\d{0,3}[dxX]?)?\}(?:[^{}]|\{\{|\}\})*")
"""A pattern that gives every number another text; doubled braces stand for themselves."""


class JsonStyle(Frozen):
    """How an environment writes JSON."""

    indent: Annotated[int, Field(ge=0, le=8)] | None = None
    compact: bool = False
    """No blanks behind `,` and `:`."""
    ascii: bool = True
    """Characters beyond ASCII are escaped."""
    sort_keys: bool = False


class IdSpec(Frozen):
    """How new records get the part of their key that no argument gives."""

    pattern: str = "{n}"
    """A text with `{n}`, `{n:04d}` or the like."""
    next: int = 1
    """Number of the next one."""
    integer: bool = False
    """The id is a number, not a text."""

    @field_validator("pattern")
    @classmethod
    def _holds_the_number(cls, pattern: str) -> str:
        if not _NUMBERED.fullmatch(pattern):
            raise ValueError("must hold the number once, as {n}, {n:04d} or the like, and no other field")
        return pattern


class KeyedRecord(Frozen):
    """A record whose key does not (wholly) stand in it."""

    key: tuple[str | int, ...]
    record: Any


class StoreSpec(Frozen):
    """Records of one kind."""

    key: tuple[str, ...] = ("id",)
    """Names of the key's parts: fields of the record where it has them."""
    closed: bool = False
    """All records are declared: a key that is not here does not exist. Otherwise it is not known."""
    ids: IdSpec | None = None
    records: tuple[JsonDict, ...] = ()
    keyed: tuple[KeyedRecord, ...] = ()

    @model_validator(mode="after")
    def _records_have_keys(self) -> StoreSpec:
        if not self.key:
            raise ValueError("the key needs at least one part")
        for number, record in enumerate(self.records):
            missing = [part for part in self.key if not isinstance(record.get(part), str | int)]
            if missing:
                raise ValueError(f"record {number} lacks {', '.join(missing)}, which is part of the key")
        for number, entry in enumerate(self.keyed):
            if len(entry.key) != len(self.key):
                raise ValueError(f"keyed record {number}: the key has {len(self.key)} parts")
        return self


class SupportSpec(Frozen):
    """How often a learned rule reproduced the traces it was learned from."""

    n: int
    exact: int


class EffectSpec(Frozen):
    """What a call changes in a store."""

    store: str
    key: Any = None
    """Template of the key: a value, or a list for several parts."""
    value: Any = None
    """Template of the record afterwards; `answer` is what the call answered."""
    delete: bool = False
    doubt: bool = False
    """The record is not known any more."""


class CaseSpec(Frozen):
    """One way a call can end: the first case whose `when` holds answers."""

    when: str = ""
    """Expression in `{{ }}`; empty: always."""
    let: dict[str, Any] = Field(default_factory=dict)
    answer: Any = ""
    """Template of the answer: a text is given as it is, anything else as JSON."""
    error: bool = False
    effects: tuple[EffectSpec, ...] = ()
    guess: bool = False
    """The answer is no more than a guess."""
    hearsay: bool = False
    """An error of another tool, expected of this one too: where it cannot be told, the call is taken not to be so
    refused."""
    support: SupportSpec | None = None


class HarvestSpec(Frozen):
    """Where records stand in the answers of a tool."""

    store: str
    path: str = ""
    """Steps from the answer to the records, joined by dots: `*` goes through a list; empty: the answer itself."""
    key: Any = None
    """Template of the key over `item` and `args`; by default the fields called like its parts."""
    has: tuple[str, ...] = ()
    """Only what has all of these fields is a record of the store."""


class PagingSpec(Frozen):
    """Names of the arguments that choose a part of a listing."""

    limit: str = ""
    offset: str = ""
    page: str = ""
    size: Annotated[int, Field(ge=1)] = 20
    """Length of a part where the call gives none."""


class GuessSpec(Frozen):
    """An answer that is no more than a guess."""

    answer: str = ""
    error: bool = False


class ToolRule(Frozen):
    """What a tool does: cases of its own, and behind them an operation on a store."""

    let: dict[str, Any] = Field(default_factory=dict)
    """Names for what the cases and the operation use, in order; one that cannot be told harms only who uses it."""
    cases: tuple[CaseSpec, ...] = ()
    operation: Operation | None = None
    store: str | tuple[str, ...] = ()
    """Store of the operation; a `read` may look into several."""
    key: Any = None
    """Template of the key; by default the argument called like each part, or the only argument there is."""
    fields: dict[str, Any] = Field(default_factory=dict)
    """`create`, `update`: fields that are not simply the arguments, as templates."""
    ignore: tuple[str, ...] = ()
    """`create`, `update`: arguments that are no fields; `list`: arguments that do not filter."""
    shown: tuple[str, ...] = ()
    """Fields of a record that the answer shows, in this order; empty: all. Without one of them nothing is known."""
    where: str = ""
    """`list`, `search`: expression over `item`; `read`: the record is the only one for which it holds."""
    match: tuple[str, ...] = ()
    """`search`: fields in which the text is looked for, whatever the case; empty: all texts."""
    query: str = "query"
    """`search`: the argument that holds the text."""
    sort: str = ""
    """Field to sort a listing by; a minus before it turns the order round."""
    paging: PagingSpec | None = None
    command: str = ""
    """`shell`: template of the command that is run; `{{ args.path | quote }}` quotes a word."""
    answer: Any = None
    """Template of the answer, over `record`, `items` and `total`, or `stdout`, `stderr` and `exit_code`; by default
    the record, the items or the output themselves."""
    missing: Any = None
    """Template of the error where there is no such record."""
    exists: Any = None
    """`create`: template of the error where there is one already; without it the new one takes its place."""
    harvest: tuple[HarvestSpec, ...] = ()
    """What observed answers tell of stores, beside what the operation says."""
    keeps: str = ""
    """Store of the tool's whole answers, as `text`, by `key`: calls with that argument alone are answered from it."""
    effects: tuple[EffectSpec, ...] = ()
    """What every call that goes well changes, beside the effects of its case; nothing that an answer is needed for."""
    changes: bool | None = None
    """Whether calls change anything. False: never. True: no more than effects, harvests and `doubts` say. Left out:
    what the operation says, and without any rule nothing is known after a call."""
    doubts: tuple[str, ...] = ()
    """Tools and stores whose recorded answers do not stand after a call of this one."""
    unchecked: tuple[str, ...] = ()
    """Arguments that the environment takes although the tool's schema does not allow them."""
    alike: bool = False
    """Whether what cannot be told is guessed from the recorded call most like it, not from the tool's last answer."""
    otherwise: GuessSpec | None = None
    """What to guess where nothing can be told; left out: what the tool answered last."""
    json_style: JsonStyle | None = None


class MessageSpec(Frozen):
    """How the environment words its refusals; templates over `tool`, `name`, `value` and the like."""

    dialect: Dialect = ""
    """The library that words refusals of arguments in place of the texts below: `zod` (TypeScript servers of the
    Model Context Protocol), `pydantic` (typed Python ones; `-strict` where a
    text is no number), `jsonschema` (low-level Python ones)."""
    unknown_tool: Any = "Error: unknown tool {{ tool }}"
    unknown_tool_fails: bool = True
    """Whether that is marked as an error."""
    missing_argument: Any = "Error: missing required argument: {{ name }}"
    unknown_argument: Any = None
    """None: arguments that no schema names are let pass."""
    wrong_type: Any = "Error: argument {{ name }} must be of type {{ expected }}"
    not_allowed: Any = "Error: argument {{ name }} must be one of {{ allowed | join(', ') }}"
    missing_record: Any = "Error: {{ tool }}: no such record: {{ key | join(', ') }}"


class RecordedRead(Frozen):
    """A recorded answer of a tool that changes nothing."""

    tool: str
    arguments: JsonDict = Field(default_factory=dict)
    answer: str
    error: bool = False


class CollectionsSpec(Frozen):
    """Records and rules of a tool world."""

    stores: dict[str, StoreSpec] = Field(default_factory=dict)
    tools: dict[str, ToolRule] = Field(default_factory=dict)
    reads: tuple[RecordedRead, ...] = ()
    terminal: TerminalState | None = None
    """A machine with files and a shell, for the operation `shell`; what a world of domain `terminal` declares."""
    messages: MessageSpec = MessageSpec()
    check_arguments: bool = True
    """Calls are checked against the tools' schemas before anything else."""
    now: str = ""
    """Time of the world, `now` in templates; ISO 8601."""
    tick: Annotated[int, Field(ge=0)] = 1
    """Seconds that pass with each call, where `now` is set."""
    json_style: JsonStyle = JsonStyle()

    @field_validator("now")
    @classmethod
    def _is_a_time(cls, now: str) -> str:
        if now:
            try:
                datetime.fromisoformat(now)
            except ValueError as exc:
                raise ValueError("is no time as ISO 8601 writes it, like 2024-05-15T15:00:00") from exc
        return now

    @model_validator(mode="after")
    def _stores_exist(self) -> CollectionsSpec:
        for tool, rule in self.tools.items():
            named = (rule.store,) if isinstance(rule.store, str) else rule.store
            used = {*named, *(effect.store for case in rule.cases for effect in case.effects)}
            used |= {harvest.store for harvest in rule.harvest} | {effect.store for effect in rule.effects}
            used |= {rule.keeps} if rule.keeps else set()
            unknown = sorted(used - set(self.stores))
            if unknown:
                raise ValueError(f"tool {tool}: no store {', '.join(unknown)}")
            if rule.operation == "shell":
                if self.terminal is None or not rule.command:
                    raise ValueError(f"tool {tool}: the operation shell needs `terminal` and a `command`")
            elif rule.operation is not None and not named:
                raise ValueError(f"tool {tool}: the operation {rule.operation} needs a store")
        return self
