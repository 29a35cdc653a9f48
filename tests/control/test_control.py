import pytest
from pydantic import ValidationError

from worldline.control import ControlSpec, VerifierSpec, fired_rule, verify
from worldline.types import Action, Observation

ANSWER = {"text": "429\n"}


def spec(**rule: object) -> ControlSpec:
    return ControlSpec.model_validate({"rules": [{"name": "r", "answer": ANSWER, **rule}]})


def action(command: str) -> Action:
    return Action(name="bash", arguments={"command": command})


def test_conditions_must_all_hold():
    rules = spec(match="^curl", every=2)
    assert fired_rule(rules, action("curl x"), 2, 0) is not None
    assert fired_rule(rules, action("curl x"), 3, 0) is None
    assert fired_rule(rules, action("ls"), 2, 0) is None
    assert fired_rule(spec(turns=[4]), action("ls"), 4, 0) is not None


def test_chance_is_reproducible_and_near_its_probability():
    rules = spec(probability=0.3)
    fired = [fired_rule(rules, action("ls"), turn, 5) is not None for turn in range(1, 2001)]
    assert fired == [fired_rule(rules, action("ls"), turn, 5) is not None for turn in range(1, 2001)]
    assert 0.26 < sum(fired) / 2000 < 0.34
    assert fired != [fired_rule(rules, action("ls"), turn, 6) is not None for turn in range(1, 2001)]


@pytest.mark.parametrize("rule", [{}, {"match": "("}, {"every": 0}, {"probability": 2}, {"nonsense": 1, "every": 1}])
def test_wrong_rules_are_refused(rule: dict):
    with pytest.raises(ValidationError):
        spec(**rule)


def test_verifier_on_the_last_observation():
    wanted = VerifierSpec.model_validate({"checks": [{"matches": "^ok$", "exit_code": 0}], "reward": 2, "ends": False})
    good = verify(wanted, None, Observation(text="ok", stdout="ok", stderr="", exit_code=0))
    assert (good.reward, good.done, good.known) == (2, False, True)
    assert verify(wanted, None, Observation(text="ok", stdout="ok", stderr="", exit_code=1)).reward == 0


def test_probes_without_a_kernel_are_not_known():
    wanted = VerifierSpec.model_validate({"checks": [{"action": {"command": "true"}, "exit_code": 0}]})
    verdict = verify(wanted, None, Observation())
    assert (verdict.reward, verdict.known) == (0, False)


@pytest.mark.parametrize("verifier", [{}, {"checks": []}, {"checks": [{}]}, {"checks": [{"matches": "("}]}])
def test_wrong_verifiers_are_refused(verifier: dict):
    with pytest.raises(ValidationError):
        VerifierSpec.model_validate(verifier)
