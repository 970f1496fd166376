"""Budgets are counted before a call, and a refusal counts nothing."""

import pytest

from gerbang.loop.budget import Budget


def code(budget: Budget, tool: str = "a", fingerprint: str = "f", now: float = 0.0) -> str | None:
    error = budget.take(tool, fingerprint, now)
    if error is None:
        return None
    assert (error.error_type, error.recoverable, error.effect) == ("budget_exceeded", False, "none")
    assert error.suggested_fix
    return error.error_code


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_calls(limit: int) -> None:
    budget = Budget(max_calls=limit, max_repeats=100)
    got = [code(budget, fingerprint=str(n)) for n in range(limit + 2)]
    assert got == [None] * limit + ["BUDGET_CALLS"] * 2
    assert budget.calls == limit == budget.calls_of("a")


def test_repetition_counts_the_same_call_only() -> None:
    budget = Budget(max_calls=100, max_repeats=3)
    assert [code(budget, fingerprint="x") for _ in range(5)] == [None] * 3 + ["REPEATED_CALL"] * 2
    assert code(budget, fingerprint="y") is None
    assert budget.calls == 4, "refusals count nothing"


def test_wall_clock() -> None:
    budget = Budget(max_calls=9, max_repeats=9, deadline=10.0)
    assert [code(budget, now=now) for now in (0.0, 9.999, 10.0, 11.0)] == [
        None,
        None,
        "BUDGET_TIME",
        "BUDGET_TIME",
    ]
    assert (budget.remaining(4.0), budget.remaining(12.0)) == (6.0, -2.0)
    assert Budget(max_calls=1, max_repeats=1).remaining(5.0) is None


def test_each_tool_is_counted() -> None:
    budget = Budget(max_calls=9, max_repeats=9)
    for tool in ("a", "b", "a"):
        assert code(budget, tool) is None
    assert [budget.calls_of(tool) for tool in ("a", "b", "c")] == [2, 1, 0]


def test_a_refusal_by_a_person_is_remembered() -> None:
    budget = Budget(max_calls=0, max_repeats=1)
    error = budget.take("a", "f", 0.0)
    assert error is not None
    assert budget.refused("f") is None
    budget.refuse_again("f", error)
    assert budget.refused("f") is error
    assert budget.refused("g") is None
