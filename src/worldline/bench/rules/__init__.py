"""Rule checks: executable demands on single predictions, judge-free, on three axes (paper Appendix C)."""

from worldline.bench.rules.checks import Verdict, read_check, verdict
from worldline.bench.rules.records import AXES, Agreement, RuleCheck

__all__ = ["AXES", "Agreement", "RuleCheck", "Verdict", "read_check", "verdict"]
