"""A server under half of what it can take, for a while: does its memory stay where it is?

One `gerbang serve` with records in SQLite, a model server that answers at once, and eight clients with kept
connections: calls (single ones, and two of one run; some of them wrong), streamed completions of the
OpenAI-compatible endpoint, turns over a WebSocket, runs that are followed by their events. First all ask as
fast as they can, for a few seconds; then each keeps half of its own pace. Memory is that of the server
process, once a second.

    python benchmarks/soak.py [--quick] [--minutes N]

`make bench` soaks for as long as the variable SOAK_MINUTES says, half a minute if it says nothing; six hours,
two million requests or 8 GB of records are the most.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness import markdown, verdict

HERE = Path(__file__).resolve().parent
FLAT = 1.05
MAX_MINUTES = 360.0
MAX_REQUESTS = 2_000_000
MAX_BYTES = 8_000_000_000
RENEW = 200
"""So many requests go over one connection; then it is closed and a new one opened."""
WEATHER = "weather.get_current.v1"


class Client:
    """One kept connection that speaks HTTP/1.1, and is made anew now and then."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._asked = 0
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader

    async def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """Return the status and the body of the answer, however it is cut."""
        if self._writer is None or self._asked >= RENEW:
            await self.close()
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            self._asked = 0
        self._asked += 1
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self._writer.write(head.encode() + data)
        lines = (await self._reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
        sizes = [line for line in lines if line.startswith(b"content-length:")]
        if sizes:
            return int(lines[0].split()[1]), await self._reader.readexactly(int(sizes[0].split(b":")[1]))
        pieces = []
        while size := int(await self._reader.readline(), 16):
            pieces.append(await self._reader.readexactly(size))
            await self._reader.readexactly(2)
        await self._reader.readexactly(2)
        return int(lines[0].split()[1]), b"".join(pieces)

    async def close(self) -> None:
        """Close the connection, if there is one."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            await writer.wait_closed()


class Caller:
    """Makes gated calls: single ones, two of one run, and now and then one that cannot be."""

    def __init__(self, port: int, name: str) -> None:
        self._client = Client(port)
        self._name = name
        self._count = 0

    async def once(self) -> bool:
        """Make one call, and tell whether the answer is as it should be."""
        self._count += 1
        body: dict[str, object] = {"tool": WEATHER, "arguments": {"city": "Paris", "days": self._count}}
        wanted = 200
        if self._count % 50 == 0:
            body["arguments"], wanted = {"city": 7}, 422
        elif self._count % 50 == 25:
            body["tool"], wanted = "weather.of_nobody.v1", 404
        elif self._count % 5 < 2:
            body["run_id"], body["step_id"] = f"{self._name}-{self._count // 5}", self._count
        status, answer = await self._client.ask("POST", "/v1/calls", body)
        return status == wanted and (wanted != 200 or b"sunny" in answer)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()


class Completer:
    """Asks the OpenAI-compatible endpoint for streamed completions."""

    def __init__(self, port: int) -> None:
        self._client = Client(port)

    async def once(self) -> bool:
        """Ask for one."""
        said = [{"role": "user", "content": "Say hello."}]
        body = {"model": "gerbang", "messages": said, "stream": True}
        status, answer = await self._client.ask("POST", "/v1/chat/completions", body)
        return status == 200 and b"there." in answer and answer.rstrip().endswith(b"[DONE]")

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()


class Follower:
    """Starts a run, follows its events to the end, and shows it."""

    def __init__(self, port: int) -> None:
        self._client = Client(port)

    async def once(self) -> bool:
        """Do all of it once."""
        status, answer = await self._client.ask("POST", "/v1/runs", {"prompt": "Say hello."})
        where = f"/v1/runs/{json.loads(answer)['run_id']}"
        _, events = await self._client.ask("GET", f"{where}/events")
        _, shown = await self._client.ask("GET", where)
        return status == 202 and b"event: end" in events and b'"completed"' in shown

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()


class Talker:
    """Takes turns over a WebSocket, and comes back with a new one now and then."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._turns = 0
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader

    async def once(self) -> bool:
        """Take one turn."""
        if self._writer is None or self._turns >= RENEW:
            await self.close()
            await self._open()
        self._turns += 1
        assert self._writer is not None
        self._writer.write(masked(json.dumps({"type": "user_text", "text": "Say hello."}).encode()))
        while True:
            head = await self._reader.readexactly(2)
            size = head[1]
            if size == 126:
                size = int.from_bytes(await self._reader.readexactly(2))
            message = await self._reader.readexactly(size)
            if head[0] & 15 == 9:  # a ping
                self._writer.write(masked(message, 0x8A))
            elif b'"assistant_end"' in message:
                return b'"completed"' in message and b"there." in message

    async def _open(self) -> None:
        self._turns = 0
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nUpgrade: websocket\r\n"
        head += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        self._writer.write((head + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").encode())
        await self._reader.readuntil(b"\r\n\r\n")

    async def close(self) -> None:
        """Close the socket, with the manners of the protocol."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.write(masked(b"", 0x88))
            writer.close()
            await writer.wait_closed()


def masked(message: bytes, first: int = 0x81) -> bytes:
    """Return a frame as clients send it; the mask is all zeros, which changes nothing."""
    return bytes((first, 0x80 | len(message))) + bytes(4) + message


@dataclass
class Kind:
    """One kind of client: how many there are, and what they did."""

    title: str
    clients: Sequence[Caller | Completer | Follower | Talker]
    took: list[float] = field(default_factory=list)
    wrong: int = 0
    pace: float = 0.0
    """Requests a second of one client; 0: as fast as it can."""
    kept: float = 0.0
    """Requests a second of all its clients, as it was."""


class Server:
    """The server process, looked at from outside."""

    def __init__(self, pid: int, port: int, folder: Path) -> None:
        self.port = port
        self._proc = Path(f"/proc/{pid}")
        self._folder = folder

    def memory_mb(self) -> float:
        """Return the resident memory."""
        lines = (self._proc / "status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def files(self) -> int:
        """Return how many files and sockets are open."""
        return len(list((self._proc / "fd").iterdir()))

    def stored(self) -> int:
        """Return the bytes of the records."""
        return sum(path.stat().st_size for path in self._folder.glob("store.db*"))


@contextmanager
def running(command: Sequence[str], folder: Path) -> Iterator[tuple[int, str]]:
    """Run a server that prints its address in its first line; yield its process id and the address."""
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": f"{HERE / 'peers'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        },
    ) as process:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        try:
            yield process.pid, next(word for word in words if word.startswith("http://"))
        finally:
            process.terminate()


async def drive(kinds: Sequence[Kind], seconds: float, enough: Callable[[], bool]) -> float:
    """Let all clients ask for some seconds, or until it is enough. Returns the seconds that it took."""
    began = time.perf_counter()
    end = began + seconds

    async def work(kind: Kind, once: Callable[[], Awaitable[bool]]) -> None:
        due = time.perf_counter()
        while (now := time.perf_counter()) < end and not enough():
            if kind.pace:
                due = max(due + 1 / kind.pace, now - 1)  # what a slow moment held up is not made up for
                await asyncio.sleep(max(0.0, due - now))
            start = time.perf_counter()
            good = await once()
            kind.took.append(time.perf_counter() - start)
            kind.wrong += not good

    await asyncio.gather(*(work(kind, client.once) for kind in kinds for client in kind.clients))
    return time.perf_counter() - began


async def soak(server: Server, seconds: float, warm: float) -> tuple[list[Kind], list[float], str]:
    """Measure the pace, keep half of it, and watch the memory."""
    port = server.port
    kinds = [
        Kind("`/v1/calls`", [Caller(port, f"soak{number}") for number in range(5)]),
        Kind("`/v1/chat/completions`, streamed", [Completer(port)]),
        Kind("turns over `/ws`", [Talker(port)]),
        Kind("`/v1/runs`, followed and shown", [Follower(port)]),
    ]
    await drive(kinds, warm / 4, lambda: False)
    for kind in kinds:
        kind.took.clear()
    took = await drive(kinds, warm, lambda: False)
    for kind in kinds:
        kind.pace = len(kind.took) / took / len(kind.clients) / 2
        kind.took.clear()
    memory: list[float] = []
    stop = asyncio.Event()
    files = server.files()

    async def watch() -> None:
        while not stop.is_set():
            memory.append(server.memory_mb())
            await asyncio.sleep(1)

    def enough() -> bool:
        return sum(len(kind.took) for kind in kinds) >= MAX_REQUESTS or server.stored() >= MAX_BYTES

    watching = asyncio.create_task(watch())
    took = await drive(kinds, seconds, enough)
    stop.set()
    await watching
    for kind in kinds:
        kind.kept = len(kind.took) / took
    for kind in kinds:
        for client in kind.clients:
            await client.close()
    await asyncio.sleep(0.5)
    said = (
        f"{took / 60:.1f} minutes, {server.stored() / 1e6:,.0f} MB of records. Open files of the server: "
        f"{files} under load at the beginning, {server.files()} when all clients had left."
    )
    return kinds, memory, said


def report(kinds: Sequence[Kind], memory: Sequence[float], said: str) -> str:
    """Return the tables."""
    rows = []
    for kind in kinds:
        times = sorted(kind.took)
        rows.append(
            [
                kind.title,
                f"{kind.pace * len(kind.clients):.0f}",
                f"{kind.kept:.0f}",
                f"{len(times):,}",
                f"{times[len(times) // 2] * 1e3:.1f} ms",
                f"{times[int(len(times) * 0.99)] * 1e3:.1f} ms",
                str(kind.wrong),
            ]
        )
    head = ("under load", "half, a second", "done, a second", "requests", "p50", "p99", "wrong answers")
    quarter = len(memory) // 4
    parts = [memory[number * quarter : (number + 1) * quarter] for number in range(4)]
    middles = [statistics.median(part) for part in parts]
    grown = middles[3] / middles[1]
    cells = [f"{middle:.1f} MB" for middle in middles]
    return "\n".join(
        [
            markdown(head, rows),
            "",
            markdown(
                ("resident memory of the server, median", "1st quarter", "2nd", "3rd", "4th", "largest"),
                [["", *cells, f"{max(memory):.1f} MB"]],
            ),
            "",
            f"{said} Flat means: the last quarter at most {FLAT} times the second, when caches are full: "
            f"{grown:.3f}, {verdict(grown <= FLAT)}. Wrong answers: "
            f"{verdict(not any(kind.wrong for kind in kinds))}.",
        ]
    )


def table(quick: bool = False, minutes: float | None = None) -> str:
    """Soak, and return the report."""
    if minutes is None:
        minutes = 0.15 if quick else float(os.environ.get("SOAK_MINUTES", "0.5"))
    seconds = min(minutes, MAX_MINUTES) * 60
    serve = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", "serve", "--port", "0"]
    serve += [
        "--log-level",
        "error",
        "--rate",
        "1000000",
        "--burst",
        "1000000",
        "--python",
        "http_tool:TOOLS",
    ]
    model = [sys.executable, str(HERE / "first_token.py"), "--model"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(model, folder) as (_, address):
            command = [*serve, "--model", f"openai:m@{address}/v1", "--store", "sqlite:store.db"]
            with running(command, folder) as (pid, url):
                server = Server(pid, int(url.rpartition(":")[2].rstrip("/")), folder)
                return report(*asyncio.run(soak(server, seconds, min(10.0, seconds / 4))))


if __name__ == "__main__":
    words = sys.argv[1:]
    asked = float(words[words.index("--minutes") + 1]) if "--minutes" in words else None
    print(table("--quick" in words, asked))
