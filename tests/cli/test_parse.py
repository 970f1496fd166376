"""`gerbang parse` as a user runs it: a process with a pipe."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = (
    "import sys, typer\n"
    "from gerbang.cli.exits import report\n"
    "from gerbang.cli.parse import register\n"
    "app = typer.Typer()\n"
    "app.callback()(lambda: None)\n"
    "register(app)\n"
    "try:\n"
    "    code = app(sys.argv[1:], standalone_mode=False)\n"
    "    sys.stdout.flush()\n"
    "except SystemExit as error:\n"
    "    raise\n"
    "except Exception as error:\n"
    "    code = report(error)\n"
    "sys.exit(code or 0)\n"
)
COMMAND = [sys.executable, "-c", PROGRAM, "parse"]
CALL = '<tool_call>{"name": "ping", "arguments": {"n": 9007199254740993}}</tool_call>'


def run(*arguments: str, stdin: bytes | str) -> "subprocess.CompletedProcess[bytes]":
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return subprocess.run([*COMMAND, *arguments], input=data, capture_output=True, timeout=60, check=False)


def lines(done: "subprocess.CompletedProcess[bytes]") -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_events_as_json_lines() -> None:
    done = run("--dialect", "hermes", stdin=f"Hi {CALL}")
    rows = lines(done)
    assert done.returncode == 0
    assert done.stderr == b""
    assert "".join(row["text"] for row in rows if row["type"] == "content").strip() == "Hi"
    opened = next(row for row in rows if row["type"] == "call_opened")
    assert opened == {"type": "call_opened", "index": 0, "name": "ping"}
    closed = rows[-1]
    assert list(closed) == ["type", "index", "name", "arguments", "arguments_json", "repaired"]
    assert closed["arguments"] == {"n": 9007199254740993}
    fragments = "".join(row["fragment"] for row in rows if row["type"] == "arguments_delta")
    assert fragments == closed["arguments_json"]
    assert closed["repaired"] is False


def test_a_fault_ends_with_1() -> None:
    done = run(
        "--dialect", "hermes", "--truncated", stdin='Hm <tool_call>{"name": "f", "arguments": {"a": "rm'
    )
    assert done.returncode == 1
    fault = lines(done)[-1]
    assert list(fault) == ["type", "index", "code", "message", "raw"]
    assert fault["type"] == "parse_fault"
    assert fault["code"] == "CALL_TRUNCATED"


def test_tools_give_the_types(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    text = "<tool_call>\n<function=f>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>"
    for content in ([tool], {"tools": [tool]}, [{"type": "function", "function": tool}]):
        file.write_text(json.dumps(content))
        done = run("--dialect", "qwen3_coder", "--tools", str(file), stdin=text)
        assert lines(done)[-1]["arguments"] == {"n": 5}
    assert lines(run("--dialect", "qwen3_coder", stdin=text))[-1]["arguments"] == {"n": "5"}


def test_reasoning_open() -> None:
    done = run("--dialect", "hermes", "--reasoning-open", stdin="I think.</think>Hello")
    kinds = {row["type"]: row["text"].strip() for row in lines(done)}
    assert kinds == {"reasoning": "I think.", "content": "Hello"}


def test_auto_is_the_default() -> None:
    done = run(stdin=CALL)
    assert [row["name"] for row in lines(done) if row["type"] == "call_closed"] == ["ping"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["--dialect", "herms"], b"", b"hermes"),
        (["--tools", "/does/not/exist.json"], b"", b"No such file"),
        (["--explain", "--json"], b"", b"exclude each other"),
        (["--dialect", "hermes"], b"abc\xffdef", b"not UTF-8 (byte 4 is 0xff)"),
        (["--dialect", "hermes"], b"abc\xe2\x82", b"not UTF-8 (byte 4 is 0xe2)"),
        (["--dialect", "hermes", "--stream"], b"a" * 70_000 + b"\xc3(", b"not UTF-8 (byte 70001 is 0xc3)"),
        (["--dialect", "hermes"], b"a" * 4_000_001, b"longer than one answer"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], stdin: bytes, message: bytes) -> None:
    done = run(*arguments, stdin=stdin)
    assert done.returncode == 2
    assert message in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", b"is not JSON"),
        (b"\xff\xfe[", b"is not JSON"),
        (b"[" * 100_000, b"is not JSON"),
        (b"{}", b"no list of tools"),
        (b"[1]", b"no list of tools"),
        (b" " * 8_388_609, b"larger than"),
    ],
)
def test_bad_tools_files(tmp_path: Path, content: bytes, message: bytes) -> None:
    file = tmp_path / "tools.json"
    file.write_bytes(content)
    done = run("--tools", str(file), stdin="x")
    assert done.returncode == 2
    assert message in done.stderr


def test_characters_cut_between_reads_and_control_bytes_survive() -> None:
    text = "\x00é🚀" * 30_000
    for mode in ([], ["--stream"]):
        done = run("--dialect", "hermes", *mode, stdin=text)
        assert "".join(row["text"] for row in lines(done)) == text


def test_stream_prints_while_the_input_arrives() -> None:
    with subprocess.Popen(
        [*COMMAND, "--dialect", "hermes", "--stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"Hello there. ")
        process.stdin.flush()
        first = json.loads(process.stdout.readline())  # comes although the input is still open
        assert first["type"] == "content"
        process.stdin.write(CALL.encode())
        process.stdin.close()
        rest = [json.loads(line) for line in process.stdout]
        assert rest[-1]["type"] == "call_closed"
        assert process.wait(30) == 0


def test_explain_is_for_a_person() -> None:
    text = (
        f'<think>plan</think>Hi \x1b[2J{CALL}<tool_call>{{"name": "f", "arguments": {{"a" 1}}}}</tool_call>'
    )
    done = run("--dialect", "hermes", "--explain", stdin=text)
    shown = done.stdout.decode()
    assert done.returncode == 1
    assert "reasoning, not shown to the user:\n    plan\n" in shown
    assert "text for the user:\n    Hi \\x1b[2J\n" in shown
    assert "call 1: ping\n    n = 9007199254740993\n" in shown
    assert "not a call: CALL_NOT_JSON\n" in shown
    assert shown.endswith("1 call, 1 fault.\n")
    assert "\x1b" not in shown


def test_the_reader_going_away_is_no_crash() -> None:
    with subprocess.Popen(
        [*COMMAND, "--dialect", "hermes", "--stream"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        try:
            for _ in range(50):
                process.stdin.write(b"text " * 10_000)
                process.stdin.flush()
                time.sleep(0.01)
        except BrokenPipeError:
            pass
        errors = process.stderr.read()
        assert b"Traceback" not in errors
