"""The truth gets the most, on recorded turns of every domain."""

import pytest
from reward_rows import DOMAINS, recorded_rows, written

from worldline.train.rewards import reward_function


def check(domain, count):
    rows = recorded_rows(domain, count)
    reward = reward_function(rows)
    scored = reward.score([(row.id, written(row)) for row in rows])
    assert [one.reward for one in scored] == [25.0] * len(rows), [one for one in scored if one.reward < 25]
    metrics = reward.metrics()
    assert metrics["exact"] == 1 and metrics["rules"] == 1 and metrics["factuality"] == 5
    reward.close()
    return len(rows)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_truth_gets_the_highest_reward(domain):
    assert check(domain, 12) >= 12


@pytest.mark.full
@pytest.mark.parametrize("domain", DOMAINS)
def test_the_truth_gets_the_highest_reward_in_all_train_recordings(domain):
    assert check(domain, 100_000) >= 60
