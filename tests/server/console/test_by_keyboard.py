"""Deciding by keyboard in a real Chromium, after a restart of the server too."""

import asyncio
from pathlib import Path
from typing import Any

from tests.server.console.browsing import TOOLS, Seat, axe, browser, seat
from tests.server.console.scripts import MAIL, SCRIPT, approval_of, run_to, state_of
from tests.server.running import Client, client, scripted


def test_an_approval_by_keyboard_resumes_the_run_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        store = ("--store", f"sqlite:{tmp_path / 'store.db'}")
        async with scripted(SCRIPT, *store, folder=tmp_path) as (server, _), client(server) as http:
            run_id = await run_to(http, "mail")
            await state_of(http, run_id, "pending_approval")
            assert await asyncio.to_thread(server.stop) == 0
        after: dict[str, Any] = {"mail": ["It is sent."]}
        async with (
            scripted(after, *store, folder=tmp_path) as (server, model),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            assert await at.open("/console") == 200
            keyboard = at.page.keyboard
            await keyboard.press("j")
            assert (await at.focused()).startswith("ARTICLE")
            await keyboard.press("a")
            assert await at.focused() == "BUTTON Approve a"
            assert (await http.get("/v1/approvals?state=pending"))[1]["approvals"], "one key approves nothing"
            await keyboard.press("Enter")
            await at.page.wait_for_url("**/console/approvals?done=resumed")
            assert "The run goes on." in await at.text()
            run = await state_of(http, run_id, "completed")
            assert run["answer"] == "It is sent."
            told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
            assert "sent to ana@example.org: hi" in told[-1]
            assert at.complaints == []

    asyncio.run(main())


def test_deny_and_edit_by_keyboard() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, *TOOLS) as (server, model),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            await _denies(at, http, model)
            await _edits(at, http, model)
            await _keeps_what_is_masked(at, http)
            assert at.complaints == []

    asyncio.run(main())


async def _denies(at: Seat, http: Client, model: Any) -> None:
    run_id = await run_to(http, "mail")
    await at.open("/console/approvals")
    for pressed in ("j", "d"):
        await at.page.keyboard.press(pressed)
    assert await at.focused() == "INPUT reason"
    await at.page.keyboard.type("a jade bead")  # letters that are keys elsewhere
    await at.page.keyboard.press("Enter")
    await at.page.wait_for_url("**done=resumed")
    await state_of(http, run_id, "completed")
    told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
    assert "a jade bead" in told[-1]


async def _edits(at: Seat, http: Client, model: Any) -> None:
    model.script["mail"] = [[MAIL], "It is sent."]
    run_id = await run_to(http, "mail")
    await at.open("/console/approvals")
    for pressed in ("j", "e"):
        await at.page.keyboard.press(pressed)
    await at.page.wait_for_url("**/console/approval/edit?id=*")
    field = at.page.locator("textarea")
    await field.fill('{"to": 7}')
    await at.page.keyboard.press("Control+Enter")
    await at.page.wait_for_url("**/console/approval/review")
    assert "cannot run" in await at.page.inner_text("[role=alert]")
    await field.fill('{\n  "text": "hi \\u200bthere",\n  "to": "bo@example.org"\n}')
    await at.page.keyboard.press("Control+Enter")
    await at.page.wait_for_selector("ins")
    assert [" ".join(line.split()) for line in await at.page.locator("ins").all_inner_texts()] == [
        '+ new: "text": "hi \\u200bthere",',
        '+ new: "to": "bo@example.org"',
    ]
    assert await axe(at.page) == []
    await at.page.keyboard.press("a")
    await at.page.keyboard.press("Enter")
    await at.page.wait_for_url("**done=resumed")
    await state_of(http, run_id, "completed")
    told = [item["content"] for item in model.requests[-1]["messages"] if item["role"] == "tool"]
    assert "sent to bo@example.org: hi \u200bthere" in told[-1]


async def _keeps_what_is_masked(at: Seat, http: Client) -> None:
    run_id = await run_to(http, "door")
    approval = await approval_of(http, run_id)
    for path in ("/console/approvals", f"/console/approval?id={approval}", f"/console/run?id={run_id}"):
        await at.open(path)
        assert "swordfish" not in await at.page.content(), path
    await at.open(f"/console/approval/edit?id={approval}")
    written = await at.page.input_value("textarea")
    assert "swordfish" not in written
    await at.page.fill("textarea", written.replace("north", "south"))
    await at.page.keyboard.press("Control+Enter")
    await at.page.wait_for_url("**/console/approval/review")
    assert "swordfish" not in await at.page.content()
    await at.page.click("button.main")
    await at.page.wait_for_url("**done=resumed")
    await state_of(http, run_id, "completed")
    await at.open(f"/console/run?id={run_id}")
    assert "south opened with 9 letters" in await at.text()


def test_j_and_k_walk_through_the_requests() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT) as (server, _),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            for name in ("one", "two", "three"):
                await http.call("mail.send.v1", {"to": f"{name}@example.org", "text": "x"}, run_id=name)
            await at.open("/console/approvals")
            seen = []
            await at.page.keyboard.press("a")  # of three, none is meant
            assert (await at.focused()).startswith("BODY")
            for pressed in ("j", "j", "j", "j", "k", "k", "k"):
                await at.page.keyboard.press(pressed)
                focused = await at.focused()
                seen.append(next(name for name in ("one", "two", "three") if f"{name}@" in focused))
            order = seen[:3]
            assert sorted(order) == ["one", "three", "two"]
            assert seen == [*order, order[2], order[1], order[0], order[0]]
            await at.page.get_by_role("link", name="Turn the keys off").click()
            await at.page.get_by_role("link", name="Turn the keys on").wait_for()
            await at.open("/console/approvals")  # it is remembered
            await at.page.keyboard.press("j")
            assert (await at.focused()).startswith("BODY")
            assert await axe(at.page) == []
            await at.page.get_by_role("link", name="Turn the keys on").click()
            await at.page.get_by_role("link", name="Turn the keys off").wait_for()
            await at.page.keyboard.press("j")
            assert (await at.focused()).startswith("ARTICLE")

    asyncio.run(main())


def test_what_destroys_is_typed_and_news_come_by_themselves() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, *TOOLS) as (server, _),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            await at.open("/console/approvals")
            _, pending = await http.call("disk.wipe.v1", {"disk": "sda"}, run_id="wipes")
            await at.page.get_by_role("link", name="There are new requests. Show them.").click()
            await at.page.get_by_role("button", name="Approve").wait_for()
            await at.page.keyboard.press("a")  # the only request of the page
            assert await at.focused() == "INPUT typed"
            await at.page.keyboard.type("disk.wipe.v1")
            await at.page.keyboard.press("Escape")
            assert (await at.focused()).startswith("ARTICLE")
            assert (await http.get(f"/v1/approvals/{pending['approval_id']}"))[1]["state"] == "pending"
            await at.page.keyboard.press("a")
            await at.page.keyboard.press("Enter")
            await at.page.wait_for_url("**done=granted")
            assert (await http.get(f"/v1/approvals/{pending['approval_id']}"))[1]["state"] == "granted"
            assert at.complaints == []

    asyncio.run(main())
