"""Recording many sessions into one file, so that a kill at any moment costs at most the sessions under way.

Each finished session is appended to a journal beside the file and synced before the next begins. When all are there,
the file is written whole, in the order of the plans, and the journal goes. A later run with the same file takes up
what is there.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from worldline.errors import ConfigError, StorageError, WorldlineError, boundary
from worldline.formats import TrajectoryWriter, read_trajectories, write_trajectories
from worldline.record.plan import ToolPlan
from worldline.record.recording import AnyPlan, RecordingSettings, program_versions, record_session
from worldline.record.sandbox import remove_leftovers
from worldline.types import JsonDict, Trajectory

__all__ = ["AnyPlan", "RecordingSummary", "journal_path", "record_plans"]


@dataclass(slots=True)
class RecordingSummary:
    """What a recording run did."""

    sessions: int = 0
    """Sessions in the file."""
    turns: int = 0
    resumed: int = 0
    """Sessions that an earlier run had recorded."""
    errors: int = 0
    """Turns whose command failed."""
    volatile: int = 0
    unstable: int = 0
    determined: int = 0
    judged: int = 0
    """Turns for which it was asked what the session determines."""
    killed: int = 0
    failures: list[JsonDict] = field(default_factory=list)
    """Sessions that could not be recorded; another run tries them again."""

    def count(self, trajectory: Trajectory) -> None:
        """Add a session."""
        self.sessions += 1
        for turn in trajectory.turns:
            self.turns += 1
            self.errors += bool(turn.observation.is_error)
            self.volatile += bool(turn.observation.volatile)
            self.unstable += "unstable" in turn.extra
            self.determined += turn.determined is True
            self.judged += turn.determined is not None
            self.killed += "killed" in turn.extra

    def as_record(self) -> JsonDict:
        """Return the summary as plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def journal_path(out: Path) -> Path:
    """Where the journal of a file lies while it is being recorded."""
    return out.with_name(out.name + ".journal")


