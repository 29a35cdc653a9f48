"""The truth gets the most, on recorded turns of every domain."""

import pytest
from reward_rows import DOMAINS, recorded_rows, written

from worldline.train.rewards import executed_rubric, read_answer, reward_function, rule_part
from worldline.train.rewards.moment import GroundsCache, read_moment


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_truth_gets_the_highest_reward_in_all_train_recordings(domain):
    rows = recorded_rows(domain, 100_000)
    assert len(rows) >= 50
    reward = reward_function(rows)
    scored = reward.score([(row.id, written(row)) for row in rows])
    assert [one.reward for one in scored] == [25.0] * len(rows), [one for one in scored if one.reward < 25]
    metrics = reward.metrics()
    assert metrics["exact"] == 1 and metrics["rules"] == 1 and metrics["factuality"] == 5
    reward.close()


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_kernel_takes_nothing_from_the_truth(domain):
    cache = GroundsCache()
    executed = 0
    for row in recorded_rows(domain, 6):
        moment = read_moment(row)
        grounds = cache.of(moment)
        executed += grounds is not None
        answer = read_answer(written(row), moment.domain, moment.world)
        assert executed_rubric(moment, answer, grounds).reward == 25 == rule_part(moment, answer, grounds).reward
    assert executed >= 6, "the kernels follow recorded turns"
    cache.close()
