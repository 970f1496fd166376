"""Bodies in which a key stands twice."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gerbang.server.repeated_keys import has_repeated_keys

ONCE = [
    "{}",
    "[]",
    "null",
    '"a:b"',
    '{"a": 1}',
    '{"a": {"a": {"a": ":"}}, "b": [{"a": 1}, {"a": 1}]}',
    '{"a\\"": "\\\\", "b:": "\\":\\""}',
    '{"\\u0061": 1, "b": 2}',
    '{"a": "a", "b": "a", "c": ["b", "b:", ":"]}',
    '{"a": "", "b": ""}',
    '{"": ":::", "é": "\\u003a"}',
]
TWICE = [
    '{"a": 1, "a": 1}',
    '{"a": 1, "a": 2}',
    '{"b": [{"x": {"a": ":", "a": 2}}]}',
    '{"a": 1, "\\u0061": 2}',
    '{"a\\/": 1, "a/": 2}',
    '{"": 1, "": 2}',
    '{"a" : 1,\n"a"\t\r\n: 1}',
    '{"é": "a", "b": "", "é": "a"}',
]


@pytest.mark.parametrize("text", ONCE)
def test_each_key_once(text: str) -> None:
    assert not has_repeated_keys(text.encode())


@pytest.mark.parametrize("text", TWICE)
def test_a_key_twice_however_it_is_written(text: str) -> None:
    assert has_repeated_keys(text.encode())


VALUES: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@given(VALUES, st.booleans())
def test_what_is_written_from_a_value_has_no_key_twice(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert not has_repeated_keys(text)
