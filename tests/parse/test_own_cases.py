"""Cases of our own for every dialect and ruling, each read in many cuts."""

import pytest

from gerbang.parse import dialects
from tests.parse.own_cases import CASES, Case
from tests.parse.reading import cuts, read, same


@pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_case(case: Case) -> None:
    dialect, text, content, calls, options = case
    results = [
        read(deltas, dialect, **options.get("o", {})) for deltas in cuts(text, dialect, seed=len(text))
    ]
    first = results[0]
    assert same(first.calls, calls), first
    assert first.content == content
    assert first.reasoning.strip() == options.get("r", "").strip()
    assert [code for _, code, _ in first.faults] == options.get("f", [])
    if "m" in options:
        assert first.repaired == options["m"]
    for other in results[1:]:
        assert other == first


def test_every_dialect_has_cases() -> None:
    seen = [case[0] for case in CASES]
    assert {row.id for row in dialects()} == set(seen)
    assert min(seen.count(row.id) for row in dialects()) >= 3
