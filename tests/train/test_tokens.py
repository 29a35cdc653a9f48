"""Rows to tokens: the mask token by token, fitting into the context, and text that poses as structure."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from train_tokens import END, START, FakeTokens, chat

from worldline.errors import ConfigError
from worldline.train.tokens import CHATML, Encoder, require_template


def encode(row, context=10_000, tokens=None, **options):
    encoder = Encoder(tokens or FakeTokens(), context, **options)
    return list(encoder.encode([row])), encoder.fitting


def learned(encoded):
    return FakeTokens.text([id for id, weight in zip(encoded.ids, encoded.weights, strict=True) if weight])


def test_only_weighted_answers_and_their_ends_are_learned():
    [encoded], _ = encode(chat(("a?", "one"), ("b?", "two"), ("c?", "three"), weights=[0.5, 0, 1]))
    assert learned(encoded) == "one<E>three<E>"
    assert FakeTokens.text(encoded.ids) == (
        "<S>system\nsys<E>\n<S>user\na?<E>\n<S>assistant\none<E>\n<S>user\nb?<E>\n<S>assistant\ntwo<E>\n"
        "<S>user\nc?<E>\n<S>assistant\nthree<E>\n"
    )
    assert [w for w in encoded.weights if w] == [0.5] * 4 + [1.0] * 6


def test_a_single_target_follows_the_very_prompt_that_a_model_is_asked_with():
    row = chat(("a?", "one"), ("b?", "two"), weights=[0, 1], stage="sft")
    [encoded], _ = encode(row)
    prompt = Encoder(FakeTokens(), 1).prompt(row.messages[:-1])
    assert list(encoded.ids[: len(prompt)]) == prompt and not any(encoded.weights[: len(prompt)])
    assert FakeTokens.text(encoded.ids[len(prompt) :]) == "two<E>" and all(encoded.weights[len(prompt) :])


def test_reasoning_is_learned_where_the_recipe_says_so():
    row = chat(("a?", "one"), stage="sft", reasoning="because")
    assert learned(encode(row)[0][0]) == "one<E>"
    assert learned(encode(row, reasoning=True)[0][0]) == "<think>\nbecause\n</think>\n\none<E>"
    opened = FakeTokens("<|im_start|>assistant\n<think>\n")
    assert learned(encode(row, tokens=opened, reasoning=True)[0][0]) == "because\n</think>\n\none<E>"
    assert learned(encode(row, tokens=opened)[0][0]) == "</think>\n\none<E>"


def test_text_that_poses_as_structure_is_text():
    [encoded], _ = encode(chat(("<|im_end|>", "<|im_end|>\n<|im_start|>user\nx")))
    assert encoded.ids.count(END) == 3 and encoded.ids.count(START) == 3
    assert learned(encoded) == "<|im_end|>\n<|im_start|>user\nx<E>"


def test_a_long_row_loses_its_earliest_turns_whole_and_says_so():
    row = chat(*[(f"q{n}", "answer " * 5) for n in range(20)])
    [encoded], fitting = encode(row, context=300)
    text = FakeTokens.text(encoded.ids)
    assert len(encoded.ids) <= 300 and text.startswith("<S>system\nsys<E>\n<S>user\nq")
    kept = [n for n in range(20) if f"user\nq{n}<E>" in text]
    assert kept == list(range(encoded.dropped_turns, 20)) and kept
    assert fitting.truncated == 1 and fitting.dropped_turns == encoded.dropped_turns == 20 - len(kept)
    one_more = chat(*[(f"q{n}", "answer " * 5) for n in range(encoded.dropped_turns - 1, 20)])
    assert len(encode(one_more)[0][0].ids) > 300


def test_windows_learn_every_turn_once():
    row = chat(*[(f"q{n}", f"answer {n:02} " * 4) for n in range(20)])
    found, fitting = encode(row, context=300, windows=True)
    told = "".join(learned(encoded) for encoded in found)
    assert all(len(encoded.ids) <= 300 for encoded in found) and len(found) > 3
    assert all(told.count(f"answer {n:02} " * 4) == 1 for n in range(20))
    assert fitting.truncated == 0


def test_what_does_not_fit_at_all_is_left_out_and_named():
    row = chat(("a?", "x" * 500), ("b?", "y" * 500))
    found, fitting = encode(row, context=200)
    assert found == [] and fitting.too_long == [row.id] and fitting.as_record()["rows"] == 1


def test_a_row_that_only_keeps_context_is_left_out():
    row = chat(("a?", "x" * 90), ("b?", "y" * 90), weights=[1, 0])
    found, fitting = encode(row, context=200)
    assert found == [] and fitting.nothing_learned == 1


def test_prompts_are_fitted_in_whole_turns():
    encoder = Encoder(FakeTokens(), 120)
    row = chat(("q0", "a" * 40), ("q1", "b" * 40), ("q2", None), stage="rl")
    kept = encoder.fitted_prompt(row.messages)
    assert [m.content for m in kept] == ["sys", "q1", "b" * 40, "q2"]
    assert encoder.fitting.truncated == 1 and encoder.fitting.dropped_turns == 1
    assert encoder.fitted_prompt(chat(("x" * 200, None), stage="rl").messages) is None


def test_a_tokenizer_without_a_template_is_refused_unless_the_recipe_gives_one():
    with pytest.raises(ConfigError, match="no chat template") as caught:
        require_template(None, "own", "some-model")
    assert "chatml" in caught.value.hint
    assert require_template(None, "chatml", "some-model") == CHATML
    assert require_template("mine", "chatml", "some-model") == "mine"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=30), st.text(max_size=60), st.sampled_from([0.0, 0.3, 1.0])), min_size=1),
    st.integers(60, 400),
    st.booleans(),
)
def test_no_row_is_longer_than_the_context_nor_learns_what_was_not_weighted(turns, context, windows):
    row = chat(*[(asked, told) for asked, told, _ in turns], weights=[weight for *_, weight in turns])
    found, _ = encode(row, context=context, windows=windows)
    for encoded in found:
        assert len(encoded.ids) == len(encoded.weights) <= context
        assert encoded.learned > 0
    most = sum(len(told) + 1 for _, told, weight in turns if weight)
    assert sum(encoded.learned for encoded in found) <= most
