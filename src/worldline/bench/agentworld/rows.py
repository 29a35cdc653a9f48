"""The rows of AgentWorldBench, found once and read again when they are needed.

2,170 rows are 400 MB, because each repeats its history. So an index keeps where a row stands and what tells it from
others, never its text. Lines are split on LF alone: rows hold other characters that Python takes for line ends.

Rows are for evaluation: nothing here hands them to training or memory, and the trajectories that the format reader
makes of the same files are marked as evaluation-only.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldline.bench.agentworld.records import DOMAINS, EvalRow
from worldline.errors import ConfigError, FormatError, InputError, boundary, require_extra, unknown_name
from worldline.formats.agentworld_text import INSTRUCTION
from worldline.formats.agentworldbench import RowFields
from worldline.formats.base import reason_of
from worldline.formats.compression import HEAD, method_of
from worldline.formats.jsontext import load_json
from worldline.types import Frozen, content_id

__all__ = ["HUB_NAME", "BadRow", "RowIndex", "RowRef", "data_folder", "eval_row", "index_rows"]

HUB_NAME = "Qwen/AgentWorldBench"
"""Name of the published data set on the Hugging Face hub."""
_PATTERN = "*_test.jsonl"


class RowRef(Frozen):
    """Where a row stands and what it is, without its text."""

    key: str
    domain: str
    id: str
    trajectory: str
    turn: int
    total_turns: int | None = None
    file: str
    """Name of the file in the data folder."""
    offset: int
    """First byte of the line."""
    length: int
    """Bytes of the line, its newline included."""
    copies: int = 1
    """How often the data holds this very row."""


class BadRow(Frozen):
    """A line that is no row, and why."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class _Chain:
    """The longest history seen of one trajectory, as one digest per turn."""

    key: str
    digests: list[bytes]


@dataclass(slots=True)
class _Chains:
    """Tells trajectories apart: same task and id, and one history the beginning of the other."""

    by_head: dict[str, list[_Chain]] = field(default_factory=dict)

    def key_of(self, row: RowFields) -> str:
        """Return the trajectory of a row; one that fits none begins a new one."""
        prompts = [*row.prompt[:-1], row.last_prompt[0]]
        digests = [_digest(pair) for pair in zip(prompts, row.response, strict=True)]
        head = content_id([row.task, str(row.id), row.system_str, row.total_turns, digests[0].hex()])
        chains = self.by_head.setdefault(head, [])
        for chain in chains:
            shared = min(len(digests), len(chain.digests))
            if digests[:shared] == chain.digests[:shared]:
                if len(digests) > shared:
                    chain.digests = digests
                return chain.key
        chain = _Chain(head if not chains else f"{head}~{len(chains) + 1}", digests)
        chains.append(chain)
        return chain.key


def _digest(pair: tuple[str, str]) -> bytes:
    hashed = hashlib.blake2b(digest_size=16)
    for text in pair:
        data = text.encode("utf-8", "surrogatepass")
        hashed.update(len(data).to_bytes(8, "little") + data)
    return hashed.digest()


@dataclass(frozen=True, slots=True)
class RowIndex:
    """All rows of a data folder, without their texts.

    Rows that are equal in everything are one entry with `copies`.
    """

    folder: Path
    refs: tuple[RowRef, ...]
    """In the order of the files and lines."""
    bad: tuple[BadRow, ...] = ()
    """Lines that are no rows."""

    def read(self, ref: RowRef) -> EvalRow:
        """Read a row again.

        Raises:
            FormatError: The file has changed since it was indexed.
        """
        path = self.folder / ref.file
        with boundary(FormatError, f"reading {path}"), path.open("rb") as file:
            file.seek(ref.offset)
            data = file.read(ref.length)
        try:
            row = eval_row(_fields(data), ref.trajectory)
        except ValueError as exc:
            raise self._changed(ref) from exc
        if row.key != ref.key:
            raise self._changed(ref)
        return row

    def select(self, *, domains: Collection[str] = (), limit: int | None = None, seed: int = 0) -> list[RowRef]:
        """Choose rows and their order.

        Trajectories come in an order drawn by the seed, so that what a stopped run has done is a fair sample; the
        rows of one stand together, so that a server's prefix cache serves them. A larger `limit` keeps what a smaller
        one chose; domains get equal shares of it as far as they have rows.

        Args:
            domains: Only these; all if empty.
            limit: At most so many rows.
            seed: Of the draw.

        Raises:
            ConfigError: A domain is unknown, or no row is left.
        """
        for domain in domains:
            if domain not in DOMAINS:
                raise unknown_name("domain", domain, DOMAINS)
        chosen = [ref for ref in self.refs if not domains or ref.domain in domains]
        if limit is not None and limit < len(chosen):
            chosen = _shares(chosen, limit, seed)
        if not chosen:
            raise ConfigError(f"{self.folder} holds no row of {', '.join(domains) or 'any domain'}")
        place = {key: content_id([seed, key]) for key in {ref.trajectory for ref in chosen}}
        return sorted(chosen, key=lambda ref: (place[ref.trajectory], ref.trajectory, ref.turn, ref.key))

    def counts(self) -> dict[str, int]:
        """Rows by domain."""
        return dict(Counter(ref.domain for ref in self.refs))

    def _changed(self, ref: RowRef) -> FormatError:
        return FormatError("the file has changed since the run began", path=str(self.folder / ref.file))


