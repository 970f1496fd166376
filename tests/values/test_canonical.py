"""Canonical JSON: the examples of RFC 8785, the numbers of ECMAScript, and what has no canonical form."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.values.canonical import NotCanonical, canonical, copied, digest

# RFC 8785, appendix B: the bits of a double and its text.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_a_double_is_written_as_ecmascript_writes_it(bits: str, text: str) -> None:
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical(value) == text.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (0.000001, "0.000001"),
        (0.0000015, "0.0000015"),
        (1e-5, "0.00001"),
        (-0.0, "0"),
        (333333333.33333329, "333333333.3333333"),
        (1e30, "1e+30"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (0.000000000000000000000000001, "1e-27"),
        (1.0, "1"),
        (-1.0, "-1"),
        (10.5, "10.5"),
        (123456789012345680.0, "123456789012345680"),
        (9007199254740993, "9007199254740993"),
        (2**70, "1180591620717411303424"),
        (-(2**64), "-18446744073709551616"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        ("", '""'),
        ([], "[]"),
        ({}, "{}"),
        ([True, 1, 1.0, "1"], '[true,1,1,"1"]'),
        ((1, 2), "[1,2]"),
        ("\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/", '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        ("\x7f\u2028", '"\x7f\u2028"'),
        ("\b\t\n\f\r\x00\x1f", '"\\b\\t\\n\\f\\r\\u0000\\u001f"'),
        ({"b": 1, "a": {"d": 2, "c": 3}}, '{"a":{"c":3,"d":2},"b":1}'),
    ],
)
def test_values(value: Any, text: str) -> None:
    assert canonical(value) == text.encode()


def test_keys_are_sorted_by_their_utf16_units() -> None:
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\x80": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(canonical(value))) == ["\r", "1", "\x80", "ö", "€", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        ([0], [-0.0], True),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (None, "null", False),
        ("é", "e\u0301", False),
        (2**53, 2**53 + 1, False),
        ([1, 2], [2, 1], False),
        ({}, [], False),
        ({"a": None}, {}, False),
    ],
)
def test_equal_values_and_only_they_have_equal_digests(one: Any, other: Any, same: bool) -> None:
    assert (digest(one) == digest(other)) is same


def test_a_digest_names_its_kind() -> None:
    assert digest({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


CYCLE: list[Any] = []
CYCLE.append({"x": CYCLE})
WIDE: list[Any] = []
WIDE.extend([WIDE, WIDE])


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        (float("nan"), "NOT_A_NUMBER", ""),
        ({"a": [1, float("inf")]}, "NOT_A_NUMBER", "/a/1"),
        ({"a": -float("inf")}, "NOT_A_NUMBER", "/a"),
        pytest.param(10**5000, "NOT_A_NUMBER", "", id="5001 digits"),
        ({"a": "\ud800"}, "BAD_UNICODE", "/a"),
        ({"\udc00": 1}, "BAD_UNICODE", ""),
        (["ok", "\ud83d"], "BAD_UNICODE", "/1"),
        ({"a/b": {"~": float("nan")}}, "NOT_A_NUMBER", "/a~1b/~0"),
        ({1: "x"}, "NOT_JSON", ""),
        ({"a": {None: "x"}}, "NOT_JSON", "/a"),
        ({"a": b"x"}, "NOT_JSON", "/a"),
        ({"a": {1, 2}}, "NOT_JSON", "/a"),
        (object(), "NOT_JSON", ""),
        (nested(65), "CALL_TOO_DEEP", "/0" * 64),
        (nested(5000), "CALL_TOO_DEEP", "/0" * 64),
        ({"a": nested(64)}, "CALL_TOO_DEEP", "/a" + "/0" * 63),
        (CYCLE, "CALL_TOO_DEEP", "/0/x" * 32),
        (WIDE, "CALL_TOO_DEEP", "/0" * 64),
    ],
)
def test_what_has_no_canonical_form_says_where(value: Any, code: str, path: str) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical(value)
    assert (caught.value.code, caught.value.path) == (code, path)


def test_the_deepest_that_is_allowed() -> None:
    assert canonical(nested(64)) == b"[" * 64 + b"1" + b"]" * 64
    assert canonical(nested(3), max_depth=3) == b"[[[1]]]"
    with pytest.raises(NotCanonical):
        canonical(nested(4), max_depth=3)


def test_a_long_key_before_many_values_costs_nothing_and_its_path_is_bounded() -> None:
    value = {"k" * 500_000: [0.5] * 200_000}
    assert canonical(value).startswith(b'{"kkk')
    with pytest.raises(NotCanonical) as caught:
        canonical({"k" * 500_000: [float("nan")]})
    assert len(caught.value.path) <= 510


def doubled(times: int) -> Any:
    """Return a small object whose text has 2**times numbers."""
    value: Any = 0
    for _ in range(times):
        value = [value, value]
    return value


HUGE: list[Any] = [
    [None] * 600_000,
    [0.5] * 600_000,
    [[]] * 600_000,
    (1,) * 600_000,
    dict.fromkeys(map(str, range(210_000))),
    dict.fromkeys(map("é{}".format, range(210_000))),
    {"a": [[0] * 1000] * 600},
    {"a": [[0.5] * 1000] * 600},
    {"é": [{"b": [1] * 100}] * 6_000},
    doubled(60),
    {"é": doubled(60)},
]


@pytest.mark.parametrize("value", HUGE, ids=range(len(HUGE)))
def test_too_many_members_are_refused_before_they_are_written(value: Any) -> None:
    with pytest.raises(NotCanonical, match=r"^The value has too many members: send less") as caught:
        canonical(value)
    assert caught.value.code == "CALL_TOO_LARGE"


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ([0] * 524_287, 1_048_575),
        ({"a": "x" * 2_000_000}, 2_000_008),
        ({"é": ["x" * 200] * 10_000}, 2_030_008),
    ],
)
def test_what_may_fit_and_long_texts_are_written(value: Any, size: int) -> None:
    assert len(canonical(value)) == size


def test_a_digest_has_no_bound_of_its_own() -> None:
    # python -c 'print("["+"0,"*599999+"0]",end="")' | sha256sum
    assert digest([0] * 600_000) == "sha256:95fdb4db1ab0c50fc97089f03025d9c5f214a575e40fb52555f575a6eaa23717"


def test_a_copy_is_held_by_nobody_else() -> None:
    value: dict[str, Any] = {"a": [{"b": 1}, [2.5, "x"]], "c": {"é": None}}
    copy = copied(value)
    value["a"][0]["b"] = 2
    value["a"][1].append(3)
    value["c"].clear()
    value["d"] = 1
    assert copy == {"a": [{"b": 1}, [2.5, "x"]], "c": {"é": None}}


@pytest.mark.parametrize("value", [*HUGE, nested(5000), CYCLE, WIDE], ids=range(len(HUGE) + 3))
def test_a_copy_of_what_arguments_cannot_hold_is_cheap_and_still_refused(value: Any) -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical(copied(value))
    assert caught.value.code in ("CALL_TOO_LARGE", "CALL_TOO_DEEP")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(json_values)
def test_reading_and_writing_again_changes_nothing(value: Any) -> None:
    text = canonical(value)
    assert canonical(json.loads(text)) == text
    assert canonical(copied(value)) == text


@settings(max_examples=100, deadline=None)
@given(json_values)
def test_a_value_is_never_refused_while_its_text_fits(value: Any) -> None:
    text = canonical(value)
    assert canonical(value, max_bytes=len(text)) == text


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_loses_a_digit(value: float) -> None:
    assert float(canonical(value)) == value
