"""Rewards of reinforcement learning: a rubric, with or without a judge, and executable rules."""

from worldline.train.rewards.answer import Answer, read_answer
from worldline.train.rewards.mixing import JudgeOptions, RewardFunction, RewardOptions, columns, reward_function
from worldline.train.rewards.moment import Moment, read_moment
from worldline.train.rewards.rubric import Rubric, executed_rubric
from worldline.train.rewards.rules import Rules, rule_part

__all__ = [
    "Answer",
    "JudgeOptions",
    "Moment",
    "RewardFunction",
    "RewardOptions",
    "Rubric",
    "Rules",
    "columns",
    "executed_rubric",
    "read_answer",
    "read_moment",
    "reward_function",
    "rule_part",
]