def _shares(refs: list[RowRef], limit: int, seed: int) -> list[RowRef]:
    """Take rows from the domains in turn, from each in an order drawn by the seed."""
    waiting: dict[str, list[RowRef]] = {}
    for ref in sorted(refs, key=lambda ref: ref.key):
        waiting.setdefault(ref.domain, []).append(ref)
    for domain, rows in waiting.items():
        random.Random(f"{seed} {domain}").shuffle(rows)
    chosen: list[RowRef] = []
    while len(chosen) < limit:
        for rows in waiting.values():
            if rows and len(chosen) < limit:
                chosen.append(rows.pop())
    return chosen


def data_folder(data: str | Path) -> Path:
    """Find the data: a folder, a single file, or the published set, which the hub library fetches.

    Args:
        data: A path, or :data:`HUB_NAME`.

    Raises:
        FormatError: There is no such path.
        MissingExtraError: The hub library is not installed.
        InputError: The hub does not give the data.
    """
    path = Path(data)
    if path.exists():
        return path
    if str(data) != HUB_NAME:
        raise FormatError("no such file or folder", path=str(data), hint=f"{HUB_NAME} fetches the published data set")
    hub: Any = require_extra("huggingface_hub", "hub")
    with boundary(InputError, f"fetching {HUB_NAME}", OSError, ValueError, RuntimeError):
        return Path(hub.snapshot_download(HUB_NAME, repo_type="dataset", allow_patterns=_PATTERN))


def index_rows(data: str | Path) -> RowIndex:
    """Find the rows of a folder of `{domain}_test.jsonl` files, or of a single file.

    Reads line by line; memory holds one row at a time, and some 300 bytes for each row found.

    Raises:
        FormatError: There is no such data, a file is compressed, or a row is of a domain that the benchmark does not
            have.
    """
    place = data_folder(data)
    files = sorted(place.glob(_PATTERN)) if place.is_dir() else [place]
    if not files:
        raise FormatError(f"holds no {_PATTERN}", path=str(place))
    chains = _Chains()
    found: dict[str, RowRef] = {}
    bad: list[BadRow] = []
    for file in files:
        for item in _refs(file, chains):
            if isinstance(item, BadRow):
                bad.append(item)
                continue
            known = found.get(item.key)
            found[item.key] = item if known is None else known.model_copy(update={"copies": known.copies + 1})
    return RowIndex(place if place.is_dir() else place.parent, tuple(found.values()), tuple(bad))


def _refs(path: Path, chains: _Chains) -> Iterator[RowRef | BadRow]:
    offset = 0
    with boundary(FormatError, f"reading {path}", OSError), path.open("rb", buffering=io.DEFAULT_BUFFER_SIZE) as file:
        if (method := method_of(file.read(HEAD))) is not None:
            raise FormatError(
                f"is compressed ({method.name})", path=str(path), hint="unpack it: rows are read in place"
            )
        file.seek(0)
        for number, line in enumerate(file, 1):
            start, offset = offset, offset + len(line)
            if not line.strip():
                continue
            try:
                fields = _fields(line)
                _known_domain(fields, path, number)
                row = eval_row(fields, chains.key_of(fields))
            except ValueError as exc:
                yield BadRow(file=path.name, line=number, reason=reason_of(exc))
                continue
            named = {"key": row.key, "domain": row.domain, "id": row.id, "trajectory": row.trajectory}
            where = {"file": path.name, "offset": start, "length": len(line)}
            yield RowRef(**named, turn=row.turn, total_turns=row.total_turns, **where)


def _fields(line: bytes) -> RowFields:
    return RowFields.model_validate(load_json(line.decode("utf-8-sig")))


def _known_domain(row: RowFields, path: Path, number: int) -> None:
    if row.domain not in DOMAINS:
        raise FormatError(
            f"the domain {row.domain!r} is not one of the benchmark",
            path=str(path),
            line=number,
            hint=f"known: {', '.join(DOMAINS)}",
        )


def eval_row(row: RowFields, trajectory: str) -> EvalRow:
    """Lay out a checked row.

    Args:
        row: The fields.
        trajectory: Key of its trajectory.
    """
    action, suffix = row.last_prompt
    if not suffix:
        # No `current_prompt` to tell by: only our own suffix can be told from the action.
        action = row.current_prompt or action.removesuffix(INSTRUCTION)
    content: Mapping[str, Any] = {
        "domain": row.domain,
        "id": str(row.id),
        "trajectory": trajectory,
        "turn": row.turn_idx,
        "total_turns": row.total_turns,
        "system": row.system_str,
        "prompts": row.prompt,
        "responses": row.response[:-1],
        "action": action,
        "truth": row.response[-1],
    }
    return EvalRow.model_validate({**content, "key": content_id(content, length=32)})
