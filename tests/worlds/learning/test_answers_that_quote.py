"""Learned answers that quote arguments, go on from the last answer, or are only the most usual ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from traces import Call, trace

from worldline.kernels import build_kernel
from worldline.types import Action, JsonDict, Trajectory, WorldSpec, canonical_json
from worldline.worlds.learning import learn_world


def answers(world: WorldSpec, calls: Sequence[tuple[str, JsonDict]]) -> Iterator[str]:
    kernel = build_kernel(world)
    try:
        for tool, arguments in calls:
            yield kernel.propose(Action(name=tool, arguments=arguments)).observation.text
            kernel.accept()
    finally:
        kernel.close()


def moved(source: str, target: str) -> Call:
    return "file_move", {"source": source, "target": target}, f"Moved {source} to {target}", False


def test_arguments_are_found_whole_where_they_share_their_beginning() -> None:
    calls = [
        moved("/home/u/notes/a.md", "/home/u/notes/b.md"),
        moved("/home/u/x.txt", "/home/u/notes/x.txt"),
        moved("/home/u/notes/c.md", "/home/u/c.md"),
        moved("/srv/log", "/home/u/log"),
    ]
    world = learn_world([trace(str(n), [call]) for n, call in enumerate(calls)])
    (text,) = answers(world, [("file_move", {"source": "/home/u/q.md", "target": "/tmp/q.md"})])
    assert text == "Moved /home/u/q.md to /tmp/q.md"


def test_numbers_beside_quoted_ones_are_computed() -> None:
    pairs = [(1, 2), (2.5, 7), (30, -4.25), (8, 9), (100, 0.5)]
    calls = [("add", {"a": a, "b": b}, f"The sum of {a} and {b} is {a + b}.", False) for a, b in pairs]
    world = learn_world([trace(str(n), [call]) for n, call in enumerate(calls)])
    assert list(answers(world, [("add", {"a": 6, "b": 1.5})])) == ["The sum of 6 and 1.5 is 7.5."]


def marked(family: str, marks: Sequence[str | None]) -> Trajectory:
    calls, seen, most = [], list[str](), 4 + ord(family) % 7
    for count, mark in enumerate(marks, 1):
        if mark and mark not in seen:
            seen.append(mark)
        arguments: JsonDict = {"step": count * 3, "of": most, **({"mark": mark} if mark else {})}
        answer = {"step": count * 3, "of": max(most, count * 3), "marks": list(seen), "steps": count}
        calls.append(("step_add", arguments, canonical_json(answer), False))
    return trace(family, calls)


def test_answers_go_on_from_the_last_one() -> None:
    traces = [
        marked("a", ["x", None, "y", "x", None, "z"]),
        marked("b", [None, "q", "q", None, "r"]),
        marked("c", [None, None, "m", None, "n", "m"]),
    ]
    world = learn_world(traces)
    calls = [("step_add", {"step": 1, "of": 2, "mark": "new"}), ("step_add", {"step": 9, "of": 4, "mark": "new"})]
    told = list(answers(world, [*calls, ("step_add", {"step": 2, "of": 2, "mark": "old"})]))
    assert told == [
        canonical_json({"step": 1, "of": 2, "marks": ["new"], "steps": 1}),
        canonical_json({"step": 9, "of": 9, "marks": ["new"], "steps": 2}),
        canonical_json({"step": 2, "of": 2, "marks": ["new", "old"], "steps": 3}),
    ]


def test_what_a_session_continues_is_kept_when_it_is_written_down() -> None:
    world = learn_world([marked("a", ["x", None, "y"]), marked("b", [None, "q", "q", "r"]), marked("c", ["m", "n"])])
    kernel, twin = build_kernel(world), build_kernel(world)
    kernel.propose(Action(name="step_add", arguments={"step": 1, "of": 2, "mark": "new"}))
    kernel.accept()
    twin.load(kernel.dump())
    again = twin.propose(Action(name="step_add", arguments={"step": 3, "of": 4, "mark": "old"})).observation.text
    assert again == canonical_json({"step": 3, "of": 4, "marks": ["new", "old"], "steps": 2})


def test_the_usual_answer_is_given_where_some_are_of_another_kind() -> None:
    calls = [("tag_add", {"tags": [f"t{n}", f"u{n}"]}, canonical_json([f"t{n}", f"u{n}"]), False) for n in range(6)]
    calls.append(("tag_add", {"tags": ["t1"]}, "[]", False))
    world = learn_world([trace(str(n), [call]) for n, call in enumerate(calls)])
    assert list(answers(world, [("tag_add", {"tags": ["red", "blue", "green"]})])) == ['["red","blue","green"]']