def record_plans(
    plans: Sequence[AnyPlan],
    out: Path,
    settings: RecordingSettings | None = None,
    *,
    jobs: int = 1,
    fresh: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> RecordingSummary:
    """Record sessions into a file, taking up what an earlier run left.

    Args:
        plans: The sessions; a plan that stands there twice is recorded once.
        out: The file; a name that ends in `.zst` is compressed.
        settings: The same for all sessions of a file.
        jobs: Processes that record side by side.
        fresh: Record everything anew, also what is there.
        on_progress: Called with the number of sessions that are safe on the disk, whenever it changes.

    Raises:
        SandboxError: No sandbox can be built here.
        StorageError: The disk is full or read-only; what was recorded before is safe in the journal.
        ConfigError: The file holds sessions of other plans or settings, and `fresh` is not set.
    """
    how = settings or RecordingSettings()
    wanted = {plan.id: plan for plan in plans}
    remove_leftovers()
    if not all(isinstance(plan, ToolPlan) for plan in plans):
        program_versions(how.root)  # fails here, before anything is written, where there can be no sandbox
    journal = _Journal(out, how, wanted, fresh=fresh)
    summary = RecordingSummary(resumed=len(journal.places))
    report = on_progress or (lambda _: None)
    report(summary.resumed)
    todo = [plan for plan_id, plan in wanted.items() if plan_id not in journal.places]
    try:
        results = _in_order(todo, how) if jobs == 1 else _side_by_side(todo, how, jobs)
        for plan, result in results:
            if isinstance(result, WorldlineError):
                summary.failures.append({"plan": plan.id, "family": plan.family, "error": result.as_record()})
                continue
            journal.add(plan.id, result)
            report(len(journal.places))
        for trajectory in journal.read(wanted):
            summary.count(trajectory)
        journal.finish(wanted)
    except StorageError as exc:
        safe = f"{len(journal.places)} sessions are safe in {journal.path.name}"
        raise StorageError(f"{exc.message}; {safe}", hint=exc.hint) from exc
    finally:
        journal.close()
    return summary


class _Journal:
    """The sessions recorded so far, by plan, each on a line of its own."""

    def __init__(self, out: Path, settings: RecordingSettings, wanted: dict[str, AnyPlan], *, fresh: bool) -> None:
        self.out, self.path = out, journal_path(out)
        self.places: dict[str, int] = {}
        """Offset of each plan's line."""
        earlier = [] if fresh or not out.exists() else list(read_trajectories(out))
        for trajectory in earlier:
            self._check(trajectory, settings, wanted, out)
        with boundary(StorageError, f"preparing {out}"):
            out.parent.mkdir(parents=True, exist_ok=True)
            if fresh:
                self.path.unlink(missing_ok=True)
        self._writer = TrajectoryWriter(self.path)
        try:
            for offset, trajectory in self._lines():
                self._check(trajectory, settings, wanted, self.path)
                self.places[trajectory.origin["plan"]] = offset
            for trajectory in earlier:
                if trajectory.origin["plan"] not in self.places:
                    self.add(trajectory.origin["plan"], trajectory)
        except BaseException:
            self.close()
            raise

    def _check(
        self, trajectory: Trajectory, settings: RecordingSettings, wanted: dict[str, AnyPlan], path: Path
    ) -> None:
        origin = trajectory.origin
        mine = settings.as_record()
        if origin.get("plan") not in wanted:
            problem = "holds a session that is not among the plans"
        elif {name: origin.get(name) for name in mine} != mine:
            problem = f"was recorded with other settings ({origin.get('root')}, variant {origin.get('variant')})"
        else:
            return
        raise ConfigError(f"{path} {problem}", hint="choose another --out, or --fresh to record anew")

    def _lines(self) -> Iterator[tuple[int, Trajectory]]:
        """Offset and session of each line; a line that a kill tore was cut off when the journal was opened."""
        offset = 0
        with boundary(StorageError, f"reading {self.path}"), self.path.open("rb") as file:
            for line in file:
                yield offset, Trajectory.model_validate_json(line)
                offset += len(line)

    def add(self, plan_id: str, trajectory: Trajectory) -> None:
        """Append a session; it is on the disk when this returns."""
        with boundary(StorageError, f"writing {self.path}"):
            offset = self.path.stat().st_size
        self._writer.write(trajectory)
        self.places[plan_id] = offset

    def read(self, wanted: Iterable[str]) -> Iterator[Trajectory]:
        """The sessions in the order of their plans."""
        with boundary(StorageError, f"reading {self.path}"), self.path.open("rb") as file:
            for plan_id in wanted:
                if plan_id in self.places:
                    file.seek(self.places[plan_id])
                    yield Trajectory.model_validate_json(file.readline())

    def finish(self, wanted: Iterable[str]) -> None:
        """Write the file and remove the journal."""
        write_trajectories(self.out, self.read(wanted))
        self.close()
        with boundary(StorageError, f"removing {self.path}"):
            self.path.unlink()

    def close(self) -> None:
        self._writer.close()


_Result = tuple[AnyPlan, "Trajectory | WorldlineError"]


def _try(plan: AnyPlan, settings: RecordingSettings) -> Trajectory | WorldlineError:
    try:
        return record_session(plan, settings)
    except StorageError:
        raise
    except WorldlineError as exc:
        return exc


def _in_order(plans: Iterable[AnyPlan], settings: RecordingSettings) -> Iterator[_Result]:
    for plan in plans:
        yield plan, _try(plan, settings)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL))  # PR_SET_PDEATHSIG
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(plan: AnyPlan, settings: RecordingSettings) -> tuple[str | None, JsonDict | None]:
    """Record in another process; errors travel as data, since not all of them can be pickled."""
    result = _try(plan, settings)
    if isinstance(result, WorldlineError):
        return None, result.as_record()
    return result.model_dump_json(), None


def _side_by_side(plans: Sequence[AnyPlan], settings: RecordingSettings, jobs: int) -> Iterator[_Result]:
    # spawned: a box dies with the thread that started it, and a fork would inherit the other boxes' pipes
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_die_with_parent)
    running: dict[Future[tuple[str | None, JsonDict | None]], AnyPlan] = {}
    queue = iter(plans)
    try:
        while True:
            for plan in queue:
                running[pool.submit(_work, plan, settings)] = plan
                if len(running) >= 2 * jobs:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                plan = running.pop(future)
                text, problem = future.result()
                if text is not None:
                    yield plan, Trajectory.model_validate_json(text)
                elif problem is not None:
                    yield plan, WorldlineError(problem["message"], hint=problem["hint"])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
