"""Turns over `/ws`: the messages, their order, cancelling, coming back, several at once, slow clients."""

import asyncio
import json
import socket as socketlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.server.model import HOLD
from tests.server.running import Server, client, scripted, started

Socket = aiohttp.ClientWebSocketResponse
PARIS = "What is the weather in Paris?"
SCRIPT: dict[str, Any] = {
    PARIS: [["Let me look. ", ("weather.get_current.v1", {"city": "Paris"})], "It is 21 degrees in Paris."],
    "hello": ["Hello there."],
    "again": ["You said hello."],
    "wait": [["One ", HOLD, "two."]],
    "hermes": [
        'Before. <tool_call>\n{"name": "weather.get_current.v1", "arguments": {"city": "Rome"}}\n'
        "</tool_call>",
        "It is warm in Rome.",
    ],
    "function": [
        "<tool_call>\n<function=weather.get_current.v1>\n<parameter=city>\nRome\n</parameter>\n"
        "</function>\n</tool_call>",
        "Warm <b>there</b>, 3 < 4.",
    ],
    "mail": [[("mail.send.v1", {"to": "ana@example.org", "text": "hi"})], "It waits."],
    "broken": [[("no.such.tool", {})], "There is no such tool."],
    "long": ["word " * 40_000],
}


@asynccontextmanager
async def socket(server: Server, query: str = "", **options: Any) -> AsyncIterator[Socket]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{server.url}/ws{query}", max_msg_size=0, **options) as opened,
    ):
        yield opened


async def until_end(ws: Socket, ends: int = 1) -> list[dict[str, Any]]:
    """Return the messages up to the last awaited `assistant_end`."""
    got: list[dict[str, Any]] = []
    while sum(message["type"] == "assistant_end" for message in got) < ends:
        got.append(await ws.receive_json(timeout=20))
    return got


def text_of(messages: list[dict[str, Any]]) -> str:
    return "".join(message["text"] for message in messages if message["type"] == "assistant_delta")


async def say(ws: Socket, text: str, **more: Any) -> None:
    await ws.send_json({"type": "user_text", "text": text, **more})


def test_a_turn_calls_a_tool_and_answers() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), socket(server) as ws:
            await say(ws, PARIS)
            got = await until_end(ws)
            kinds = [message["type"] for message in got]
            call = next(message for message in got if message["type"] == "tool_call")
            assert (call["name"], call["arguments"]) == ("weather.get_current.v1", {"city": "Paris"})
            assert set(kinds) == {"tool_call", "assistant_delta", "assistant_end"}
            assert kinds.index("tool_call") < kinds.index("assistant_end") == len(kinds) - 1
            assert text_of(got) == "Let me look. It is 21 degrees in Paris."
            assert got[-1]["text"] == "It is 21 degrees in Paris."
            assert got[-1]["status"] == "completed"
            assert [message["seq"] for message in got] == sorted({message["seq"] for message in got})
            assert model.requests[0]["tool_choice"] == "auto"
            assert {tool["type"] for tool in model.requests[0]["tools"]} == {"function"}
            for name in ("hermes", "function"):  # markup in the text never shows
                await say(ws, name)
                got = await until_end(ws)
                assert [message["arguments"] for message in got if message["type"] == "tool_call"] == [
                    {"city": "Rome"}
                ]
                for message in got:
                    assert "tool_call" not in message.get("text", "")
                    assert "function=" not in message.get("text", "")
            assert text_of(got) == "Warm <b>there</b>, 3 < 4."
            await say(ws, "broken")
            got = await until_end(ws)
            assert text_of(got) == "There is no such tool."

    asyncio.run(main())


def test_turns_of_a_conversation_go_in_order_and_remember() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), socket(server) as ws:
            await say(ws, "hello")
            await say(ws, "again")
            got = await until_end(ws, 2)
            assert text_of(got) == "Hello there.You said hello."
            first, second = [message["run_id"] for message in got if message["type"] == "assistant_end"]
            assert first != second
            told = [(item["role"], item["content"]) for item in model.requests[-1]["messages"]]
            assert told[-3:] == [("user", "hello"), ("assistant", "Hello there."), ("user", "again")]

    asyncio.run(main())


