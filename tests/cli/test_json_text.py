"""JSON that a person typed."""

from typing import Any

import pytest

from gerbang.cli.json_text import read_object
from gerbang.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("", {}),
        ("  \n", {}),
        ('{"a": 1, "b": [true, null, "x"]}', {"a": 1, "b": [True, None, "x"]}),
        ('{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
        ('{"a": {"a": 1}}', {"a": {"a": 1}}),
    ],
)
def test_objects(text: str, value: Any) -> None:
    assert read_object(text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ["not valid JSON", "line 1, column 2", "Write a JSON object"]),
        ('{"a": 1,}', ["not valid JSON", "column 9"]),
        ("{'a': 1}", ["not valid JSON"]),
        ("[1]", ["a list, not an object"]),
        ('"text"', ["a string, not an object"]),
        ("null", ["null, not an object"]),
        ("true", ["true or false, not an object"]),
        ("1.5", ["a number, not an object"]),
        ('{"a": NaN}', ["NaN is not a JSON number"]),
        ('{"a": -Infinity}', ["-Infinity is not a JSON number"]),
        ('{"a": 1, "a": 2}', ["'a' stands twice"]),
        ('{"a": {"b": 1, "b": 1}}', ["'b' stands twice"]),
        ('{"a": ' + "[" * 100_000, ["nested too deeply"]),
        ('{"a": ' + "9" * 5_000 + "}", ["cannot be read"]),
        ('{"a": "' + "x" * 1_048_576 + '"}', ["larger than 1048576 bytes"]),
    ],
)
def test_refused(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        read_object(text)
    for word in words:
        assert word in str(caught.value)
