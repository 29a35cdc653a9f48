"""Rules of the reward: checks, legality against schema and kernel, and what must follow from an answer."""

import pytest

from worldline.data.building import BuildReport, DataOptions, build_rows
from worldline.data.layout import answer
from worldline.data.rows import TrainingMessage, TrainingRow
from worldline.errors import FormatError
from worldline.formats import read_trajectories
from worldline.recordings import path
from worldline.train.rewards import RewardOptions, read_answer, read_moment, reward_function
from worldline.train.rewards.moment import GroundsCache
from worldline.train.rewards.rules import rule_part
from worldline.types import Action, Observation, Source, ToolSpec, Turn, WorldSpec


def command(text, out="", err="", code=0):
    streams = out.encode(), err.encode(), code
    return Turn(action=Action(name="bash", arguments={"command": text}), observation=Observation.from_streams(*streams))


def row(world, turns, number, *, checks=(), target=None):
    """An RL row of a turn, with all turns behind it."""
    dump = [turn.model_dump(mode="json", exclude_defaults=True) for turn in turns]
    return TrainingRow(
        stage="rl",
        domain=world.domain,
        source=Source.OBSERVED,
        messages=(
            TrainingMessage(role="system", content="a world"),
            TrainingMessage(role="user", content=turns[number].action.render()),
        ),
        truth=dump[number].get("observation", {}),
        checks=checks,
        target=target,
        extra={
            "world": world.model_dump(mode="json"),
            "action": dump[number]["action"],
            "history": dump[:number],
            "following": dump[number + 1 :],
        },
    )


TERMINAL = WorldSpec(domain="terminal", initial_state={"files": {"/home/user/notes.txt": "one\ntwo\n"}})
MISSING = "cat: gone.txt: No such file or directory\n"
TURNS = [
    command("cat notes.txt", "one\ntwo\n"),
    command("cat gone.txt", "", MISSING, 1),
    command("touch new.txt && echo made", "made\n"),
    command("ls", "new.txt\nnotes.txt\n"),
]


def ruled(made, observation, **options):
    moment = read_moment(made)
    cache = GroundsCache()
    answer = read_answer(moment.domain.write_answer(observation, moment.world), moment.domain, moment.world)
    try:
        return rule_part(moment, answer, cache.of(moment), **options)
    finally:
        cache.close()


def seen(out="", err="", code=0):
    return Observation.from_streams(out.encode(), err.encode(), code)


def test_a_file_that_is_known_to_be_missing_cannot_be_read():
    made = row(TERMINAL, TURNS, 1)
    assert ruled(made, seen("", MISSING, 1)).reward == 25
    found = ruled(made, seen("a text\n"))
    assert found.reward == 0 and {"outcome", "status"} <= set(found.why)
    assert ruled(made, seen("", "cat: gone.txt: Permission denied\n", 2)).why == ("status",)


def test_a_status_must_be_there():
    made = row(TERMINAL, TURNS, 0)
    moment = read_moment(made)
    bare = read_answer("<predicted_observation>\none\ntwo\n</predicted_observation>", moment.domain, TERMINAL)
    assert "no status" in rule_part(moment, bare).why


def test_what_follows_must_stay_consistent():
    made = row(TERMINAL, TURNS, 2)
    assert ruled(made, TURNS[2].observation).reward == 25
    wrong = seen("", "touch: cannot touch 'new.txt': Permission denied\n", 1)
    assert "following" in ruled(made, wrong).why
    assert "following" not in ruled(made, wrong, steps=0).why
    assert ruled(made, wrong, legality=False).reward is None, "no checks, no legality: no rule to go by"


@pytest.mark.parametrize(("steps", "broken"), [(1, False), (2, True)])
def test_what_an_answer_imagines_is_held_against_as_many_recorded_actions_as_wanted(steps, broken):
    turns = [command("touch a.txt && echo made", "made\n"), command("cat notes.txt", "one\ntwo\n")]
    turns.append(command("ls", "a.txt\nnotes.txt\n"))
    made = row(TERMINAL, turns, 0)
    wrong = seen("", "touch: cannot touch 'a.txt': Permission denied\n", 1)
    assert ("following" in ruled(made, wrong, steps=steps).why) is broken


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = (ToolSpec(name="add", parameters=SCHEMA),)


