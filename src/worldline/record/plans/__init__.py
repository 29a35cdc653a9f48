"""Plans of sessions to record: realistic shell work, composed from families of commands and seeded fixtures."""

from worldline.record.plans.compose import PACKAGES, generate
from worldline.record.plans.splits import recorded_lines, split_of, trivial

__all__ = ["PACKAGES", "generate", "recorded_lines", "split_of", "trivial"]
