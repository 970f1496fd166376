"""A gated call over HTTP against the plain server: what the gate, the record and the identity cost a request.

One server process each, 8 clients that keep their connections, asked in turn so that noise is shared. `plain`
is the same HTTP stack (uvicorn, httptools, uvloop) with Starlette and a validated tool call: no policy, no
record. CPU is that of the server process, so that the load generator does not count. The gate alone is
measured in the same rounds, in a process of its own, while the other processor works as it does for a server.

    python benchmarks/http.py [--quick]
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness import markdown, paired, peer_python, program, verdict

HERE = Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
CLIENTS = 8
CALL = json.dumps({"tool": "weather.get_current.v1", "arguments": {"city": "Paris", "days": 3}}).encode()
PLAIN = json.dumps({"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}).encode()
CALL_MCP = {"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}
MCP = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": CALL_MCP}).encode()
PEER_FACTOR = 6
GATE_FACTOR = 1.3
TAIL_FACTOR = 1.5
Found = dict[str, float]


class Connection(asyncio.Protocol):
    """One kept connection: a request out, an answer in."""

    def __init__(self) -> None:
        self._data = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0 or self._answer is None:
            return
        head = self._data[:end].lower()
        at = head.find(b"content-length:")
        if at < 0:  # in pieces, as event streams come
            done = self._data.endswith(b"0\r\n\r\n")
        else:
            done = len(self._data) >= end + 4 + int(head[at + 15 :].split(b"\r\n", 1)[0])
        if done:
            whole, self._data = self._data, b""
            self._answer.set_result(whole)

    def ask(self, request: bytes) -> "asyncio.Future[bytes]":
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._answer


async def session(connection: Connection, port: int, token: str) -> list[str]:
    """Begin a session of the Model Context Protocol, and return the headers that its requests carry."""
    headers = ["Accept: application/json, text/event-stream"]
    who = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "b", "version": "0"}}
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": who}
    answer = await connection.ask(_request(port, "/mcp", json.dumps(begin).encode(), token, headers))
    lines = answer.split(b"\r\n\r\n", 1)[0].split(b"\r\n")
    headers += [line.decode() for line in lines if line.lower().startswith(b"mcp-session-id:")]
    headers.append("MCP-Protocol-Version: 2025-06-18")
    ready = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    await connection.ask(_request(port, "/mcp", ready, token, headers))
    return headers


async def load(port: int, path: str, body: bytes, token: str, seconds: float) -> Found:
    """Ask as fast as 8 clients can for some seconds."""
    loop = asyncio.get_running_loop()
    connections = [(await loop.create_connection(Connection, "127.0.0.1", port))[1] for _ in range(CLIENTS)]
    took: list[float] = []
    requests = {
        connection: _request(
            port, path, body, token, await session(connection, port, token) if path == "/mcp" else []
        )
        for connection in connections
    }
    end = time.perf_counter() + seconds

    async def work(connection: Connection) -> None:
        while (began := time.perf_counter()) < end:
            answer = await connection.ask(requests[connection])
            took.append(time.perf_counter() - began)
            assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
            assert b"sunny" in answer

    await asyncio.gather(*(work(connection) for connection in connections))
    for connection in connections:
        connection.transport.close()
    took.sort()
    return {
        "requests": len(took),
        "p50_ms": took[len(took) // 2] * 1e3,
        "p99_ms": took[int(len(took) * 0.99)] * 1e3,
        "per_s": len(took) / seconds,
    }


def _request(port: int, path: str, body: bytes, token: str, more: list[str]) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *([f"Authorization: Bearer {token}"] if token else []),
        *more,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


class Server:
    """A server process that is asked, and whose CPU time is read."""

    def __init__(self, pid: int, port: int, path: str, body: bytes, token: str) -> None:
        self._pid = pid
        self.port = port
        self._path, self._body, self._token = path, body, token

    def measure(self, seconds: float) -> Found:
        """Return one round: latencies, and CPU of the server for each request."""
        before = self._cpu()
        found = asyncio.run(load(self.port, self._path, self._body, self._token, seconds))
        found["cpu_us"] = (self._cpu() - before) / found["requests"] * 1e6
        return found

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def memory_mb(self) -> float:
        """Return the resident memory."""
        lines = Path(f"/proc/{self._pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


@contextmanager
def running(command: list[str], path: str, body: bytes, token: str = "") -> Iterator[Server]:
    """Run a server that prints its address in its first line."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{HERE / 'peers'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder) as process,
    ):
        assert process.stdout is not None
        words = process.stdout.readline().split()
        address = next(word for word in words if word.startswith("http://127.0.0.1:"))
        yield Server(process.pid, int(address.rpartition(":")[2].rstrip("/")), path, body, token)
        process.terminate()


def gerbang(*options: str) -> list[str]:
    """Return the command that serves Gerbang with the tool of this benchmark."""
    command = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", "serve", "--port", "0"]
    command += ["--model", "none", "--python", "http_tool:TOOLS", "--rate", "1000000", "--burst", "1000000"]
    return [*command, "--log-level", "error", *options]


