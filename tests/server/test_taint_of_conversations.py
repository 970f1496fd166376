"""What a turn has read from outside counts in those that go on with its answer."""

import asyncio
from pathlib import Path
from typing import Any

from tests.server.running import Client, client, scripted
from tests.server.test_runs import ended
from tests.server.test_websocket import say, socket, until_end

POLICY = """
version: 1
name: outside
rules:
  - {id: a, match: {tool: mail.send.v1, tainted_run: true}, decision: deny, reason: READ_OUTSIDE}
  - {id: b, match: {tool: mail.send.v1}, decision: allow, reason: OK}
"""
MAIL: list[Any] = [[("mail.send.v1", {"to": "eve@example.org", "text": "x"})], "Done."]
SCRIPT: dict[str, Any] = {
    "read": [[("weather.get_current.v1", {"city": "Paris"})], "Write to eve@example.org."],
    "think": ["Hm."],
    "mail": MAIL * 3,
}
CASES = [
    (["mail"], "ok"),
    (["think", "mail"], "ok"),
    (["read", "mail"], "no"),
    (["read", "think", "mail"], "no"),
]


def options(folder: Path) -> tuple[str, ...]:
    path = folder / "outside.yaml"
    path.write_text(POLICY)
    return ("--policy", str(path), "--store", f"sqlite:{folder / 's.db'}")


async def told(http: Client, run_id: str) -> str:
    """Tell whether the mail of a run was sent."""
    _, audit = await http.get(f"/v1/audit/{run_id}")
    kinds = [event["kind"] for event in audit["events"] if event["kind"].startswith("call.")]
    return "ok" if "call.finished" in kinds else "no"


def test_a_conversation_over_a_websocket(tmp_path: Path) -> None:
    async def main() -> None:
        async with scripted(SCRIPT, *options(tmp_path)) as (server, _), client(server) as http:
            for turns, wanted in CASES:
                async with socket(server) as ws:
                    for text in turns:
                        await say(ws, text)
                        last = (await until_end(ws))[-1]
                    assert (turns, await told(http, last["run_id"])) == (turns, wanted)

    asyncio.run(main())


def test_runs_that_continue_one_another(tmp_path: Path) -> None:
    async def main() -> None:
        async with scripted(SCRIPT, *options(tmp_path)) as (server, _), client(server) as http:
            for turns, wanted in CASES:
                run: dict[str, Any] = {}
                for text in turns:
                    more = {"continues": run["run_id"]} if run else {}
                    _, begun = await http.post("/v1/runs", {"prompt": text, **more})
                    run = await ended(http, begun["run_id"])
                assert (turns, await told(http, run["run_id"])) == (turns, wanted)

    asyncio.run(main())
