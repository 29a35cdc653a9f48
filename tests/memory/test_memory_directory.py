import itertools
import json
import multiprocessing
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worldline.errors import ConfigError, EvaluationOnlyError, StorageError
from worldline.formats import read_trajectories
from worldline.memory import Memory
from worldline.memory.facts import memory_facts
from worldline.memory.files import (
    pack_action,
    pack_observation,
    squeeze,
    stored_key,
    told_key,
    unpack_action,
    unpack_observation,
)
from worldline.memory.shipped import shipped_footings
from worldline.memory.transition import Footing, as_footing, session_values, transitions_of
from worldline.memory.writer import MemoryWriter
from worldline.recordings import path as recording_path
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

COUNT = 25


class Recorded(list):
    """Trajectories with their footings, short where hypothesis prints them."""

    def __repr__(self):
        return f"<{len(self)} trajectories>"


@pytest.fixture(scope="module")
def recorded():
    footings = shipped_footings("terminal")
    found = list(read_trajectories(recording_path("terminal", "train")))[:COUNT]
    return Recorded((t, [as_footing(value) for value in footings[t.id]]) for t in found)


def fill(folder: Path, recorded, batch: int = 20_000) -> Path:
    with MemoryWriter(folder, batch=batch) as writer:
        for trajectory, footings in recorded:
            writer.add(trajectory, footings)
    return folder


def rows(folder: Path) -> dict[str, list]:
    database = sqlite3.connect(folder / "transitions.db")
    tables = ("trajectories", "surroundings", "actions", "transitions")
    found = {name: database.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in tables}
    database.close()
    return found


def session(*turns: tuple[str, str], **settings) -> Trajectory:
    made = tuple(
        Turn(
            action=Action(name="bash", arguments={"command": command}),
            observation=Observation.from_streams(b"", text.encode(), 1),
        )
        for command, text in turns
    )
    return Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="terminal"), turns=made, **settings)


def test_a_directory_answers_as_memory_in_memory_does(recorded, tmp_path):
    held = Memory(transition for t, footings in recorded for transition in transitions_of(t, footings))
    with Memory.open(fill(tmp_path / "m", recorded)) as kept:
        assert len(kept) == len(held) == sum(len(t.turns) for t, _ in recorded)
        for trajectory, footings in recorded[::3]:
            values = session_values(trajectory.world)
            for turn, stands in zip(trajectory.turns, footings, strict=True):
                assert kept.knows("terminal", turn.action) and held.knows("terminal", turn.action)
                for key in (stands.footprint, None, "0123456789abcdef"):
                    one, two = (m.recall(trajectory.world, turn.action, key) for m in (kept, held))
                    assert one is not None and two is not None
                    assert (one.kind, one.votes, one.agreement) == (two.kind, two.votes, two.agreement)
                    assert one.transition.observation == two.transition.observation
                one, two = (m.near("terminal", turn.action, values, stands) for m in (kept, held))
                assert (one is None) == (two is None)
                if one is not None and two is not None:
                    assert one.match == two.match
        assert kept.most_frequent("terminal") == held.most_frequent("terminal")
        assert kept.most_frequent("web") is None


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, COUNT), max_size=3), batch=st.sampled_from([1, 30, 200, 20_000]), again=st.booleans()
)
def test_built_in_steps_is_built_at_once(recorded, tmp_path_factory, cuts, batch, again):
    whole, steps = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("steps")
    fill(whole, recorded)
    places = [0, *sorted(cuts), COUNT]
    for start, end in itertools.pairwise(places):
        fill(steps, recorded[0 if again else start : end], batch)
    assert rows(whole) == rows(steps)
    with Memory.open(whole) as one, Memory.open(steps) as two:
        for command in ("wc -l data.txt", "cat a b", "git log"):
            asked = Action(name="bash", arguments={"command": command})
            assert {t.action.render() for t in one.nearest("terminal", asked, 3)} == {
                t.action.render() for t in two.nearest("terminal", asked, 3)
            }
    shutil.rmtree(whole)
    shutil.rmtree(steps)


BUILDER = """
import sys
from worldline.formats import read_trajectories
from worldline.memory.writer import MemoryWriter
from worldline.memory.transition import UNTOLD
from worldline.recordings import path
with MemoryWriter(sys.argv[1], batch=40) as writer:
    for number, trajectory in enumerate(read_trajectories(path("terminal", "train"))):
        if number == int(sys.argv[2]):
            break
        writer.add(trajectory, [UNTOLD] * len(trajectory.turns))
        print(number, flush=True)
"""


