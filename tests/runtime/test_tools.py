"""Tools that misbehave: whatever they do, the caller gets a result, and no secret."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.limits import RESULT_STORE_BYTES
from tests.runtime.street import ALLOW_ALL, code, endings, run

SECRET = "sk-abcdefghijklmnopqrstuvwxyz123456"
PASSWORD = "hunter2-very-secret"


def make(function: Callable[..., Any], risk: str = "read_internal", **options: Any) -> Any:
    """Return a tool `t.v1` of a function without a docstring."""
    return g.tool(name="t.v1", risk=risk, description="A tool of a test.", **options)(function)


async def once(tool: Any, url: str = "memory:", **options: Any) -> g.Result:
    """Call `t.v1` in a gateway of its own and check what must always hold."""
    async with g.Gateway(tools=[tool], store=url, policy=ALLOW_ALL) as gate:
        result = await gate.call("t.v1", {}, run_id="r", **options)
        assert await endings(gate.store, "r") == {result.call_id: 1}
        (row,) = await gate.store.calls("r")
        assert row.state in ("SUCCEEDED", "FAILED", "UNCERTAIN")
        assert len(result.for_model) < 20_000
        result.for_model.encode()
        return result


class Hostile(Exception):
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Odd(BaseException):
    """Not even an Exception."""


RAISED: list[BaseException] = [
    ValueError(f"dsn=postgres://root:{PASSWORD}@db token={SECRET}"),
    KeyError(PASSWORD),
    Hostile(),
    StopIteration(PASSWORD),
    StopAsyncIteration(PASSWORD),
    GeneratorExit(PASSWORD),
    RecursionError(PASSWORD),
    MemoryError(PASSWORD),
    asyncio.CancelledError(PASSWORD),
    SystemExit(PASSWORD),
    KeyboardInterrupt(PASSWORD),
    Odd(PASSWORD),
    ExceptionGroup(PASSWORD, [ValueError(PASSWORD)]),
]


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        pytest.param(kind, error, id=f"{kind} {type(error).__name__}")
        for kind in ("async", "sync")
        for error in RAISED
        # on the loop's own thread this is a person who pressed Ctrl-C, see tests/crash
        if not (kind == "async" and isinstance(error, KeyboardInterrupt))
    ],
)
def test_what_a_tool_raises_stays_inside(kind: str, raised: BaseException, tmp_path: Path) -> None:
    async def later() -> None:
        await asyncio.sleep(0)
        raise raised

    def now() -> None:
        raise raised

    path = tmp_path / "store.db"
    seen: list[str] = []

    async def work() -> None:
        async with g.Gateway(tools=[make(later if kind == "async" else now)], store=f"sqlite:{path}") as gate:
            result = await gate.call("t.v1", {}, run_id="r")
            assert code(result) == "INTERNAL"
            assert result.error is not None
            assert (result.error.error_type, result.error.effect) == ("internal_error", "none")
            assert await endings(gate.store, "r") == {result.call_id: 1}
            seen.append(str(result))
            seen.append(str(await gate.store.events("r")) + str(await gate.store.calls("r")))

    run(work())
    everything = "".join(seen) + "".join(
        file.read_bytes().decode("latin-1") for file in tmp_path.iterdir() if file.is_file()
    )
    assert PASSWORD not in everything
    assert SECRET not in everything
    assert "Traceback" not in everything


def test_a_tool_error_is_shown_without_its_secret(tmp_path: Path) -> None:
    def fail() -> None:
        raise g.ToolError(
            f"No such page; key {SECRET} was used on postgres://root:{PASSWORD}@db/x.",
            code="NOT_FOUND",
            error_type="semantic_error",
            recoverable=True,
            suggested_fix=f"Use another key than {SECRET}.",
            retry_after_ms=1_500,
        )

    result = run(once(make(fail), f"sqlite:{tmp_path / 'store.db'}"))
    assert result.error is not None
    assert result.error.error_code == "NOT_FOUND"
    assert result.error.error_type == "semantic_error"
    assert result.error.recoverable
    assert result.error.retry_after_ms == 1_500
    assert "No such page" in result.error.message
    everything = str(result) + "".join(file.read_bytes().decode("latin-1") for file in tmp_path.iterdir())
    assert SECRET not in everything
    assert PASSWORD not in everything


TOOL_ERRORS: list[tuple[str, g.ToolError, str, str, str]] = [
    ("plain, read", g.ToolError("x"), "read_internal", "FAILED", "none"),
    ("plain, change", g.ToolError("x"), "write_internal", "UNCERTAIN", "unknown"),
    ("not happened", g.ToolError("x", effect="none"), "write_internal", "FAILED", "none"),
    ("happened", g.ToolError("x", effect="happened"), "write_internal", "SUCCEEDED", "happened"),
    ("unknown", g.ToolError("x", effect="unknown"), "write_internal", "UNCERTAIN", "unknown"),
    ("unknown, read", g.ToolError("x", effect="unknown"), "read_internal", "FAILED", "none"),
]


@pytest.mark.parametrize(
    ("error", "risk", "state", "effect"), [pytest.param(*row[1:], id=row[0]) for row in TOOL_ERRORS]
)
def test_what_a_tool_error_says_of_the_effect(
    error: g.ToolError, risk: str, state: str, effect: str, url: str
) -> None:
    calls: list[int] = []

    async def fail() -> None:
        calls.append(1)
        raise error

    async def work() -> None:
        async with g.Gateway(tools=[make(fail, risk)], store=url, policy=ALLOW_ALL) as gate:
            result = await gate.call("t.v1", {}, run_id="r")
            assert result.error is not None
            assert (result.error.error_code, result.error.effect) == ("TOOL_FAILED", effect)
            (row,) = await gate.store.calls("r")
            assert row.state == state
            again = await gate.call("t.v1", {}, run_id="r")
            assert again.error is not None
            if state == "SUCCEEDED":
                assert (again.replayed, again.error.error_code) == (True, "TOOL_FAILED")
            elif state == "UNCERTAIN":
                assert again.error.error_code == "EFFECT_UNKNOWN"
            assert len(calls) == (2 if state == "FAILED" else 1)

    run(work())


def test_a_tool_error_of_an_unknown_type_is_an_upstream_error() -> None:
    def fail() -> None:
        raise g.ToolError("x" * 100_000, code="C" * 500, error_type="made_up")

    result = run(once(make(fail)))
    assert result.error is not None
    assert result.error.error_type == "upstream_error"
    assert len(result.error.error_code) <= 64


def test_an_unexpected_error_of_a_change_is_uncertain_and_never_repeated(url: str) -> None:
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise OSError("connection reset")

    async def work() -> None:
        async with g.Gateway(tools=[make(fail, "write_external")], store=url, policy=ALLOW_ALL) as gate:
            first = await gate.call("t.v1", {}, run_id="r")
            assert first.error is not None
            assert first.error.effect == "unknown"
            for _ in range(3):
                assert code(await gate.call("t.v1", {}, run_id="r")) == "EFFECT_UNKNOWN"

    run(work())
    assert calls == [1]


@dataclass
class Point:
    """Something with fields."""

    x: float
    y: float


def numbers() -> Iterator[int]:
    yield 1


async def numbers_later() -> Any:
    yield 1


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
KNOT: list[Any] = []
KNOT.extend((KNOT, KNOT, {"again": KNOT}))
DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]
DEEP_NAN: Any = float("nan")
for _ in range(100):
    DEEP_NAN = [DEEP_NAN]

REFUSED: list[tuple[str, Any]] = [
    ("bytes", b"x"),
    ("bytes inside", {"a": [b"x"]}),
    ("an object", object()),
    ("a function", print),
    ("a class", dict),
    ("a generator", numbers),
    ("an async generator", numbers_later),
    ("an iterator", lambda: iter([1])),
    ("a lock", threading.Lock()),
    ("NaN", float("nan")),
    ("infinity inside", {"a": [float("-inf")]}),
    ("NaN deep inside", DEEP_NAN),
    ("a cycle", CYCLE),
    ("a knot", KNOT),
    ("5,000 deep", DEEP),
    ("keys that are no text", {(1, 2): 3}),
    ("too large", ["x" * 1_000_000] * 10),
    ("half a surrogate pair inside", {"a": "\ud800"}),
    ("a complex number", 1j),
]


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in REFUSED])
@pytest.mark.parametrize("risk", ["read_internal", "write_internal"])
def test_a_result_that_is_no_json_is_an_error(value: Any, risk: str) -> None:
    async def give() -> Any:
        return value() if callable(value) and not isinstance(value, type) and value is not print else value

    result = run(once(make(give, risk)))
    assert code(result) == "OUTPUT_SHAPE"
    assert result.error is not None
    assert result.error.error_type == "output_validation_error"
    assert result.error.effect == ("none" if risk == "read_internal" else "happened")
    assert not result.error.recoverable


GIVEN: list[tuple[str, Any, Any]] = [
    ("None", None, None),
    ("a big integer", 2**80, 2**80),
    ("a tuple", (1, 2), [1, 2]),
    ("a set", {3, 1, 2}, [1, 2, 3]),
    ("a dataclass", Point(1.5, 2), {"x": 1.5, "y": 2}),
    ("a text with half a surrogate pair", "a\ud800b", "a\\ud800b"),
    ("a NUL", "a\0b", "a\0b"),
]


@pytest.mark.parametrize(("value", "wanted"), [pytest.param(v, w, id=name) for name, v, w in GIVEN])
def test_a_result_is_plain_data(value: Any, wanted: Any, url: str) -> None:
    async def give() -> Any:
        return value

    result = run(once(make(give), url))
    assert (result.status, result.value) == ("ok", wanted)


def test_what_the_caller_gets_is_not_the_tools_own_object() -> None:
    kept: dict[str, Any] = {"a": [1]}

    async def give() -> Any:
        return kept

    result = run(once(make(give)))
    kept["a"].append(2)
    assert result.value == {"a": [1]}


@pytest.mark.parametrize("size", [20_000, RESULT_STORE_BYTES - 10, 10_000_000])
def test_a_long_text_is_cut_visibly(size: int) -> None:
    async def give() -> str:
        return "x" * size

    result = run(once(make(give)))
    assert result.status == "ok"
    assert str(size) in result.for_model


def test_the_smaller_cap_counts() -> None:
    async def give() -> str:
        return "x" * 500

    result = run(once(make(give, result_max_chars=100)))
    assert result.for_model.count("x") <= 110
    assert "500" in result.for_model
    assert result.value == "x" * 500


def test_a_secret_in_a_result_is_masked_for_the_model_also_at_the_cut() -> None:
    async def give() -> str:
        return "a " * 45 + SECRET + " b" * 250

    for cap in (1_000, 100, 95):
        result = run(once(make(give, result_max_chars=cap)))
        assert SECRET[:9] not in result.for_model


def test_a_result_that_breaks_the_contract() -> None:
    async def give() -> Any:
        return {"temperature": "hot"}

    schema = {"type": "object", "properties": {"temperature": {"type": "number"}}}
    for risk, effect in (("read_internal", "none"), ("write_internal", "happened")):
        result = run(once(make(give, risk, returns=schema)))
        assert result.error is not None
        assert (result.error.error_code, result.error.effect) == ("OUTPUT_SHAPE", effect)
