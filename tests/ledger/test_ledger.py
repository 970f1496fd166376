"""Every state and event of the ledger, and keys whose parts cannot be mistaken for one another."""

import hashlib
import hmac
from typing import Any

import pytest

from gerbang.ledger.keys import Fingerprints, caller_key, natural_key, runtime_key
from gerbang.ledger.machine import TERMINAL, TRANSITIONS, IllegalTransition, LedgerEvent, advance
from gerbang.values.record import FREE_STATES, CallState

TABLE = {
    ("PLANNED", "dispatch"): "DISPATCHED",
    ("PLANNED", "cancel"): "CANCELLED",
    ("PLANNED", "refuse"): "REFUSED",
    ("DISPATCHED", "dispatch"): "DISPATCHED",
    ("DISPATCHED", "succeed"): "SUCCEEDED",
    ("DISPATCHED", "fail"): "FAILED",
    ("DISPATCHED", "lose_track"): "UNCERTAIN",
    ("UNCERTAIN", "learn_happened"): "RESOLVED_SUCCEEDED",
    ("UNCERTAIN", "learn_not_happened"): "RESOLVED_FAILED",
}


@pytest.mark.parametrize("state", list(CallState))
@pytest.mark.parametrize("event", list(LedgerEvent))
def test_every_state_and_event(state: CallState, event: LedgerEvent) -> None:
    wanted = TABLE.get((state, event))
    if wanted is None:
        with pytest.raises(IllegalTransition, match=f"{state} has no transition for {event}"):
            advance(state, event)
    else:
        assert advance(state, event) == wanted
        assert advance(str(state), event) == wanted


def test_the_table_is_covered() -> None:
    assert {(str(s), str(e)): str(t) for (s, e), t in TRANSITIONS.items()} == TABLE
    assert {event for _, event in TRANSITIONS} == set(LedgerEvent), "an event that nothing answers to"
    reached = {CallState.PLANNED, *TRANSITIONS.values()}
    assert reached == set(CallState), "a state that nothing leads to"


def test_nothing_leaves_a_terminal_state_but_doubt() -> None:
    assert set(CallState) - {CallState.PLANNED, CallState.DISPATCHED} == TERMINAL
    assert {state for state, _ in TRANSITIONS} & TERMINAL == {CallState.UNCERTAIN}
    assert FREE_STATES < TERMINAL
    assert CallState.UNCERTAIN not in FREE_STATES


def test_a_key_is_the_digest_of_a_canonical_array() -> None:
    assert runtime_key("t", "r", 1, 0) == hashlib.sha256(b'["run","t","r",1,0]').hexdigest()
    assert caller_key("t", "u", "k") == hashlib.sha256(b'["caller","t","u","k"]').hexdigest()


def natural(tool: str, *fields: str, tenant: str = "t", **arguments: Any) -> str:
    return natural_key(tenant, tool, fields, arguments)


DIFFERENT = {
    "a": runtime_key("t", "r", 1, 0),
    "step as text": runtime_key("t", "r", "1", 0),
    "step named": runtime_key("t", "r", "step_001", 0),
    "other ordinal": runtime_key("t", "r", 1, 1),
    "other run": runtime_key("t", "r2", 1, 0),
    "other tenant": runtime_key("t2", "r", 1, 0),
    "separator in tenant": runtime_key('t","r', "", 1, 0),
    "shifted": runtime_key("tr", "", 1, 0),
    "shifted back": runtime_key("", "tr", 1, 0),
    "nul": runtime_key("t\x00r", "", 1, 0),
    "ordinal in step": runtime_key("t", "r", 10, 0),
    "step and ordinal": runtime_key("t", "r", 1, 10),
    "caller": caller_key("t", "r", "1"),
    "caller's other user": caller_key("t", "r1", ""),
    "caller's other tenant": caller_key("tr", "", "1"),
    "natural": natural("pay.send.v1", "id", id=1),
    "natural, as text": natural("pay.send.v1", "id", id="1"),
    "natural, true": natural("pay.send.v1", "id", id=True),
    "natural, other field": natural("pay.send.v1", "no", no=1),
    "natural, two fields": natural("pay.send.v1", "id", "no", id=1, no=2),
    "natural, other values": natural("pay.send.v1", "id", "no", id=2, no=1),
    "natural, other tool": natural("pay.stop.v1", "id", id=1),
    "natural, other tenant": natural("pay.send.v1", "id", tenant="u", id=1),
    "natural, no version": natural("pay.send.vx", "id", id=1),
    "natural, list": natural("pay.send.v1", "id", id=[1]),
    "natural, namespace": natural_key("t", "pay.send.v1", ("id",), {"id": 1}, "bank"),
    "natural, other namespace": natural_key("t", "pay.send.v1", ("id",), {"id": 1}, "bank.v1"),
}


def test_no_two_calls_share_a_key() -> None:
    assert len(set(DIFFERENT.values())) == len(DIFFERENT)
    assert all(len(key) == 64 for key in DIFFERENT.values())


@pytest.mark.parametrize("tool", ["pay.send.v1", "pay.send.v2", "pay.send.v17", "pay.send"])
def test_a_natural_key_outlives_versions_and_other_arguments(tool: str) -> None:
    assert natural(tool, "id", id=1.0, memo="x") == DIFFERENT["natural"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (10**21, 1e21, True),
        (2**70, float(2**70), True),
        (10**17 + 16, float(10**17 + 16), True),
        ([10**22], [1e22], True),
        ({"of": [10**22]}, {"of": [1e22]}, True),
        (10**17 + 20, float(10**17 + 16), False),
        (2**53 + 1, float(2**53), False),
        (1, True, False),
        (1, "1", False),
        (0.1, 0.2, False),
        (10**21, 10**21 + 1, False),
    ],
)
def test_a_natural_key_goes_by_the_amount_not_by_its_writing(one: Any, other: Any, same: bool) -> None:
    keys = [natural_key("acme", "bank.pay.v1", ("amount",), {"amount": value}) for value in (one, other)]
    assert (keys[0] == keys[1]) is same


def test_arguments_as_deep_as_they_may_be_have_a_natural_key() -> None:
    value: Any = 1
    for _ in range(63):
        value = [value]
    assert len(natural("a.v1", "x", x=value)) == 64


@pytest.mark.parametrize("key", [b"", b"key", b"k" * 64, b"k" * 65, b"\x00" * 200])
def test_a_fingerprint_is_an_hmac_of_tool_and_arguments(key: bytes) -> None:
    prints = Fingerprints(key)
    for tool, arguments in (("a.v1", b'{"n":1}'), ("", b""), ("b.v1", b"x" * 10_000)):
        wanted = hmac.new(key, tool.encode() + b"\x00" + arguments, "sha256").hexdigest()
        assert [prints.of(tool, arguments), prints.of(tool, arguments)] == [wanted, wanted]


def test_fingerprints_differ_by_key_tool_and_arguments() -> None:
    made = [
        Fingerprints(b"key").of("a.v1", b'{"n":1}'),
        Fingerprints(b"kex").of("a.v1", b'{"n":1}'),
        Fingerprints(b"key").of("a.v2", b'{"n":1}'),
        Fingerprints(b"key").of("a.v1", b'{"n":2}'),
        Fingerprints(b"key").of("a.v", b'1{"n":1}'),
    ]
    assert len(set(made)) == 5
