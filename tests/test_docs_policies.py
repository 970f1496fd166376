"""Every policy that docs/policies.md shows loads, and decides as the tables below it say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gerbang.compose.policy import SHIPPED
from gerbang.compose.policy_zones import zone
from gerbang.policy.bundle import load_rules
from gerbang.policy.cases import read_cases, try_case
from gerbang.policy.comparisons import OPERATORS
from gerbang.policy.document import read_document
from gerbang.policy.input import PolicyInput
from gerbang.policy.matching import NAMES
from gerbang.policy.obligations import KNOWN
from gerbang.policy.rules import CLASS_DEFAULTS, RulesPolicy

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "policies.md").read_text("utf-8")
BLOCK = re.compile(r"^```yaml\n(?P<yaml>.*?)^```$(?P<after>.*?)(?=^```yaml$|\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([^`]+)` \| `(\w+)` \| `(\{.*\})` \| (allow|ask|deny) \| (.+) \|$", re.MULTILINE)

CLAIMS = [
    (block["yaml"], *row.groups()) for block in BLOCK.finditer(PAGE) for row in ROW.finditer(block["after"])
]


def policy(text: str) -> RulesPolicy:
    return load_rules(text, "docs/policies.md", zone)


def document(tool: str, risk: str, known: dict[str, Any]) -> PolicyInput:
    about = {"name": tool, "risk_class": risk, **known.pop("tool", {})}
    return read_document({"tool": about, **known}, "docs/policies.md")


@pytest.mark.parametrize(("text", "tool", "risk", "facts", "verdict", "reasons"), CLAIMS)
def test_decision(text: str, tool: str, risk: str, facts: str, verdict: str, reasons: str) -> None:
    decided = policy(text).decide(document(tool, risk, json.loads(facts)))
    assert (decided.decision, list(decided.reasons)) == (verdict, re.findall(r"`(\w+)`", reasons))


def test_every_policy_of_the_page_has_claims() -> None:
    blocks = [block["yaml"] for block in BLOCK.finditer(PAGE)]
    assert len(blocks) == PAGE.count("```yaml\n")
    assert {claim[0] for claim in CLAIMS} == set(blocks)


def test_the_page_names_every_condition_comparison_and_default() -> None:
    shown = "".join(block["yaml"] for block in BLOCK.finditer(PAGE))
    missing = [name for name in [*NAMES, *OPERATORS] if not re.search(rf"\b{name}:", shown)]
    assert missing == []
    told = dict(re.findall(r"^\| `(\w+)` \| [^|`]+ \| (allow|ask)\b", PAGE, re.MULTILINE))
    assert told == {str(risk): verdict for risk, verdict in CLASS_DEFAULTS.items()}


def test_the_cases_of_the_page_pass_against_its_worked_example() -> None:
    (text,) = re.findall(r"^```yml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    office = policy(next(block["yaml"] for block in BLOCK.finditer(PAGE)))
    tried = [try_case(case, office.decide) for case in read_cases(text, "docs/policies.md")]
    assert [item.wrong for item in tried] == [(), (), ()]


def test_the_page_names_what_is_shipped_and_every_obligation() -> None:
    for name in (*SHIPPED, *KNOWN):
        assert f"`{name}" in PAGE
