"""A run begins once, and one run under a key, however many processes begin it in the same moment."""

import asyncio
import contextlib
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from gerbang.compose.auditing import check_run
from tests.server import model as models
from tests.server.running import client, started

from .helpers import CHILD_S, opened, run

BEGINNER = Path(__file__).parent / "child_beginner.py"
PROCESSES = 4
RUNS = 12
SERVERS = 3
KEYS = 8


def test_processes_that_begin_a_run_of_one_name_begin_it_once(shared: str) -> None:
    async def make() -> None:
        async with opened(shared):
            pass

    async def kept(n: int) -> tuple[list[str], bool, str]:
        async with opened(shared) as store:
            row = await store.run(f"r{n}")
            assert row is not None
            kinds = [event.kind for event in await store.events(f"r{n}")]
            same = row.prompt.removeprefix("asked by ") == row.answer.removeprefix("said by ")
            return kinds, (await check_run(store, f"r{n}")).whole and same, row.state

    run(make())
    command = [sys.executable, "-W", "error", str(BEGINNER), shared]
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen(
            [*command, f"p{n}", str(RUNS)], stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1
        )
        for n in range(PROCESSES)
    ]
    for one in children:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in children:
        assert one.stdin is not None
        one.stdin.write("\n")
    ended = [one.communicate(timeout=CHILD_S) for one in children]
    assert [err for _, err in ended] == [""] * PROCESSES
    found = Counter(line for out, _ in ended for line in out.splitlines())
    for n in range(RUNS):
        assert found[f"{n} completed"] == 1
        assert found[f"{n} there"] == PROCESSES - 1
        assert run(kept(n)) == (["run.started", "model.answered", "run.finished"], True, "completed")


def test_servers_that_are_sent_one_key_begin_one_run(shared: str) -> None:
    async def main() -> None:
        model, runner = await models.serving({f"hello {n}": ["Hello."] for n in range(KEYS)})
        async with opened(shared):
            pass
        options = ("--model", model.address, "--profile", "voice", "--store", shared)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(runner.cleanup)
            servers = []
            for _ in range(SERVERS):
                starting = started(*options)
                servers.append(await asyncio.to_thread(starting.__enter__))
                stack.push_async_callback(asyncio.to_thread, starting.__exit__, None, None, None)
            clients = [await stack.enter_async_context(client(server)) for server in servers]
            for n in range(KEYS):
                asked = [{"prompt": f"hello {n}", "purpose": purpose} for purpose in ("p", "q")]
                sent = [
                    http.post("/v1/runs", body, Idempotency_Key=f"order-{n}")
                    for body in asked
                    for http in clients
                    for _ in range(2)
                ]
                made = await asyncio.gather(*sent)
                told = Counter(status for status, _ in made)
                assert told == {202: 2 * SERVERS, 409: 2 * SERVERS}, made
                begun = {body["run_id"] for status, body in made if status == 202}
                assert len(begun) == 1
                codes = {body["error"]["error_code"] for status, body in made if status == 409}
                assert codes == {"KEY_REUSED"}
                await _over(clients[0], begun.pop())
            spoken: Counter[Any] = Counter(item["messages"][-1]["content"] for item in model.requests)
            assert spoken == {f"hello {n}": 1 for n in range(KEYS)}
            assert len((await clients[1].get("/v1/runs"))[1]["runs"]) == KEYS

    run(main())


async def _over(http: Any, run_id: str) -> None:
    while (await http.get(f"/v1/runs/{run_id}"))[1]["state"] == "running":
        await asyncio.sleep(0.02)
