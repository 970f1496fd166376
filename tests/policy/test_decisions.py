"""The algebra: deny over ask over allow, then the class default, then floors; the order never matters."""

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.compose.policy import Policy
from gerbang.policy.bundle import compile_rules
from gerbang.policy.input import PolicyInput
from gerbang.policy.rules import DenyAll, RulesPolicy
from gerbang.values import LOCAL, Decision, Principal, RiskClass

RANK = {"allow": 0, "ask": 1, "deny": 2}
FLOOR = {RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE}


def document(tool: str = "box.open.v1", risk: str = "compute", **changes: Any) -> PolicyInput:
    return PolicyInput(**{"tool": tool, "risk": RiskClass(risk), "arguments": {}, "actor": LOCAL, **changes})


def policy(*rules: dict[str, Any], defaults: dict[str, str] | None = None) -> RulesPolicy:
    return compile_rules({"version": 1, "rules": list(rules), "defaults": defaults or {}}, "p.yaml")


def rule(decision: str, name: str | None = None, **changes: Any) -> dict[str, Any]:
    name = name or decision
    return {"id": name, "decision": decision, "reason": name.upper().replace("-", "_"), **changes}


@pytest.mark.parametrize("risk", list(RiskClass))
@pytest.mark.parametrize("verdict", ["allow", "ask", "deny", None])
@pytest.mark.parametrize("auto", [False, True])
@pytest.mark.parametrize("matching", [c for n in range(4) for c in itertools.combinations(RANK, n)])
def test_the_whole_table(risk: RiskClass, verdict: str | None, auto: bool, matching: tuple[str, ...]) -> None:
    if verdict == "allow" and risk in FLOOR:
        verdict = None  # such a default does not load: see the refusals
    rules = [rule(d, match={"tool": "box.open.v1"}, auto=auto and d == "allow") for d in matching]
    rules.append(rule("deny", "elsewhere", match={"tool": "box.shut.v1"}))
    got = policy(*rules, defaults={} if verdict is None else {str(risk): verdict}).decide(document(risk=risk))
    if matching:
        want = max(matching, key=RANK.__getitem__)
        if want == "allow" and risk in FLOOR and not auto:
            assert (got.decision, got.reasons[0]) == ("ask", f"FLOOR_{risk.upper()}")
        else:
            assert (got.decision, got.reasons[0]) == (want, want.upper())
        assert got.rule == want
        assert {d.upper() for d in matching} <= set(got.reasons)
    else:
        default = verdict or ("allow" if risk.is_read or risk is RiskClass.DRAFT else "ask")
        assert (got.decision, got.reasons, got.rule) == (default, (f"CLASS_{risk.upper()}",), None)


RULES = [
    rule("allow", "a1", everything=True, obligations=["dry_run"]),
    rule(
        "allow", "a2", match={"tool": "box.open.v1"}, auto=True, obligations=[{"notify": ["ops"]}, "dry_run"]
    ),
    rule("ask", "b1", match={"risk": {"above": "read_external"}}),
    rule("ask", "b2", match={"arguments": {"n": {"ge": 5}}}, obligations=["two_person"]),
    rule("deny", "c1", match={"arguments": {"n": {"gt": 8}}}),
    rule("deny", "c2", match={"tainted_run": True}),
    rule("deny", "broken", match={"arguments": {"text": {"gt": 1}}}),
    rule("deny", "broken-too", match={"arguments": {"text": {"max_length": 1}, "size": {"lt": 1}}}),
]


@settings(max_examples=150, deadline=None)
@given(
    st.permutations(RULES),
    st.fixed_dictionaries(
        {}, optional={"n": st.integers(0, 10), "text": st.text(max_size=3), "size": st.sampled_from([1, "x"])}
    ),
    st.sampled_from(["compute", "write_internal", "transactional"]),
    st.booleans(),
)
def test_the_order_of_rules_never_matters(
    rules: list[dict[str, Any]], arguments: dict[str, Any], risk: str, tainted: bool
) -> None:
    asked = document(risk=risk, arguments=arguments, tainted_run=tainted)
    one, other = policy(*RULES).decide(asked), policy(*rules).decide(asked)
    parts = ("decision", "reasons", "rule", "obligations")
    assert [getattr(one, part) for part in parts] == [getattr(other, part) for part in parts]


