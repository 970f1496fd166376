"""Servers that fail, over real sockets: what is raised, what is tried again, and what is left behind."""
# ruff: noqa: E501 (a case is one line)

import asyncio
import email.utils
import gzip
import json
import socket
import time
import zlib
from contextlib import aclosing
from typing import Any, cast

import pytest

from gerbang.adapters.models import open_model
from gerbang.adapters.models.http import Wire
from gerbang.errors import ConfigError, ModelFault, ModelProtocol, ModelTimeout, ModelUnavailable
from gerbang.ports import Model
from gerbang.values.model import ModelRequest
from tests.models.answers import ASK, READ, ask, delta, run, sse
from tests.models.player import HANG, JSON, NDJSON, PAUSE, RESET, SSE, Player, Script, head, playing, reply

KEY = "sk-very-secret-0123456789"
PAGE = "<!DOCTYPE html><html><title>Welcome</title></html>"
OK: dict[str, Script] = {
    "openai": [head(), sse(delta(content="fine"), delta("stop"))],
    "ollama": [head(content_type=NDJSON), b'{"message":{"content":"fine"},"done":true}\n'],
}
KINDS = ["openai", "ollama"]


class Vault:
    """Secrets for tests."""

    def __init__(self, **values: str) -> None:
        self._values = values

    def get(self, name: str) -> str | None:
        return self._values.get(name)


def opened(kind: str, server: Player, **options: Any) -> Model:
    path = "/v1" if kind == "openai" else ""
    return open_model(f"{kind}:m@{server.url}{path}", secrets=Vault(KEY=KEY), api_key_secret="KEY", **options)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gerbang.adapters.models.http._BACKOFF_S", 0.001)


async def _all_closed(server: Player) -> None:
    """Wait until the server has seen every connection end."""
    for _wait in range(1_000):
        if not server.open:
            return
        await asyncio.sleep(0.005)
    raise AssertionError("a connection is still open")