def gate_cpu_us(calls: int) -> float:
    """Return the gate's own CPU for the same call in one process, without HTTP.

    The other processor works meanwhile, as it does when clients ask a server.
    """
    command = [sys.executable, str(HERE / "peers" / "http_gate.py"), str(calls)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            json.loads(json.dumps(CALL_MCP))
        assert process.stdout is not None
        return float(process.stdout.read())


async def idle_sockets(port: int, count: int) -> list[asyncio.StreamWriter]:
    """Open WebSockets that say nothing."""
    head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    head += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    writers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**10)
        writer.write(head.encode())
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
        writers.append(writer)
    return writers


def sockets_mb(server: Server, port: int, count: int) -> float:
    """Return what idle WebSockets add to the server's memory, in MB."""

    async def main() -> float:
        before = server.memory_mb()
        writers = await idle_sockets(port, count)
        await asyncio.sleep(0.5)
        added = server.memory_mb() - before
        for writer in writers:
            writer.transport.abort()
        return added

    return asyncio.run(main())


def table(quick: bool = False) -> str:
    """Measure, and return the report."""
    rounds, seconds = (3, 0.7) if quick else (9, 1.5)
    gates: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        keys = str(Path(folder) / "keys.json")
        token = _key(keys)
        peer = peer_python("fastmcp")
        plain_command = [sys.executable, str(HERE / "peers" / "http_plain.py")]
        with (
            running(plain_command, "/call", PLAIN) as plain,
            running(gerbang("--store", "memory:"), "/v1/calls", CALL) as memory,
            running(gerbang("--store", "memory:", "--keys", keys), "/v1/calls", CALL, token) as keyed,
            running(gerbang("--store", "sqlite:store.db"), "/v1/calls", CALL) as sqlite,
            ExitStack() as stack,
        ):
            subjects = {"plain": plain, "memory": memory, "keyed": keyed, "sqlite": sqlite}
            if peer is not None:
                command = [str(peer), str(HERE / "peers" / "http_fastmcp.py")]
                subjects["fastmcp"] = stack.enter_context(running(command, "/mcp", MCP))
            found: dict[str, list[Found]] = {name: [] for name in subjects}
            for number in range(rounds + 1):
                for name, server in subjects.items():
                    measured = server.measure(seconds)
                    if number:
                        found[name].append(measured)
                gates.append(gate_cpu_us(2_000 if quick else 6_000))
            sockets = sockets_mb(memory, memory.port, 1_000)
    return _report(found, statistics.median(gates), sockets)


def _report(found: dict[str, list[Found]], gate: float, sockets: float) -> str:
    floor = statistics.median(item["cpu_us"] for item in found["plain"])
    tail = paired(found["memory"], found["plain"], "p99_ms")
    bound = floor + GATE_FACTOR * gate
    named = {
        "plain": "plain server: Starlette, validated call, no gate",
        "memory": "`/v1/calls`, records in memory",
        "keyed": "the same, with an API key",
        "sqlite": "`/v1/calls`, records in SQLite",
        "fastmcp": "FastMCP over HTTP, as it comes: no gate, no record",
    }
    rows = []
    for name, items in found.items():
        middle = {key: statistics.median(item[key] for item in items) for key in items[0]}
        rows.append(
            [
                named[name],
                f"{middle['cpu_us']:.0f} µs",
                f"{middle['per_s']:.0f}",
                f"{middle['p50_ms']:.2f} ms",
                f"{middle['p99_ms']:.2f} ms",
            ]
        )
    cpu = statistics.median(item["cpu_us"] for item in found["memory"])
    lines = [
        markdown(("server, 8 kept connections", "CPU a request", "requests/s", "p50", "p99"), rows),
        "",
        f"The gate alone, in one process: {gate:.0f} µs of CPU a call. Bound of a request: the plain "
        f"server's plus {GATE_FACTOR} times that, {bound:.0f} µs: {verdict(cpu <= bound)} ({cpu:.0f} µs). "
        f"p99 against the plain server's, at most {TAIL_FACTOR} times: {verdict(tail <= TAIL_FACTOR)} "
        f"({tail:.2f} times). 1,000 idle WebSockets add {sockets:.0f} MB, at most 60 MB: "
        f"{verdict(sockets <= 60)}. {_against_peer(found)}",
    ]
    return "\n".join(lines)


def _against_peer(found: dict[str, list[Found]]) -> str:
    if "fastmcp" not in found:
        return "FastMCP is not installed here (`python benchmarks/peers/install.py`): not compared."
    times = paired(found["memory"], found["fastmcp"], "per_s")
    return (
        f"Calls a second against FastMCP's, at least {PEER_FACTOR} times: "
        f"{verdict(times >= PEER_FACTOR)} ({times:.1f} times)."
    )


def _key(path: str) -> str:
    from gerbang.server.keys import KeyFile

    return KeyFile(path).create(user="bench", tenant="bench", rights=["calls"])[1]


if __name__ == "__main__":
    program(table)
