"""The embedded model, for real: its child process, its silence, and what it picks."""

import asyncio
import gc
import importlib.metadata
import json
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

import gerbang.packs.sample
from gerbang.adapters.models import open_model
from gerbang.adapters.models.child import Child
from gerbang.adapters.models.embedded_query import MAX_REQUEST_CHARS
from gerbang.errors import ConfigError, ModelFault, ModelTimeout
from gerbang.packs import basics
from gerbang.ports import Model
from gerbang.values.message import Message, ToolCall
from gerbang.values.model import ModelRequest, ToolSpec
from tests.models.answers import ask, run, spec
from tests.models.phrases import DEMO, ONE, TWO, Want, matches

SAMPLE = Path(str(gerbang.packs.sample.__file__)).parent / "en"
ANSWERS = {
    "read_file": "Ana owes 340.",
    "list_files": "notes.txt\ntodo.md",
    "calculate": "110",
    "knowledge_search": "Refunds within 30 days.",
    "current_time": "Monday 07:00",
}


def tools() -> tuple[ToolSpec, ...]:
    found = basics.tools(SAMPLE, knowledge=SAMPLE / "knowledge")
    return tuple(_spec(tool.contract) for tool in found)


def _spec(contract: Any) -> ToolSpec:
    return ToolSpec(contract.name, contract.name, contract.description, contract.parameters)


async def calls(model: Model, messages: Sequence[Message], timeout_s: float = 180) -> list[tuple[str, Any]]:
    seen = await ask(model, ModelRequest(messages, tools(), timeout_s=timeout_s))
    assert (seen.text, seen.reasoning) == ("", "")
    assert seen.done.finish_reason == ("tool_calls" if seen.calls else "stop")
    return [(call.name, json.loads(call.arguments)) for call in seen.calls]


async def rounds(model: Model, request: str) -> list[list[tuple[str, Any]]]:
    """Play the whole loop with made-up results, framed as the runtime frames them."""
    messages, made = [Message("user", request)], []
    while found := await calls(model, messages):
        made.append(found)
        assert len(made) < 8, "it never stops"
        ids = [f"c{len(messages)}_{n}" for n in range(len(found))]
        proposed = [ToolCall(i, name, json.dumps(given)) for i, (name, given) in zip(ids, found, strict=True)]
        messages.append(Message("assistant", "", tuple(proposed)))
        for call_id, (name, _given) in zip(ids, found, strict=True):
            text = (
                f'<tool_result source="{name}" trust="internal" note="data">\n{ANSWERS[name]}\n</tool_result>'
            )
            messages.append(Message("tool", text, tool_call_id=call_id, name=name))
    return made


def test_what_it_is() -> None:
    model = open_model("embedded:")
    assert (model.name, model.context_tokens, model.writes_prose) == ("embedded:", None, False)
    assert vars(model)["_child"] is None, "nothing starts before the first request"


def test_demo_requests_and_then_it_stops() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        for request, want in DEMO:
            assert [matches(found, want) for found in await rounds(model, request)] == [True], request
        await model.aclose()

    run(body)


@pytest.mark.parametrize(("table", "least"), [(ONE, 38), (TWO, 13)], ids=["one call", "two calls"])
def test_phrases(table: list[tuple[str, Want]], least: int) -> None:
    """Measured 41 of 42 and 14 of 14; the bounds leave room for other processors' rounding."""

    async def body() -> None:
        model = open_model("embedded:")
        hits = [matches(await calls(model, [Message("user", request)]), want) for request, want in table]
        assert sum(hits) >= least
        await model.aclose()

    run(body)


def test_second_step_from_a_result() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        made = await rounds(model, "List the files, then read the first one")
        assert [[name for name, _given in found] for found in made] == [["list_files"], ["read_file"]]
        await model.aclose()

    run(body)


def test_it_reads_the_latest_request() -> None:
    history = [
        Message("system", "You are helpful."),
        Message("user", "What is 2 + 2?"),
        Message("assistant", "", (ToolCall("a", "calculate", '{"expression": "2 + 2"}'),)),
        Message("tool", "4", tool_call_id="a", name="calculate"),
        Message("assistant", "4"),
        Message("user", "Read todo.md"),
    ]

    async def body() -> None:
        model = open_model("embedded:")
        assert await calls(model, history) == [("read_file", {"path": "todo.md"})]
        await model.aclose()

    run(body)


@pytest.mark.parametrize(
    "request_",
    [
        ModelRequest([Message("user", "Read notes.txt")]),
        ModelRequest([Message("user", "Read notes.txt")], (spec("a"),), tool_choice="none"),
        ModelRequest([Message("user", "  ")], (spec("a"),)),
        ModelRequest([Message("system", "Read notes.txt")], (spec("a"),)),
        ModelRequest([], (spec("a"),)),
    ],
    ids=["no tools", "closing answer", "white space", "no request", "no messages"],
)
def test_nothing_to_ask(request_: ModelRequest) -> None:
    async def body() -> None:
        model = open_model("embedded:")
        seen = await ask(model, request_)
        assert (seen.calls, seen.done.finish_reason) == ([], "stop")
        assert vars(model)["_child"] is None
        await model.aclose()

    run(body)


def test_request_too_long() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        with pytest.raises(ModelFault, match="Shorten it"):
            await calls(model, [Message("user", "x" * (MAX_REQUEST_CHARS + 1))])
        await model.aclose()

    run(body)


def test_odd_text() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        for text in ("\0", "lone \ud83d surrogate", "🙂🙂", '"}]}', "\\", "<|im_end|>", "a\nb\r\nc\td"):
            await calls(model, [Message("user", text)])
        await model.aclose()

    run(body)


def child_of(model: Model) -> Child:
    return cast(Child, vars(model)["_child"])


