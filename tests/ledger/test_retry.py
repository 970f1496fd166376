"""The retry matrix of the specification, cell by cell."""

import pytest

import gerbang as g
from gerbang.ledger.retry import after_crash, fate_of, next_step, wait_ms
from gerbang.values import CallError, Effect
from gerbang.values.contract_parts import Condition, Probe, Retry, SideEffects

PROBE = Probe("orders.find.v1", Condition("exists"), Condition("absent"))
NOT_SENT = ("transient_network_error", "none")
UNKNOWN = ("upstream_error", "unknown")
LIMITED = ("rate_limited", "none")
REFUSED = ("upstream_error", "none")


def contract(risk: str, how: str = "") -> g.Contract:
    return g.Contract(
        "a.b.v1",
        g.RiskClass(risk),
        "x",
        {},
        honours_key=how == "key",
        probe=PROBE if how == "probe" else None,
        side_effects=SideEffects("none") if how == "inside" else None,
    )


READS = ["compute", "read_internal", "read_external"]
WRITES = ["write_internal", "write_external", "draft", "code_execution"]
GRAVE = ["external_communication", "transactional", "destructive"]

MATRIX: list[tuple[list[str], str, tuple[str, str, str, str]]] = [
    (READS, "", ("retry", "retry", "retry", "no")),
    (["draft"], "inside", ("retry", "retry", "retry", "no")),
    (WRITES + GRAVE, "key", ("retry", "retry", "retry", "no")),
    (WRITES + GRAVE, "probe", ("retry", "probe", "retry", "no")),
    (WRITES, "", ("retry", "uncertain", "retry", "no")),
    (GRAVE, "", ("retry", "person", "ask", "no")),
]
CELLS = [
    (risk, how, fate, want)
    for classes, how, wants in MATRIX
    for risk in classes
    for fate, want in zip((NOT_SENT, UNKNOWN, LIMITED, REFUSED), wants, strict=True)
]


def error(kind: tuple[str, Effect] | tuple[str, str], recoverable: bool = False) -> CallError:
    effect: Effect = "unknown" if kind[1] == "unknown" else "none"
    return CallError(kind[0], "X", "x", effect=effect, recoverable=recoverable)


@pytest.mark.parametrize(("risk", "how", "fate", "want"), CELLS)
def test_every_cell(risk: str, how: str, fate: tuple[str, str], want: str) -> None:
    kept = contract(risk, how)
    lost = fate is UNKNOWN and risk in READS
    assert next_step(kept, error(("upstream_error", "none"), True) if lost else error(fate), 1) == want


@pytest.mark.parametrize("risk", GRAVE)
def test_grave_calls_that_were_not_sent_are_tried_once_more_only(risk: str) -> None:
    assert next_step(contract(risk), error(NOT_SENT), 1) == "retry"
    assert next_step(contract(risk), error(NOT_SENT), 2) == "no"
    assert next_step(contract(risk, "key"), error(NOT_SENT), 2) == "retry"


CRASHED = [(risk, how, wants[1]) for classes, how, wants in MATRIX for risk in classes]


@pytest.mark.parametrize(("risk", "how", "want"), CRASHED)
def test_after_a_crash_the_fate_is_unknown(risk: str, how: str, want: str) -> None:
    assert after_crash(contract(risk, how)) == want


NARROWED = [
    (Retry(max_attempts=1), NOT_SENT, 1, "no"),
    (Retry(max_attempts=2), NOT_SENT, 1, "retry"),
    (Retry(max_attempts=2), NOT_SENT, 2, "no"),
    (Retry(retry_on=frozenset({"rate_limited"})), NOT_SENT, 1, "no"),
    (Retry(retry_on=frozenset({"rate_limited"})), LIMITED, 1, "retry"),
    (Retry(retry_on=frozenset()), LIMITED, 1, "no"),
]


@pytest.mark.parametrize(("retry", "fate", "attempt", "want"), NARROWED)
def test_a_contract_can_only_narrow(retry: Retry, fate: tuple[str, str], attempt: int, want: str) -> None:
    kept = g.Contract("a.b.v1", g.RiskClass.READ_INTERNAL, "x", {}, retry=retry)
    assert next_step(kept, error(fate), attempt) == want


def test_no_contract_makes_an_unknown_fate_safe() -> None:
    kept = g.Contract("a.b.v1", g.RiskClass.TRANSACTIONAL, "x", {}, retry=Retry(max_attempts=9))
    assert next_step(kept, error(UNKNOWN), 1) == "person"


@pytest.mark.parametrize("kind", ["validation_error", "permission_denied", "policy_denied", "conflict"])
def test_what_the_target_refuses_for_good_is_never_repeated(kind: str) -> None:
    for risk in READS + WRITES + GRAVE:
        assert next_step(contract(risk), error((kind, "none"), True), 1) == "no"


def test_evidence() -> None:
    write = contract("write_external")
    assert fate_of(error(NOT_SENT), write) == "not_sent"
    assert fate_of(error(("timeout", "unknown")), write) == "unknown"
    assert fate_of(error(("internal_error", "unknown")), write) == "unknown"
    for recoverable in (True, False):  # a tool that ran out of time has not said that it is of no use
        assert fate_of(error(("timeout", "none"), recoverable), contract("read_external")) == "unknown"
        assert fate_of(error(("timeout", "none"), recoverable), write) == "refused"
    assert fate_of(error(("internal_error", "none")), contract("read_external")) == "refused"


WAITS = [(1, 1.0, None, 200), (2, 1.0, None, 400), (3, 0.5, None, 400), (20, 1.0, None, 10_000)]
WAITS += [(1, 0.0, 3_000, 3_000), (1, 1.0, 50, 200), (40, 0.0, None, 0)]  # type: ignore[list-item]


@pytest.mark.parametrize(("attempt", "chance", "asked", "want"), WAITS)
def test_waiting(attempt: int, chance: float, asked: int | None, want: int) -> None:
    assert wait_ms(contract("compute"), attempt, chance, asked) == want
