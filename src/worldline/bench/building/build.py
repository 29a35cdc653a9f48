"""Building a benchmark: read, leave out, select, decontaminate, subsample, write, describe.

The folder appears whole or not at all. What was read is kept beside it until then; a run that was killed while reading
does not read finished files again, and everything after reading is a matter of moments and of the seed alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from worldline import __version__
from worldline.bench.agentworld.records import DOMAINS
from worldline.bench.agentworld.rows import index_rows
from worldline.bench.building.card import data_card
from worldline.bench.building.selection import selected_turns, subsample
from worldline.data.overlap import Overlap, Reference, trajectory_hash
from worldline.errors import ConfigError, EvaluationOnlyError, FormatError, StorageError, boundary
from worldline.formats import Importer, is_evaluation_only, read_trajectories
from worldline.formats.agentworldbench import rows_of
from worldline.formats.skeleton import plain_json
from worldline.types import Frozen, JsonDict, Source, Trajectory, content_id

__all__ = ["Benchmark", "BuildOptions", "Dropped", "build_benchmark"]

_READ = "trajectories.jsonl.zst"
Step = Callable[[str], None]


class BuildOptions(Frozen):
    """What makes a benchmark of the same recordings what it is."""

    seed: int = 0
    middle: Annotated[int, Field(ge=0)] = 3
    """Turns drawn between the first and the last; of GUI trajectories, `middle + 2` hard turns."""
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Of the selected turns, those that are kept."""
    min_changed: Annotated[int, Field(ge=0)] = 2
    """Lines that a hard GUI turn changes beyond the acted node."""
    ngram: Annotated[int, Field(ge=1)] = 13
    """Words of an n-gram."""
    max_overlap: Annotated[float, Field(ge=0, le=1)] = 0.5
    """A trajectory or turn of whose n-grams a larger share stands in a training set is dropped."""
    simulated: bool = False
    """Take simulated trajectories too; their rows say so."""
    licence: str | None = None
    """Licence of the recordings that do not state one."""


class Dropped(Frozen):
    """What was left out, and why."""

    why: str
    domain: str
    trajectory: str
    turn: int | None = None
    """From 1; None where it is the whole trajectory."""
    share: float | None = None
    """Share of its n-grams that stand in the training sets."""


class Benchmark(Frozen):
    """What was built: the content of `build.json`."""

    version: str
    options: BuildOptions
    rows: dict[str, int]
    """Rows by domain."""
    trajectories: dict[str, int]
    """Trajectories with at least one row, by domain."""
    stages: dict[str, int]
    """How many trajectories and turns were left after each stage."""
    dropped: dict[str, int]
    """Trajectories and turns by the reason for which they were left out."""
    licences: dict[str, int]
    """Trajectories by licence."""
    simulated: int
    """Trajectories among them that are simulated."""
    files: dict[str, str]
    """SHA-256 of the files of rows."""
    inputs: dict[str, str]
    """SHA-256 of the files read."""
    against: dict[str, str]
    """SHA-256 of the files of the training sets."""
    against_trajectories: int
    skipped: int
    """Records of the input that could not be read."""
    masked: int
    """Trajectories in which secrets were masked."""