def test_obligations_of_all_matching_rules_are_kept_once() -> None:
    got = policy(*RULES[:2]).decide(document())
    assert got.obligations == ("dry_run", "notify:ops")
    assert got.reasons == ("A1", "A2")


def test_auto_lifts_the_floor_only_for_a_tool_named_in_full() -> None:
    both = policy(
        rule("allow", "named", match={"tool": "pay.send.v1"}, auto=True),
        rule("allow", "group", match={"tool": ["pay.*", "pay.other.v1"]}, auto=True),
    )
    assert both.decide(document("pay.send.v1", "transactional")).decision == "allow"
    assert both.decide(document("pay.other.v1", "destructive")).decision == "allow"
    third = both.decide(document("pay.third.v1", "transactional"))
    assert (third.decision, third.reasons) == ("ask", ("FLOOR_TRANSACTIONAL", "GROUP"))


@pytest.mark.parametrize(
    ("pattern", "name", "holds"),
    [
        ("github.*", "github.read.v1", True),
        ("github.*", "github.a.b.c", True),
        ("github.*", "github", False),
        ("github.*", "github_admin.read.v1", False),
        ("github.*", "githubx.read", False),
        ("github.*", "my.github.read", False),
        ("github.*", "GitHub.read", False),
        ("github.issues.*", "github.issues.close.v1", True),
        ("github.issues.*", "github.issues_all.close", False),
        ("*", "anything.v1", True),
        ("box.open.v1", "box.open.v1", True),
        ("box.open.v1", "box.open.v11", False),
        ("box.open.v1", "box.open", False),
        (["a.v1", "b.*"], "b.v1", True),
        (["a.v1", "b.*"], "a.v1", True),
        (["a.v1", "b.*"], "c.v1", False),
    ],
)
def test_a_star_stands_for_whole_segments(pattern: Any, name: str, holds: bool) -> None:
    got = policy(rule("deny", match={"tool": pattern})).decide(document(name))
    assert (got.decision == "deny") is holds


ANA = Principal("ana", "acme", scopes={"s1", "s2"}, roles={"admin"}, agent="bot")


@pytest.mark.parametrize(
    ("match", "holds"),
    [
        ({}, True),
        ({"user": "ana"}, True),
        ({"user": ["bob", "ana"]}, True),
        ({"user": "bob"}, False),
        ({"user": "an"}, False),
        ({"tenant": "acme"}, True),
        ({"tenant": "ACME"}, False),
        ({"agent": "bot"}, True),
        ({"agent": "none"}, False),
        ({"roles": ["user", "admin"]}, True),
        ({"roles": "user"}, False),
        ({"scopes": "s2"}, True),
        ({"scopes": ["s3"]}, False),
        ({"purpose": "support"}, True),
        ({"purpose": "sales"}, False),
        ({"intent": "read"}, True),
        ({"intent": ["pay"]}, False),
        ({"repaired": False}, True),
        ({"repaired": True}, False),
        ({"coerced": True}, True),
        ({"coerced": False}, False),
        ({"tainted_run": True}, True),
        ({"risk": "write_internal"}, True),
        ({"risk": ["compute", "write_internal"]}, True),
        ({"risk": "compute"}, False),
        ({"risk": {"above": "draft"}}, True),
        ({"risk": {"above": "write_internal"}}, False),
        ({"user": "ana", "tenant": "other"}, False),
        ({"user": "ana", "tenant": "acme", "tool": "box.*", "risk": {"above": "compute"}}, True),
    ],
)
def test_conditions(match: dict[str, Any], holds: bool) -> None:
    asked = document(
        risk="write_internal", actor=ANA, purpose="support", intent="read", coerced=True, tainted_run=True
    )
    assert (policy(rule("deny", match=match)).decide(asked).decision == "deny") is holds


