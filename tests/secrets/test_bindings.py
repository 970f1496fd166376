"""A secret is used for those, by those tools and towards those origins that it is bound to; nowhere else."""

import logging
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.street import ALLOW_ALL, bodies, code, run
from tests.secrets.test_canary import NEEDLES, VALUE, WRITINGS
from tests.tools.origin import definition, serving, write

import gerbang as g
from gerbang.audit.export import cloud_event, plain
from gerbang.compose.auditing import every_event
from gerbang.errors import ConfigError
from gerbang.testing import ScriptedModel

ASKED: list[str] = []
LOG = logging.getLogger("tests.secrets")


class Watched:
    """A store of secrets that notes what it is asked for."""

    def get(self, name: str) -> str | None:
        ASKED.append(name)
        return VALUE


@g.tool(name="mail.send.v1", risk="compute", secrets=("CANARY",))
def send(context: g.CallContext) -> int:
    """Use the secret. Returns its length."""
    return len(context.secret("CANARY"))


WHO = g.Principal("ana", "acme")


@pytest.mark.parametrize(
    ("bindings", "expected"),
    [
        (None, "ok"),
        ({"CANARY": {}}, "ok"),
        ({}, "SECRET_NOT_BOUND"),
        ({"OTHER": {}}, "SECRET_NOT_BOUND"),
        ({"CANARY": {"tenants": ["acme"], "users": ["ana", "bo"], "tools": ["mail.send.v1"]}}, "ok"),
        ({"CANARY": {"tools": ["mail.*"]}}, "ok"),
        ({"CANARY": {"tools": ["mail.send.*", "web.*"]}}, "ok"),
        ({"CANARY": {"tools": ["mail.send"]}}, "SECRET_NOT_BOUND"),
        ({"CANARY": {"tools": ["mailbox.*"]}}, "SECRET_NOT_BOUND"),
        ({"CANARY": {"tenants": ["other"]}}, "SECRET_NOT_BOUND"),
        ({"CANARY": {"users": ["eve"]}}, "SECRET_NOT_BOUND"),
        ({"CANARY": {"tenants": ["acme"], "users": ["eve"]}}, "SECRET_NOT_BOUND"),
        (
            {"CANARY": {"origins": ["https://api.example.com"]}},
            "SECRET_NOT_BOUND",
        ),  # a function can send anywhere
    ],
)
def test_who_and_which_tool(bindings: dict[str, Any] | None, expected: str) -> None:
    async def work() -> g.Result:
        async with g.Gateway([send], policy=ALLOW_ALL, secrets=Watched(), secret_bindings=bindings) as gate:
            return await gate.call("mail.send.v1", {}, principal=WHO)

    ASKED.clear()
    result = run(work())
    assert code(result) == expected
    assert ([] if expected != "ok" else ["CANARY"]) == ASKED  # a refused call does not even look it up
    if result.error is not None:
        assert (result.error.error_type, result.error.effect) == ("permission_denied", "none")
        assert "CANARY" in result.error.message


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        (["{url}"], "ok"),
        (["{URL}"], "ok"),
        (["https://127.0.0.1:{port}"], "no"),
        (["http://127.0.0.1"], "no"),
    ],
)
def test_where_to(tmp_path: Path, origins: list[str], expected: str) -> None:
    async def work() -> tuple[str, int]:
        async with serving() as origin:
            tools = g.load_tools(write(tmp_path, definition(origin.url, headers={"X-Key": "${secret:KEY}"})))
            bound = [
                text.format(url=origin.url.rstrip("/"), URL=origin.url.rstrip("/").upper(), port=origin.port)
                for text in origins
            ]
            bindings = {"KEY": {"origins": [text.replace("HTTP", "http") for text in bound]}}
            async with g.Gateway(
                tools, policy=ALLOW_ALL, secrets={"KEY": "canary-3141592"}, secret_bindings=bindings
            ) as gate:
                return code(await gate.call("the_tool", {})), len(origin.seen)

    assert run(work()) == (("ok", 1) if expected == "ok" else ("SECRET_NOT_BOUND", 0))


@pytest.mark.parametrize(
    "bindings",
    [
        {"1A": {}},
        {"KEY": {"tool": ["a"]}},
        {"KEY": {"tools": "a"}},
        {"KEY": []},
        {"KEY": {"origins": ["api.example.com"]}},
        {"KEY": {"origins": ["https://api.example.com/v1"]}},
        {"KEY": {"origins": ["ftp://api.example.com"]}},
        {"KEY": {"origins": ["https://u@api.example.com"]}},
    ],
)
def test_bindings_that_cannot_be_read(bindings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="secret_bindings"):
        g.Gateway([send], secret_bindings=bindings)


@g.tool(name="leak.log.v1", risk="compute", secrets=("CANARY",))
def leak(how: str, context: g.CallContext) -> str:
    """Give the secret away. Use for tests only."""
    value = context.secret("CANARY")
    if how == "raise":
        raise RuntimeError(value)
    return WRITINGS[how]


def test_the_canary_is_in_no_record_export_trace_or_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def echo(request: Any) -> Any:
        from aiohttp import web

        return web.Response(text=f"you sent {request.headers['X-Key']}", status=200)

    async def work() -> list[bytes]:
        found: list[bytes] = []
        async with serving(echo) as origin:
            tools = g.load_tools(
                write(tmp_path, definition(origin.url, headers={"X-Key": "${secret:CANARY}"}))
            )
            store = f"sqlite:{tmp_path / 'g.db'}"
            async with g.Gateway(
                [*tools, leak], policy=ALLOW_ALL, store=store, secrets={"CANARY": "kanarie-gelb-31415"}
            ) as gate:
                model = ScriptedModel(
                    [
                        [("the_tool", {}), *(("leak.log.v1", {"how": how}) for how in (*WRITINGS, "raise"))],
                        "x",
                    ]
                )
                found.append(repr([event async for event in g.Agent(model, gate).stream("x")]).encode())
                (row,) = await gate.store.runs()
                found.append(repr(await bodies(gate.store, row.run_id)).encode())
                events = [event async for event in every_event(gate.store)]
                assert len([event for event in events if event.kind == "call.finished"]) == 8
                found.extend(repr((plain(event), cloud_event(event, "s"))).encode() for event in events)
                found.append(repr(await gate.store.answers(row.run_id)).encode())
                found.append(repr(await gate.store.calls(row.run_id)).encode())
        return found

    caplog.set_level(logging.DEBUG)
    writings = {  # of a value that fits into a header
        "plain": "kanarie-gelb-31415",
        "base64": "a2FuYXJpZS1nZWxiLTMxNDE1",
        "hex": b"kanarie-gelb-31415".hex(),
        "percent": "kanarie-gelb-31415",
        "json": "kanarie-gelb-31415",
        "base64url": "a2FuYXJpZS1nZWxiLTMxNDE1",
    }
    saved = dict(WRITINGS)
    WRITINGS.update(writings)
    try:
        found = run(work())
    finally:
        WRITINGS.update(saved)
    found += [path.read_bytes() for path in tmp_path.glob("g.db*")]
    found.append(caplog.text.encode())
    for text in found:
        for needle in (*(value[:15].encode() for value in writings.values()), NEEDLES[-1]):
            assert needle not in text, needle
