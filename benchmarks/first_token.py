"""What the OpenAI-compatible endpoint adds to the model's own time to the first streamed token.

A model server that answers at once streams one token, then the rest; one client asks it directly and through
`gerbang serve`, in turn, over kept connections. The difference is the price of the gate on the way: reading
the request, the run's record, the request to the model, and passing the text on.

    python benchmarks/first_token.py [--quick]
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness import markdown, program, verdict

HERE = Path(__file__).resolve().parent
ADDED_MS = 2.0
TOOLS = [
    {
        "type": "function",
        "function": {"name": f"tool_{n}", "parameters": {"type": "object", "properties": {}}},
    }
    for n in range(10)
]


def chunk(text: str, reason: str | None = None) -> bytes:
    """Return one chunk of HTTP with one chunk of a completion."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    event = (
        b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
    )
    return b"%x\r\n%s\r\n" % (len(event), event)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = HEAD + chunk("Hello ")
REST = chunk("there.", "stop") + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer requests of one connection: one token at once, the rest a little later."""
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return
        size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(size.split(b":")[1]))
        writer.write(FIRST)
        await asyncio.sleep(0.002)
        writer.write(REST)


async def model_server() -> None:
    """Serve until the end of standard input."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def first_tokens(url: str, body: bytes, count: int) -> list[float]:
    """Return the milliseconds from the request to the first text, for each of `count` requests."""
    port = int(url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    request, found = head.encode() + body, []
    for _ in range(count):
        start = time.perf_counter()
        writer.write(request)
        await reader.readuntil(b'"content": "H' if b'"model": "m"' in body else b'"content":"H')
        found.append((time.perf_counter() - start) * 1000)
        await reader.readuntil(b"0\r\n\r\n")
    writer.close()
    return found


@contextmanager
def running(command: Sequence[str]) -> Iterator[str]:
    """Run a server that prints its address in its first line."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=os.environ
        ) as process,
    ):
        assert process.stdout is not None
        words = process.stdout.readline().split()
        yield next(word for word in words if word.startswith("http://"))
        process.terminate()


def asked(model: str, **fields: object) -> bytes:
    """Return the body of a request."""
    messages = [{"role": "user", "content": "Say hello."}]
    return json.dumps({"model": model, "messages": messages, "stream": True, **fields}).encode()


def table(quick: bool = False) -> str:
    """Measure, and return the report."""
    rounds, count = (4, 40) if quick else (12, 100)
    serve = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", "serve", "--port", "0"]
    serve += ["--log-level", "error", "--rate", "1000000", "--burst", "1000000"]
    with ExitStack() as stack:
        model = stack.enter_context(running([sys.executable, str(Path(__file__).resolve()), "--model"]))
        address = f"openai:m@{model}/v1"
        memory = stack.enter_context(running([*serve, "--model", address, "--store", "memory:"]))
        sqlite = stack.enter_context(running([*serve, "--model", address, "--store", "sqlite:store.db"]))
        subjects = {
            "the model itself": (model, asked("m")),
            "through Gerbang, records in memory": (memory, asked("gerbang")),
            "the same, 10 tools of the client": (memory, asked("gerbang", tools=TOOLS)),
            "through Gerbang, records in SQLite": (sqlite, asked("gerbang")),
        }
        found: dict[str, list[list[float]]] = {name: [] for name in subjects}
        for number in range(rounds + 1):
            for name, (url, body) in subjects.items():
                measured = asyncio.run(first_tokens(url, body, count))
                if number:  # the first round only warms up
                    found[name].append(measured)
    best = {name: min(map(statistics.median, many)) for name, many in found.items()}
    floor = best["the model itself"]
    rows = []
    for name, many in found.items():
        times = [one for measured in many for one in measured]
        late = statistics.quantiles(times, n=100)[98]
        middle = statistics.median(times)
        rows.append(
            [
                name,
                f"{middle:.2f} ms",
                f"{late:.2f} ms",
                f"{best[name]:.2f} ms",
                f"{best[name] - floor:.2f} ms",
            ]
        )
    kept = all(least - floor <= ADDED_MS for least in best.values())
    head = ("first streamed token", "median", "p99", "best round", "added")
    said = (
        "`added` is the difference between the best rounds' medians: whatever else the machine does makes "
        f"the others slower. At most {ADDED_MS:g} ms: {verdict(kept)}."
    )
    return f"{markdown(head, rows)}\n\n{said}"


if __name__ == "__main__":
    if "--model" in sys.argv[1:]:
        asyncio.run(model_server())
    else:
        program(table)