VALUES = {
    "n": 5,
    "f": 2.5,
    "s": "hello",
    "l": [1, "a"],
    "b": True,
    "z": None,
    "d": {"k": {"deep": 7}},
    "e": "",
}


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        ({"n": 5}, True),
        ({"n": 5.0}, True),
        ({"n": "5"}, False),
        ({"n": {"eq": 5}}, True),
        ({"b": True}, True),
        ({"b": 1}, False),
        ({"n": True}, False),
        ({"z": None}, True),
        ({"missing": None}, False),
        ({"l": [1, "a"]}, True),
        ({"l": [True, "a"]}, False),
        ({"l": [1]}, False),
        ({"l": {"eq": [1.0, "a"]}}, True),
        ({"d.k.deep": 7}, True),
        ({"d.k.none": 7}, False),
        ({"d.k.deep.more": 7}, False),
        ({"s.x": 1}, False),
        ({"d": {"eq": {"k": {"deep": 7}}}}, True),
        ({"d": {"eq": {"k": {"deep": 8}}}}, False),
        ({"n": {"ne": 5}}, False),
        ({"n": {"ne": 6}}, True),
        ({"missing": {"ne": 6}}, True),
        ({"n": {"in": [4, 5]}}, True),
        ({"n": {"in": []}}, False),
        ({"b": {"in": [1]}}, False),
        ({"missing": {"in": [None]}}, False),
        ({"n": {"not_in": [4]}}, True),
        ({"n": {"not_in": [5]}}, False),
        ({"missing": {"not_in": [5]}}, True),
        ({"n": {"lt": 6}}, True),
        ({"n": {"lt": 5}}, False),
        ({"n": {"le": 5}}, True),
        ({"n": {"le": 4.9}}, False),
        ({"n": {"gt": 4}}, True),
        ({"n": {"gt": 5}}, False),
        ({"n": {"ge": 5}}, True),
        ({"n": {"ge": 5.1}}, False),
        ({"f": {"gt": 2, "lt": 3}}, True),
        ({"f": {"gt": 2, "lt": 2.5}}, False),
        ({"missing": {"lt": 9}}, False),
        ({"s": {"max_length": 5}}, True),
        ({"s": {"max_length": 4}}, False),
        ({"l": {"min_length": 2}}, True),
        ({"l": {"min_length": 3}}, False),
        ({"missing": {"max_length": 9}}, False),
        ({"d": {"max_length": 1}}, True),
        ({"s": {"prefix": "he"}}, True),
        ({"s": {"prefix": ["x", "hell"]}}, True),
        ({"s": {"prefix": "lo"}}, False),
        ({"e": {"prefix": "a"}}, False),
        ({"missing": {"prefix": "a"}}, False),
        ({"n": {"exists": True}}, True),
        ({"z": {"exists": True}}, True),
        ({"missing": {"exists": False}}, True),
        ({"missing": {"exists": True}}, False),
        ({"n": {"exists": False}}, False),
        ({"n": 5, "s": "hello"}, True),
        ({"n": 5, "s": "hullo"}, False),
    ],
)
def test_comparisons(arguments: dict[str, Any], holds: bool) -> None:
    got = policy(rule("deny", "no", match={"arguments": arguments})).decide(document(arguments=VALUES))
    assert (got.decision == "deny") is holds
    assert "POLICY_ERROR" not in got.reasons


