"""Sound over the WebSocket, made by real espeak-ng: frames for whoever asks, and silence on cancel."""

import array
import asyncio
import io
import json
import wave
from typing import Any

import aiohttp

from tests.server.model import HOLD
from tests.server.running import client, scripted

CALL = (
    "<tool_call>\n<function=weather.get_current.v1>\n<parameter=city>\nParis. Rome.\n"
    "</parameter>\n</function>\n</tool_call>"
)
SCRIPT: dict[str, Any] = {
    "weather?": [f"Let me look. {CALL}", "It is **21 degrees**. Take a hat!"],
    "hold": [["First one. Second one. Third", HOLD, " one. Fourth one."]],
    "quiet": ["Nothing to hear."],
}


async def turn(socket: aiohttp.ClientWebSocketResponse, until: str) -> list[Any]:
    """Return the messages up to one of a type; a frame stands as its bytes."""
    found: list[Any] = []
    async with asyncio.timeout(30):
        while True:
            message = await socket.receive()
            if message.type is aiohttp.WSMsgType.BINARY:
                found.append(message.data)
                continue
            assert message.type is aiohttp.WSMsgType.TEXT, message
            found.append(json.loads(message.data))
            if found[-1]["type"] == until:
                return found


def frames(messages: list[Any]) -> list[tuple[str, bytes]]:
    """Return sentences with their frames; each frame has to stand right behind its message."""
    places = [place for place, item in enumerate(messages) if isinstance(item, bytes)]
    return [(messages[place - 1]["sentence"], messages[place]) for place in places]


def test_sound_comes_when_it_is_asked_for() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, "--speech", "espeak:") as (server, model),
            client(server) as http,
            http.session.ws_connect(f"{server.url}/ws?audio=wav") as socket,
            http.session.ws_connect(f"{server.url}/ws") as plain,
        ):
            await socket.send_json({"type": "user_text", "text": "weather?"})
            messages = await turn(socket, "audio_end")
            said = frames(messages)
            assert [sentence for sentence, _ in said] == ["Let me look.", "It is 21 degrees.", "Take a hat!"]
            for _, sound in said:
                with wave.open(io.BytesIO(sound)) as file:
                    assert file.getframerate() == 22_050
                    samples = array.array("h", file.readframes(file.getnframes()))
                    assert len(samples) > 8_000
                    assert max(samples) > 3_000
            about = [item for item in messages if isinstance(item, dict) and item["type"] == "audio"]
            assert [item["number"] for item in about] == [1, 2, 3]
            assert [item["bytes"] for item in about] == [len(sound) for _, sound in said]
            kinds = [item["type"] for item in messages if isinstance(item, dict)]
            assert kinds.index("tool_call") < kinds.index("assistant_end")
            assert messages[-1]["sentences"] == 3
            # another client of the same server hears nothing, and is told all the same
            await plain.send_json({"type": "user_text", "text": "quiet"})
            assert frames(await turn(plain, "assistant_end")) == []
            await plain.send_json({"type": "user_text", "text": "quiet", "audio": "wav"})
            assert [sentence for sentence, _ in frames(await turn(plain, "audio_end"))] == [
                "Nothing to hear."
            ]
            # cancelling falls silent: what was not complete is not said
            await socket.send_json({"type": "user_text", "text": "hold"})
            await model.holding.wait()
            begun = await turn(socket, "audio")
            await socket.send_json({"type": "cancel"})
            messages = begun + await turn(socket, "audio_end")
            assert [item for item, _ in frames(messages)] in (["First one."], ["First one.", "Second one."])
            await socket.send_json({"type": "user_text", "text": "x", "audio": "mp3"})
            assert (await turn(socket, "error"))[-1]["code"] == "BAD_MESSAGE"

    asyncio.run(main())


def test_a_server_without_a_voice_says_so_and_answers() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT) as (server, _),
            client(server) as http,
            http.session.ws_connect(f"{server.url}/ws?audio=wav") as socket,
        ):
            await socket.send_json({"type": "user_text", "text": "quiet"})
            messages = await turn(socket, "assistant_end")
            assert [item["code"] for item in messages if item["type"] == "error"] == ["NO_SPEECH"]
            assert messages[-1]["text"] == "Nothing to hear."

    asyncio.run(main())
