"""A decision is about the request that was shown: by its mark, whatever somebody else does meanwhile."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.console.browsing import visitor
from tests.server.console.test_pages import OFF, RIGHTS, asked, form_of
from tests.server.running import Server, client, key, started

PAY = {"to": "shop", "amount": 90, "note": "pin swordfish"}


@pytest.fixture
def people(tmp_path: Path) -> Iterator[tuple[Server, dict[str, str]]]:
    keys = {user: key(tmp_path, *RIGHTS, user=user) for user in ("carl", "ana", "bob")}
    with started(*OFF, "--store", "memory:", folder=tmp_path) as server:
        yield server, keys


@pytest.mark.parametrize("decision", ["approve", "deny", "edit"])
def test_a_mark_of_yesterday_decides_nothing(people: tuple[Server, dict[str, str]], decision: str) -> None:
    server, keys = people

    async def main() -> None:
        async with (
            client(server, keys["carl"]) as carl,
            client(server, keys["ana"]) as ana,
            client(server, keys["bob"]) as bob,
        ):
            name = await asked(carl, "bank.pay.v1", PAY, "r1")
            _, shown = await bob.get(f"/v1/approvals/{name}")
            status, _ = await ana.post(f"/v1/approvals/{name}/edit", {"arguments": {**PAY, "amount": 9_000}})
            assert status == 200
            body: dict[str, Any] = {"mark": shown["mark"]}
            if decision == "edit":
                body["arguments"] = PAY
            status, problem = await bob.post(f"/v1/approvals/{name}/{decision}", body)
            assert (status, problem["error"]["error_code"]) == (409, "CHANGED")
            _, fresh = await bob.get(f"/v1/approvals/{name}")
            assert (fresh["state"], fresh["arguments"]["amount"]) == ("pending", 9_000)
            assert (fresh["edited_by"], fresh["agreed"]) == ("ana", ["ana"])
            assert fresh["mark"] != shown["mark"]
            assert (shown["votes"], shown["changes"], shown["asked_for"]) == ([], [], "carl")
            assert [(vote["user"], vote["verdict"]) for vote in fresh["votes"]] == [("ana", "edit")]
            assert (len(fresh["changes"]), fresh["needed"]) == (1, 2)
            assert "9000" in fresh["changes"][0]
            status, _ = await bob.post(f"/v1/approvals/{name}/{decision}", {**body, "mark": fresh["mark"]})
            assert status == 200

    asyncio.run(main())


def test_the_console_sends_the_mark_that_it_showed(people: tuple[Server, dict[str, str]]) -> None:
    server, keys = people

    async def main() -> None:
        async with (
            client(server, keys["carl"]) as carl,
            client(server, keys["ana"]) as ana,
            visitor(server, keys["bob"]) as bobs,
        ):
            name = await asked(carl, "bank.pay.v1", PAY, "r1")
            form = await form_of(bobs, name)
            _, shown = await ana.get(f"/v1/approvals/{name}")
            assert form["seen"] == shown["mark"]
            await ana.post(f"/v1/approvals/{name}/edit", {"arguments": {**PAY, "amount": 9_000}})
            status, _, _ = await bobs.post("/console/approval/approve", form)
            assert status == 409
            status, _, _ = await bobs.post("/console/approval/approve", await form_of(bobs, name))
            assert status == 303

    asyncio.run(main())


def test_what_a_policy_hides_is_shown_by_no_route(people: tuple[Server, dict[str, str]]) -> None:
    server, keys = people

    async def main() -> None:
        async with client(server, keys["carl"]) as carl, client(server, keys["ana"]) as ana:
            name = await asked(carl, "bank.pay.v1", PAY, "r1")
            paths = [f"/v1/approvals/{name}", "/v1/approvals", "/v1/audit/r1", "/v1/runs/r1"]
            paths += [f"/console/approval?id={name}"]
            for path in paths:
                _, said = await ana.get(path)
                assert "swordfish" not in str(said), path
            status, done = await ana.post(
                f"/v1/approvals/{name}/edit", {"arguments": {**PAY, "amount": 9, "note": "[redacted]"}}
            )
            assert (status, "swordfish" in str(done)) == (200, False)
            _, fresh = await ana.get(f"/v1/approvals/{name}")
            assert "swordfish" not in str(fresh)

    asyncio.run(main())
