"""Whatever a tool returns becomes a JSON value of bounded size, or a sentence that says why not."""

import dataclasses
import datetime
import decimal
import enum
import json
import types
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pydantic
import pytest

from gerbang.limits import RESULT_STORE_BYTES
from gerbang.runtime.output import Output, output_error, read_output


class Opaque:
    pass


class Stubborn:
    def model_dump(self, mode: str) -> Any:
        raise KeyError("hunter2")


@dataclasses.dataclass
class Point:
    x: float
    y: Any = None


class Box(msgspec.Struct):
    size: float
    tags: set[str] = set()


class Person(pydantic.BaseModel):
    name: str
    score: float = 1.5


class Level(enum.IntEnum):
    LOW = 1


CYCLE: list[Any] = []
CYCLE.extend([CYCLE, CYCLE])
MAPPED: dict[str, Any] = {}
MAPPED["self"] = [MAPPED, MAPPED]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("text", "text"),
        ("", ""),
        ("\ud800x", "\\ud800x"),
        (5, 5),
        (1.5, 1.5),
        (True, True),
        (None, None),
        (2**63, 2**63),
        (2**64, 2**64),
        (2**200, 2**200),
        ([2**70], [2**70]),
        ({"n": -(2**70)}, {"n": -(2**70)}),
        ([1, "a", None], [1, "a", None]),
        ((1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({1}), [1]),
        ({"a": {"x", "y"}}, {"a": ["x", "y"]}),
        ({1: "a"}, {"1": "a"}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (Level.LOW, 1),
        ([Level.LOW], [1]),
        (Point(1.5, Point(2.0)), {"x": 1.5, "y": {"x": 2.0, "y": None}}),
        (Box(1.5, {"b", "a"}), {"size": 1.5, "tags": ["a", "b"]}),
        (Person(name="Ana"), {"name": "Ana", "score": 1.5}),
        ([Person(name="Ana")], [{"name": "Ana", "score": 1.5}]),
        ({"none": None, "f": 2.5}, {"none": None, "f": 2.5}),
        (deep(100), deep(100)),
    ],
)
def test_values(returned: Any, value: Any) -> None:
    got = read_output(returned)
    assert isinstance(got, Output), got
    assert got.value == value
    assert type(got.value) is type(value)
    assert json.loads(got.text) == value


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "returned",
    [
        NAN,
        INF,
        -INF,
        [NAN],
        {"a": {"b": INF}},
        (NAN,),
        {NAN},
        Point(NAN),
        Point(1.0, [INF]),
        Box(NAN),
        [Box(INF)],
        Person(name="x", score=NAN),
        {"big": 2**70, "nan": NAN},
        [None, NAN],
        [*deep(50), NAN],
    ],
)
def test_numbers_that_are_not_finite(returned: Any) -> None:
    assert read_output(returned) == "The tool returned a number that is not finite."


def numbers() -> Iterator[int]:
    yield 1


async def later() -> int:
    return 1


async def stream() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (b"x", "The tool returned a bytes that cannot be written as JSON."),
        (bytearray(b"x"), "a bytearray that cannot"),
        (memoryview(b"x"), "a memoryview that cannot"),
        ({"a": [b"x"]}, "a dict that cannot"),
        (Point(1.0, b"x"), "a Point that cannot"),
        (Opaque(), "a Opaque that cannot"),
        ([Opaque()], "a list that cannot"),
        (Opaque, "a type that cannot"),
        (Person, "cannot be written as JSON"),
        (Stubborn(), "a Stubborn that cannot"),
        ([Stubborn()], "a list that cannot"),
        (range(3), "a range that cannot"),
        (object(), "a object that cannot"),
        (1j, "a complex that cannot"),
        (CYCLE, "a list that cannot"),
        (MAPPED, "a dict that cannot"),
        (deep(5_000), "a list that cannot"),
        (numbers(), "a generator instead of a value"),
        (iter([1]), "a generator instead of a value"),
        (map(str, [1]), "a generator instead of a value"),
        (stream(), "a generator instead of a value"),
        ({"a": numbers()}, "a dict that cannot"),
        (lambda: 1, "a function that cannot"),
    ],
)
def test_what_is_no_value(returned: Any, says: str) -> None:
    got = read_output(returned)
    assert isinstance(got, str)
    assert says in got
    assert "hunter2" not in got


def test_coroutines_are_closed_not_run() -> None:
    assert read_output(later()) == "The tool returned something to wait for instead of a value."
    assert "cannot be written" in str(read_output([later()]))


@pytest.mark.parametrize(
    "text", ["x" * 10_000_000, "é" * 3_000_000, "\x00" * 2_000_000, "😀" * 2_000_000, '"' * 4_000_000]
)
def test_a_long_text_is_cut_to_what_may_be_stored(text: str) -> None:
    got = read_output(text)
    assert isinstance(got, Output)
    assert text.startswith(got.value)
    assert RESULT_STORE_BYTES - 16 <= len(got.text) <= RESULT_STORE_BYTES
    assert got.total == len(text)
    short = read_output("x" * 100)
    assert isinstance(short, Output)
    assert short.total == 0


def test_a_large_value_is_refused_with_its_size() -> None:
    got = read_output(["x" * 10_000_000])
    assert got == f"The tool returned 10000004 bytes of JSON; the limit is {RESULT_STORE_BYTES}."


def test_shared_parts_are_looked_at_once() -> None:
    value: Any = [b"x"]
    for _ in range(60):
        value = (value, value)  # two to the sixtieth leaves, sixty containers
    assert "cannot be written" in str(read_output({"a": CYCLE, "b": value[0][0][0][0]}))


def test_what_is_kept_is_not_the_tools_own_object() -> None:
    mine = {"a": [1]}
    got = read_output(mine)
    mine["a"].append(2)
    assert isinstance(got, Output)
    assert got.value == {"a": [1]}


def test_the_error_never_hides_that_the_effect_happened() -> None:
    happened, nothing = output_error("No.", True), output_error("No.", False)
    assert (happened.error_code, happened.effect) == ("OUTPUT_SHAPE", "happened")
    assert happened.suggested_fix == "Do not repeat the call."
    assert (nothing.error_type, nothing.effect) == ("output_validation_error", "none")
