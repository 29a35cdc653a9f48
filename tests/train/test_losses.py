"""Losses by hand, in NumPy, and the same in PyTorch with a tiny model."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldline.errors import ConfigError
from worldline.train.losses import (
    ObservationLoss,
    Piece,
    observation_weights,
    token_log_probabilities,
    token_weights,
    weighted_token_loss,
)

ROLLOUT = [
    Piece("system", 2),
    Piece("user", 3),
    Piece("assistant", 2),
    Piece("tool", 4),
    Piece("assistant", 1),
    Piece("tool", 2, weight=0.5),
]


def test_weights_of_messages_are_spread_over_their_tokens():
    pieces = [Piece("user", 2, 0.0), Piece("assistant", 3, 1.0), Piece("user", 1, 0.0), Piece("assistant", 2, 0.25)]
    assert token_weights(pieces) == [0, 0, 1, 1, 1, 0, 0.25, 0.25]
    assert token_weights(pieces, 4) == [0, 0, 1, 1] and token_weights(pieces, 10)[8:] == [0, 0]


def test_only_what_follows_an_action_is_observed():
    assert observation_weights(ROLLOUT) == [0] * 5 + [0] * 2 + [1] * 4 + [0] + [0.5] * 2
    assert observation_weights(ROLLOUT, after_action=False)[2:5] == [1, 1, 1]
    assert observation_weights([Piece("user", 3)]) == [0, 0, 0]


def test_log_probabilities_by_hand():
    logits = np.array([[[0.0, math.log(3)], [1000.0, 1000.0], [5.0, 5.0]]])
    found = token_log_probabilities(logits, np.array([[0, 1, 0]]))
    assert np.allclose(found, [[math.log(0.75), math.log(0.5)]])


def test_the_weighted_loss_by_hand():
    logs = np.log(np.array([[0.5, 0.25], [0.1, 1.0]]))
    weights = np.array([[9.0, 1.0, 0.0], [9.0, 0.5, 0.5]])
    wanted = (math.log(2) + 0.5 * math.log(10)) / 2
    assert np.isclose(weighted_token_loss(logs, weights), wanted), "a row's first token is never predicted"
    assert np.isclose(weighted_token_loss(logs, weights, total=4.0), wanted / 2)
    assert weighted_token_loss(logs, weights * 0) == 0
    assert np.isfinite(weighted_token_loss(np.array([[-np.inf, -1.0]]), np.array([[0.0, 0.0, 1.0]])))


@given(st.lists(st.integers(0, 5), min_size=2, max_size=6), st.integers(0, 2**32 - 1))
def test_weights_of_zero_and_one_are_a_plain_mean(kinds, seed):
    generator = np.random.default_rng(seed)
    length = len(kinds)
    logits, tokens = generator.normal(size=(1, length, 7)), generator.integers(0, 7, size=(1, length))
    logs = token_log_probabilities(logits, tokens)
    weights = np.array([[float(kind > 2) for kind in kinds]])
    chosen = logs[weights[:, 1:] > 0]
    assert np.isclose(weighted_token_loss(logs, weights), -chosen.mean() if chosen.size else 0.0)
    assert np.allclose(np.exp(logs) <= 1, True)


def test_the_observation_loss_is_a_small_mean_over_what_was_observed():
    weights = np.array([observation_weights(ROLLOUT)])
    logs = np.full((1, weights.shape[1] - 1), -1.0)
    logs[0, 6:10] = -2.0  # predicts the four tokens of the first answer
    term = ObservationLoss().term(logs, weights)
    assert np.isclose(term.mean, (4 * 2 + 2 * 0.5) / 5) and np.isclose(term.added, 0.05 * term.mean)
    assert term.tokens == 6
    assert ObservationLoss().term(logs, weights * 0).added == 0


def test_unforeseeable_tokens_do_not_govern_the_clipped_loss():
    weights = np.array([[0.0, 1.0, 1.0]])
    settings = ObservationLoss(kind="clipped_mae", clip=0.01, coefficient=1.0)
    term = settings.term(np.log(np.array([[0.5, 1e-9]])), weights)
    assert np.isclose(term.mean, (0.5 + 0.99) / 2)


def test_turns_of_unsure_actions_are_selected():
    weights, turns = np.array([[0.0, 1.0, 1.0, 1.0]]), np.array([[0, 0, 1, 2]])
    logs = np.array([[-1.0, -2.0, -4.0]])
    term = ObservationLoss(keep=0.34, coefficient=1.0).term(logs, weights, turns=turns, entropies=[0.1, 0.9, 0.5])
    assert term.mean == 2.0 and term.tokens == 1
    with pytest.raises(ConfigError, match="entropies"):
        ObservationLoss(keep=0.5).term(logs, weights)


def test_the_loss_fades_as_the_policy_succeeds():
    weights, logs = np.array([[0.0, 1.0]]), np.array([[-1.0]])
    fading = ObservationLoss(reward_adaptive=True, coefficient=0.2)
    assert [round(float(fading.term(logs, weights, success=s).added), 3) for s in (0, 0.5, 1)] == [0.2, 0.1, 0]
    with pytest.raises(ConfigError, match="success"):
        fading.term(logs, weights)


@pytest.mark.full
def test_torch_agrees_with_numpy_and_trains_on_observations_alone():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    tokens = torch.randint(0, 11, (2, 14))
    weights = torch.tensor([observation_weights(ROLLOUT)] * 2)
    model = torch.nn.Sequential(torch.nn.Embedding(11, 16), torch.nn.Linear(16, 11))
    for settings in (ObservationLoss(coefficient=1.0), ObservationLoss(coefficient=1.0, kind="clipped_mae", clip=0.1)):
        logits = model(tokens).detach()
        ours = settings.term(token_log_probabilities(logits, tokens), weights)
        theirs = settings.term(token_log_probabilities(logits.numpy(), tokens.numpy()), weights.numpy())
        assert math.isclose(float(ours.added), float(theirs.added), rel_tol=1e-5) and ours.tokens == theirs.tokens
    logits = model(tokens).requires_grad_()
    logits.retain_grad()
    ObservationLoss().term(token_log_probabilities(logits, tokens), weights).added.backward()
    touched = logits.grad.abs().sum(2) > 0
    assert torch.equal(touched[:, :-1], weights[:, 1:] > 0), "gradients reach what predicts an observation, no other"
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    before = None
    for _ in range(60):
        loss = weighted_token_loss(token_log_probabilities(model(tokens), tokens), weights)
        before = float(loss.detach()) if before is None else before
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < before / 2
