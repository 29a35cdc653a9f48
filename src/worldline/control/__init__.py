"""Control: what a world injects on purpose, and how it tells that its task is done."""

from worldline.control.rules import ControlSpec, Rule, fired_rule
from worldline.control.verifier import Check, Verdict, VerifierSpec, verify

__all__ = ["Check", "ControlSpec", "Rule", "Verdict", "VerifierSpec", "fired_rule", "verify"]