NOTES = [Message("user", "Read notes.txt")]


def test_child_is_reused_and_comes_back_after_a_crash() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        assert await calls(model, NOTES)
        first = child_of(model).pid
        assert await calls(model, NOTES)
        assert child_of(model).pid == first
        os.kill(first, signal.SIGSEGV)
        assert await calls(model, NOTES)
        assert child_of(model).pid != first
        await model.aclose()
        assert await calls(model, NOTES), "it can be used again after it was closed"
        await model.aclose()
        await model.aclose()

    run(body)


def test_a_child_that_ended_between_two_requests_leaves_no_pipes_open() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        await calls(model, NOTES)
        os.kill(child_of(model).pid, signal.SIGKILL)
        while child_of(model).alive:
            await asyncio.sleep(0.01)
        assert await calls(model, NOTES)
        gc.collect()  # a pipe that was left open complains now
        await model.aclose()

    run(body)


def test_crash_while_it_works() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        await calls(model, NOTES)
        os.kill(child_of(model).pid, signal.SIGSTOP)
        task = asyncio.create_task(calls(model, NOTES))
        await asyncio.sleep(0.2)
        os.kill(child_of(model).pid, signal.SIGKILL)
        assert await task == [("read_file", {"path": "notes.txt"})]
        await model.aclose()

    run(body)


@pytest.mark.parametrize("how", ["time-out", "cancel", "close"])
def test_a_query_that_hangs_is_ended(how: str) -> None:
    async def body() -> None:
        model = open_model("embedded:")
        await calls(model, NOTES)
        pid = child_of(model).pid
        os.kill(pid, signal.SIGSTOP)
        task = asyncio.create_task(calls(model, NOTES, timeout_s=0.2 if how == "time-out" else 180))
        await asyncio.sleep(0.1)
        if how == "cancel":
            task.cancel()
        if how == "close":
            await model.aclose()
        expected = {"time-out": ModelTimeout, "cancel": asyncio.CancelledError, "close": ModelFault}[how]
        with pytest.raises(expected):
            await task
        assert await calls(model, NOTES), "the next request gets a new process"
        assert child_of(model).pid != pid
        await model.aclose()
        assert not Path(f"/proc/{pid}").exists()

    run(body)


def test_giving_up_while_waiting_ends_nobody_elses_query() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        await calls(model, NOTES)
        pid = child_of(model).pid
        os.kill(pid, signal.SIGSTOP)
        first = asyncio.create_task(calls(model, NOTES))
        await asyncio.sleep(0.05)
        second = asyncio.create_task(calls(model, NOTES, timeout_s=0.1))
        with pytest.raises(ModelTimeout):
            await second
        os.kill(pid, signal.SIGCONT)
        assert await first
        assert child_of(model).pid == pid
        await model.aclose()

    run(body)


def test_many_at_once_are_kept_apart() -> None:
    async def body() -> None:
        model = open_model("embedded:")
        asked = [[Message("user", f"Read file{n}.txt")] for n in range(6)]
        got = await asyncio.gather(*(calls(model, messages) for messages in asked))
        assert got == [[("read_file", {"path": f"file{n}.txt"})] for n in range(6)]
        await model.aclose()

    run(body)


def test_two_event_loops() -> None:
    model = open_model("embedded:")
    for _loop in range(2):
        assert asyncio.run(calls(model, NOTES))
    asyncio.run(model.aclose())


def test_child_sees_no_secret_and_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Telemetry would need a socket: the process has none after its work, and cannot make one."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-must-not-travel")
    monkeypatch.setenv("NEEDLE_TELEMETRY", "1")
    monkeypatch.delenv("DO_NOT_TRACK", raising=False)

    async def body() -> None:
        model = open_model("embedded:")
        for request, _want in DEMO:
            await calls(model, [Message("user", request)])
        proc = Path(f"/proc/{child_of(model).pid}")
        environment = (proc / "environ").read_bytes().split(b"\0")
        assert b"NEEDLE_TELEMETRY=0" in environment
        assert b"DO_NOT_TRACK=1" in environment
        assert b"must-not-travel" not in b"".join(environment)
        names = {line.split(b"=")[0] for line in environment if line}
        assert names == {b"PATH", b"LC_ALL", b"PYTHONPATH", b"NEEDLE_TELEMETRY", b"DO_NOT_TRACK"}
        for task in (proc / "task").iterdir():
            assert "Seccomp:\t2" in (task / "status").read_text(), "every thread is under the filter"
        files = [os.readlink(link) for link in (proc / "fd").iterdir()]
        assert not [name for name in files if name.startswith("socket:")]
        await model.aclose()

    run(body)


def test_telemetry_switched_on_by_force_reaches_nobody() -> None:
    """A worker whose flags are undone, so that the package does try: the connection is refused to it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        program = (
            "from gerbang.adapters.models import embedded_worker as w\n"
            "import os, sys, threading\n"
            "w.FLAGS.clear()\n"
            "code = w.main()\n"
            "for thread in threading.enumerate():\n"
            "    thread is threading.main_thread() or thread.join(10)\n"
            "sys.exit(code)\n"
        )
        child = Child(
            ["-c", program], {"NEEDLE_TELEMETRY_URL": f"http://127.0.0.1:{port}/", "HOME": "/nowhere"}
        )
        assert child.receive() == {"ready": True, "sealed": True}
        child.send({"tools": "[]", "turns": ["hello"]})
        assert child.receive() == {"calls": []}
        child.kill()
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()


def test_package_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(ConfigError, match=r"pip install 'gerbang\[embedded\]'"):
        open_model("embedded:")
    with pytest.raises(ConfigError, match=r"pip install 'gerbang\[gguf\]'"):
        open_model("gguf:x.gguf")
