"""A run that goes on without its user has no more rights than it had, whatever other keys there are."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gerbang.server.keys import KeyFile
from tests.server.running import client, key, scripted
from tests.server.test_runs import ended, waiting_run

MAIL: dict[str, Any] = {
    "mail": [
        [("mail.send.v1", {"to": "ana@example.org", "text": "hi"})],
        [("vault.read.v1", {})],
        "Done.",
    ],
}
OPTIONS = ("--python", "tools_with_scopes:TOOLS")
RIGHTS = ("runs", "approvals")


@pytest.mark.parametrize(
    ("began", "others", "revoked", "may"),
    [
        (["vault"], [], False, True),
        ([], [["vault"]], False, False),
        (["vault"], [[]], False, True),
        (["vault"], [["mail"], []], False, True),
        (["vault"], [["vault", "mail"]], True, True),  # what a key of theirs has still
        (["vault"], [["mail"]], True, False),
    ],
)
@pytest.mark.parametrize("resumed_by", ["approver", "wide key"])
def test_a_run_goes_on_with_what_it_had(
    tmp_path: Path, began: list[str], others: list[list[str]], revoked: bool, may: bool, resumed_by: str
) -> None:
    first = key(tmp_path, *RIGHTS, scopes=tuple(began))
    wide = key(tmp_path, *RIGHTS, scopes=("vault",)) if resumed_by == "wide key" and not revoked else None
    for scopes in others:
        key(tmp_path, *RIGHTS, scopes=tuple(scopes))
    boss = key(tmp_path, *RIGHTS, user="boss", scopes=("vault",))

    async def main() -> None:
        async with (
            scripted(MAIL, *OPTIONS, folder=tmp_path) as (server, model),
            client(server, first) as http,
            client(server, wide or boss) as other,
            client(server, boss) as approver,
        ):
            run_id, approval_id = await waiting_run(http)
            if revoked:
                keys = KeyFile(tmp_path / "keys.json")
                keys.revoke(keys.all()[0].id)
            status, _ = await approver.post(f"/v1/approvals/{approval_id}/approve")
            assert status == 200
            await other.post(f"/v1/runs/{run_id}/resume")  # what comes first
            run = await ended(approver, run_id)
            assert run["answer"] == "Done."
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert "sent to ana@example.org" in told[0]
            assert ("the combination" in told[1]) is may, told
            assert ("lacks the scope vault" in told[1]) is not may, told

    asyncio.run(main())


def test_an_agents_run_stays_the_agents(tmp_path: Path) -> None:
    agents = key(tmp_path, *RIGHTS, scopes=("vault",), agent="helper")
    own = key(tmp_path, *RIGHTS, scopes=("vault",))
    boss = key(tmp_path, *RIGHTS, user="boss")

    async def main() -> None:
        async with (
            scripted(MAIL, *OPTIONS, folder=tmp_path) as (server, model),
            client(server, agents) as http,
            client(server, own) as person,
            client(server, boss) as approver,
        ):
            run_id, approval_id = await waiting_run(http)
            await approver.post(f"/v1/approvals/{approval_id}/approve")
            await person.post(f"/v1/runs/{run_id}/resume")
            run = await ended(approver, run_id)
            assert run["state"] == "completed"
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert "sent to ana@example.org" in told[0]  # the approval is of the agent's call, and is used

    asyncio.run(main())
