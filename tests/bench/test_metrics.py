import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.bench.calibration import lower_bound
from worldline.bench.journal import Journal
from worldline.bench.metrics import TurnScore, auroc, clustered_interval, exact_at_coverage, row


def score(exact: bool, confidence: float = 0.5, cluster: str = "c", determined: bool | None = None) -> TurnScore:
    return TurnScore(
        trajectory="t", turn=0, cluster=cluster, exact=exact, error_agrees=True, structured=exact, rouge_l=0.5,
        confidence=confidence, abstained=False, origin="computed", determined=determined, knowable=True,
        silent=False, seconds=0.001,
    )  # fmt: skip


def test_exact_at_coverage_takes_ties_in_expectation():
    scores = [score(True, 0.9), score(True, 0.5), score(False, 0.5), score(False, 0.1)]
    assert exact_at_coverage(scores, 0.5) == pytest.approx((1 + 0.5) / 2)
    assert exact_at_coverage(scores, 1.0) == pytest.approx(0.5)
    assert exact_at_coverage([], 0.5) is None


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.5, 0.9])), min_size=2), st.randoms())
def test_coverage_does_not_depend_on_order(rows, random):
    scores = [score(exact, confidence) for exact, confidence in rows]
    shuffled = list(scores)
    random.shuffle(shuffled)
    left, right = exact_at_coverage(scores, 0.7), exact_at_coverage(shuffled, 0.7)
    assert (left is None and right is None) or math.isclose(left, right, abs_tol=1e-12)


def test_auroc():
    assert auroc([score(True, 0.9), score(False, 0.1)]) == 1.0
    assert auroc([score(True, 0.5), score(False, 0.5)]) == 0.5
    assert auroc([score(True)]) is None


def test_interval_resamples_whole_clusters():
    scores = [score(cluster != "a", cluster=cluster) for cluster in "abcdefgh" for _ in range(10)]
    low, high = clustered_interval(scores, 0)
    assert low < 70 / 80 < high and high - low > 0.2
    assert clustered_interval(scores, 0) == (low, high)
    assert clustered_interval(scores[:10], 0) is None
    assert clustered_interval([score(True, cluster="x"), score(True, cluster="y")], 0) == (1.0, 1.0)


def test_a_row_counts_slices_and_failures():
    scores = [
        score(True, determined=True),
        score(False, determined=False),
        score(False).model_copy(update={"failure": "ModelError"}),
    ]
    result = row(scores, engine="e", model=None, domain="terminal", split="dev")
    assert (result.n, result.n_session_determined, result.failures) == (3, 1, 1)
    assert result.exact == pytest.approx(1 / 3) and result.exact_session_determined == 1.0
    empty = row([], engine="e", model=None, domain="terminal", split="dev")
    assert empty.exact is None and empty.seconds_per_1000 is None


def test_the_lower_bound_is_below_the_rate_and_grows_with_evidence():
    assert lower_bound(10, 9, 0.9) < 0.9
    assert lower_bound(10, 9, 0.9) < lower_bound(100, 90, 0.9) < 0.9
    assert lower_bound(0, 0, 0.5) < 0.5


def test_a_journal_survives_torn_lines_and_refuses_other_runs(tmp_path):
    path = tmp_path / "run.journal"
    with Journal(path, "abc", TurnScore) as journal:
        journal.add("one", [score(True)])
        journal.add("two", [score(False)])
    path.write_bytes(path.read_bytes()[:-20])
    with Journal(path, "abc", TurnScore) as again:
        assert again.get("one") == [score(True)] and again.get("two") is None
        again.add("two", [score(False)])
    with Journal(path, "abc", TurnScore) as whole:
        assert len(whole) == 2
    with Journal(path, "other", TurnScore) as other:
        assert len(other) == 0
