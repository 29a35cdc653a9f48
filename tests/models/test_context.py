import itertools

from hypothesis import given
from hypothesis import strategies as st

from worldline.models.context import estimate_tokens, turns_to_drop

sizes = st.lists(st.integers(1, 100), max_size=40)


def test_nothing_goes_while_there_is_room() -> None:
    assert turns_to_drop([10] * 9, fixed=10, budget=100) == 0
    assert turns_to_drop([], fixed=200, budget=100) == 0


def test_history_is_cut_to_half_its_room() -> None:
    assert turns_to_drop([10] * 10, fixed=10, budget=100) == 6
    assert turns_to_drop([10] * 13, fixed=10, budget=100) == 6


def test_a_turn_that_does_not_fit_goes_too() -> None:
    assert turns_to_drop([5, 500], fixed=0, budget=100) == 2
    assert turns_to_drop([5, 90], fixed=0, budget=90) == 1


@given(sizes, st.integers(0, 50), st.integers(0, 400))
def test_what_is_kept_fits(turns: list[int], fixed: int, budget: int) -> None:
    dropped = turns_to_drop(turns, fixed=fixed, budget=budget)
    assert sum(turns[dropped:]) <= max(0, budget - fixed)


@given(st.lists(st.integers(1, 100), max_size=80), st.integers(400, 1000))
def test_jumps_are_rare_and_never_taken_back(turns: list[int], budget: int) -> None:
    steps = [turns_to_drop(turns[:length], fixed=0, budget=budget) for length in range(len(turns) + 1)]
    assert steps == sorted(steps)
    # Between two jumps about half of the room is filled anew, give or take a turn.
    jumps = sum(left != right for left, right in itertools.pairwise(steps))
    assert jumps <= 1 + sum(turns) / (budget // 2 - 100)


def test_estimates() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcd") == 2
    assert estimate_tokens("日本") == 2
