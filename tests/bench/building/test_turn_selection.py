"""Which GUI turns are hard."""

from worldline.bench.building.selection import changed_lines, is_hard, selected_turns, subsample
from worldline.types import Action, Observation, Source, Trajectory, Turn, WorldSpec

BEFORE = "[1] Button 'Menu'\n[2] Checkbox 'Wifi' off\n[12] Text 'Networks'\n[3] Text 'none'"


def gui(name: str, after: str, before: str | None = BEFORE, **arguments: object) -> Turn:
    action = Action(name=name, arguments=arguments)
    return Turn(action=action, observation=Observation(text=after), state_before=before)


def test_a_change_of_the_acted_node_alone_is_easy():
    flipped = gui("click", BEFORE.replace("off", "on"), index=2)
    assert changed_lines(flipped) == [] and not is_hard(flipped)


def test_the_acted_node_is_known_by_its_label_under_a_new_number():
    moved = "[1] Button 'Menu'\n[3] Text 'none'\n[12] Text 'Networks'\n[7] Checkbox 'Wifi' on"
    assert changed_lines(gui("click", moved, index=2)) == []


def test_a_change_elsewhere_is_hard():
    after = BEFORE.replace("off", "on").replace("'none'", "'home, guest'")
    turn = gui("click", after, index=2)
    assert changed_lines(turn) == ["[3] Text 'home, guest'", "[3] Text 'none'"] and is_hard(turn)
    assert not is_hard(turn, min_changed=3)


def test_a_number_inside_another_is_not_the_node():
    after = BEFORE.replace("'Networks'", "'Found 4'")
    assert len(changed_lines(gui("click", after, index=2))) == 2


def test_typing_waiting_and_no_change_are_easy():
    whole = "another\nscreen\nof\nlines"
    for name in ("type", "input_text", "press_key", "wait", "ACTION_TYPE", "answer"):
        assert not is_hard(gui(name, whole, index=2))
    assert is_hard(gui("click", whole, index=2))
    assert not is_hard(gui("click", BEFORE, index=2))
    assert not is_hard(gui("scroll", "\n".join(reversed(BEFORE.split("\n")))))


def test_of_hard_turns_at_most_five_are_taken():
    easy = gui("type", "x\ny")
    hard = gui("open_app", "entirely\nnew\nscreen")
    turns = (easy, *[hard] * 9, easy)
    phone = Trajectory(source=Source.OBSERVED, world=WorldSpec(domain="android"), turns=turns)
    chosen, left_out = selected_turns(phone)
    assert len(chosen) == 5 and set(chosen) <= set(range(2, 11)) and left_out == 2


def test_a_subsample_is_uniform_and_never_empty():
    rows = [("t", n) for n in range(10)]
    counts = dict.fromkeys(rows, 0)
    for seed in range(400):
        for row in subsample(rows, 0.5, seed):
            counts[row] += 1
    assert all(150 < count < 250 for count in counts.values())
    assert len(subsample(rows[:1], 0.1, 0)) == 1 and subsample([], 0.5, 0) == set()
