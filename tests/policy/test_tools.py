"""Cases, explanations, lint and replay: the pure cores of `gerbang policy`."""

from typing import Any

import pytest

from gerbang.errors import PolicyError
from gerbang.policy.bundle import load_rules
from gerbang.policy.cases import read_cases, try_case, undecided
from gerbang.policy.document import read_document
from gerbang.policy.explain import explain
from gerbang.policy.history import CallStatus
from gerbang.policy.lint import lint
from gerbang.policy.replay import Recorded, replay_run
from gerbang.values import Contract, RiskClass

POLICY = """
version: 1
facts: [visibility]
rules:
  - {id: ana, match: {user: ana, arguments: {n: {le: 5}}}, decision: allow, reason: ANA}
  - {id: broken, match: {tool: t.broken.v1, arguments: {n: {gt: 1}}}, decision: deny, reason: BROKEN}
  - {id: drafts, match: {class: draft}, decision: ask, reason: DRAFTS, obligations: [two_person]}
  - {id: other, match: {tool: other.*}, decision: deny, reason: OTHER}
  - {id: after, match: {history: {after: {group: crm}}}, decision: deny, reason: AFTER}
  - {id: shown, match: {tool: git.*, facts: {visibility: public}}, decision: deny, reason: SHOWN}
"""


def document(tool: str = "t.x.v1", risk: str = "compute", **known: Any) -> Any:
    return read_document({"tool": {"name": tool, "risk_class": risk}, **known}, "here")


CASES = """
- note: Ana may.
  input: {tool: {name: t.x.v1, risk_class: write_internal}, actor: {user: ana}, arguments: {n: 5}}
  want: allow
- note: Drafts ask, with two people.
  input: {tool: {name: t.x.v1, risk_class: draft}}
  want: {decision: ask, reasons: [DRAFTS], rule: drafts, obligations: [two_person]}
- note: Wrong in every way.
  input: {tool: {name: t.x.v1, risk_class: draft}}
  want: {decision: deny, reasons: [OTHER], rule: other, obligations: [{approvers: [ops]}]}
"""