def test_conversations_and_clients_run_at_the_same_time() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), socket(server) as ws, socket(server) as other:
            await say(ws, "wait", conversation="slow")
            await asyncio.wait_for(model.holding.wait(), 20)
            await say(ws, "hello", conversation="quick")
            await say(other, "hello")
            assert text_of(await until_end(other)) == "Hello there."
            got = await until_end(ws)
            assert got[-1]["conversation"] == "quick"
            assert {message["conversation"] for message in got} == {"slow", "quick"}
            model.released.set()
            got = await until_end(ws)
            assert (got[-1]["conversation"], got[-1]["text"]) == ("slow", "One two.")

    asyncio.run(main())


def test_cancel_ends_a_turn_and_the_record_says_so() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), socket(server) as ws, client(server) as http:
            await say(ws, "wait")
            await asyncio.wait_for(model.holding.wait(), 20)
            first = await ws.receive_json(timeout=20)
            await ws.send_json({"type": "cancel", "run_id": first["run_id"]})
            got = await until_end(ws)
            assert got[-1]["status"] == "cancelled"
            _, run = await http.get(f"/v1/runs/{first['run_id']}")
            assert (run["state"], run["live"]) == ("cancelled", False)
            await say(ws, "hello")
            assert text_of(await until_end(ws)) == "Hello there."

    asyncio.run(main())


def test_a_client_that_was_cut_off_comes_back_for_the_rest() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model):
            async with socket(server) as ws:
                await say(ws, "wait")
                await asyncio.wait_for(model.holding.wait(), 20)
                seen = await ws.receive_json(timeout=20)
            model.released.set()
            async with socket(server) as ws:
                await ws.send_json({"type": "resume", "run_id": seen["run_id"], "after": seen["seq"]})
                got = await until_end(ws)
                assert seen["text"] + text_of(got) == "One two."
                assert got[0]["seq"] == seen["seq"] + 1
                await ws.send_json({"type": "resume", "run_id": "run_of_nobody"})
                assert (await ws.receive_json(timeout=20))["code"] == "NOT_FOUND"

    asyncio.run(main())


def test_a_run_can_be_asked_for_after_a_restart(tmp_path: Any) -> None:
    async def main() -> None:
        store = ("--store", f"sqlite:{tmp_path / 'store.db'}")
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, _), socket(server) as ws:
            await say(ws, PARIS)
            run_id = (await until_end(ws))[-1]["run_id"]
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, _), socket(server) as ws:
            await ws.send_json({"type": "resume", "run_id": run_id, "after": 0})
            got = await until_end(ws)
            assert [message["type"] for message in got] == ["tool_call", "assistant_delta", "assistant_end"]
            assert got[-1]["text"] == "It is 21 degrees in Paris."

    asyncio.run(main())


def test_a_call_that_waits_for_a_person_is_told() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _), socket(server) as ws:
            await say(ws, "mail")
            got = await until_end(ws)
            needed = next(message for message in got if message["type"] == "approval_needed")
            assert "ana@example.org" in needed["preview"]
            assert got[-1]["status"] == "pending_approval"

    asyncio.run(main())


def test_more_is_told_when_it_is_asked_for() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _), socket(server, "?events=all") as ws:
            await say(ws, PARIS)
            result = next(item for item in await until_end(ws) if item["type"] == "tool_result")
            assert (result["name"], result["status"]) == ("weather.get_current.v1", "ok")
            async with socket(server, "?events=al&audio=mp3&theirs=1") as other:
                told = [await other.receive_json() for _ in range(2)]
                assert [one["code"] for one in told] == ["BAD_QUERY"] * 2
                assert ["'all'" in told[0]["message"], "'wav'" in told[1]["message"]] == [True, True]
                await say(other, "hello")
                assert text_of(await until_end(other)) == "Hello there."

    asyncio.run(main())


BAD: list[tuple[str, str]] = [
    ("no JSON", "BAD_MESSAGE"),
    ("[]", "BAD_MESSAGE"),
    ('{"type":"nothing"}', "BAD_MESSAGE"),
    ('{"type":"user_text"}', "BAD_MESSAGE"),
    ('{"type":"user_text","text":7}', "BAD_MESSAGE"),
    ('{"type":"user_text","text":"  "}', "EMPTY_TEXT"),
    ('{"type":"cancel","run_id":"x"}', "NOT_FOUND"),
]


def test_messages_that_cannot_be_used_are_answered_and_the_socket_stays_open() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _), socket(server) as ws:
            for text, code in BAD:
                await ws.send_str(text)
                answer = await ws.receive_json(timeout=20)
                assert (answer["type"], answer["code"]) == ("error", code), text
            await ws.send_bytes(b'{"type":"ping","id":7}')
            assert await ws.receive_json(timeout=20) == {"type": "pong", "id": 7}
            await say(ws, "hello")
            assert text_of(await until_end(ws)) == "Hello there."

    asyncio.run(main())


