"""What a tool's own exceptions say of a connection, and what the gate makes of that by the matrix."""

import asyncio
import errno
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest

import gerbang as g
from gerbang.runtime.broken_links import fault_in
from gerbang.values.sentences import in_language
from tests.runtime.street import ALLOW_ALL, endings, run

PASSWORD = "hunter2-very-secret"
FAST = {"base_ms": 1, "max_ms": 2}


def raised(what: Callable[[], Any]) -> BaseException:
    """Return what a function raises."""
    try:
        what()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def closed_port() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def silent() -> Any:
    """Return an open listener that never answers."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def from_(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


def handling(error: BaseException, context: BaseException) -> BaseException:
    error.__context__ = context
    return error


class Odd(OSError):
    """An error that fails when it is looked at."""

    @property
    def errno(self) -> int:  # type: ignore[override]
        raise RuntimeError(PASSWORD)


def endless() -> BaseException:
    error = ValueError()
    error.__cause__ = error
    return error


MADE: list[tuple[BaseException, str | None]] = [
    (ConnectionRefusedError(PASSWORD), "CONNECT_FAILED"),
    (socket.gaierror(-2, PASSWORD), "CONNECT_FAILED"),
    (socket.herror(1, PASSWORD), "CONNECT_FAILED"),
    (OSError(errno.ENETUNREACH, PASSWORD), "CONNECT_FAILED"),
    (OSError(errno.EHOSTUNREACH, PASSWORD), "CONNECT_FAILED"),
    (ConnectionResetError(PASSWORD), "CONNECTION_RESET"),
    (ConnectionAbortedError(PASSWORD), "CONNECTION_RESET"),
    (BrokenPipeError(PASSWORD), "CONNECTION_RESET"),
    (ConnectionError(PASSWORD), "CONNECTION_RESET"),
    (RemoteDisconnected(PASSWORD), "CONNECTION_RESET"),
    (OSError(errno.ENOTCONN, PASSWORD), "CONNECTION_RESET"),
    (TimeoutError(PASSWORD), "IDLE_TIMEOUT"),
    (OSError(errno.ETIMEDOUT, PASSWORD), "IDLE_TIMEOUT"),
    (urllib.error.URLError(TimeoutError(PASSWORD)), "IDLE_TIMEOUT"),
    (from_(ValueError(PASSWORD), ConnectionResetError()), "CONNECTION_RESET"),
    (from_(ValueError(), from_(LookupError(), ConnectionRefusedError())), "CONNECT_FAILED"),
    (handling(OSError(PASSWORD), handling(OSError(), ConnectionRefusedError())), "CONNECT_FAILED"),
    (LookupError(ConnectionResetError()), "CONNECTION_RESET"),
    (handling(KeyError(PASSWORD), ConnectionRefusedError()), None),  # a fault of the handler
    (urllib.error.URLError(PASSWORD), None),
    (FileNotFoundError(errno.ENOENT, PASSWORD), None),
    (PermissionError(errno.EACCES, PASSWORD), None),
    (OSError(PASSWORD), None),
    (ValueError(PASSWORD), None),
    (SystemExit(PASSWORD), None),
    (Odd(PASSWORD), None),
    (endless(), None),
]
"""An exception, and what it says of a connection."""


@pytest.mark.parametrize(("error", "fault"), MADE, ids=[repr(error)[:60] for error, _ in MADE])
def test_what_an_exception_says(error: BaseException, fault: str | None) -> None:
    assert fault_in(error) == fault


async def over_aiohttp(url: str, seconds: float) -> None:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        await session.get(url)


def over_socket(url: str, seconds: float) -> None:
    with socket.create_connection(("127.0.0.1", int(url.split(":")[-1])), seconds) as one:
        one.recv(1)


CLIENTS: dict[str, Callable[[str, float], Any]] = {
    "socket": over_socket,
    "urllib": lambda url, seconds: urllib.request.urlopen(url, timeout=seconds),
    "httpx": lambda url, seconds: httpx.get(url, timeout=seconds),
    "aiohttp": lambda url, seconds: asyncio.run(over_aiohttp(url, seconds)),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_what_real_clients_raise(name: str) -> None:
    ask = CLIENTS[name]
    refused = raised(lambda: ask(f"http://127.0.0.1:{closed_port()}", 30))
    assert fault_in(refused) == "CONNECT_FAILED"
    with silent() as listener:
        late = raised(lambda: ask(f"http://127.0.0.1:{listener.getsockname()[1]}", 0.05))
    assert fault_in(late) == "IDLE_TIMEOUT"


NET, LATE = "transient_network_error", "timeout"
REFUSED, RESET, SLOW = (
    ConnectionRefusedError(PASSWORD),
    ConnectionResetError(PASSWORD),
    TimeoutError(PASSWORD),
)
NAMELESS, BROKEN = socket.gaierror(-2, PASSWORD), ValueError(PASSWORD)
CASES: list[tuple[str, BaseException, dict[str, Any], int, int, str, str, str, str]] = [
    # class, exception, contract, attempts that fail, attempts; then type, code, effect and state
    *(
        (one, REFUSED, {}, 9, 3, NET, "CONNECT_FAILED", "none", "FAILED")
        for one in ("compute", "read_external")
    ),
    ("read_internal", NAMELESS, {}, 9, 3, NET, "CONNECT_FAILED", "none", "FAILED"),
    ("read_internal", RESET, {}, 9, 3, NET, "CONNECTION_RESET", "none", "FAILED"),
    ("read_internal", SLOW, {}, 9, 3, LATE, "IDLE_TIMEOUT", "none", "FAILED"),
    ("read_internal", BROKEN, {}, 9, 1, "internal_error", "INTERNAL", "none", "FAILED"),
    ("read_internal", REFUSED, {}, 2, 3, "", "", "", "SUCCEEDED"),
    ("read_internal", REFUSED, {"retry_on": ["rate_limited"]}, 9, 1, NET, "CONNECT_FAILED", "none", "FAILED"),
    *(
        (one, error, {}, 9, 1, kind, code, "unknown", "UNCERTAIN")
        for one in ("draft", "write_internal", "write_external", "external_communication", "transactional")
        for error, kind, code in (
            (REFUSED, NET, "CONNECT_FAILED"),
            (NAMELESS, NET, "CONNECT_FAILED"),
            (RESET, NET, "CONNECTION_RESET"),
            (SLOW, LATE, "IDLE_TIMEOUT"),
        )
    ),
    ("write_external", RESET, {"honours_key": True}, 2, 3, "", "", "", "SUCCEEDED"),
    ("write_external", SLOW, {"honours_key": True}, 9, 3, LATE, "IDLE_TIMEOUT", "unknown", "UNCERTAIN"),
    ("write_external", BROKEN, {}, 9, 1, "internal_error", "INTERNAL", "unknown", "UNCERTAIN"),
]


def make(
    risk: str, how: str, error: BaseException, times: int, tried: list[int], more: dict[str, Any]
) -> Any:
    retry = {**FAST, **{key: value for key, value in more.items() if key == "retry_on"}}
    rest: dict[str, Any] = {key: value for key, value in more.items() if key != "retry_on"}

    def body() -> str:
        tried.append(1)
        if len(tried) <= times:
            raise error
        return "done"

    async def later(context: g.CallContext) -> str:
        await asyncio.sleep(0)
        return body()

    if how == "with secrets":
        rest["secrets"] = ("KEY",)
    function = body if how == "thread" else later
    return g.tool(name="t.v1", risk=risk, description="A tool of a test.", retry=retry, **rest)(function)


@pytest.mark.parametrize("how", ["coroutine", "thread", "with secrets"])
@pytest.mark.parametrize(
    ("risk", "error", "more", "times", "attempts", "kind", "code", "effect", "state"),
    CASES,
    ids=[f"{case[0]} {type(case[1]).__name__} {case[2]} {case[3]}" for case in CASES],
)
def test_what_the_gate_makes_of_it(
    how: str,
    risk: str,
    error: BaseException,
    more: dict[str, Any],
    times: int,
    attempts: int,
    kind: str,
    code: str,
    effect: str,
    state: str,
    tmp_path: Path,
) -> None:
    tried: list[int] = []
    tool = make(risk, how, error, times, tried, more)
    rules = [{"id": "t", "match": {"tool": "t.v1"}, "decision": "allow", "reason": "OK", "auto": True}]

    async def main() -> str:
        store, policy = f"sqlite:{tmp_path / 's.db'}", g.Policy.from_rules(rules)
        async with g.Gateway([tool], store=store, policy=policy, secrets={"KEY": "value-of-key"}) as gate:
            result = await gate.call("t.v1", {}, run_id="r")
            (row,) = await gate.store.calls("r")
            assert (len(tried), row.state) == (attempts, state)
            if result.error is not None:
                found = result.error
                assert (found.error_type, found.error_code, found.effect) == (kind, code, effect)
                assert found.recoverable is (effect == "none" and kind in (NET, LATE))
                assert in_language(found, "id").message != found.message
            assert await endings(gate.store, "r") == {result.call_id: 1}
            return str(result) + str(await gate.store.events("r")) + str(row)

    assert PASSWORD not in run(main())


def test_five_broken_connections_open_the_circuit() -> None:
    @g.tool(name="t.v1", risk="read_external", retry={"max_attempts": 1})
    async def ask(n: int) -> str:
        """Ask."""
        raise ConnectionRefusedError

    async def main() -> list[str]:
        async with g.Gateway([ask], policy=ALLOW_ALL) as gate:
            results = [await gate.call("t.v1", {"n": n}, run_id="r", step_id=n) for n in range(6)]
            return [result.error.error_code for result in results if result.error is not None]

    assert run(main()) == [*["CONNECT_FAILED"] * 5, "CIRCUIT_OPEN"]