def test_cases_and_what_they_cover() -> None:
    policy = load_rules(POLICY, "p.yaml")
    tried = [try_case(case, policy.decide) for case in read_cases(CASES, "p.cases.yaml")]
    assert [item.wrong for item in tried] == [
        (),
        (),
        (
            "decision is ask, wanted deny",
            "reasons are DRAFTS, wanted OTHER",
            "rule is drafts, wanted other",
            "obligations are two_person, wanted approvers:ops",
        ),
    ]
    assert undecided((rule.id for rule in policy.rules), tried) == ("after", "broken", "other", "shown")
    shown = tried[2].as_dict()
    assert (shown["file"], shown["case"], shown["passed"]) == ("p.cases.yaml", 3, False)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "c.yaml: cases are a list of mappings"),
        ("version: 1", "line 1, column 1: cases are a list"),
        ("- text", "line 1, column 3: case 1: a case is a mapping"),
        ("- {note: a, input: {}, want: deny, wnt: x}", "case 1: unknown field 'wnt'. Did you mean 'want'?"),
        ("- {note: a, want: deny}", "case 1: 'input' is missing."),
        ("- {note: 5, input: {}, want: deny}", "case 1: 'note' is a sentence."),
        (
            "- {note: a, input: {}, want: deny}",
            "line 1, column 20: case 1: input: Object missing required field `tool`",
        ),
        (
            "- note: a\n  input:\n    tool: {name: a, risk_class: reads}\n  want: deny",
            "line 3, column 5: case 1: input: Invalid enum value 'reads' - at `$.tool.risk_class`",
        ),
        (
            "- {note: a, input: {tool: {name: a, risk_class: draft}}, want: yep}",
            "want: takes allow, ask or deny",
        ),
        (
            "- {note: a, input: {tool: {name: a, risk_class: draft}}, want: {decision: ask, reasons: X}}",
            "want.reasons: takes a list of codes.",
        ),
        (
            "- {note: a, input: {tool: {name: a, risk_class: draft}}, want: {decision: ask, rule: 1}}",
            "want.rule: takes the id of a rule.",
        ),
        (
            "- {note: a, input: {tool: {name: a, risk_class: draft}}, want: {decision: ask, obligations: x}}",
            "want.obligations: unknown obligation 'x'",
        ),
    ],
)
def test_wrong_cases(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_cases(text, "c.yaml")
    assert says in str(caught.value)


def told(known: Any) -> dict[str, tuple[str, str, Any]]:
    found = explain(load_rules(POLICY, "p.yaml"), known)
    return {rule.id: (rule.role, rule.condition, rule.as_dict().get("got")) for rule in found.rules}


def test_each_rule_says_why() -> None:
    assert told(document(actor={"user": "ana"}, arguments={"n": 9})) == {
        "after": ("not", "history.after", None),
        "ana": ("not", "arguments.n", 9),
        "broken": ("not", "tool", "t.x.v1"),
        "drafts": ("not", "class", "compute"),
        "other": ("not", "tool", "t.x.v1"),
        "shown": ("not", "tool", "t.x.v1"),
    }
    assert told(document(actor={"user": "bob"}))["ana"] == ("not", "user", "bob")
    assert told(document(actor={"user": "ana"}))["ana"] == ("not", "arguments.n", None)
    assert told(document("t.broken.v1", arguments={"n": "x"}))["broken"] == ("error", "arguments.n", "x")
    assert told(document("git.push.v1"))["shown"] == ("error", "facts.visibility", "not resolved")
    two = told(document("other.a.v1", "draft"))
    assert (two["other"][0], two["drafts"][0]) == ("decided", "matched")


def test_defaults_and_floors_are_named() -> None:
    policy = load_rules(POLICY, "p.yaml")
    assert explain(policy, document()).default == "compute"
    floor = explain(policy, document(actor={"user": "ana"}, arguments={"n": 1}, risk_facts={"money": True}))
    assert (floor.default, floor.floors) == (None, ("FLOOR_MONEY",))
    assert floor.as_dict()["decision"]["reasons"] == ["FLOOR_MONEY", "ANA"]


def rules(*written: str, head: str = "") -> str:
    lines = "\n".join(f"  - {{id: {'abcdef'[n]}, reason: R, {text}}}" for n, text in enumerate(written))
    return f"version: 1\n{head}rules:\n{lines}\n"


def codes(text: str) -> list[tuple[str, str | None, int]]:
    return [
        (item.code, item.rule, item.line) for item in lint({"p.yaml": text}) if item.code != "MISSING_DEFAULT"
    ]


@pytest.mark.parametrize(
    "match",
    [
        "{arguments: {n: {lt: 1, gt: 2}}}",
        "{arguments: {n: {lt: 1, ge: 1}}}",
        "{arguments: {n: {gt: 1, le: 1}}}",
        "{arguments: {n: {in: []}}}",
        "{arguments: {n: {all_in: []}}}",
        "{arguments: {n: {in: [1, 2], gt: 5}}}",
        "{arguments: {n: {eq: a, in: [b]}}}",
        "{arguments: {n: {eq: a, prefix: b}}}",
        "{arguments: {n: {exists: false, gt: 1}}}",
        "{arguments: {n: {min_length: 5, max_length: 4}}}",
        "{arguments: {n: {gt: 5, prefix: a}}}",
        "{arguments: {n: {gt: 5, length: 1}}}",
        "{user: {in: []}}",
        "{user: {eq: ana, prefix: b}}",
        "{roles: {any_of: [a], none_of: [a, b]}}",
        "{roles: {all_of: [a, c], none_of: [a]}}",
        "{risk: {above: destructive}}",
        "{risk: draft, class: compute}",
        "{tainted_run: true, taint: {run: false}}",
        "{budget: {calls: {lt: 2, gt: 2}}}",
    ],
)
def test_rules_that_can_never_match(match: str) -> None:
    assert codes(rules(f"decision: deny, match: {match}")) == [("NEVER_MATCHES", "a", 3)]


@pytest.mark.parametrize(
    "match",
    [
        "{arguments: {n: {le: 1, ge: 1}}}",
        "{arguments: {n: {in: [1, 2], gt: 1}}}",
        "{arguments: {n: {exists: false, ne: 1}}}",
        "{arguments: {n: {prefix: a, length: 5}}}",
        "{roles: {any_of: [a, b], none_of: [a]}}",
        "{risk: [draft, compute], class: compute}",
    ],
)
def test_rules_that_can_match(match: str) -> None:
    assert codes(rules(f"decision: deny, match: {match}")) == []


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("decision: allow, match: {tool: m.a.v1}", "decision: deny, match: {tool: m.*}", "SHADOWED"),
        ("decision: ask, match: {tool: m.a.*}", "decision: deny, match: {tool: m.*}", "SHADOWED"),
        (
            "decision: allow, match: {tool: [m.a, n.b]}",
            "decision: ask, match: {tool: [m.*, n.*]}",
            "SHADOWED",
        ),
        (
            "decision: allow, match: {tool: a, user: ana}",
            "decision: deny, match: {user: [ana, bob]}",
            "SHADOWED",
        ),
        ("decision: allow, match: {tool: a, roles: x}", "decision: deny, match: {roles: [x, y]}", "SHADOWED"),
        (
            "decision: allow, match: {class: draft}",
            "decision: deny, match: {class: [draft, compute]}",
            "SHADOWED",
        ),
        (
            "decision: allow, match: {tool: a, arguments: {n: {lt: 5}}}",
            "decision: deny, match: {arguments: {n: {lt: 6}}}",
            "SHADOWED",
        ),
        (
            "decision: allow, match: {tool: a, arguments: {n: 5}}",
            "decision: deny, match: {arguments: {n: {lt: 6}}}",
            "SHADOWED",
        ),
        (
            "decision: allow, match: {tool: a, history: {after: {group: g}}}",
            "decision: deny, match: {history: {after: {group: g}}}",
            "SHADOWED",
        ),
        ("decision: deny, match: {tool: a, user: ana}", "decision: deny, match: {tool: a}", "REDUNDANT"),
    ],
)
def test_rules_that_another_one_overrides(first: str, second: str, code: str) -> None:
    assert codes(rules(first, second)) == [(code, "a", 3)]
    assert codes(rules(second, first)) == [(code, "b", 4)]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("decision: deny, match: {tool: m.a.v1}", "decision: allow, match: {tool: m.*}"),
        ("decision: allow, match: {tool: m.*}", "decision: deny, match: {tool: m.a.v1}"),
        ("decision: allow, match: {tool: mm.a}", "decision: deny, match: {tool: m.*}"),
        ("decision: allow, match: {user: [ana, bob]}", "decision: deny, match: {user: ana}"),
        (
            "decision: allow, match: {arguments: {n: {lt: 6}}}",
            "decision: deny, match: {arguments: {n: {lt: 5}}}",
        ),
        (
            "decision: allow, match: {arguments: {n: {le: 5}}}",
            "decision: deny, match: {arguments: {n: {lt: 5}}}",
        ),
        ("decision: allow, auto: true, match: {tool: m.a}", "decision: allow, match: {tool: m.*}"),
        ("decision: deny, obligations: [dry_run], match: {tool: m.a}", "decision: deny, match: {tool: m.*}"),
        ("decision: allow, obligations: [dry_run], match: {tool: m.a}", "decision: ask, match: {tool: m.*}"),
        (
            "decision: allow, match: {history: {after: {group: g}}}",
            "decision: deny, match: {history: {not_after: {group: g}}}",
        ),
    ],
)
def test_rules_that_both_matter(first: str, second: str) -> None:
    assert codes(rules(first, second)) == []