Fault = type[ModelFault]
FAULTS: list[tuple[str, Script, Fault, str]] = [
    ("a page", reply(PAGE, content_type="text/html"), ModelProtocol, "HTML"),
    ("a page as an error", reply(PAGE, 404, "text/html"), ModelFault, "HTML"),
    ("an empty answer", reply(""), ModelProtocol, "empty"),
    ("white space", reply(" \n\n"), ModelProtocol, "empty"),
    ("plain text", reply("hello", content_type="text/plain"), ModelProtocol, "instead of"),
    ("half JSON", reply('{"choices": ['), ModelProtocol, "JSON"),
    ("JSON of something else", reply('{"hello": 1}'), ModelProtocol, "JSON without"),
    ("a list", reply("[1]"), ModelProtocol, "no object"),
    ("a number", reply("17"), ModelProtocol, ""),
    ("deep nesting", reply("[" * 100_000), ModelProtocol, "JSON"),
    ("an error with status 200", reply('{"error": {"message": "no memory"}}'), ModelFault, "no memory"),
    ("an error that is text", reply('{"error": "no memory"}'), ModelFault, "no memory"),
    ("a bad request", reply('{"error": {"message": "bad tools"}}', 400), ModelFault, "bad tools"),
    ("a bad request, detail", reply('{"detail": "bad tools"}', 422), ModelFault, "bad tools"),
    ("a bad request, no words", reply("", 400), ModelFault, "400"),
    ("a wrong key", reply('{"error": {"message": "no"}}', 401), ModelFault, "KEY"),
    ("a model that is not there", reply('{"error": "model not found"}', 404), ModelFault, "model's name"),
    ("a redirect", reply("", 307, Location="http://127.0.0.1:1/"), ModelProtocol, "redirects"),
    ("not HTTP", [b"SSH-2.0-OpenSSH_9.2\r\n"], ModelProtocol, "HTTP"),
    ("rubbish bytes", reply(bytes(range(128, 256)) * 10), ModelProtocol, ""),
    ("compressed in a way that nobody knows", reply(b"\x1b\x2d\x00\x00", Content_Encoding="br"), ModelProtocol, "'br'"),
    ("compressed, it says", reply(b"\x1f\x8b\x08\x00" + bytes(50), Content_Encoding="gzip"), ModelProtocol, ""),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(("note", "script", "fault", "words"), FAULTS, ids=[case[0] for case in FAULTS])
def test_fault(note: str, script: Script, fault: Fault, words: str, stream: bool, kind: str) -> None:
    async def body() -> None:
        async with playing(script) as server:
            model = opened(kind, server)
            with pytest.raises(ModelFault) as caught:
                await ask(model, ModelRequest(ASK, (READ,), stream=stream))
            assert type(caught.value) is fault
            assert words in str(caught.value)
            assert len(str(caught.value)) < 500
            assert not caught.value.retryable
            assert caught.value.__cause__ is None
            assert len(server.requests) == 1, "what will not get better is not asked again"
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_tried_again_until_it_works(status: int, kind: str) -> None:
    async def body() -> None:
        async with playing(reply("{}", status), reply(PAGE, status), OK[kind]) as server:
            model = opened(kind, server)
            assert (await ask(model, ModelRequest(ASK))).text == "fine"
            assert len(server.requests) == 3
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
def test_tried_again_only_so_often(kind: str) -> None:
    async def body() -> None:
        async with playing(reply('{"error": {"message": "overloaded"}}', 503)) as server:
            for retries, requests in ((None, 3), (0, 1), (1, 2)):
                server.requests.clear()
                model = opened(kind, server, retries=retries)
                with pytest.raises(ModelUnavailable, match="503: overloaded") as caught:
                    await ask(model, ModelRequest(ASK))
                assert caught.value.retryable
                assert len(server.requests) == requests
                await model.aclose()

    run(body)


def test_broken_before_the_answer_is_tried_again() -> None:
    async def body() -> None:
        async with playing([RESET], [], OK["openai"]) as server:
            model = opened("openai", server)
            assert (await ask(model, ModelRequest(ASK))).text == "fine"
            await model.aclose()

    run(body)


def _in_an_hour() -> str:
    return email.utils.formatdate(time.time() + 3600, usegmt=True)


@pytest.mark.parametrize("wait", ["3600", _in_an_hour()], ids=["seconds", "date"])
def test_retry_after_beyond_the_deadline(wait: str) -> None:
    async def body() -> None:
        async with playing(reply("{}", 429, Retry_After=wait)) as server:
            model = opened("openai", server)
            with pytest.raises(ModelUnavailable, match="429"):
                await ask(model, ModelRequest(ASK, timeout_s=30))
            assert len(server.requests) == 1, "waiting would be in vain"
            await model.aclose()

    run(body)


@pytest.mark.parametrize("wait", ["0", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_retry_after_that_is_over_or_unreadable(wait: str) -> None:
    async def body() -> None:
        async with playing(reply("{}", 429, Retry_After=wait), OK["openai"]) as server:
            model = opened("openai", server)
            assert (await ask(model, ModelRequest(ASK))).text == "fine"
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_listens(kind: str) -> None:
    with socket.socket() as held:  # bound and not listening: nobody else can get the port
        held.bind(("127.0.0.1", 0))
        server = Player([[]])
        server.url = f"http://127.0.0.1:{held.getsockname()[1]}"

        async def body() -> None:
            model = opened(kind, server)
            with pytest.raises(ModelUnavailable, match="Start the model server") as caught:
                await ask(model, ModelRequest(ASK))
            assert caught.value.retryable
            await model.aclose()

        run(body)


def test_name_that_resolves_to_nothing() -> None:
    async def body() -> None:
        model = open_model("openai:m@http://no-such-host.invalid/v1", retries=0)
        with pytest.raises(ModelUnavailable, match=r"no-such-host\.invalid"):
            await ask(model, ModelRequest(ASK))
        await model.aclose()

    run(body)


def test_tls_with_a_server_that_has_none() -> None:
    async def body() -> None:
        async with playing([b"HTTP/1.1 400 X\r\n\r\n"]) as server:
            model = open_model(f"openai:m@{server.url.replace('http:', 'https:')}/v1", retries=0)
            with pytest.raises(ModelFault):
                await ask(model, ModelRequest(ASK, timeout_s=5))
            await model.aclose()

    run(body)


FIRST = {
    "openai": sse(delta(content="one"), done=False),
    "ollama": b'{"message":{"content":"one"},"done":false}\n',
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("note", "steps", "idle", "whole", "words"),
    [
        ("accepts and says nothing", [HANG], None, 0.2, "no answer within"),
        ("head and nothing more", [head(), HANG], 0.1, 0.3, "did not finish"),
        ("falls silent", [head(), b"FIRST", HANG], 0.1, 60, "fell silent"),
        ("never ends", [head(), b"FIRST", HANG], 30, 0.3, "did not finish"),
    ],
)
def test_slow(kind: str, note: str, steps: list[Any], idle: float | None, whole: float, words: str) -> None:
    async def body() -> None:
        script = [FIRST[kind] if step == b"FIRST" else step for step in steps]
        async with playing(script) as server:
            model = opened(kind, server, idle_timeout_s=idle)
            with pytest.raises(ModelTimeout, match=words) as caught:
                await ask(model, ModelRequest(ASK, timeout_s=whole))
            assert caught.value.retryable
            await _all_closed(server)
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [RESET, ""], ids=["reset", "closed"])
def test_closed_within_the_stream(kind: str, end: str) -> None:
    async def body() -> None:
        steps = [PAUSE, end] if end else []  # without the pause a reset overtakes what was sent before it
        async with playing([head(Content_Length="9999"), FIRST[kind], *steps]) as server:
            model = opened(kind, server)
            seen = await ask(model, ModelRequest(ASK))
            assert (seen.text, seen.done.finish_reason) == ("one", "disconnected")
            assert len(server.requests) == 1, "never again once an answer has begun"
            await model.aclose()

    run(body)


def test_error_within_the_stream() -> None:
    async def body() -> None:
        stream = FIRST["openai"] + sse({"error": {"message": f"out of memory {KEY}", "code": 500}})
        async with playing([head(), stream]) as server:
            model = opened("openai", server)
            with pytest.raises(ModelFault, match="out of memory") as caught:
                await ask(model, ModelRequest(ASK))
            assert KEY not in str(caught.value)
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
def test_line_without_end(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gerbang.adapters.models.lines.MAX_LINE_BYTES", 10_000)

    async def body() -> None:
        start = b"data: " if kind == "openai" else b'{"x": "'
        async with playing([head(), start, *[b"x" * 5_000] * 20, HANG]) as server:
            model = opened(kind, server)
            with pytest.raises(ModelProtocol):
                await ask(model, ModelRequest(ASK))
            await _all_closed(server)
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
def test_body_without_end(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gerbang.adapters.models.reading.MAX_BODY_BYTES", 10_000)

    async def body() -> None:
        async with playing([head(content_type=JSON), b'{"a": "', *[b"x" * 5_000] * 20, HANG]) as server:
            model = opened(kind, server)
            with pytest.raises(ModelProtocol, match="more than 10,000 bytes"):
                await ask(model, ModelRequest(ASK, stream=False))
            await _all_closed(server)
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("when", ["before the answer", "within the answer", "while waiting to try again"])
def test_cancel_closes_the_connection(kind: str, when: str) -> None:
    scripts: dict[str, Script] = {
        "before the answer": [HANG],
        "within the answer": [head(), FIRST[kind], HANG],
        "while waiting to try again": reply("{}", 503, Retry_After="30"),
    }

    async def body() -> None:
        async with playing(scripts[when]) as server:
            model = opened(kind, server)
            task = asyncio.create_task(ask(model, ModelRequest(ASK)))
            while not server.requests:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await _all_closed(server)
            await model.aclose()

    run(body)


@pytest.mark.parametrize("kind", KINDS)
def test_closing_the_iterator_closes_the_connection(kind: str) -> None:
    async def body() -> None:
        async with playing([head(), FIRST[kind], HANG]) as server:
            model = opened(kind, server)
            async with aclosing(cast(Any, model.answer(ModelRequest(ASK)))) as events:
                async for _event in events:
                    break
            await _all_closed(server)
            await model.aclose()
            await model.aclose()

    run(body)


def test_key_goes_in_the_header_and_nowhere_else() -> None:
    async def body() -> None:
        async with playing(reply("", 307, Location="/elsewhere"), OK["openai"]) as server:
            model = opened("openai", server)
            with pytest.raises(ModelProtocol) as caught:
                await ask(model, ModelRequest(ASK))
            assert KEY not in str(caught.value) + model.name + repr(vars(caught.value))
            [(text, sent)] = server.requests
            assert f"Authorization: Bearer {KEY}" in text
            assert KEY not in json.dumps(sent)
            assert text.startswith("POST /v1/chat/completions ")
            await model.aclose()

    run(body)


@pytest.mark.parametrize(
    ("url", "secrets", "named", "want"),
    [
        ("http://127.0.0.1:1/v1", Vault(OPENAI_API_KEY=KEY), None, KEY),
        ("http://localhost:1/v1", Vault(OPENAI_API_KEY=KEY), None, KEY),
        ("http://[::1]:1/v1", Vault(OPENAI_API_KEY=KEY), None, KEY),
        ("https://models.example/v1", Vault(OPENAI_API_KEY=KEY), None, KEY),
        ("http://models.example/v1", Vault(OPENAI_API_KEY=KEY), None, None),  # not in the clear, unasked
        ("http://models.example/v1", Vault(MINE=KEY), "MINE", KEY),
        ("http://127.0.0.1:1/v1", Vault(), None, None),
        ("http://127.0.0.1:1/v1", None, None, None),
    ],
)
def test_which_key_is_used(url: str, secrets: Vault | None, named: str | None, want: str | None) -> None:
    model = open_model(f"openai:m@{url}", secrets=secrets, api_key_secret=named)
    wire = cast(Wire, vars(model)["_wire"])
    assert wire.key == want


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "schlüssel"])
def test_key_that_cannot_be_sent(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model("openai:m@http://127.0.0.1:1/v1", secrets=Vault(K=value), api_key_secret="K")
    assert "'K'" in str(caught.value)
    assert value not in str(caught.value)


def test_secret_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="There is no secret 'K'"):
        open_model("openai:m@http://127.0.0.1:1/v1", secrets=Vault(), api_key_secret="K")


def test_reason_is_one_short_safe_line() -> None:
    said = "bad\r\nthing \x1b[31mred\u202e " + KEY + " x" * 1_000

    async def body() -> None:
        async with playing(reply(json.dumps({"error": {"message": said}}), 400)) as server:
            model = opened("openai", server)
            with pytest.raises(ModelFault) as caught:
                await ask(model, ModelRequest(ASK))
            text = str(caught.value)
            assert text.isprintable()
            assert "bad thing" in text
            assert KEY not in text
            assert len(text) < 400
            await model.aclose()

    run(body)


def test_one_model_in_two_event_loops() -> None:
    """`run_sync` makes a loop each time; the client of a loop that is over is not used again."""
    holder: list[Model] = []

    async def body() -> None:
        async with playing(OK["openai"]) as server:
            if not holder:
                holder.append(opened("openai", server))
            vars(vars(holder[0])["_wire"])["address"] = parse(server.url)
            assert (await ask(holder[0], ModelRequest(ASK))).text == "fine"

    run(body)
    run(body)
    asyncio.run(holder[0].aclose())


def parse(url: str) -> Any:
    from gerbang.adapters.models.address import parse_address

    return parse_address(f"m@{url}/v1", "openai", "")


def test_many_at_once() -> None:
    async def body() -> None:
        async with playing(OK["openai"]) as server:
            model = opened("openai", server)
            seen = await asyncio.gather(*(ask(model, ModelRequest(ASK)) for _ in range(150)))
            assert {answer.text for answer in seen} == {"fine"}
            await model.aclose()

    run(body)


PACKED: list[tuple[str, Any]] = [
    ("gzip", gzip.compress),
    ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("identity", bytes),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("encoding", "pack"), PACKED, ids=[case[0] for case in PACKED])
def test_compressed_though_not_asked(kind: str, encoding: str, pack: Any) -> None:
    """Some proxies do; the answer is read all the same, whatever the cut."""
    _, body_ = OK[kind]
    assert isinstance(body_, bytes)
    packed = pack(body_)
    kinds = {"openai": SSE, "ollama": NDJSON}

    async def body() -> None:
        start = head(content_type=kinds[kind], Content_Encoding=encoding)
        async with playing([start, packed], [start, *[bytes([one]) for one in packed]]) as server:
            model = opened(kind, server)
            for _cut in range(2):
                assert (await ask(model, ModelRequest(ASK))).text == "fine"
            await model.aclose()

    run(body)


def test_a_small_answer_does_not_become_a_large_one() -> None:
    bomb = gzip.compress(b'{"choices": [{"message": {"content": "' + b"x" * 80_000_000 + b'"}}]}', 9)
    assert len(bomb) < 100_000

    async def body() -> None:
        async with playing([head(content_type=JSON, Content_Encoding="gzip"), bomb]) as server:
            model = opened("openai", server)
            with pytest.raises(ModelProtocol, match="more than"):
                await ask(model, ModelRequest(ASK, stream=False))
            await model.aclose()

    run(body)
