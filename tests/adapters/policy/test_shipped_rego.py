"""The shipped Rego policy does what its cases say, in the worker and behind an HTTP server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gerbang import policy as policies
from gerbang.adapters.policy.opa import OpaPolicy
from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.policy.cases import Case, read_cases, try_case, undecided
from gerbang.values import RiskClass

from .opa_server import OpaServer

FOLDER = Path(policies.__file__).parent / "shipped"
POLICY = FOLDER / "repository-agent.rego"
CASES = read_cases((FOLDER / "repository-agent.cases.yaml").read_text("utf-8"), "repository-agent.cases.yaml")
RULES = ("all-else", "changes-ask", "draft-pull-request", "read-own-tenant")


@pytest.fixture(scope="module")
def rego() -> Iterator[RegoPolicy]:
    """The policy in a worker."""
    policy = RegoPolicy.open(POLICY)
    yield policy
    policy.close()


@pytest.fixture(scope="module")
def opa() -> Iterator[OpaPolicy]:
    """The same policy behind a server."""
    server = OpaServer(POLICY.read_text("utf-8"))
    yield OpaPolicy.open(server.url("gerbang/decision"))
    server.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.note)
def test_case(case: Case, rego: RegoPolicy, opa: OpaPolicy) -> None:
    assert try_case(case, rego.decide).wrong == ()
    assert try_case(case, opa.decide).wrong == ()


def test_the_cases_cover_every_rule_and_every_class(rego: RegoPolicy) -> None:
    tried = [try_case(case, rego.decide) for case in CASES]
    assert undecided(RULES, tried) == ()
    assert {case.document.risk for case in CASES} == set(RiskClass)


def test_the_facts_that_it_needs(rego: RegoPolicy) -> None:
    assert rego.needs("github.create_draft_pr.v1") == ("diff.files_changed", "repository.visibility")