def test_other_findings() -> None:
    assert codes(rules("decision: allow, everything: true")) == [("ALLOWS_EVERYTHING", "a", 3)]
    two = "decision: allow, auto: true, obligations: [two_person], match: {tool: a}"
    assert codes(rules(two)) == [("AUTO_AND_TWO_PERSON", "a", 3)]
    assert codes(rules("decision: deny, match: {tool: a}", head="facts: [x]\n")) == [("UNUSED_FACT", None, 0)]
    (missing,) = lint({"p.yaml": "version: 1\ndefaults: {draft: ask, compute: allow}"})
    assert (missing.code, missing.level) == ("MISSING_DEFAULT", "note")
    assert "draft" not in missing.message
    assert "destructive" in missing.message


def test_every_rule_that_is_wrong_is_named_not_only_the_first() -> None:
    text = rules(
        "decision: deny, match: {tol: a}",
        "decision: deny, match: {arguments: {n: {gt: x}}}",
        "decision: deny, match: {tool: a}",
        "decision: dny",
    )
    found = lint({"p.yaml": text})
    assert [(item.code, item.level, item.line) for item in found] == [
        ("DOES_NOT_LOAD", "error", 3),
        ("DOES_NOT_LOAD", "error", 4),
        ("DOES_NOT_LOAD", "error", 6),
    ]
    assert "Did you mean 'tool'?" in found[0].message


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("version: 1\nversion: 1", "NOT_READABLE", "line 2, column 1: the key 'version' stands here twice."),
        ("defaults: {draft: ask, draft: deny}", "NOT_READABLE", "the key 'draft' stands here twice."),
        ("[]", "DOES_NOT_LOAD", "a policy is a mapping"),
        ("version: 1\nnme: x", "DOES_NOT_LOAD", "unknown field 'nme'. Did you mean 'name'?"),
    ],
)
def test_files_that_do_not_load(text: str, code: str, says: str) -> None:
    (found,) = lint({"p.yaml": text})
    assert (found.code, found.level) == (code, "error")
    assert says in found.message