@pytest.mark.parametrize(
    "arguments",
    [
        {"s": {"lt": 5}},
        {"b": {"lt": 5}},
        {"l": {"ge": 5}},
        {"z": {"gt": 5}},
        {"d": {"le": 1}},
        {"n": {"max_length": 5}},
        {"b": {"min_length": 0}},
        {"z": {"max_length": 5}},
        {"n": {"prefix": "a"}},
        {"l": {"prefix": "a"}},
        {"z": {"prefix": "a"}},
    ],
)
@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_a_value_of_the_wrong_kind_denies(decision: str, arguments: dict[str, Any]) -> None:
    got = policy(
        rule("allow", "all", everything=True), rule(decision, "typed", match={"arguments": arguments})
    ).decide(document(arguments=VALUES))
    assert (got.decision, got.reasons, got.rule) == ("deny", ("POLICY_ERROR",), "typed")


def test_no_policy_denies_everything() -> None:
    for risk in RiskClass:
        got = DenyAll().decide(document(risk=risk))
        assert (got.decision, got.reasons) == ("deny", ("NO_POLICY",))


def test_a_class_without_a_default_is_denied() -> None:
    got = RulesPolicy((), {}, "v").decide(document())
    assert got == Decision("deny", ("POLICY_UNDEFINED",), None, "v")


@pytest.mark.parametrize("risk", list(RiskClass))
def test_the_shipped_policies(risk: RiskClass) -> None:
    reads = {"compute", "read_internal", "read_external"}
    strict, read_only = Policy.default(), Policy.shipped("read-only")
    assert strict.decide(document(risk=risk)).decision == ("allow" if risk in {*reads, "draft"} else "ask")
    assert strict.decide(document(risk=risk, repaired=True)).decision == (
        "allow" if risk in reads else "deny"
    )
    got = read_only.decide(document(risk=risk))
    assert (got.decision, got.reasons[0]) == (
        ("allow", f"CLASS_{risk.upper()}") if risk in reads else ("deny", "READ_ONLY")
    )


def test_a_policy_is_named_by_its_content() -> None:
    assert policy(*RULES).version == policy(*RULES).version
    assert policy(*RULES).version != policy(*RULES[1:]).version
    assert policy(*RULES).decide(document()).policy_version.startswith("sha256:")
    assert Policy.default().version != Policy.shipped("read-only").version


def reckoned(
    risk: RiskClass, matching: tuple[str, ...], default: str, auto: bool, fact: str | None, two: bool
) -> str:
    """The algebra of the page, written down once more: rules, else the default; then the floors."""
    verdict = max(matching, key=RANK.__getitem__) if matching else default
    if verdict != "allow":
        return verdict
    stated = {"transactional": ("money", "legal_record"), "destructive": ("irreversible",)}.get(str(risk), ())
    floors = [
        risk in FLOOR and not (auto and "allow" in matching),
        fact is not None and fact not in stated,
        two and "allow" in matching,
    ]
    return "ask" if any(floors) else "allow"


@pytest.mark.parametrize("risk", list(RiskClass))
def test_every_combination_of_rules_default_floors_facts_and_two_people(risk: RiskClass) -> None:
    subsets = [c for n in range(4) for c in itertools.combinations(RANK, n)]
    facts = [None, "money", "irreversible", "production"]
    defaults = ["ask", "deny"] if risk in FLOOR else ["allow", "ask", "deny"]
    for matching, default, auto, two in itertools.product(subsets, defaults, [False, True], [False, True]):
        rules = [
            rule(
                d,
                match={"tool": "box.open.v1"},
                auto=auto and d == "allow",
                obligations=["two_person"] if two and d == "allow" else [],
            )
            for d in matching
        ]
        compiled = policy(*rules, defaults={str(risk): default})
        for fact in facts:
            known = {} if fact is None else {fact: True}
            got = compiled.decide(document(risk=risk, risk_facts=known))
            want = reckoned(risk, matching, default, auto, fact, two)
            assert got.decision == want, (matching, default, auto, two, fact)
            rank = RANK[compiled.decide(document(risk=risk)).decision]
            assert RANK[got.decision] >= rank  # a fact never lowers
