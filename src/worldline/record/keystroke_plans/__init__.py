"""Plans of keystroke sessions to record: what terminal agents do at a screen, composed from families."""

from worldline.record.keystroke_plans.compose import generate
from worldline.record.keystroke_plans.splits import split_of

__all__ = ["generate", "split_of"]
