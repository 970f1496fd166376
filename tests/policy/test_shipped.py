"""Every shipped policy passes its own cases, which between them make every rule decide; and lints clean."""

import pytest

from gerbang.compose.policy import CASES, SHIPPED, Policy, policy_texts, shipped_path
from gerbang.compose.policy_zones import zone
from gerbang.policy.cases import Case, read_cases, try_case, undecided
from gerbang.policy.lint import lint
from gerbang.values import RiskClass


def cases(name: str) -> list[Case]:
    path = shipped_path(name).with_name(name + CASES)
    return read_cases(path.read_text("utf-8"), path.name)


@pytest.mark.parametrize(
    ("name", "case"),
    [pytest.param(name, case, id=f"{name}-{case.number}") for name in SHIPPED for case in cases(name)],
)
def test_case(name: str, case: Case) -> None:
    assert try_case(case, Policy.shipped(name).decide).wrong == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_rule_has_decided_and_the_policy_lints_clean(name: str) -> None:
    policy = Policy.shipped(name)
    tried = [try_case(case, policy.decide) for case in cases(name)]
    assert undecided((rule.id for rule in policy.rules.rules), tried) == ()
    assert lint(policy_texts(shipped_path(name)), zone) == ()
    assert policy.rules.defaulted == set(RiskClass)
