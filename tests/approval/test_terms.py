"""What has changed since a request was made has a name of its own."""

import pytest
from msgspec.structs import replace

from gerbang.approval.terms import Asker, Terms, difference, read_terms, written

TERMS = Terms(Asker("ana", "acme", None, ("head",), "support"), "r1", "c1", "p1", False, {"a": "1", "b": "2"})

CASES: list[tuple[Terms, tuple[str, str] | None]] = [
    (TERMS, None),
    (replace(TERMS, asker=Asker("bo", "acme", None, (), "support")), ("asker", "")),
    (replace(TERMS, asker=Asker("ana", "evil", None, (), "support")), ("asker", "")),
    (replace(TERMS, asker=Asker("ana", "acme", "robot", (), "support")), ("asker", "")),
    (replace(TERMS, asker=Asker("ana", "acme", None, (), "fun")), ("asker", "")),
    (replace(TERMS, run=""), ("run", "")),
    (replace(TERMS, contract="c2"), ("contract", "")),
    (replace(TERMS, policy_version="p2"), ("policy", "")),
    (replace(TERMS, tainted=True), ("taint", "")),
    (replace(TERMS, files={"a": "1", "b": "3"}), ("file", "b")),
    (replace(TERMS, files={"a": "1"}), ("file", "b")),
    (replace(TERMS, files={"a": "1", "b": "2", "c": "3"}), ("file", "c")),
    (replace(TERMS, duties=("two_person",), masked=("x",), fingerprint="f"), None),  # looked at by themselves
]


@pytest.mark.parametrize(("now", "wanted"), CASES)
def test_differences(now: Terms, wanted: tuple[str, str] | None) -> None:
    assert difference(TERMS, now) == wanted
    same = TERMS.bind("k", b"{}") == now.bind("k", b"{}")
    assert same == (wanted is None)


def test_terms_come_back_as_they_were_kept() -> None:
    for terms, _ in CASES:
        assert read_terms(written(terms)) == terms


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"asker": {}}'])
def test_what_is_none(text: str) -> None:
    assert read_terms(text) is None
