"""Risk facts of one call: what the contract declares, and what the call itself shows."""

from typing import Any

import pytest

from gerbang.contract.risk_facts import risk_facts
from gerbang.values import RiskClass

CLAIMS = [
    ("high", "high"),
    ("HIGH", "high"),
    (" High\n", "high"),
    ("Medium", "medium"),
    ("low", None),
    ("", None),
    ("market risk", None),
    ("high" * 10_000, None),
    (3, None),
    (None, None),
    (["high"], None),
]


@pytest.mark.parametrize(("claim", "fact"), CLAIMS)
def test_a_models_claim_counts_however_it_is_written(claim: Any, fact: str | None) -> None:
    found = risk_facts((), RiskClass.WRITE_INTERNAL, {"risk": claim}, 0.0, None, False)
    assert found.get("model_claim") == fact
