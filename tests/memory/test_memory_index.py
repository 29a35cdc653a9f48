from worldline.memory import Memory, Transition, mask_foreign
from worldline.memory.index import environment_key, footprint_key
from worldline.types import Action, Observation, WorldSpec

WORLD = WorldSpec(domain="terminal", initial_state={"user": "ann"})


def transition(command: str, text: str, footprint: str | None, number: int = 0) -> Transition:
    return Transition(
        id=f"t:{number}",
        action=Action(name="bash", arguments={"command": command}),
        observation=Observation(text=text, stdout=text, stderr="", exit_code=0),
        domain="terminal",
        environment=environment_key(WORLD),
        footprint=footprint,
    )


def ask(command: str) -> Action:
    return Action(name="bash", arguments={"command": command})


def test_recall_wants_the_same_state():
    key = footprint_key({"/home/ann/f": "abc"})
    memory = Memory([transition("cat f", "old\n", key)])
    hit = memory.recall(WORLD, ask("cat f"), key)
    assert hit is not None and hit.kind == "state"
    other = memory.recall(WORLD, ask("cat f"), footprint_key({"/home/ann/f": "def"}))
    assert other is not None and other.kind == "action"
    assert memory.recall(WORLD, ask("cat g"), key) is None


def test_opaque_or_unknown_footprints_never_match_by_state():
    assert footprint_key(None) is None
    assert footprint_key({"/etc/x": "unknown"}) is None
    memory = Memory([transition("run", "x", None)])
    hit = memory.recall(WORLD, ask("run"), None)
    assert hit is not None and hit.kind == "action"


def test_recall_reports_disagreement():
    memory = Memory([transition("w", "1", "", 0), transition("w", "1", "", 1), transition("w", "2", "", 2)])
    hit = memory.recall(WORLD, ask("w"), "")
    assert hit is not None and hit.kind == "stateless"
    assert (hit.transition.observation.text, hit.votes) == ("1", 3)
    assert abs(hit.agreement - 2 / 3) < 1e-9


def test_nearest_ranks_by_words_and_takes_any_text():
    memory = Memory([transition("sort -n data.txt", "a", "", 0), transition("ls -la /tmp", "b", "", 1)])
    assert memory.nearest("terminal", ask("sort -r data.txt"), 1)[0].observation.text == "a"
    assert memory.nearest("terminal", ask('x:( "AND" NOT * ~'), 1) == []
    assert memory.nearest("terminal", ask("'\"((("), 1) == []
    memory.add(transition("du -sh", "c", "", 2))
    assert memory.nearest("terminal", ask("du -sh /x"), 1)[0].observation.text == "c"
    assert Memory().nearest("terminal", ask("ls"), 3) == []


def test_most_frequent_answer():
    memory = Memory([transition("a", "x", ""), transition("b", "", ""), transition("c", "", "")])
    answer = memory.most_frequent("terminal")
    assert answer is not None and answer.text == ""
    assert memory.most_frequent("web") is None


def test_mask_keeps_the_values_of_this_session():
    masked = mask_foreign("wrote /var/x/y 512 bytes at 12:30:01, id deadbeef", "echo 512 > /tmp/a")
    assert masked == "wrote <path> 512 bytes at <time>, id <hash>"