@pytest.mark.parametrize("after", [7, 23])
def test_a_killed_build_goes_on(tmp_path, after):
    command = [sys.executable, "-c", BUILDER]
    with subprocess.Popen([*command, str(tmp_path / "m"), "60"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == after:
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    with Memory.open(tmp_path / "m") as memory:
        assert len(memory) > 0
        assert memory.nearest("terminal", Action(name="bash", arguments={"command": "ls"}), 1)
    subprocess.run([*command, str(tmp_path / "m"), "60"], check=True, capture_output=True)
    subprocess.run([*command, str(tmp_path / "once"), "60"], check=True, capture_output=True)
    assert rows(tmp_path / "m") == rows(tmp_path / "once")
    assert memory_facts(tmp_path / "m").words_behind == 0


def test_the_word_index_is_brought_up_to_the_database(recorded, tmp_path):
    folder = fill(tmp_path / "m", recorded[:10])
    shutil.copytree(folder / "words", tmp_path / "early")
    fill(folder, recorded)
    full = memory_facts(folder)
    assert full.words_behind == 0
    shutil.rmtree(folder / "words")
    shutil.copytree(tmp_path / "early", folder / "words")  # died between the two commits
    assert memory_facts(folder).words_behind > 0
    fill(folder, [])
    assert memory_facts(folder).words_behind == 0
    shutil.rmtree(folder / "words")
    with pytest.raises(StorageError), Memory.open(folder) as memory:
        memory.nearest("terminal", Action(name="bash", arguments={"command": "ls"}), 1)
    fill(folder, [])
    (folder / "words" / "meta.json").write_text("{damaged")
    with pytest.raises(StorageError), Memory.open(folder) as memory:
        memory.nearest("terminal", Action(name="bash", arguments={"command": "ls"}), 1)
    fill(folder, [])
    assert memory_facts(folder).words_behind == 0


def ask(job: tuple[str, str]) -> tuple[int, str]:
    folder, command = job
    with Memory.open(folder) as memory:
        hit = memory.nearest("terminal", Action(name="bash", arguments={"command": command}), 1)[0]
        return len(memory), hit.action.render()


def test_many_read_while_one_writes(recorded, tmp_path):
    folder = fill(tmp_path / "m", recorded[:20])
    before = memory_facts(folder).transitions
    # spawned: a fork inherits the locks that the word index's threads hold at that moment, and then waits for itself
    others = ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn"))
    with MemoryWriter(folder, batch=1) as writer, others as pool:
        answers = pool.map(ask, [(str(folder), "ls -la")] * 12)
        for trajectory, footings in recorded[20:]:
            writer.add(trajectory, footings)
        found = list(answers)
        with pytest.raises(StorageError, match="another process writes"):
            MemoryWriter(folder)
    total = sum(len(t.turns) for t, _ in recorded)
    assert all(before <= count <= total and "ls" in text for count, text in found)
    assert memory_facts(folder).transitions == total


def test_an_open_directory_sees_what_is_added_and_takes_nothing(recorded, tmp_path):
    folder = fill(tmp_path / "m", recorded[:1])
    with Memory.open(folder) as memory:
        first = len(memory)
        fill(folder, recorded[:2])
        assert len(memory) > first
        action = recorded[1][0].turns[0].action
        assert memory.knows("terminal", action)
        with pytest.raises(StorageError, match="read-only"):
            memory.add(next(iter(memory.nearest("terminal", action, 1))))


def test_what_is_no_memory_is_refused(recorded, tmp_path):
    with pytest.raises(StorageError, match="no memory directory"):
        Memory.open(tmp_path)
    folder = fill(tmp_path / "m", recorded[:5])
    path = folder / "transitions.db"
    good = path.read_bytes()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version=99")
    database.close()
    for opened in (Memory.open, MemoryWriter):
        with pytest.raises(StorageError, match="version 99"):
            opened(folder)
    path.write_bytes(b"no database at all" * 500)
    for opened in (Memory.open, MemoryWriter):
        with pytest.raises(StorageError, match="not a database"):
            opened(folder)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE t (x)")
    other.close()
    for opened in (Memory.open, MemoryWriter):
        with pytest.raises(StorageError, match="is no memory"):
            opened(folder)
    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(StorageError), Memory.open(folder) as memory:
        for trajectory, _ in recorded[:5]:
            for turn in trajectory.turns:
                memory.recall(trajectory.world, turn.action, None)


def test_a_damaged_row_is_a_typed_error(recorded, tmp_path):
    folder = fill(tmp_path / "m", recorded[:1])
    database = sqlite3.connect(folder / "transitions.db")
    for damage in (b"{", b"[1]", b"\x28\xb5\x2f\xfdxx", b"\xff", b'{"what":1}'):
        database.execute("UPDATE transitions SET observation = ?", (damage,))
        database.commit()
        with pytest.raises(StorageError, match="damaged row"), Memory.open(folder) as memory:
            memory.recall(recorded[0][0].world, recorded[0][0].turns[0].action, None)
    database.close()


FULL = """
import sys
from worldline.errors import StorageError
from worldline.formats import read_trajectories
from worldline.memory.writer import MemoryWriter
from worldline.memory.transition import UNTOLD
from worldline.recordings import path
try:
    with MemoryWriter(sys.argv[1], batch=100) as writer:
        for trajectory in read_trajectories(path("terminal", "train")):
            writer.add(trajectory, [UNTOLD] * len(trajectory.turns))
except StorageError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.sandbox
def test_a_full_disk_is_a_typed_error_and_what_was_committed_stays(tmp_path):
    if shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    script = f"{sys.executable} -c '{FULL}' /small/m; code=$?; cp -r /small/m {tmp_path}/kept; exit $code"
    command = ["bwrap", "--dev-bind", "/", "/", "--size", "1500000", "--tmpfs", "/small", "sh", "-c", script]
    try:
        done = subprocess.run(["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/small", "true"], capture_output=True)
    except OSError:
        pytest.skip("bubblewrap does not run here")
    if done.returncode:
        pytest.skip("bubblewrap does not run here")
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    assert "free some space" in done.stdout
    with Memory.open(tmp_path / "kept") as memory:
        assert len(memory) > 0


def test_evaluation_data_and_simulations_are_refused(tmp_path):
    for place in ("origin", "extra"):
        marked = session(("ls", "x"), **{place: {"evaluation_only": True}})
        with MemoryWriter(tmp_path / "m") as writer, pytest.raises(EvaluationOnlyError, match="evaluation data"):
            writer.add(marked)
        with pytest.raises(EvaluationOnlyError):
            Memory.from_trajectories([marked])
    simulated = session(("ls", "x")).model_copy(update={"source": Source.SIMULATED})
    with MemoryWriter(tmp_path / "m") as writer, pytest.raises(ConfigError, match="simulated"):
        writer.add(simulated)
    assert memory_facts(tmp_path / "m").transitions == 0


def test_the_same_session_counts_once_and_the_same_answer_is_one_row(tmp_path):
    one, two = session(("ls", "x"), ("ls", "x")), session(("ls", "x"), ("pwd", "/"))
    with MemoryWriter(tmp_path / "m") as writer:
        nothing = [Footing("")] * 2
        assert writer.add(one, nothing)
        assert not writer.add(one.model_copy(update={"id": "called otherwise"}), nothing)
        writer.flush()
        assert not writer.add(one, nothing)
        assert writer.add(two, nothing)
    facts = memory_facts(tmp_path / "m")
    assert (facts.trajectories, facts.transitions, facts.distinct, facts.with_footprint) == (2, 4, 2 + 1, 4)
    with Memory.open(tmp_path / "m") as memory:
        hit = memory.recall(one.world, one.turns[0].action, "")
        assert hit is not None and (hit.kind, hit.votes, hit.agreement) == ("stateless", 3, 1.0)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
actions = st.builds(
    Action,
    name=st.text(max_size=5),
    arguments=st.dictionaries(st.text(max_size=4) | st.just("command"), values, max_size=3),
    text=st.none() | st.text(max_size=30),
)
observations = st.builds(
    Observation.from_streams, st.binary(max_size=600), st.binary(max_size=40), st.integers(0, 255)
) | (st.builds(Observation.from_text, st.binary(max_size=600) | st.text(max_size=500)))


@given(action=actions, observation=observations)
def test_any_transition_survives_packing(action, observation):
    assert unpack_action(squeeze(pack_action(action))) == action
    assert unpack_observation(squeeze(pack_observation(observation))) == observation


@given(st.none() | st.text(alphabet="0123456789abcdefABC", min_size=15, max_size=17) | st.text(max_size=20))
def test_keys_survive_storing(key):
    stored = stored_key(key)
    assert told_key(stored) == key
    if isinstance(stored, int):
        assert -(1 << 63) <= stored < 1 << 63


@settings(max_examples=15, deadline=None)
@given(
    turns=st.lists(st.tuples(actions, observations), min_size=1, max_size=6),
    domain=st.sampled_from(["terminal", "odd name"]),
)
def test_odd_transitions_are_found_again(tmp_path_factory, turns, domain):
    folder = tmp_path_factory.mktemp("odd")
    made = tuple(Turn(action=action, observation=observation) for action, observation in turns)
    trajectory = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain=domain), turns=made)
    with MemoryWriter(folder) as writer:
        assert writer.add(trajectory, [Footing(None)] * len(made))
    with Memory.open(folder) as memory:
        for turn in made:
            hit = memory.recall(trajectory.world, turn.action, None)
            assert hit is not None
            assert hit.transition.observation in [
                t.observation for t in made if t.action.render() == turn.action.render()
            ]
            memory.nearest(domain, turn.action, 3)
            memory.near(domain, turn.action, {"cwd": "/"})
    # the word index's own watching thread may still take its lock file in there
    shutil.rmtree(folder, ignore_errors=True)


def test_json_stays_json(tmp_path):
    """Packed short rows are plain JSON, so that other programs can read a directory."""
    fill(tmp_path / "m", [(session(("ls", "x")), [Footing(None)])])
    assert json.loads(rows(tmp_path / "m")["transitions"][0][-1]) == {
        "stdout": "", "stderr": "x", "exit_code": 1, "is_error": True, "joined": True
    }  # fmt: skip