@dataclass(slots=True)
class _Draft:
    """A benchmark while it is being made."""

    options: BuildOptions
    reference: Reference
    chosen: dict[str, list[int]] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    licences: dict[str, str] = field(default_factory=dict)
    simulated: set[str] = field(default_factory=set)
    hashes: set[str] = field(default_factory=set)
    stages: Counter[str] = field(default_factory=Counter)
    dropped: list[Dropped] = field(default_factory=list)

    def drop(self, why: str, id: str, domain: str, turn: int | None = None, share: float | None = None) -> None:
        self.dropped.append(Dropped(why=why, domain=domain, trajectory=id, turn=turn, share=share))

    def take(self, trajectory: Trajectory, *, hold: bool) -> None:
        """Select the turns of a trajectory, or say why there are none."""
        domain, id = trajectory.world.domain, trajectory.id
        self.stages.update(trajectories_read=1, turns_read=len(trajectory.turns))
        if (why := self._unfit(trajectory)) is not None:
            self.drop(why, id, domain)
            return
        self.hashes.add(trajectory_hash(trajectory))
        options = self.options
        turns, easy = selected_turns(
            trajectory, seed=options.seed, middle=options.middle, min_changed=options.min_changed
        )
        self.stages.update(trajectories_usable=1, turns_usable=len(trajectory.turns), turns_too_easy=easy)
        if not turns:
            self.drop("no hard turn", id, domain)
            return
        self.stages.update(turns_selected=len(turns))
        self.chosen[id], self.domains[id] = turns, domain
        self.licences[id] = _licence(trajectory) or options.licence or "not stated"
        if trajectory.source is Source.SIMULATED:
            self.simulated.add(id)
        if hold:
            self.reference.hold(trajectory)

    def _unfit(self, trajectory: Trajectory) -> str | None:
        if trajectory.source is Source.SIMULATED and not self.options.simulated:
            return "simulated"
        if trajectory.world.domain not in DOMAINS:
            return "not a domain of the benchmark"
        if not trajectory.turns:
            return "no turns"
        same_id = trajectory.id in self.chosen
        return "duplicate" if same_id or trajectory_hash(trajectory) in self.hashes else None

    def decontaminate(self) -> None:
        """Drop what the training sets hold."""
        for id, turns in list(self.chosen.items()):
            whole = self.reference.trajectory(id)
            if (why := self._contaminated(whole)) is not None:
                self.drop(f"trajectory: {why}", id, self.domains[id], share=whole.share)
                del self.chosen[id]
                continue
            for turn in list(turns):
                one = self.reference.turn(id, turn)
                if (why := self._contaminated(one)) is not None:
                    self.drop(f"turn: {why}", id, self.domains[id], turn, one.share)
                    turns.remove(turn)
        self.stages["turns_clean"] = sum(map(len, self.chosen.values()))

    def _contaminated(self, overlap: Overlap) -> str | None:
        if overlap.same:
            return "same content in a training set"
        over = overlap.share is not None and overlap.share > self.options.max_overlap
        return "n-grams in a training set" if over else None

    def sample(self) -> None:
        """Keep a share of the rows."""
        rows = [(id, turn) for id, turns in self.chosen.items() for turn in turns]
        kept = subsample(rows, self.options.share, self.options.seed)
        self.chosen = {id: [turn for turn in turns if (id, turn) in kept] for id, turns in self.chosen.items()}
        self.chosen = {id: turns for id, turns in self.chosen.items() if turns}
        self.stages["rows"] = len(kept)


def build_benchmark(
    paths: Iterable[Path],
    out: Path,
    options: BuildOptions | None = None,
    *,
    against: Iterable[Path] = (),
    skip_bad: bool = False,
    step: Step = lambda what: None,
) -> Benchmark:
    """Build a benchmark.

    Args:
        paths: Recordings: files, archives and folders of any known format. Secrets in them are masked.
        out: Folder to make: `DOMAIN_test.jsonl`, `README.md` (the data card), `build.json`, `dropped.jsonl`.
        options: How.
        against: Training sets that must hold nothing of the benchmark.
        skip_bad: Go on past records that cannot be read.
        step: Called with what is being done, once for each file read and at each stage.

    Raises:
        EvaluationOnlyError: A recording is itself a row of a benchmark.
        ConfigError: `out` is there already, another run is making it, or no row is left.
        FormatError: An input cannot be read.
        StorageError: The folder cannot be written.
    """
    options, paths, against = options or BuildOptions(), list(paths), list(against)
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is there already", hint="name another folder with --out, or remove it first")
    part = out.with_name(f".{out.name}.partial")
    with boundary(StorageError, f"making {part}", OSError):
        part.mkdir(parents=True, exist_ok=True)
    reader = Importer(paths, mask=True, strict=not skip_bad)
    inputs = _read_all(reader, part / _READ, step)
    draft = _Draft(options, Reference(n=options.ngram))
    for trajectory in _stored(part / _READ):
        draft.take(trajectory, hold=bool(against))
    known: dict[str, str] = {}
    passed = 0
    if against:
        known, passed = _pass_training_sets(draft, against, skip_bad, step)
        draft.decontaminate()
    draft.sample()
    if not draft.chosen:
        found = dict(Counter(item.why for item in draft.dropped))
        raise ConfigError("no row is left", hint=f"left out: {found}" if found else "the recordings hold no turns")
    step("writing")
    written = _write(part, draft)
    benchmark = _described(draft, inputs, known, passed, written, reader)
    _finish(part, out, benchmark, draft.dropped)
    return benchmark


