"""Rules that another always overrides are found by what they constrain: the same ones as by comparing all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gerbang.policy.covering import MOST, Covering, _takes
from gerbang.policy.implied import impossible, within
from gerbang.policy.lint import lint
from gerbang.policy.rule import Rule, read_rule
from gerbang.policy.where import Where

_WEIGHT = {"allow": 0, "ask": 1, "deny": 2}


def compiled(written: list[dict[str, Any]]) -> list[Rule]:
    found = []
    for n, item in enumerate(written):
        rule = {"id": f"r{n:04}", "reason": "R", "decision": "deny", **item}
        if item["match"] in ({}, {"tool": "*"}) and rule["decision"] == "allow":
            rule["everything"] = True
        found.append(read_rule(rule, Where("p.yaml", ("rules", n)), frozenset({"f"}), None))
    return found


def is_covered(rule: Rule, rules: list[Rule]) -> bool:
    """Compare with all, one after the other."""
    return any(
        other is not rule
        and _WEIGHT[other.decision] >= _WEIGHT[rule.decision]
        and within(rule.match, other.match)
        and _takes(rule, other)
        for other in rules
    )


NUMBERS = st.integers(0, 4)
VALUES = st.sampled_from(["a", "b", "ab", 1, 1.0, 2, True, None])
COMPARED = st.one_of(
    VALUES,
    st.fixed_dictionaries({}, optional={"ge": NUMBERS, "lt": NUMBERS, "gt": NUMBERS, "le": NUMBERS}).filter(
        bool
    ),
    st.fixed_dictionaries({"in": st.lists(VALUES, min_size=1, max_size=3)}, optional={"ne": VALUES}),
    st.fixed_dictionaries({"prefix": st.sampled_from(["a", "ab"])}),
    st.fixed_dictionaries({"eq": VALUES}, optional={"exists": st.booleans()}),
)
NAMES = st.one_of(
    st.sampled_from(["x", "y"]),
    st.lists(st.sampled_from(["x", "y", "z"]), min_size=1, max_size=3),
    st.fixed_dictionaries({"any_of": st.just(["x"])}, optional={"none_of": st.just(["y"])}),
)
LISTED = st.one_of(
    st.sampled_from(["s", "t"]),
    st.lists(st.sampled_from(["s", "t", "u"]), min_size=1, max_size=2),
    st.fixed_dictionaries({"prefix": st.just("s")}),
    st.fixed_dictionaries({"not_in": st.just(["s"])}),
)
MATCH = st.fixed_dictionaries(
    {},
    optional={
        "tool": st.sampled_from(["*", "a.b.v1", "a.b.v2", "a.*", "a.b.*", ["a.b.v1", "c.d.v1"], "c.*"]),
        "class": st.sampled_from(["draft", ["draft", "compute"], {"above": "draft"}]),
        "arguments": st.dictionaries(st.sampled_from(["n", "m"]), COMPARED, min_size=1),
        "facts": st.just({"f": {"ge": 1}}),
        "purpose": LISTED,
        "roles": NAMES,
        "tainted_run": st.booleans(),
        "history": st.fixed_dictionaries({"total": st.fixed_dictionaries({"ge": NUMBERS})}),
    },
)
RULES = st.lists(
    st.fixed_dictionaries(
        {"match": MATCH, "decision": st.sampled_from(["allow", "ask", "deny"])},
        optional={"obligations": st.sampled_from([["dry_run"], ["two_person"]])},
    ),
    min_size=1,
    max_size=12,
)


@given(RULES)
def test_the_same_rules_are_found_as_by_comparing_all(written: list[dict[str, Any]]) -> None:
    rules = [rule for rule in compiled(written) if not impossible(rule.match)]
    covering = Covering(rules)
    for rule in rules:
        found = covering.shadow(rule)
        assert (found is not None) == is_covered(rule, rules), rule.id
        assert found is None or is_covered(rule, [found])
    assert covering.unfinished == []


def policy(rules: list[dict[str, Any]]) -> str:
    import json

    return json.dumps(
        {
            "version": 1,
            "rules": [
                {
                    "id": f"r{n:05}",
                    "match": {"tool": "shop.v1", **match},
                    "decision": "allow" if n % 3 else "deny",
                    "reason": "R",
                }
                for n, match in enumerate(rules)
            ],
        }
    )


N = 2000
MANY: list[tuple[str, list[dict[str, Any]], int, int]] = [
    ("a value each", [{"arguments": {"customer": f"c{n}"}} for n in range(N)], 0, 0),
    ("a list each", [{"arguments": {"customer": {"in": [f"c{n}", f"d{n}", f"e{n % 7}"]}}} for n in range(N)],
     0, 0),
    ("ranges side by side", [{"arguments": {"amount": {"ge": n, "lt": n + 1}}} for n in range(N)], 0, 0),
    ("ranges in ranges", [{"arguments": {"amount": {"ge": n, "lt": 2 * N - n}}} for n in range(N)], N - 1, 0),
    ("a folder each", [{"arguments": {"path": {"prefix": f"/srv/{n:05}/"}}} for n in range(N)], 0, 0),
    ("two values", [{"arguments": {"region": n % 45, "team": n // 45}} for n in range(N)], 0, 0),
    ("one purpose, a value each", [{"purpose": "p", "arguments": {"customer": n}} for n in range(N)], 0, 0),
    ("nothing but the tool", [{} for _ in range(N)], N - 1, 0),
    ("sequences", [{"history": {"total": {"ge": n + 1}}} for n in range(N)], 0, 0),
    (
        "nothing that sets them apart",
        [{"arguments": {"a": {"ge": n}, "b": {"ge": N - n}}} for n in range(N)],
        0,
        1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "covered", "notes"), [row[1:] for row in MANY], ids=[row[0] for row in MANY]
)
def test_many_rules_of_one_tool(
    rules: list[dict[str, Any]], covered: int, notes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def counted(*given: Any) -> bool:
        nonlocal compared
        compared += 1
        return within(*given)

    monkeypatch.setattr("gerbang.policy.covering.within", counted)
    found = lint({"p.yaml": policy(rules)})
    codes = [item.code for item in found]
    assert codes.count("SHADOWED") + codes.count("REDUNDANT") == covered
    assert codes.count("NOT_ALL_COMPARED") == notes
    assert compared <= (MOST + 1) * N if notes else compared <= 64 * N
