"""JSON Pointers: written, taken apart, followed; names that look like indexes are no indexes of objects."""

from typing import Any

import pytest

from gerbang.values.pointer import MISSING, at, escaped, pointer, steps

DOCUMENT: dict[str, Any] = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "m~n": 8,
    "~1": 9,
    "none": None,
    "2": "two",
    "deep": [{"x": [1]}],
}
CASES: list[tuple[str, Any]] = [
    ("", DOCUMENT),
    ("/foo", ["bar", "baz"]),
    ("/foo/0", "bar"),
    ("/foo/2", MISSING),
    ("/foo/-", MISSING),
    ("/foo/²", MISSING),  # a digit to `isdigit`, no number
    ("/foo/0/x", MISSING),
    ("/", 0),
    ("/a~1b", 1),
    ("/m~0n", 8),
    ("/~01", 9),
    ("/none", None),
    ("/2", "two"),
    ("/deep/0/x/0", 1),
    ("/nothing", MISSING),
]


@pytest.mark.parametrize(("written", "want"), CASES)
def test_following(written: str, want: Any) -> None:
    assert at(DOCUMENT, written) is want or at(DOCUMENT, written) == want


@pytest.mark.parametrize("name", ["", "a", "a/b", "~", "~1", "~01", "/", "a~/b"])
def test_names_survive(name: str) -> None:
    assert steps(pointer([name, 3])) == [name, "3"]
    assert pointer([name]) == f"/{escaped(name)}"


def test_the_whole_document() -> None:
    assert pointer([]) == ""
    assert steps("") == []