def test_too_many_turns_are_refused() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, model), socket(server) as ws:
            for _ in range(40):
                await say(ws, "wait")
            codes: list[str] = []
            while len(codes) < 8:
                message = await ws.receive_json(timeout=20)
                if message["type"] == "error":
                    codes.append(message["code"])
            assert codes == ["TOO_MANY_TURNS"] * 8
            await ws.send_json({"type": "cancel"})
            assert (await until_end(ws))[-1]["status"] == "cancelled"
            model.released.set()
            await say(ws, "hello")
            assert text_of(await until_end(ws)) == "Hello there."

    asyncio.run(main())


def test_a_turn_without_a_model_says_so(plain: Server) -> None:
    async def main() -> None:
        async with socket(plain) as ws:
            await say(ws, "hello")
            got = await until_end(ws)
            assert [message["type"] for message in got] == ["error", "assistant_end"]
            assert got[0]["code"] == "LLM_OFF"

    asyncio.run(main())


def test_a_model_that_fails_is_an_error_and_the_log_has_the_reason(tmp_path: Path) -> None:
    nobody = socketlib.socket()
    nobody.bind(("127.0.0.1", 0))  # and does not listen: nobody else can take the port meanwhile
    address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    store = ("--store", f"sqlite:{tmp_path / 'store.db'}")

    async def turn(server: Server) -> None:
        async with socket(server) as ws:
            await say(ws, "hello")
            got = await until_end(ws)
            run_id = got[-1]["run_id"]
            assert [message["type"] for message in got] == ["error", "assistant_delta", "assistant_end"]
            assert (got[0]["code"], got[-1]["status"]) == ("MODEL_FAILED", "model_error")
            assert address not in json.dumps(got)
            runs.append(run_id)

    async def later(server: Server) -> None:
        async with socket(server) as ws:
            await ws.send_json({"type": "resume", "run_id": runs[0]})
            got = await until_end(ws)
            assert [message["type"] for message in got] == ["error", "assistant_delta", "assistant_end"]
            assert got[0]["code"] == "MODEL_FAILED"

    runs: list[str] = []
    with started("--model", f"openai:x@{address}/v1", *store, folder=tmp_path) as server:
        asyncio.run(turn(server))
        (line,) = [json.loads(line) for line in server.log().splitlines() if "model failed" in line]
        assert (line["run_id"], address in line["error"]) == (runs[0], True)
    with started("--model", "none", *store, folder=tmp_path) as server:
        asyncio.run(later(server))
    nobody.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Host": "evil.example"}, 421)],
)
def test_pages_of_other_sites_get_no_socket(plain: Server, headers: dict[str, str], status: int) -> None:
    async def main() -> None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with socket(plain, headers=headers):
                pass
        assert caught.value.status == status

    asyncio.run(main())
    assert "handshake" not in plain.log()  # it is no fault of the server that somebody is refused


def test_what_is_no_websocket_is_told_so(plain: Server) -> None:
    async def main() -> None:
        async with client(plain) as http:
            status, problem = await http.get("/ws")
            assert (status, problem["error"]["error_code"]) == (426, "WEBSOCKET")

    asyncio.run(main())


def test_a_client_that_does_not_read_costs_no_memory() -> None:
    async def main() -> None:
        async with scripted(SCRIPT) as (server, _):
            before = memory(server)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
            head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\n"
            head += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            head += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            writer.write(f"{head}\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            reader._transport.pause_reading()  # type: ignore[attr-defined]  # the client stops reading
            writer.write(_frame(json.dumps({"type": "user_text", "text": "long"}).encode()))
            async with socket(server) as ws:  # another client is served meanwhile
                for number in range(3):
                    await say(ws, "long", conversation=str(number))
                    assert len(text_of(await until_end(ws))) == 200_000
            assert memory(server) - before < 60_000_000
            writer.transport.abort()

    asyncio.run(main())


def _frame(data: bytes) -> bytes:
    """Return a masked text frame (RFC 6455) with a mask of zeros."""
    assert len(data) < 126
    return bytes([0x81, 0x80 | len(data), 0, 0, 0, 0]) + data


def memory(server: Server) -> int:
    with open(f"/proc/{server.process.pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
