"""Whatever is written as a policy, a case or an input works or is a PolicyError. Nothing else is raised."""

import contextlib
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.errors import PolicyError
from gerbang.policy.bundle import compile_rules, load_rules
from gerbang.policy.cases import read_cases
from gerbang.policy.comparisons import OPERATORS
from gerbang.policy.document import FIELDS, read_document
from gerbang.policy.explain import explain
from gerbang.policy.input import PolicyInput
from gerbang.policy.lint import lint
from gerbang.policy.matching import NAMES
from gerbang.values import LOCAL, RiskClass

WORDS = [
    *NAMES,
    *OPERATORS,
    *(
        "after",
        "not_after",
        "count",
        "total",
        "in_flight",
        "within",
        "since",
        "status",
        "ok",
        "above",
        "days",
    ),
    *(
        "hours",
        "zone",
        "UTC",
        "fri",
        "08:00-17:00",
        "run",
        "control",
        "kind",
        "id",
        "any_of",
        "none_of",
        "derived",
    ),
    *(
        "draft",
        "destructive",
        "mail.*",
        "*",
        "a.b.v1",
        "money",
        "x",
        "0",
        "/x",
        "cost_left",
        "same",
        "two_person",
    ),
]
SCALARS = st.one_of(
    st.sampled_from(WORDS),
    st.integers(-3, 60),
    st.floats(allow_nan=True),
    st.booleans(),
    st.none(),
    st.text(max_size=5),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.text(max_size=4))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
DOCUMENT = PolicyInput(
    "a.b.v1", RiskClass.DRAFT, {"x": 5, "items": [{"a": "b"}], "0": None}, LOCAL, time=1.7e9, facts={"x": [1]}
)
RULE = st.fixed_dictionaries(
    {
        "decision": st.sampled_from(["allow", "ask", "deny"]),
        "match": st.dictionaries(st.sampled_from(sorted(NAMES)), VALUES, max_size=3),
    },
    optional={"auto": VALUES, "obligations": VALUES, "everything": VALUES, "note": VALUES},
)


@settings(max_examples=500, deadline=None)
@given(st.lists(RULE, max_size=3), VALUES)
def test_policies(written: list[dict[str, Any]], hours: Any) -> None:
    rules = [{"id": f"r{n}", "reason": "R", **rule} for n, rule in enumerate(written)]
    data: dict[str, Any] = {"version": 1, "facts": ["x"], "rules": rules}
    if isinstance(hours, dict):
        data["hours"] = hours
    try:
        policy = compile_rules(data, "p.yaml")
    except PolicyError:
        pass
    else:
        got = policy.decide(DOCUMENT)
        assert got.decision in ("allow", "ask", "deny")
        told = explain(policy, DOCUMENT)
        assert told.decision == got
        orjson.dumps(told.as_dict(), default=str)
        assert [rule.role for rule in told.rules].count("decided") <= 1
    text = orjson.dumps(data).decode()
    assert all(found.level in ("error", "warning", "note") for found in lint({"p.yaml": text}))


@settings(max_examples=300, deadline=None)
@given(st.one_of(VALUES, st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4)))
def test_documents_and_cases(data: Any) -> None:
    known = {"tool": {"name": "a", "risk_class": "draft"}, **data} if isinstance(data, dict) else data
    try:
        document = read_document(known, "here")
    except PolicyError:
        pass
    else:
        assert read_document(document.document(), "here").document() == document.document()
    text = orjson.dumps([{"note": "n", "input": known, "want": data}]).decode()
    with contextlib.suppress(PolicyError):
        read_cases(text, "c.yaml")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_texts(text: str) -> None:
    for source in (text, f"version: 1\n{text}", f"version: 1\nrules:\n  - {text}"):
        try:
            load_rules(source, "p.yaml")
        except PolicyError:
            assert any(found.level == "error" for found in lint({"p.yaml": source}))
