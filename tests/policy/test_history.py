"""Sequence rules: every question, both readings, and a run that is longer than what is kept."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.errors import PolicyError
from gerbang.policy.bundle import compile_rules
from gerbang.policy.history import CallStatus, History
from gerbang.policy.input import PolicyInput
from gerbang.policy.tool_facts import make_tool_facts
from gerbang.values import LOCAL, RiskClass

READ = make_tool_facts(
    "crm.customer.read.v1",
    "read_internal",
    group="crm",
    resources=("customer",),
    data_class="confidential",
    side_effects={"kind": "none", "resources": [], "reversible": None},
)
PATCH = make_tool_facts("repo.patch.v1", "write_internal", group="repo")
TEST = make_tool_facts("test.unit.v1", "code_execution", group="test")
TOOLS = {"read": READ, "patch": PATCH, "test": TEST}


def history(*calls: str) -> History:
    """Calls as `read`, `read!` (failed), `read?` (uncertain), `read…` (running)."""
    ends: dict[str, CallStatus] = {"!": "error", "?": "uncertain", "…": "running"}
    return History.of((TOOLS[call.rstrip("!?…")], ends.get(call[-1], "ok"), "") for call in calls)


def holds(condition: dict[str, Any], past: History, decision: str = "deny") -> bool:
    rule = {
        "id": "r",
        "match": {"tool": "x.y.v1", "history": condition},
        "decision": decision,
        "reason": "HIT",
    }
    got = compile_rules({"version": 1, "rules": [rule]}, "p").decide(
        PolicyInput("x.y.v1", RiskClass.WRITE_INTERNAL, {}, LOCAL, history=past)
    )
    assert "POLICY_ERROR" not in got.reasons
    return got.rule == "r"


@pytest.mark.parametrize(
    "by",
    [
        {"tool": "crm.customer.read.v1"},
        {"tool": "crm.*"},
        {"tool": "crm.customer.*"},
        {"tool": ["none.v1", "crm.*"]},
        {"class": "read_internal"},
        {"class": ["destructive", "read_internal"]},
        {"group": "crm"},
        {"resource": "customer"},
        {"data": "confidential"},
        {"effect": "none"},
    ],
)
@pytest.mark.parametrize("decision", ["allow", "ask", "deny"])
def test_what_calls_are_picked_by(by: dict[str, Any], decision: str) -> None:
    assert holds({"after": by}, history("read"), decision)
    assert not holds({"after": by}, history("patch", "test"), decision)
    assert not holds({"not_after": by}, history("read"), decision)
    assert holds({"not_after": by}, history("patch", "test"), decision)


@pytest.mark.parametrize("by", [{"tool": "crm"}, {"tool": "crm.customer"}, {"tool": "rm.*"}, {"group": "cr"}])
def test_names_are_whole(by: dict[str, Any]) -> None:
    assert not holds({"after": by}, history("read"))


@pytest.mark.parametrize(
    ("condition", "calls", "allow", "deny"),
    [
        # what an allowing rule says and what a denying rule says of the same run
        ({"after": {"group": "crm"}}, ["read"], True, True),
        ({"after": {"group": "crm"}}, ["read!"], False, True),
        ({"after": {"group": "crm"}}, ["read?"], False, True),
        ({"after": {"group": "crm"}}, ["read…"], False, True),
        ({"after": {"group": "crm"}}, [], False, False),
        ({"not_after": {"group": "crm"}}, ["read!"], False, True),
        ({"not_after": {"group": "crm"}}, ["read…"], False, True),
        ({"not_after": {"group": "crm"}}, ["read"], False, False),
        ({"not_after": {"group": "crm"}}, [], True, True),
        ({"after": {"group": "crm", "status": "started"}}, ["read!"], True, True),
        ({"after": {"group": "crm", "status": "ok"}}, ["read!"], False, False),
        ({"not_after": {"group": "crm", "status": "ok"}}, ["read!"], True, True),
        ({"after": {"group": "crm", "within": 2}}, ["read", "patch"], True, True),
        ({"after": {"group": "crm", "within": 2}}, ["read", "patch", "patch"], False, False),
        ({"after": {"group": "crm", "within": 99}}, ["read", "patch"], True, True),
        ({"after": {"tool": "test.*", "since": {"tool": "repo.*"}}}, ["patch", "test"], True, True),
        ({"after": {"tool": "test.*", "since": {"tool": "repo.*"}}}, ["test", "patch"], False, False),
        (
            {"after": {"tool": "test.*", "since": {"tool": "repo.*"}}},
            ["patch", "test", "patch!"],
            False,
            False,
        ),
        ({"after": {"tool": "test.*", "since": {"tool": "repo.*"}}}, ["test"], True, True),
        ({"not_after": {"tool": "test.*", "since": {"tool": "repo.*"}}}, ["test", "patch"], True, True),
        ({"not_after": {"tool": "test.*", "since": {"tool": "repo.*"}}}, ["patch", "test!"], False, True),
        (
            {"after": {"tool": "test.*", "since": {"tool": "repo.*"}, "within": 1}},
            ["patch", "test"],
            True,
            True,
        ),
        (
            {"after": {"tool": "test.*", "since": {"tool": "repo.*"}, "within": 1}},
            ["patch", "test", "read"],
            False,
            False,
        ),
        ({"after": [{"group": "crm"}, {"group": "test"}]}, ["read", "test"], True, True),
        ({"after": [{"group": "crm"}, {"group": "test"}]}, ["read"], False, False),
        ({"not_after": [{"group": "crm"}, {"group": "test"}]}, ["patch"], True, True),
        ({"not_after": [{"group": "crm"}, {"group": "test"}]}, ["test"], False, False),
        ({"count": {"group": "crm", "ge": 2}}, ["read", "read!"], True, True),
        ({"count": {"group": "crm", "ge": 2, "status": "ok"}}, ["read", "read!"], False, False),
        ({"count": {"group": "crm", "eq": 0}}, ["patch"], True, True),
        ({"count": {"group": "crm", "ge": 1, "lt": 3}}, ["read", "read"], True, True),
        ({"count": {"group": "crm", "ge": 2, "within": 3}}, ["read", "read", "patch", "patch"], False, False),
        ({"count": {"group": ["crm", "test"], "ge": 2, "within": 3}}, ["read", "patch", "test"], True, True),
        ({"count": [{"group": "crm", "ge": 1}, {"group": "test", "eq": 0}]}, ["read"], True, True),
        ({"total": {"ge": 2}}, ["read", "patch"], True, True),
        ({"total": 2}, ["read"], False, False),
        ({"in_flight": {"gt": 0}}, ["read…"], True, True),
        ({"in_flight": 0}, ["read", "test!"], True, True),
        ({"total": {"ge": 1}, "in_flight": 0}, ["read…"], False, False),
    ],
)
def test_questions(condition: dict[str, Any], calls: list[str], allow: bool, deny: bool) -> None:
    past = history(*calls)
    assert holds(condition, past, "allow") is allow
    assert holds(condition, past, "deny") is deny
    assert holds(condition, past, "ask") is deny


def test_a_long_run_forgets_nothing_that_is_counted() -> None:
    past = history("read", *["patch"] * 500)
    assert holds({"after": {"group": "crm"}}, past)
    assert holds({"count": {"group": "repo", "eq": 500}}, past)
    assert not holds({"after": {"group": "crm", "within": 500}}, past)
    assert holds({"after": {"group": "crm", "within": 501}}, past)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["read", "read!", "patch", "test", "test?", "test…"]), max_size=120))
def test_counts_are_those_of_a_plain_list(calls: list[str]) -> None:
    past = history(*calls)
    for name, tool in TOOLS.items():
        began = [number for number, call in enumerate(calls, 1) if call.rstrip("!?…") == name]
        went = [number for number in began if calls[number - 1] == name]
        assert past.tally(f"group:{tool.group}").as_dict() == {
            "calls": len(began),
            "ok": len(went),
            "last": max(began, default=0),
            "last_ok": max(went, default=0),
        }
    assert past.in_flight == sum(call.endswith("…") for call in calls)
    assert [call.number for call in past.last()] == list(range(1, len(calls) + 1))[-50:]


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ([], "history: takes a mapping of: after, not_after, count, total, in_flight."),
        ({"before": {}}, "history.before: unknown condition. Known: after"),
        ({"after": "crm"}, "history.after: takes a question such as"),
        ({"after": []}, "history.after: takes a question"),
        ({"after": {}}, "history.after: names exactly one of: tool, class, group"),
        ({"after": {"tool": "a", "group": "b"}}, "names exactly one of"),
        ({"after": {"tol": "a"}}, "unknown field 'tol'. Known: tool, class"),
        ({"after": {"tool": "a*"}}, "a star may only stand for the last segments"),
        ({"after": {"tool": 5}}, "history.after.tool: takes a text or a list of texts."),
        ({"after": {"class": "reads"}}, "'reads' is not a risk class"),
        ({"after": {"group": "a", "status": "done"}}, "history.after.status: takes 'ok' or 'started'."),
        ({"after": {"group": "a", "within": 0}}, "history.after.within: takes a whole number from 1."),
        ({"after": {"group": "a", "since": "x"}}, "history.after.since: takes a question"),
        ({"after": {"group": "a", "since": {"tool": "x", "within": 1}}}, "unknown field 'within'"),
        ({"count": {"group": "a"}}, "history.count: takes a question with a comparison"),
        ({"count": {"group": "a", "ge": "1"}}, "history.count: takes a whole number, or comparisons of"),
        ({"count": {"group": "a", "ge": 1, "within": 51}}, "takes a whole number from 1 to 50."),
        ({"count": {"group": ["a", "b"], "ge": 1}}, "counts one thing at a time"),
        ({"count": []}, "takes a question such as"),
        ({"total": "5"}, "history.total: takes a whole number"),
        ({"in_flight": {"above": 5}}, "history.in_flight: takes a whole number"),
    ],
)
def test_wrong_questions(condition: Any, says: str) -> None:
    rule = {"id": "r", "match": {"history": condition}, "decision": "deny", "reason": "HIT"}
    with pytest.raises(PolicyError) as caught:
        compile_rules({"version": 1, "rules": [rule]}, "p.yaml")
    assert says in str(caught.value)
