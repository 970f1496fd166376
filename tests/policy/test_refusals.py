"""A policy that is wrong in any way does not load, and the message names the place."""

from pathlib import Path
from typing import Any

import pytest

from gerbang.compose.policy import Policy
from gerbang.errors import PolicyError
from gerbang.policy.bundle import compile_rules, load_rules
from gerbang.values import RiskClass

GOOD: dict[str, Any] = {"id": "r", "decision": "deny", "reason": "OK"}


def rules(**changes: Any) -> dict[str, Any]:
    return {"version": 1, "rules": [{**GOOD, **changes}]}


def match(**conditions: Any) -> dict[str, Any]:
    return rules(match=conditions)


def argument(test: Any) -> dict[str, Any]:
    return match(arguments={"n": test})


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "p.yaml: a policy is a mapping with 'version' and 'rules'."),
        ([], "p.yaml: a policy is a mapping"),
        ("allow", "p.yaml: a policy is a mapping"),
        ({}, "p.yaml: 'version: 1' is missing"),
        ({"version": 2}, "'version: 1' is missing"),
        ({"version": "1"}, "'version: 1' is missing"),
        ({"version": True}, "'version: 1' is missing"),
        (
            {"version": 1, "rule": []},
            "p.yaml: unknown field 'rule'. Did you mean 'rules'? Known: defaults, facts, hours, name",
        ),
        ({"version": 1, "rules": {}}, "p.yaml: 'rules' is a list."),
        ({"version": 1, "rules": None}, "'rules' is a list"),
        ({"version": 1, "rules": ["allow"]}, "p.yaml: rule 1: a rule is a mapping."),
        ({"version": 1, "rules": [GOOD, {}]}, "p.yaml: rule 2: 'id' is missing."),
        (rules(id=""), "p.yaml: rule 1: 'id' is missing."),
        (rules(id=5), "'id' is missing"),
        (
            rules(matches={}),
            "p.yaml: rule 1: unknown field 'matches'. Did you mean 'match'? Known: auto, decision",
        ),
        ({"version": 1, "rules": [GOOD, GOOD]}, "p.yaml: two rules are called 'r'."),
        (rules(decision="permit"), "p.yaml: rule 'r': 'decision' is allow, ask or deny."),
        (rules(decision=None), "'decision' is allow, ask or deny"),
        (rules(decision=True), "'decision' is allow, ask or deny"),
        (rules(decision=["allow"]), "'decision' is allow, ask or deny"),
        (rules(decision={"allow": 1}), "'decision' is allow, ask or deny"),
        (
            rules(reason="ok"),
            "p.yaml: rule 'r': 'reason' is a code in upper case, such as MAIL_NEEDS_REVIEW.",
        ),
        (rules(reason=None), "'reason' is a code"),
        (rules(reason="A" * 65), "'reason' is a code"),
        (rules(reason="A\n"), "'reason' is a code"),
        (rules(match=[]), "p.yaml: rule 'r': 'match' is a mapping of conditions."),
        (rules(auto=True), "'auto: true' is for a rule that allows and names its very tool."),
        (rules(auto="yes", match={"tool": "a"}), "'auto: true' is for a rule"),
        (rules(auto=True, match={"tool": "a.*"}), "'auto: true' is for a rule"),
        (rules(auto=True, match={"tool": "a"}, decision="ask"), "'auto: true' is for a rule that allows"),
        (rules(obligations="log"), "p.yaml: rule 'r': 'obligations' is a list of names."),
        (rules(obligations=[1]), "rule 'r': an obligation is a name, or one name with a list"),
        (rules(obligations=["log"]), "rule 'r': unknown obligation 'log'. Known: approvers, dry_run"),
        (rules(obligations=[{"approvers": []}]), "takes a list of names, such as {approvers: [ops]}"),
        (rules(obligations=[{"two_person": ["a"]}]), "the obligation 'two_person' stands alone"),
        (rules(obligations=[{"notify": ["a,b"]}]), "takes names of letters, digits"),
        (rules(decision="allow"), "p.yaml: rule 'r': this rule allows every call there can be. Name tools"),
        (rules(decision="allow", match={"tool": "*"}), "this rule allows every call there can be"),
        (rules(decision="allow", match={"risk": list(RiskClass)}), "this rule allows every call"),
        (rules(decision="allow", everything=1), "'everything' takes true or false"),
        (rules(everything=True, match={"user": "ana"}), "'everything: true' is for a rule"),
        (
            match(tools="a"),
            "p.yaml: rule 'r': unknown condition 'tools'. Did you mean 'tool'? Known: agent, arguments",
        ),
        (match(tool=[]), "p.yaml: rule 'r', tool: takes a text or a list of texts."),
        (match(tool=None), "rule 'r', tool: takes a text"),
        (match(tool=5), "rule 'r', tool: takes a text"),
        (match(tool={"a": "b"}), "rule 'r', tool: takes a text"),
        (match(tool=["a", 1]), "rule 'r', tool: takes a text"),
        (match(tool=[["a"]]), "rule 'r', tool: takes a text"),
        (
            match(tool="mail*"),
            "rule 'r', tool: 'mail*': a star may only stand for the last segments, as in 'mail.*'.",
        ),
        (match(tool="*.v1"), "a star may only stand for the last segments"),
        (match(tool="a.*.b"), "a star may only stand"),
        (match(tool="a.**"), "a star may only stand"),
        (match(tool="*.*"), "a star may only stand"),
        (
            match(risk="harmless"),
            "p.yaml: rule 'r', risk: 'harmless' is not a risk class. Use one of: compute",
        ),
        (
            match(risk={"below": "draft"}),
            "rule 'r', risk: takes a class, a list of classes, or {above: CLASS}.",
        ),
        (match(risk={"above": ["draft"]}), "is not a risk class"),
        (match(risk=[]), "takes a text or a list of texts"),
        (match(user=None), "p.yaml: rule 'r', user: takes a text"),
        (match(tenant=False), "rule 'r', tenant: takes a text"),
        (match(roles=[None]), "rule 'r', roles: takes a text"),
        (match(repaired="yes"), "p.yaml: rule 'r', repaired: takes true or false."),
        (match(coerced=1), "rule 'r', coerced: takes true or false"),
        (match(tainted_run=None), "rule 'r', tainted_run: takes true or false"),
        (match(arguments=[]), "p.yaml: rule 'r', arguments: takes a mapping of argument names"),
        (match(arguments={}), "rule 'r', arguments: takes a mapping"),
        (match(arguments={1: 2}), "rule 'r', arguments: takes a mapping"),
        (argument({}), "p.yaml: rule 'r', arguments.n: an empty comparison would hold for everything."),
        (
            argument({"above": 5}),
            "rule 'r', arguments.n: unknown comparison 'above'. Known: all_in, any_in, eq, exists",
        ),
        (argument({"lt": "5"}), "rule 'r', arguments.n: an ordering comparison takes a number."),
        (argument({"ge": True}), "an ordering comparison takes a number"),
        (argument({"gt": None}), "an ordering comparison takes a number"),
        (argument({"le": float("nan")}), "an ordering comparison takes a number"),
        (argument({"max_length": 1.5}), "rule 'r', arguments.n: a length is a whole number."),
        (argument({"min_length": True}), "a length is a whole number"),
        (argument({"in": [{1, 2}]}), "holds something that is not JSON"),
        (argument({"in": "abc"}), "rule 'r', arguments.n: takes a list."),
        (argument({"not_in": {"a": 1}}), "rule 'r', arguments.n: takes a list."),
        (argument({"prefix": 5}), "rule 'r', arguments.n: takes a text or a list of texts."),
        (argument({"prefix": []}), "takes a text or a list of texts"),
        (argument({"exists": "no"}), "rule 'r', arguments.n: takes true or false."),
        (argument({"eq": {1, 2}}), "holds something that is not JSON"),
        (argument(float("inf")), "p.yaml: /rules/0/match/arguments/n holds something that is not JSON."),
        ({"version": 1, "defaults": []}, "p.yaml: 'defaults' maps risk classes to allow, ask or deny."),
        (
            {"version": 1, "defaults": {"reads": "allow"}},
            "p.yaml: defaults: 'reads' is not a risk class. Known: compute",
        ),
        ({"version": 1, "defaults": {"draft": "yes"}}, "p.yaml: defaults.draft: takes allow, ask or deny."),
        ({"version": 1, "defaults": {"draft": ["ask"]}}, "p.yaml: defaults.draft: takes allow, ask or deny."),
        (
            {"version": 1, "defaults": {"transactional": "allow"}},
            "p.yaml: defaults.transactional: this class is at least",
        ),
        ({"version": 1, "defaults": {"destructive": "allow"}}, "name the tool in a rule"),
    ],
)
def test_the_place_is_named(data: Any, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compile_rules(data, "p.yaml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("p.yaml: ")


def test_long_names_are_not_quoted_in_full() -> None:
    for data in (
        {"x" * 9_000: 1},
        match(**{"x" * 9_000: 1}),
        argument({"x" * 9_000: 1}),
        rules(id="x" * 9_000, reason=1),
    ):
        with pytest.raises(PolicyError) as caught:
            compile_rules(data, "p.yaml")
        assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version: yes", "line 1, column 10: 'yes' can be read in two ways"),
        ("version: 1\nrules:\n  - id: a\n    decision: yes", "line 4, column 15: 'yes'"),
        ("version: 1\nrules:\n  - id: on", "line 3, column 9: 'on'"),
        ("version: 1\nrules: &r []\nmore: *r", "line 2, column 8: anchors and aliases are not allowed"),
        ("version: 1\nrules: []\nrules: []", "line 3, column 1: the key 'rules' stands here twice."),
        ("version: 1\nname: !!python/name:os.system", "tags are not allowed"),
        ("version: 1\n\trules: []", "line 2"),
        (
            "version: 1\nrules: [{id: a, decision: allow, reason: A, match: {purpose: 2026-01-01}}]",
            "quote dates",
        ),
        ("- version: 1", "a policy is a mapping"),
        ("", "a policy is a mapping"),
        ("allow everything", "a policy is a mapping"),
    ],
)
def test_texts_that_do_not_load(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        load_rules(text, "p.yaml")
    assert says in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="the policy cannot be read"):
        Policy.load(tmp_path / "none.yaml")
    with pytest.raises(PolicyError, match="the policy cannot be read"):
        Policy.load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"version: 1\nname: caf\xe9")
    with pytest.raises(PolicyError, match="the policy cannot be read"):
        Policy.load(tmp_path / "latin.yaml")
    with pytest.raises(PolicyError, match=r"no shipped policy '\.\./x'\. Use one of: strict, read-only"):
        Policy.shipped("../x")


def test_a_good_file_loads(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "version: 1\nname: mine\nrules:\n  - {id: a, decision: deny, reason: NEVER, note: all of it}\n"
    )
    assert Policy.load(path).version == load_rules(path.read_text(), "elsewhere").version