SEND = Contract(
    "mail.send.v1",
    RiskClass.EXTERNAL_COMMUNICATION,
    "Send a mail.",
    {
        "type": "object",
        "properties": {
            "to": {"type": "array", "items": {"type": "string"}},
            "count": {"type": "integer"},
            "kind": {"enum": ["html", "text"]},
            "sub": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": False},
            "any": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "maybe": {"type": ["string", "null"]},
            "open": {"type": "object"},
        },
        "additionalProperties": False,
    },
)
READ = Contract(
    "crm.read.v1",
    RiskClass.READ_INTERNAL,
    "Read.",
    {"type": "object", "properties": {"id": {"type": "string"}}},
)


@pytest.mark.parametrize(
    ("match", "want"),
    [
        ("{tool: mail.sendd.v1}", ["UNKNOWN_TOOL"]),
        ("{tool: [mail.send.v1, x.v1]}", ["UNKNOWN_TOOL"]),
        ("{tool: mails.*}", ["UNKNOWN_TOOL"]),
        ("{tool: mail.*}", []),
        ("{tool: mail.*, class: draft}", ["WRONG_CLASS"]),
        ("{tool: mail.*, class: {above: draft}}", []),
        ("{tool: mail.send.v1, arguments: {too: x}}", ["UNKNOWN_ARGUMENT"]),
        ("{tool: mail.send.v1, arguments: {sub.y: 1}}", ["UNKNOWN_ARGUMENT"]),
        ("{tool: mail.send.v1, arguments: {sub.x: {gt: 1}}}", []),
        ("{tool: mail.send.v1, arguments: {/sub/x: 1.5}}", []),
        ("{tool: mail.send.v1, arguments: {open.what.ever: 1}}", []),
        ("{tool: crm.read.v1, arguments: {other: 1}}", []),
        ("{tool: [crm.read.v1, mail.send.v1], arguments: {too: 1}}", []),
        ("{tool: '*', arguments: {too: 1}}", []),
        ("{tool: mail.send.v1, arguments: {to: {gt: 1}}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {count: {prefix: a}}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {count: {length: 5}}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {count: {all_in: [a]}}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {count: '5'}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {count: {in: [a, 5]}}}", []),
        ("{tool: mail.send.v1, arguments: {count: {gt: 5}}}", []),
        ("{tool: mail.send.v1, arguments: {kind: pdf}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {kind: {in: [pdf, html]}}}", []),
        ("{tool: mail.send.v1, arguments: {to.0: {prefix: a}}}", []),
        ("{tool: mail.send.v1, arguments: {to.0: {gt: 1}}}", ["TYPE_MISMATCH"]),
        ("{tool: mail.send.v1, arguments: {any: {gt: 1}}}", []),
        ("{tool: mail.send.v1, arguments: {maybe: null}}", []),
        ("{tool: mail.send.v1, arguments: {maybe: {suffix: a}}}", []),
        ("{tool: mail.send.v1, arguments: {maybe: 5}}", ["TYPE_MISMATCH"]),
    ],
)
def test_rules_are_held_against_the_tools(match: str, want: list[str]) -> None:
    found = lint({"p.yaml": rules(f"decision: deny, match: {match}")}, None, [SEND, READ])
    assert [item.code for item in found if item.code != "MISSING_DEFAULT"] == want


