"""Starting `gerbang serve` in a process of its own, and talking to it over real sockets."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from gerbang.server.keys import KeyFile
from tests.server import model as models

HERE = Path(__file__).resolve().parent


class Server:
    """A running server. `folder` holds its store and keys; `stderr` is a file with its log."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, folder: Path) -> None:
        self.process = process
        self.url = url
        self.folder = folder
        self.port = int(url.rpartition(":")[2])

    def stop(self) -> int:
        """End it as an operator would, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def log(self) -> str:
        return (self.folder / "log.txt").read_text()


@contextmanager
def started(
    *options: str, folder: Path | None = None, bounds: dict[str, Any] | None = None
) -> Iterator[Server]:
    """Start a server on a free port with the tools of the tests. `bounds` are settings of the server."""
    with tempfile.TemporaryDirectory() as made:
        place = folder or Path(made)
        command = [sys.executable, str(HERE / "bounded_server.py"), json.dumps(bounds or {})]
        command += ["serve", "--port", "0", "--python", "tools_for_tests:TOOLS", "--policy"]
        command += [str(HERE / "policy.yaml"), "--keys", str(place / "keys.json")]
        command += ["--workspace", str(place), *options]
        environment = {**os.environ, "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        with (place / "log.txt").open("a") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, cwd=place
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        if "listens on" not in line:
            process.wait(10)
            process.stdout.close()
            raise AssertionError((place / "log.txt").read_text())
        server = Server(process, line.split()[3], place)
        try:
            yield server
        finally:
            server.stop()
            process.stdout.close()


def fails_to_start(*options: str, folder: Path) -> tuple[int, str]:
    """Start a server that must refuse to; return its exit code and what it said."""
    command = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", "serve", "--port", "0"]
    command += [
        "--keys",
        str(folder / "keys.json"),
        "--store",
        "memory:",
        "--workspace",
        str(folder),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=folder, check=False)
    return done.returncode, done.stderr


def key(folder: Path, *rights: str, user: str = "ana", tenant: str = "acme", **more: Any) -> str:
    """Make a key for the server of a folder and return its text."""
    return KeyFile(folder / "keys.json").create(user=user, tenant=tenant, rights=rights, **more)[1]


class Client:
    """An HTTP client that returns status and JSON."""

    def __init__(self, session: aiohttp.ClientSession, url: str, headers: dict[str, str]) -> None:
        self.session = session
        self.url = url
        self.headers = headers

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return await self.send("GET", path, None, **headers)

    async def post(self, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        return await self.send("POST", path, body, **headers)

    async def send(self, method: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        given: dict[str, Any] = {"data": io.BytesIO(body)} if isinstance(body, bytes) else {"json": body}
        async with self.session.request(method, self.url + path, headers=sent, **given) as answer:
            kind = answer.headers.get("Content-Type", "")
            return answer.status, await (answer.json(content_type=None) if "json" in kind else answer.text())

    async def call(self, tool: str, arguments: Any = None, **fields: Any) -> tuple[int, Any]:
        """Make one gated call."""
        return await self.post("/v1/calls", {"tool": tool, "arguments": arguments or {}, **fields})


@asynccontextmanager
async def client(server: Server, token: str | None = None) -> AsyncIterator[Client]:
    """Open a client."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession() as session:
        yield Client(session, server.url, headers)


def asking(server: Server, work: Callable[[Client], Awaitable[None]], token: str | None = None) -> None:
    """Run a test's coroutine with a client."""

    async def main() -> None:
        async with client(server, token) as opened:
            await work(opened)

    asyncio.run(main())


@asynccontextmanager
async def scripted(
    script: dict[str, Sequence[models.Answer]],
    *options: str,
    folder: Path | None = None,
    bounds: dict[str, Any] | None = None,
) -> AsyncIterator[tuple[Server, models.Model]]:
    """Start a model server with a script, and a server that uses it."""
    model, runner = await models.serving(script)
    wanted = ["--model", model.address, "--profile", "voice"]
    if not any(option == "--store" for option in options):
        wanted += ["--store", "memory:"]
    starting = started(*wanted, *options, folder=folder, bounds=bounds)
    server = await asyncio.to_thread(starting.__enter__)
    try:
        yield server, model
    finally:
        model.released.set()
        await asyncio.to_thread(starting.__exit__, None, None, None)
        await runner.cleanup()
