"""What other calls write is read again: learned from nothing but texts."""

from __future__ import annotations

from traces import Call, trace

from worldline.kernels import build_kernel
from worldline.kernels.base import Kernel, Proposal
from worldline.types import Action, Trajectory
from worldline.worlds.learning import learn_collections, learn_world


def page(name: str, text: str) -> Call:
    return "get_page", {"name": name}, text, False


def saved(name: str, text: str) -> Call:
    return "save_page", {"name": name, "text": text}, "saved", False


def renamed(old: str, new: str) -> Call:
    return "rename_page", {"old": old, "new": new}, "renamed", False


def turned(name: str) -> Call:
    return "turn_page", {"name": name}, "turned", False


def gone(name: str) -> Call:
    return "get_page", {"name": name}, f"no page {name}", True


def wiki(family: str) -> Trajectory:
    one, two, three = f"{family}-one", f"{family}-two", f"{family}-three"
    calls = [
        page(one, f"first of {family}"),
        saved(one, f"second\nof {family}"),
        page(one, f"second\nof {family}"),
        renamed(one, two),
        page(two, f"second\nof {family}"),
        gone(one),
        saved(three, f"third of {family}"),
        ("view_page", {"name": three}, f"third of {family}", False),
        page(three, f"third of {family}"),
        turned(three),
        page(three, f"{family} fo driht"),
    ]
    return trace(family, calls)


WORLD = learn_world([wiki(family) for family in "abcd"])


def ask(kernel: Kernel, tool: str, **arguments: str) -> Proposal:
    return kernel.propose(Action(name=tool, arguments=dict(arguments)))


def happened(kernel: Kernel, call: Call) -> None:
    (turn,) = trace("", [call]).turns
    kernel.absorb(turn)


def test_what_was_saved_is_read_by_every_tool_that_shows_it() -> None:
    kernel = build_kernel(WORLD)
    assert not ask(kernel, "get_page", name="new").known
    happened(kernel, saved("new", "words"))
    for tool in ("get_page", "view_page"):
        proposal = ask(kernel, tool, name="new")
        assert (proposal.observation.text, proposal.known, proposal.classes) == ("words", True, ("kept",))
    kernel.close()


def test_what_was_moved_is_read_at_its_new_place() -> None:
    kernel = build_kernel(WORLD)
    happened(kernel, page("p", "seen once"))
    happened(kernel, renamed("p", "q"))
    proposal = ask(kernel, "get_page", name="q")
    assert (proposal.observation.text, proposal.known) == ("seen once", True)
    assert ask(kernel, "get_page", name="p").observation.text != "seen once"
    kernel.close()


def test_what_was_changed_in_an_unknown_way_is_in_doubt_and_nothing_else_is() -> None:
    kernel = build_kernel(WORLD)
    for name in ("p", "q"):
        happened(kernel, saved(name, f"text of {name}"))
    happened(kernel, turned("p"))
    assert not ask(kernel, "get_page", name="p").known
    assert ask(kernel, "get_page", name="q").known
    happened(kernel, page("p", "p fo txet"))
    assert ask(kernel, "get_page", name="p").observation.text == "p fo txet"
    kernel.close()


def test_a_move_of_what_was_never_read_leaves_its_new_place_unknown() -> None:
    kernel = build_kernel(WORLD)
    happened(kernel, saved("q", "old"))
    happened(kernel, renamed("never", "q"))
    assert not ask(kernel, "get_page", name="q").known
    kernel.close()


def test_what_is_kept_outlives_writing_the_session_down() -> None:
    kernel, twin = build_kernel(WORLD), build_kernel(WORLD)
    happened(kernel, saved("new", "words"))
    twin.load(kernel.dump())
    assert ask(twin, "get_page", name="new").observation.text == "words"


def test_tools_are_left_alone_where_later_reads_show_nothing_that_was_given() -> None:
    calls = [page("x", "1"), saved("x", "a"), page("x", "2"), saved("x", "b"), page("x", "3")]
    spec = learn_collections([trace(family, calls) for family in "abc"])
    assert not any(rule.keeps or rule.effects for rule in spec.tools.values())


def test_what_was_taken_away_is_refused_in_the_words_seen_for_it() -> None:
    kernel = build_kernel(WORLD)
    happened(kernel, page("p", "seen once"))
    happened(kernel, renamed("p", "q"))
    answer = ask(kernel, "get_page", name="p").observation
    assert (answer.text, answer.is_error) == ("no page p", True)
    kernel.close()