def test_two_files_with_one_default_or_one_name_are_found() -> None:
    two = lint(
        {"a.yaml": "version: 1\ndefaults: {draft: ask}", "b.yaml": "version: 1\ndefaults: {draft: deny}"}
    )
    assert [(item.code, item.file, item.line) for item in two] == [("DOES_NOT_LOAD", "b.yaml", 2)]
    text = rules("decision: deny, match: {tool: a}")
    twice = lint({"a.yaml": text, "b.yaml": text})
    assert [(item.code, item.file, item.line) for item in twice] == [("DOES_NOT_LOAD", "b.yaml", 3)]


def recorded(call: str, tool: str, then: str, status: CallStatus | None = None, **known: Any) -> Recorded:
    record = document(tool, **known).record()
    return Recorded("r1", call, tool, then, ("THEN",), record, {}, status)


def test_replay_builds_the_history_again() -> None:
    calls = [
        recorded("c1", "t.x.v1", "allow", "ok"),
        Recorded("r1", "c2", "crm.read.v1", "allow", ("THEN",), _of_group("crm"), {}, "error"),
        recorded("c3", "t.x.v1", "allow", "ok"),
        recorded("c4", "other.x.v1", "deny"),
        Recorded("r1", "c5", "t.x.v1", "deny", ("THEN",), None, {}),
        Recorded("r1", "c6", "t.x.v1", "deny", ("THEN",), _of_group("x"), None),
        Recorded("r1", "c7", "t.x.v1", "deny", ("THEN",), {"tool": 5}, {}),
    ]
    found = replay_run(calls, load_rules(POLICY, "p.yaml").decide)
    assert [(item.call.call_id, item.now and item.now.decision, item.changed) for item in found] == [
        ("c1", "allow", False),
        ("c2", "allow", False),
        ("c3", "deny", True),
        ("c4", "deny", False),
        ("c5", None, False),
        ("c6", None, False),
        ("c7", None, False),
    ]
    assert found[2].as_dict()["now"]["reasons"] == ["AFTER"]
    assert [item.why for item in found[4:6]] == [
        "what policy saw was not recorded",
        "its arguments were not kept",
    ]


def _of_group(group: str) -> dict[str, Any]:
    known = {"tool": {"name": f"{group}.read.v1", "risk_class": "read_internal", "group": group}}
    return read_document(known, "here").record()
