"""Two servers, one store: a run that one of them drives is cancelled at the other, or by command."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.server import model as models
from tests.server.running import Client, Server, client, scripted, started
from tests.server.test_runs import ended, events
from tests.server.test_websocket import SCRIPT, socket

CALL = "weather.get_current.v1"


@asynccontextmanager
async def pair(folder: Path) -> AsyncIterator[tuple[Server, Server, models.Model]]:
    """Two servers with the same model, before the same store."""
    store = ("--store", f"sqlite:{folder / 'store.db'}")
    async with scripted(SCRIPT, *store, folder=folder) as (one, model):
        options = ("--model", model.address, "--profile", "voice", *store)
        starting = started(*options, folder=folder)
        two = await asyncio.to_thread(starting.__enter__)
        try:
            yield one, two, model
        finally:
            await asyncio.to_thread(starting.__exit__, None, None, None)


async def held(http: Client, model: models.Model) -> str:
    """Start a run that waits inside the model, and return its id."""
    _, run = await http.post("/v1/runs", {"prompt": "wait"})
    await asyncio.wait_for(model.holding.wait(), 20)
    model.holding.clear()
    return str(run["run_id"])


def test_a_run_of_another_process_is_cancelled(tmp_path: Path) -> None:
    async def main() -> None:
        async with pair(tmp_path) as (one, two, model), client(one) as here, client(two) as there:
            run_id = await held(here, model)
            following = asyncio.create_task(ended(here, run_id))
            _, before = await there.get(f"/v1/runs/{run_id}")
            assert (before["state"], before["live"]) == ("running", False)
            status, after = await there.post(f"/v1/runs/{run_id}/cancel")
            assert (status, after["state"]) == (200, "cancelled")
            assert (await following)["state"] == "cancelled"
            status, again = await here.post(f"/v1/runs/{run_id}/cancel")
            assert (status, again["state"], again["live"]) == (200, "cancelled", False)
            kinds = [event.kind async for event in events(there, f"/v1/runs/{run_id}/events")]
            assert kinds == ["run.started", "run.cancel_asked", "run.finished", "end"]
            _, whole = await there.get(f"/v1/audit/{run_id}/verify")
            assert whole["whole"] is True

    asyncio.run(main())


def test_by_command_and_by_websocket(tmp_path: Path) -> None:
    async def main() -> None:
        async with pair(tmp_path) as (one, two, model), client(one) as here:
            run_id = await held(here, model)
            done = await asyncio.to_thread(gerbang, "runs", "cancel", run_id[:12], "--json", folder=tmp_path)
            assert (done.returncode, json.loads(done.stdout)["state"]) == (0, "cancelled")
            assert (await ended(here, run_id))["state"] == "cancelled"
            done = await asyncio.to_thread(gerbang, "runs", "cancel", run_id, folder=tmp_path)
            assert (done.returncode, done.stdout.split()[:2]) == (0, ["Run", run_id])
            run_id = await held(here, model)
            async with socket(two) as ws:
                await ws.send_json({"type": "cancel", "run_id": run_id})
                assert (await ended(here, run_id))["state"] == "cancelled"
                await ws.send_json({"type": "cancel", "run_id": "nobody's"})
                assert (await ws.receive_json())["code"] == "NOT_FOUND"

    asyncio.run(main())


def gerbang(*words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", *words]
    command += ["--store", f"sqlite:{folder / 'store.db'}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder, check=False)


def test_what_nobody_drives_ends_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with pair(tmp_path) as (one, two, _), client(one) as here, client(two) as there:
            _, run = await here.post("/v1/runs", {"prompt": "mail"})
            assert (await ended(here, run["run_id"]))["state"] == "pending_approval"
            (waits,) = (await there.get("/v1/approvals?state=pending"))[1]["approvals"]
            status, after = await there.post(f"/v1/runs/{run['run_id']}/cancel")
            assert (status, after["state"]) == (200, "cancelled")
            name = waits["approval_id"]
            assert (await here.get(f"/v1/approvals/{name}"))[1]["state"] == "cancelled"
            status, problem = await here.post(f"/v1/approvals/{name}/approve", {})
            assert status == 409, problem
            status, problem = await here.post(f"/v1/runs/{run['run_id']}/resume")
            assert (status, problem["error"]["error_code"]) == (409, "NOT_WAITING")

    asyncio.run(main())


def test_a_run_of_ones_own_calls_is_closed(tmp_path: Path) -> None:
    async def main() -> None:
        async with pair(tmp_path) as (one, two, _), client(one) as here, client(two) as there:
            place: dict[str, Any] = {"run_id": "mine"}
            for http in (here, there):
                status, _ = await http.call(CALL, {"city": "Paris"}, **place, step_id=id(http))
                assert status == 200
            status, after = await there.post("/v1/runs/mine/cancel")
            assert (status, after["state"]) == (200, "cancelled")
            for http in (here, there):
                status, problem = await http.call(CALL, {"city": "Rome"}, **place, step_id=f"n{id(http)}")
                assert (status, problem["error"]["error_code"]) == (409, "RUN_CANCELLED")
                assert (await http.call(CALL, {"city": "Rome"}))[0] == 200

    asyncio.run(main())