@pytest.mark.parametrize(
    ("name", "arguments", "fault"),
    [("sub", {"n": 1}, "unknown tool"), ("add", {}, "wrong arguments"), ("add", {"n": "x"}, "wrong arguments")],
)
def test_calls_against_the_schema_may_not_succeed(name, arguments, fault):
    world = WorldSpec(domain="mcp", tools=TOOLS)
    refused = Observation(text="Error: refused", is_error=True)
    turns = [Turn(action=Action(name=name, arguments=arguments), observation=refused)]
    made = row(world, turns, 0)
    assert fault in ruled(made, Observation(text="done: 3")).why
    assert ruled(made, Observation(text="Error: not that way", is_error=True)).why == ()
    # reality that answers such a call all the same is right, and the rule is not applied
    lenient = row(world, [turns[0].model_copy(update={"observation": Observation(text="3", is_error=False)})], 0)
    assert fault not in ruled(lenient, Observation(text="done: 4")).why


def test_checks_of_the_row_count():
    check = {"op": "contains", "text": "two"}
    made = row(TERMINAL, TURNS, 0, checks=({"check": check, "why": "the second line"},))
    assert ruled(made, seen("two\n")).reward == 25
    assert ruled(made, seen("one\n")).why == ('check: does not hold: {"op": "contains", "text": "two"}',)
    assert ruled(made, seen("two\n"), legality=False).reward == 25
    broken = row(TERMINAL, TURNS, 0, checks=({"op": "no such"},))
    with pytest.raises(FormatError, match="cannot be read"):
        ruled(broken, seen("two\n"))


def test_rows_without_their_history_are_scored_by_the_truth_alone():
    made = row(TERMINAL, TURNS, 1)
    old = made.model_copy(update={"extra": {"world": made.extra["world"]}})
    reward = reward_function([old])
    assert (
        reward.score([(old.id, reward.moments[old.id].domain.write_answer(TURNS[1].observation, TERMINAL))])[0].reward
        == 25
    )
    with pytest.raises(FormatError, match="no truth"):
        reward_function([made.model_copy(update={"truth": None})])
    reward.close()


def test_state_change_and_reward_are_scored_beside_the_observation():
    target = {"state_change": ["cwd: /a -> /b", "files./x: added y"], "reward": 1.0}
    made = row(TERMINAL, TURNS, 0, target=target)
    reward = reward_function([made], RewardOptions(rule=0))
    block = reward.moments[made.id].domain.write_answer(TURNS[0].observation, TERMINAL)
    change = "<state_change>\ncwd: /a -> /b\nfiles./x: added y\n</state_change>\n"
    texts = [f"{change}<reward>1</reward>\n{block}", f"{change}<reward>0</reward>\n{block}", block]
    texts.append(f"{block}\n{change}<reward>1</reward>")
    scored = reward.score([(made.id, text) for text in texts])
    assert [one.rubric.told for one in scored] == [1.0, 0.5, 0.0, 0.0]
    assert [one.rubric.scores["consistency"] for one in scored[:3]] == [5.0, 3.0, 1.0]
    assert scored[0].reward == 25 > scored[1].reward > scored[2].reward > 20
    assert scored[0].answer.flags == () and "text after the block" in scored[3].answer.flags
    reward.close()


def test_built_rows_ask_for_the_state_change_that_training_targets_tell():
    source = next(iter(read_trajectories(path("terminal", "train"))))
    (made,) = build_rows([source], DataOptions(stage="rl", pool="all", state_change=True), BuildReport())
    assert made.target is not None and made.target["state_change"] is not None
    reward = reward_function([made])
    told = answer(source, made.turn, target=made.target).content
    bare = answer(source, made.turn).content
    right, without = reward.score([(made.id, told), (made.id, bare)])
    assert right.reward == 25 and right.rubric.told == 1.0 and without.rubric.told == 0.0 and without.reward < 25
    reward.close()
