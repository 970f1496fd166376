"""Real servers with a real, very small model: they prove the wire, not the wit."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from gerbang.adapters.models import open_model
from gerbang.adapters.models.child import Child
from gerbang.errors import ConfigError, ModelFault, ModelTimeout, ModelUnavailable
from gerbang.values.message import Message, ToolCall
from gerbang.values.model import ModelRequest
from tests.models.answers import LIST, READ, ask, run

HELLO = [Message("user", "Say hello to Ana.")]
ROUND = [
    Message("system", "Answer briefly."),
    Message("user", "Read notes.txt"),
    Message("assistant", "", (ToolCall("c1", "files.read.v1", '{"path": "notes.txt"}'),)),
    Message("tool", "Ana owes 340.", tool_call_id="c1", name="files.read.v1"),
]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("messages", [HELLO, ROUND], ids=["hello", "after a call"])
def test_llama_cpp(llama: str, stream: bool, messages: list[Message]) -> None:
    async def body() -> None:
        model = open_model(f"openai:smollm2@{llama}")
        seen = await ask(
            model, ModelRequest(messages, (READ, LIST), stream=stream, max_tokens=12, temperature=0.0)
        )
        assert seen.text or seen.calls
        assert seen.done.finish_reason in ("stop", "length", "tool_calls")
        assert seen.done.usage.input_tokens > 10
        assert 0 < seen.done.usage.output_tokens <= 12
        assert (seen.pieces > 3) == stream
        await model.aclose()

    run(body)


def test_llama_cpp_same_text_streamed_and_whole(llama: str) -> None:
    async def body() -> None:
        model = open_model(f"openai:smollm2@{llama}")
        texts = [
            (await ask(model, ModelRequest(HELLO, stream=stream, max_tokens=12, temperature=0.0))).text
            for stream in (True, False)
        ]
        assert texts[0] == texts[1]
        await model.aclose()

    run(body)


def test_llama_cpp_refuses_in_words(llama: str) -> None:
    long = [Message("user", "word " * 9_000)]

    async def body() -> None:
        model = open_model(f"openai:smollm2@{llama}")
        with pytest.raises(ModelFault, match="context"):
            await ask(model, ModelRequest(long))
        await model.aclose()

    run(body)


def test_llama_cpp_wrong_path(llama: str) -> None:
    async def body() -> None:
        model = open_model(f"openai:smollm2@{llama}/nothing/here")
        with pytest.raises(ModelFault, match="Check the model's name and the path"):
            await ask(model, ModelRequest(HELLO))
        await model.aclose()

    run(body)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_ollama_front(ollama_front: str, stream: bool) -> None:
    async def body() -> None:
        model = open_model(f"ollama:llama/smollm2@{ollama_front}")
        seen = await ask(model, ModelRequest(HELLO, stream=stream, max_tokens=12))
        assert seen.text
        assert seen.done.finish_reason in ("stop", "length")
        assert seen.done.usage.output_tokens > 0
        await model.aclose()

    run(body)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
def test_ollama_front_with_tools_and_results(ollama_front: str, stream: bool) -> None:
    async def body() -> None:
        model = open_model(f"ollama:llama/smollm2@{ollama_front}")
        seen = await ask(model, ModelRequest([*HELLO], (READ, LIST), stream=stream, max_tokens=8))
        assert seen.done.finish_reason in ("stop", "length", "tool_calls")
        await model.aclose()

    run(body)


def test_ollama_front_names_no_such_model(ollama_front: str) -> None:
    async def body() -> None:
        model = open_model(f"ollama:nobody/nothing@{ollama_front}")
        with pytest.raises(ModelFault):
            await ask(model, ModelRequest(HELLO))
        await model.aclose()

    run(body)


def test_gguf(smollm2: Path) -> None:
    said: list[str] = []

    async def body() -> None:
        model = open_model(f"gguf:{smollm2}", on_progress=said.append)
        assert model.context_tokens == 8192
        assert said == [], "nothing starts before the first request"
        for stream in (True, False):
            seen = await ask(model, ModelRequest(HELLO, (READ,), stream=stream, max_tokens=8))
            assert seen.text or seen.calls
        assert [line.split()[0] for line in said] == ["Loading", smollm2.name], "it is loaded once"
        await model.aclose()
        await model.aclose()

    run(body)


def test_gguf_server_is_ours_alone(smollm2: Path) -> None:
    """Its key is random and is in no argument list; it ends with us and comes back after a crash."""

    async def body() -> None:
        model = open_model(f"gguf:{smollm2}", context=1024)
        await ask(model, ModelRequest(HELLO, max_tokens=4))
        child, client = cast(Child, vars(model)["_child"]), vars(model)["_client"]
        command = Path(f"/proc/{child.pid}/cmdline").read_bytes()
        environment = Path(f"/proc/{child.pid}/environ").read_bytes()
        key = vars(client)["_wire"].key
        assert len(key) > 30
        assert key.encode() not in command + environment
        assert b"HOME=" not in environment
        stranger = open_model(f"openai:m@{vars(client)['_wire'].address.url}")
        with pytest.raises(ModelFault, match="401"):
            await ask(stranger, ModelRequest(HELLO))
        await stranger.aclose()
        os.kill(child.pid, 9)
        child.kill()
        assert (await ask(model, ModelRequest(HELLO, max_tokens=4))).done.usage.output_tokens
        assert vars(model)["_child"].pid != child.pid
        await model.aclose()

    run(body)


def test_gguf_cancelled(smollm2: Path) -> None:
    async def body() -> None:
        model = open_model(f"gguf:{smollm2}")
        with pytest.raises(ModelTimeout, match="still loading"):
            await ask(model, ModelRequest(HELLO, timeout_s=0.01))
        async with aclosing(cast(Any, model.answer(ModelRequest(HELLO)))) as events:
            async for _event in events:
                break
        task = asyncio.create_task(ask(model, ModelRequest(HELLO)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.aclose()

    run(body)


def test_gguf_files_that_are_none(tmp_path: Path, smollm2: Path) -> None:
    with smollm2.open("rb") as file:
        start = file.read(2_000_000)
    (tmp_path / "text.gguf").write_text("hello")
    (tmp_path / "empty.gguf").write_bytes(b"")
    (tmp_path / "short.gguf").write_bytes(start[:30])
    (tmp_path / "old.gguf").write_bytes(b"GGUF\x01" + start[5:1_000])
    for name in ("text", "empty", "short", "old", "missing"):
        with pytest.raises(ConfigError, match=name):
            open_model(f"gguf:{tmp_path}/{name}.gguf")
    with pytest.raises(ConfigError):
        open_model(f"gguf:{tmp_path}")
    (tmp_path / "half.gguf").write_bytes(start)

    async def body() -> None:
        model = open_model(f"gguf:{tmp_path}/half.gguf")
        with pytest.raises(ModelUnavailable, match="did not start"):
            await ask(model, ModelRequest(HELLO))
        await model.aclose()

    run(body)
