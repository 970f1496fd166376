"""The seal covers every field of a request, and differs after each change."""

from typing import Any

import pytest
from msgspec.structs import replace

from gerbang.approval.seal import is_genuine, sealed
from gerbang.values.record import ApprovalRow

KEY, OTHER = b"k" * 32, b"o" * 32
ROW = ApprovalRow("a", "r", "k", "t", "acme", "pending", "b", "p", b"{}", "R", 1.0, 2.0)
CHANGES: dict[str, Any] = {
    "arguments": b'{"a":1}',
    "created_at": 1.5,
    "expires_at": 3.0,
    "decided_by": "",
    "decided_at": 0.0,
}


@pytest.mark.parametrize("name", [name for name in ROW.__struct_fields__ if name != "seal"])
def test_every_field_counts(name: str) -> None:
    good = sealed(ROW, KEY)
    assert is_genuine(good, KEY)
    changed = replace(good, **{name: CHANGES.get(name, "other")})
    assert not is_genuine(changed, KEY)
    assert sealed(changed, KEY).seal != good.seal


def test_only_the_key_makes_it() -> None:
    good = sealed(ROW, KEY)
    for seal in ("", "0" * 64, sealed(ROW, OTHER).seal, "\xe9"):
        assert not is_genuine(replace(good, seal=seal), KEY)
    assert sealed(replace(ROW, created_at=1, expires_at=2), KEY) == good  # a store gives back 1.0 for 1


def test_values_cannot_be_moved_between_fields() -> None:
    one = sealed(replace(ROW, tool="ab", tenant="c"), KEY)
    two = sealed(replace(ROW, tool="a", tenant="bc"), KEY)
    assert one.seal != two.seal
