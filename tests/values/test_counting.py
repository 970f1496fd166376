"""Numbers with their nouns."""

import pytest

from gerbang.cli.texts import TEXTS
from gerbang.server.console import texts as console
from gerbang.values.counting import counted, filled
from gerbang.values.sentences import field, said


@pytest.mark.parametrize(
    ("number", "one", "many", "text"),
    [
        (0, "call", "", "0 calls"),
        (1, "call", "", "1 call"),
        (2, "call", "", "2 calls"),
        (1, "person", "people", "1 person"),
        (3, "person", "people", "3 people"),
        (1.5, "cost unit", "", "1.5 cost units"),
    ],
)
def test_counted(number: float, one: str, many: str, text: str) -> None:
    assert counted(number, one, many) == text


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("{n:run|runs}, {m:event|events}", {"n": 1, "m": 2}, "1 run, 2 events"),
        ("{n} panggilan", {"n": 1}, "1 panggilan"),
        ("{name!r}: {n:call|calls}", {"name": "a", "n": 0}, "'a': 0 calls"),
        ("a|b", {}, "a|b"),
        ("{n:call|calls} of {words}", {"n": 1, "words": "{x:1}|"}, "1 call of {x:1}|"),
        ('{{"n": {n:.1f}}} {m:day|days}', {"n": 2, "m": 9}, '{"n": 2.0} 9 days'),
    ],
)
def test_filled(template: str, values: dict[str, object], text: str) -> None:
    assert filled(template, **values) == text


def test_a_value_that_is_missing_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        filled("{n:call|calls} of {name}", n=1)


def test_texts_with_a_count_fit_one() -> None:
    assert (
        said("budget_exceeded", "BUDGET_CALLS", {"limit": 1}).message
        == "This run may make 1 call; none is left."
    )
    assert field("/a", "TOO_SHORT", "minLength", limit=1).message == "Must have at least 1 character."
    assert filled(TEXTS["run_ended"][0], status="completed", steps=1) == "run completed after 1 step"
    assert filled(TEXTS["run_ended"][1], status="completed", steps=1) == "run completed setelah 1 langkah"
    assert console.text("en", "chain_whole", events=1) == "whole, 1 event"
    assert console.text("en", "tools_total", count=1) == "1 tool"
    assert console.text("en", "cut", count=1) == "… 1 more character is not shown."
    assert console.text("id", "cut", count=1) == "… 1 karakter lagi tidak ditampilkan."
