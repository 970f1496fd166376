"""Every state and every event of a request, and what an approval is bound to."""

import pytest

from gerbang.approval.machine import TRANSITIONS, ApprovalEvent, ApprovalState, advance, binding

TABLE = {
    ("pending", "vote"): "pending",
    ("pending", "approve"): "granted",
    ("pending", "refuse"): "refused",
    ("pending", "time_out"): "expired",
    ("pending", "cancel"): "cancelled",
    ("granted", "use"): "used",
    ("granted", "time_out"): "expired",
}


@pytest.mark.parametrize("state", list(ApprovalState))
@pytest.mark.parametrize("event", list(ApprovalEvent))
def test_every_state_and_event(state: ApprovalState, event: ApprovalEvent) -> None:
    target = advance(state, event)
    assert target == TABLE.get((state, event))
    assert advance(str(state), event) == target, "a state read from the store counts the same"


def test_the_table_is_covered() -> None:
    assert {(str(s), str(e)): str(t) for (s, e), t in TRANSITIONS.items()} == TABLE
    assert {str(state) for state in ApprovalState} == {
        "pending",
        "granted",
        "refused",
        "expired",
        "cancelled",
        "used",
    }


def test_an_unknown_state_is_an_error() -> None:
    with pytest.raises(ValueError, match="approved"):
        advance("approved", ApprovalEvent.USE)


BASE = {"key": "k", "arguments": b'{"a":1}', "contract": "c", "policy_version": "p"}


def test_a_binding_changes_with_each_of_its_parts() -> None:
    made = [binding(**BASE)]  # type: ignore[arg-type]
    for name, value in (
        ("key", "k2"),
        ("arguments", b'{"a":2}'),
        ("contract", "c2"),
        ("policy_version", "p2"),
        ("asker", "ana"),
        ("run", "r1"),
        ("taint", "tainted"),
        ("files", {"a.txt": "sha256:1"}),
        ("files", {"a.txt": "sha256:2"}),
        ("files", {"b.txt": "sha256:1"}),
    ):
        made.append(binding(**{**BASE, name: value}))  # type: ignore[arg-type]
    assert len(set(made)) == len(made) == 11
    assert made[0] == binding(**BASE)  # type: ignore[arg-type]


def test_parts_of_a_binding_cannot_be_moved() -> None:
    one = binding(key="a", arguments=b"b", contract="c", policy_version="d")
    for other in (
        ("a,b", b"", "c", "d"),
        ("a", b'b","c', "", "d"),
        ("", b"ab", "c", "d"),
        ("a", b"b", "cd", ""),
    ):
        key, arguments, contract, version = other
        assert binding(key=key, arguments=arguments, contract=contract, policy_version=version) != one