def _read_all(reader: Importer, path: Path, step: Step) -> dict[str, str]:
    """Bring all recordings into one file, and return the hashes of what was read."""

    def watch(trajectory: Trajectory) -> None:
        if is_evaluation_only(trajectory):
            raise EvaluationOnlyError(
                f"trajectory {trajectory.family or trajectory.id} is for evaluation only: it is a benchmark's own row",
                hint="build from recordings; rows of a benchmark can be run as they are",
            )

    units = reader.units()
    reader.write(units, path, advance=lambda: step("reading"), watch=watch)
    if not reader.entries:
        raise FormatError("holds no trajectories", path=", ".join(unit.name for unit in units) or None)
    return {unit.name: _sha256(unit.path) for unit in units if unit.path.is_file()}


def _stored(path: Path) -> Iterator[Trajectory]:
    return read_trajectories(path, format="worldline")


def _pass_training_sets(draft: _Draft, against: list[Path], skip_bad: bool, step: Step) -> tuple[dict[str, str], int]:
    reader = Importer(against, mask=True, strict=not skip_bad)
    hashes: dict[str, str] = {}
    passed = 0
    for unit in reader.units():
        for trajectory in reader.read(unit):
            draft.reference.pass_by(trajectory)
            passed += 1
        if unit.path.is_file():
            hashes[unit.name] = _sha256(unit.path)
        step("comparing with training sets")
    if not passed:
        raise FormatError("holds no trajectories", path=", ".join(map(str, against)))
    return hashes, passed


def _write(part: Path, draft: _Draft) -> dict[str, str]:
    """Write the rows by domain, and return the hashes of the files."""
    for old in part.glob("*_test.jsonl"):
        old.unlink()
    written: dict[str, Path] = {}
    with boundary(StorageError, f"writing {part}", OSError):
        for trajectory in _stored(part / _READ):
            turns = draft.chosen.get(trajectory.id)
            if turns is None or trajectory.id in written:
                continue
            path = part / f"{trajectory.world.domain}_test.jsonl"
            with path.open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(plain_json(row) + "\n" for row in rows_of(trajectory, turns))
            written[trajectory.id] = path
    index = index_rows(part)
    expected = sum(map(len, draft.chosen.values()))
    if index.bad or sum(ref.copies for ref in index.refs) != expected:
        reason = index.bad[0].reason if index.bad else f"{len(index.refs)} of {expected} rows"
        raise FormatError(f"the rows do not read back as they were meant: {reason}", path=str(part))
    return {path.name: _sha256(path) for path in sorted(set(written.values()))}


def _described(
    draft: _Draft,
    inputs: dict[str, str],
    against: dict[str, str],
    passed: int,
    files: dict[str, str],
    reader: Importer,
) -> Benchmark:
    rows: Counter[str] = Counter()
    for id, turns in draft.chosen.items():
        rows[draft.domains[id]] += len(turns)
    return Benchmark(
        version=__version__,
        options=draft.options,
        rows=dict(sorted(rows.items())),
        trajectories=dict(sorted(Counter(draft.domains[id] for id in draft.chosen).items())),
        stages=dict(draft.stages),
        dropped=dict(Counter(item.why for item in draft.dropped).most_common()),
        licences=dict(Counter(draft.licences[id] for id in draft.chosen).most_common()),
        simulated=len(draft.simulated & draft.chosen.keys()),
        files=files,
        inputs=inputs,
        against=against,
        against_trajectories=passed,
        skipped=sum(entry.skipped for entry in reader.entries),
        masked=sum(entry.masked for entry in reader.entries),
    )


def _finish(part: Path, out: Path, benchmark: Benchmark, dropped: list[Dropped]) -> None:
    record: JsonDict = benchmark.model_dump(mode="json")
    with boundary(StorageError, f"writing {out}", OSError):
        lines = "".join(plain_json(item.model_dump(mode="json", exclude_none=True)) + "\n" for item in dropped)
        (part / "dropped.jsonl").write_text(lines, encoding="utf-8")
        (part / "build.json").write_text(benchmark.model_dump_json(indent=2) + "\n", encoding="utf-8")
        (part / "README.md").write_text(data_card(record, content_id(record["files"])), encoding="utf-8")
        (part / _READ).unlink()
        if out.exists():
            out.rmdir()
        part.replace(out)


def _licence(trajectory: Trajectory) -> str | None:
    found = trajectory.origin.get("licence") or trajectory.origin.get("license")
    return found if isinstance(found, str) else None


def _sha256(path: Path) -> str:
    with boundary(FormatError, f"reading {path}", OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
