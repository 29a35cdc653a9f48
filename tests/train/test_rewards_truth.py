"""The truth gets the most, on recorded turns of every domain, and shares of it get less."""

import pytest
from reward_rows import DOMAINS, recorded_rows, written

from worldline.train.rewards import reward_function


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_truth_gets_the_highest_reward(domain):
    rows = recorded_rows(domain)
    assert len(rows) >= 10
    reward = reward_function(rows)
    scored = reward.score([(row.id, written(row)) for row in rows])
    assert [one.reward for one in scored] == [25.0] * len(rows), [one for one in scored if one.reward < 25]
    metrics = reward.metrics()
    assert metrics["exact"] == 1 and metrics["rules"] == 1 and metrics["factuality"] == 5
    reward.close()
