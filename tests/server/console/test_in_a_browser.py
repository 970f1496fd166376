"""The console in a real Chromium: hostile text, accessibility, a phone, no scripts, signing in."""

import asyncio
from pathlib import Path

from tests.server.console.browsing import PHONE, TOOLS, axe, browser, seat
from tests.server.console.scripts import SCRIPT, approval_of, run_to, state_of
from tests.server.console.tools_of_console import HOSTILE, ORDER
from tests.server.running import client, key, scripted

CUT = """[...document.querySelectorAll('main .wide, main table, main td, main th')]
    .filter(e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth)
    .filter(e => e.offsetParent && getComputedStyle(e).display !== 'none' && !e.closest('thead'))
    .map(e => e.outerHTML.slice(0, 200))"""


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
            await http.call("disk.wipe.v1", {"disk": "sda"}, run_id="wipes")
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
                    cut = await at.page.evaluate(CUT)  # nothing that has to be looked for sideways
                    assert cut == [], path
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
            await at.page.locator("#run-said pre").filter(has_text="One page").wait_for()
            assert await axe(at.page) == []
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
            assert await at.page.locator("#run-said pre").count() == 0
            assert await at.page.evaluate("window.same") is True, "the page was not loaded again"
            assert await axe(at.page) == []
            assert at.complaints == []

    asyncio.run(main())


def test_without_scripts_everything_but_the_keys_works() -> None:
    async def main() -> None:
        async with (
            scripted(SCRIPT) as (server, _),
            client(server) as http,
            browser() as started,
            seat(started, server, java_script_enabled=False, locale="id-ID") as at,
        ):
            run_id = await run_to(http, "mail")
            await at.open("/console")
            await at.page.get_by_role("button", name="Ubah").click()
            await at.page.fill("textarea", '{"to": "bo@example.org", "text": "hi"}')
            await at.page.get_by_role("button", name="Lihat perubahan").click()
            await at.page.get_by_role("button", name="Setujui panggilan yang diubah").click()
            assert "Proses berlanjut." in await at.text()
            await state_of(http, run_id, "completed")
            await at.open(f"/console/run?id={run_id}")
            assert "sent to bo@example.org: hi" in await at.text()
            await at.page.get_by_role("link", name="English").click()
            assert "The run is over." in await at.text()

    asyncio.run(main())


def test_signing_in_and_out_and_following_a_link_from_elsewhere(tmp_path: Path) -> None:
    ana = key(tmp_path, "approvals", "runs", user="ana", tenant="acme")

    async def main() -> None:
        async with (
            scripted(SCRIPT, folder=tmp_path) as (server, _),
            browser() as started,
            seat(started, server) as at,
        ):
            await at.open("/console/runs?state=completed")
            assert at.page.url.endswith("/console/login?next=%2Fconsole%2Fruns%3Fstate%3Dcompleted")
            assert await at.focused() == "INPUT key"
            assert await axe(at.page) == []
            await at.page.keyboard.type("gbk_wrong")
            await at.page.keyboard.press("Enter")
            await at.page.get_by_role("alert").wait_for()
            assert "This key opens nothing." in await at.text()
            await at.page.keyboard.type(ana)
            await at.page.keyboard.press("Enter")
            await at.page.wait_for_url("**/console/runs?state=completed")
            assert "ana of acme" in await at.page.inner_text("header")
            (cookie,) = await at.context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/console")
            assert await at.page.evaluate("document.cookie") == ""
            await at.page.goto(f"data:text/html,<a href='{server.url}/console/approvals'>go</a>")
            await at.page.click("a")  # the browser holds the cookie back, and sends it when asked again
            await at.page.wait_for_url("**/console/approvals")
            await at.page.get_by_text("Nothing waits for a decision.").wait_for()
            await at.page.get_by_role("button", name="Sign out").click()
            await at.page.wait_for_url("**/console/login")
            await at.open("/console/runs")
            assert "/console/login" in at.page.url

    asyncio.run(main())
