"""Each lint rule trips on what it is for, and on nothing else."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.contract.build import make_contract
from gerbang.contract.lint import BY_ID, RULES, at_least, lint
from gerbang.contract.lint_rule import LEVELS
from gerbang.errors import ContractError
from gerbang.packs.shipped import shipped_packs
from gerbang.values import Contract

from .lint_cases import CASES, SETS
from .lint_contracts import BASES, READ, contract

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "lint.md"
TRIPPED = [(rule, base, change) for rule, base, trips, _ in CASES for change in trips]
PASSED = [(rule, base, change) for rule, base, _, passes in CASES for change in passes]


def rules_of(*contracts: Contract) -> set[str]:
    return {finding.rule for finding in lint(contracts)}


@pytest.mark.parametrize("name", BASES)
def test_a_well_made_contract_has_no_findings(name: str) -> None:
    others = (contract(READ), contract(READ, name="notes.search.v2"))
    findings = lint([contract(BASES[name]), *others] if name != "read" else others)
    assert [(one.rule, one.path) for one in findings] == []


@pytest.mark.parametrize(("rule", "base", "change"), TRIPPED)
def test_a_rule_trips(rule: str, base: dict[str, Any], change: dict[str, Any]) -> None:
    found = [finding for finding in lint([contract(base, **change)]) if finding.rule == rule]
    assert found
    for finding in found:
        assert (finding.level, finding.fix) == (BY_ID[rule].level, BY_ID[rule].fix)
        assert finding.path.startswith("/")
        assert finding.message.endswith(".")


@pytest.mark.parametrize(("rule", "base", "change"), PASSED)
def test_a_rule_does_not_trip(rule: str, base: dict[str, Any], change: dict[str, Any]) -> None:
    assert rule not in rules_of(contract(base, **change))


@pytest.mark.parametrize(("rule", "trips", "passes"), SETS)
def test_a_rule_over_several(rule: str, trips: list[Contract], passes: list[Contract]) -> None:
    assert rule in rules_of(*trips)
    assert rule not in rules_of(*passes)


def test_every_rule_has_its_cases() -> None:
    assert {rule for rule, *_ in CASES} | {rule for rule, *_ in SETS} == {rule.id for rule in RULES}
    assert len(BY_ID) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_and_how(rule: Any) -> None:
    assert rule.level in LEVELS
    assert (rule.look is None) != (rule.compare is None)
    assert rule.what.endswith(".")
    assert rule.fix.endswith((".", "'"))


@pytest.mark.parametrize("pack", shipped_packs())
def test_our_own_packs_are_clean(pack: str) -> None:
    assert lint([tool.contract for tool in shipped_packs()[pack]]) == ()


def test_an_allowed_finding_is_left_out_with_its_reason() -> None:
    bare = contract(READ, owner="")
    allowed = contract(READ, owner="", annotations={"lint_allow": {"missing-owner": "Nobody yet."}})
    assert "missing-owner" in rules_of(bare)
    assert rules_of(allowed) == set()


def test_an_allowance_without_reason_allows_nothing() -> None:
    asked = contract(READ, owner="", annotations={"lint_allow": {"missing-owner": " "}})
    assert rules_of(asked) == {"missing-owner", "bad-allowance"}


def test_findings_carry_their_place() -> None:
    place = {"notes.search.v1": ("contracts/notes.yaml", 3)}
    (finding,) = lint([contract(READ, owner="", origin="notes.yaml")], place)
    assert (finding.tool, finding.path, finding.origin) == ("notes.search.v1", "/owner", "notes.yaml")
    assert (finding.file, finding.line) == ("contracts/notes.yaml", 3)


def test_many_findings_of_one_rule_are_bounded() -> None:
    fields = {f"word_{number}": {"type": "string", "description": "x"} for number in range(300)}
    made = contract(READ, parameters={"properties": fields})
    found = [one for one in lint([made]) if one.rule == "unbounded-string"]
    assert len(found) == 20
    assert found[-1].message.endswith("There are more of these.")


@pytest.mark.parametrize(("level", "count"), [("note", 3), ("warning", 2), ("error", 1)])
def test_levels(level: Any, count: int) -> None:
    made = contract(READ, owner="", name="notes.search", parameters={"additionalProperties": True})
    found = [one for one in lint([made]) if one.rule in ("missing-owner", "unversioned-name", "open-object")]
    assert len(at_least(found, level)) == count


NODES = st.recursive(
    st.sampled_from([{}, {"type": "string"}, {"type": ["integer", "null"]}, {"$ref": "#/$defs/x"}, True]),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda properties: {"type": "object", "properties": properties},
            st.dictionaries(st.text(max_size=5), inner, max_size=3),
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=8), NODES, max_size=4), st.sampled_from([*BASES]))
def test_no_contract_breaks_the_linter(properties: dict[str, Any], base: str) -> None:
    risk = BASES[base]["risk"]
    parameters = {"properties": properties, "$defs": {"x": {"type": "string"}}}
    try:
        made = make_contract(name="a.b.v1", risk=risk, description="Does it.", parameters=parameters)
    except ContractError:
        return
    assert all(one.rule in BY_ID for one in lint([made, made]))


def test_the_page_has_every_rule() -> None:
    rows = [f"| `{rule.id}` | {rule.level} | {rule.what} | {rule.fix} |" for rule in RULES]
    text = PAGE.read_text("utf-8")
    table = [line for line in text.splitlines() if line.startswith("| `")]
    assert table == rows, "docs/lint.md: write the table anew from gerbang.contract.lint.RULES"
