"""Who gets in, what a form needs, what tenants see of each other: over real HTTP."""

import asyncio
import re
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from gerbang.server.keys import KeyFile
from tests.server.console.browsing import TOOLS, Visitor, visitor
from tests.server.running import Server, client, key, started
from tests.server.test_tls import certificate

RIGHTS = ("calls", "runs", "approvals", "audit", "tools")
MODEL_OFF = ("--model", "none", "--store", "memory:")
PAGES = (
    "/console/approvals",
    "/console/runs",
    "/console/tools",
    "/console/policy",
    "/console/audit",
    "/console/figures",
    "/console/switches",
)
FORMS = (
    "/console/approval/approve",
    "/console/approval/deny",
    "/console/approval/review",
    "/console/approval/edit",
    "/console/run/cancel",
    "/console/run/resume",
    "/console/policy",
    "/console/switches/kill",
    "/console/switches/revive",
    "/console/logout",
    "/console/login",
)


def visiting(server: Server, work: Callable[[Visitor], Awaitable[None]], token: str | None = None) -> None:
    async def main() -> None:
        async with visitor(server, token) as opened:
            await work(opened)

    asyncio.run(main())


def test_a_form_without_its_token_changes_nothing(plain: Server) -> None:
    async def work(at: Visitor) -> None:
        token = await at.token()
        for path in FORMS:
            for form in ({}, {"csrf": ""}, {"csrf": "0" * 64}, {"csrf": token[:-1]}, {"csrf": "é"}):
                status, page, _ = await at.post(path, {"kind": "all", "reason": "x", **form})
                assert (status, "CSRF" in page) == (403, True), (path, form)
        assert "No switch is on" in (await at.get("/console/switches"))[1]
        async with visitor(plain) as other:
            theirs = await other.token()
            status, page, _ = await at.post("/console/switches/kill", {"csrf": theirs, "kind": "all"})
            assert (status, "CSRF" in page) == (403, True)

    visiting(plain, work)


def test_what_is_not_a_form_of_ours_is_refused(plain: Server) -> None:
    async def work(at: Visitor) -> None:
        token = await at.token()
        url = plain.url + "/console/switches/kill"
        form = {"csrf": token, "kind": "all", "reason": "x"}
        async with at.session.post(url, json=form) as answer:
            assert answer.status == 415
        async with at.session.post(url, data=[*form.items(), ("kind", "tool")]) as answer:
            assert answer.status == 400
        async with at.session.post(url, data=b"csrf=%FF%FE", headers=_URLENCODED) as answer:
            assert answer.status == 400
        async with at.session.post(
            url, data=b"&".join(b"a%d=1" % n for n in range(60)), headers=_URLENCODED
        ) as (answer):
            assert answer.status == 400
        status, _, _ = await at.post("/console/switches/kill", form, Origin="https://evil.example")
        assert status == 403
        status, _, _ = await at.post("/console/switches/kill", form, Sec_Fetch_Site="cross-site")
        assert status == 403
        status, _, _ = await at.get("/console/approvals", Host="evil.example")
        assert status == 421
        assert (await at.get("/console/approvals?x=1"))[0] == 400
        assert (await at.get("/console/approvals?state=no"))[0] == 400
        assert (await at.get("/console/assets/nothing.js"))[0] == 404
        assert "No switch is on" in (await at.get("/console/switches"))[1]

    visiting(plain, work)


_URLENCODED = {"Content-Type": "application/x-www-form-urlencoded"}


def test_headers_of_pages_and_files(plain: Server) -> None:
    async def work(at: Visitor) -> None:
        for path in (*PAGES, "/console/login", "/console/run?id=none", "/console/assets/console.js"):
            status, page, headers = await at.get(path)
            policy = headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy, path
            assert "script-src 'self'; style-src 'self'" in policy, path
            assert "unsafe" not in policy, path
            assert "frame-ancestors 'none'" in policy, path
            assert headers["X-Content-Type-Options"] == "nosniff", path
            assert headers["X-Frame-Options"] == "DENY", path
            if "assets" not in path and status == 200:
                assert headers["Cache-Control"] == "no-store", path
                for mark in ("<style", " style=", "onclick", "javascript:", "<script>"):
                    assert mark not in page, (path, mark)
        _, _, headers = await visit_fresh(plain, "/console/approvals")
        cookie = headers["Set-Cookie"]
        for part in ("gerbang_console=", "HttpOnly", "SameSite=Strict", "Path=/console", "Max-Age="):
            assert part in cookie

    visiting(plain, work)


async def visit_fresh(server: Server, path: str, **headers: str) -> tuple[int, str, Any]:
    async with visitor(server) as fresh:
        return await fresh.get(path, **headers)


def test_keys_open_the_console_and_revoking_one_closes_it(tmp_path: Path) -> None:
    ana = key(tmp_path, *RIGHTS, user="ana", tenant="acme")

    async def main(server: Server) -> None:
        for path in PAGES:
            status, _, headers = await visit_fresh(server, path)
            assert (status, headers["Location"]) == (303, f"/console/login?next={path.replace('/', '%2F')}")
        status, page, _ = await visit_fresh(
            server, "/console/approvals?state=used", Sec_Fetch_Site="cross-site"
        )
        assert (status, 'content="0;url=/console/approvals?state=used"' in page) == (200, True)
        async with visitor(server) as at:
            for wrong in ("", "x", ana[:-1], ana + "x", "gbk_000000000000_" + "A" * 43):
                assert await at.sign_in(wrong) == 401
            status, _, _ = await at.get("/console/approvals")
            assert status == 303
        async with visitor(server, ana) as at:
            for path in PAGES:
                status, page, _ = await at.get(path)
                assert (status, "ana of acme" in page) == (200, True), path
            kept = {cookie.key: cookie.value for cookie in at.session.cookie_jar}
            assert ana not in str(kept)
            async with visitor(server) as thief:
                value = kept["gerbang_console"]
                for forged in (
                    value[:-1] + ("0" if value[-1] != "0" else "1"),
                    "x" + value,
                    value.partition(".")[0],
                ):
                    status, _, _ = await thief.get("/console/runs", Cookie=f"gerbang_console={forged}")
                    assert status == 303, forged
                assert (await thief.get("/console/runs", Cookie=f"gerbang_console={value}"))[0] == 200
                token = await at.token()
                assert (await at.post("/console/logout", {"csrf": token}))[0] == 303
                assert (await at.get("/console/runs"))[0] == 303
                status, _, _ = await thief.get("/console/runs", Cookie=f"gerbang_console={value}")
                assert status == 303, "a session that was ended opens nothing"
        async with visitor(server, ana) as at:
            KeyFile(tmp_path / "keys.json").revoke(ana.split("_")[1])
            assert (await at.get("/console/runs"))[0] == 303
            assert await at.sign_in(ana) == 401

    with started(*MODEL_OFF, folder=tmp_path) as server:
        asyncio.run(main(server))


def test_signing_out_holds_at_every_server_of_the_store(tmp_path: Path) -> None:
    ana = key(tmp_path, *RIGHTS)
    shared = ("--model", "none", "--store", f"sqlite:{tmp_path / 'store.db'}")

    async def main(one: Server, two: Server) -> None:
        async with visitor(one, ana) as at, visitor(two) as copied:
            (value,) = [item.value for item in at.session.cookie_jar if item.key == "gerbang_console"]
            cookie = f"gerbang_console={value}"
            assert (await copied.get("/console/runs", Cookie=cookie))[0] == 200
            await at.post("/console/logout", {"csrf": await at.token()})
            assert (await copied.get("/console/runs", Cookie=cookie))[0] == 303
        async with visitor(two, ana) as at:  # signing in again begins another one
            assert (await at.get("/console/runs"))[0] == 200

    with started(*shared, folder=tmp_path) as one, started(*shared, folder=tmp_path) as two:
        asyncio.run(main(one, two))


def test_over_tls_cookies_are_for_tls_only(tmp_path: Path) -> None:
    cert, own = certificate(tmp_path)
    ana = key(tmp_path, *RIGHTS)
    trust = ssl.create_default_context(cafile=cert)

    async def main(server: Server) -> None:
        url = f"https://localhost:{server.port}/console/login"
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
            async with session.get(f"{url}?lang=id") as answer:
                set_by = answer.headers.getall("Set-Cookie")
                token = (await answer.text()).split('name="csrf" value="', 1)[1].split('"', 1)[0]
            form = {"csrf": token, "key": ana}
            async with session.post(url, data=form, allow_redirects=False) as answer:
                assert answer.status == 303
                set_by += answer.headers.getall("Set-Cookie")
        assert len(set_by) == 3
        assert all(cookie.endswith("; HttpOnly; SameSite=Strict; Secure") for cookie in set_by)

    files = ("--tls-certificate", cert, "--tls-key", own)
    with started(*MODEL_OFF, *files, folder=tmp_path) as server:
        asyncio.run(main(server))


def test_keys_are_not_tried_for_ever(tmp_path: Path) -> None:
    key(tmp_path, *RIGHTS)

    async def main(server: Server) -> None:
        async with visitor(server) as at:
            statuses = [await at.sign_in("gbk_000000000000_" + "A" * 43) for _ in range(14)]
            assert statuses[0] == 401
            assert 429 in statuses

    with started(*MODEL_OFF, folder=tmp_path, bounds={"failed_per_s": 0.01}) as server:
        asyncio.run(main(server))


def test_a_key_sees_the_pages_that_its_rights_are_for(tmp_path: Path) -> None:
    cases = {
        ("approvals",): {"/console/approvals", "/console/switches"},
        ("runs",): {"/console/runs", "/console/figures"},
        ("calls",): {"/console/tools"},
        ("audit",): {"/console/audit", "/console/policy"},
        ("metrics",): set(),
    }
    keys = {rights: key(tmp_path, *rights) for rights in cases}

    async def main(server: Server) -> None:
        for rights, open_pages in cases.items():
            async with visitor(server, keys[rights]) as at:
                for path in PAGES:
                    status, _, _ = await at.get(path)
                    assert (status == 200) == (path in open_pages), (rights, path)
                    assert status in (200, 403)
                status, page, headers = await at.get("/console")
                if open_pages:
                    assert headers["Location"] in open_pages
                else:
                    assert (status, "Nothing to see" in page) == (200, True)

    with started(*MODEL_OFF, folder=tmp_path) as server:
        asyncio.run(main(server))


def test_tenants_see_nothing_of_each_other(tmp_path: Path) -> None:
    ana = key(tmp_path, *RIGHTS, user="ana", tenant="acme")
    bob = key(tmp_path, *RIGHTS, user="bob", tenant="umbrella")

    async def main(server: Server) -> None:
        async with (
            client(server, ana) as http,
            visitor(server, ana) as hers,
            visitor(server, bob) as his,
        ):
            _, pending = await http.call(
                "mail.send.v1", {"to": "secret@acme.example", "text": "x"}, run_id="hers"
            )
            approval = pending["approval_id"]
            paths = [
                f"/console/approval?id={approval}",
                f"/console/approval/edit?id={approval}",
                f"/console/approvals?before={approval}",
                "/console/run?id=hers",
                "/console/run/more?id=hers&after=0",
                "/console/runs?before=hers",
                "/console/audit?run=hers",
                "/console/audit?before=hers",
                "/console/audit?run=switches",
                f"/console/policy?approval={approval}",
            ]
            for path in paths:
                status, page, _ = await his.get(path)
                assert (status, "secret@acme" in page) == (404, False), path
            for path in paths:
                if "switches" not in path:
                    assert (await hers.get(path))[0] == 200, path
            token, form = (
                await his.token(),
                {"id": approval, "seen": "x", "reason": "mine", "arguments": "{}"},
            )
            for path in FORMS[:4]:
                status, _, _ = await his.post(path, {"csrf": token, **form})
                assert status == 404, path
            for path in FORMS[4:6]:
                status, _, _ = await his.post(path, {"csrf": token, "id": "hers"})
                assert status == 404, path
            status, _, _ = await his.post(
                "/console/policy",
                {"csrf": token, "approval": approval, "tool": "mail.send.v1", "arguments": "{}"},
            )
            assert status == 404
            for path in ("/console/approvals", "/console/runs", "/console/audit", "/console/figures"):
                assert "hers" not in (await his.get(path))[1], path
                assert "secret@acme" not in (await his.get(path))[1], path
            assert "secret@acme" in (await hers.get("/console/approvals"))[1]
            assert re.search(
                r'href="/console/run\?id=hers[^"]*">hers</a>', (await hers.get("/console/runs"))[1]
            )
            assert (await http.get(f"/v1/approvals/{approval}"))[1]["state"] == "pending"

    with started(*MODEL_OFF, *TOOLS, folder=tmp_path) as server:
        asyncio.run(main(server))


def test_a_tenant_stops_itself_only_and_an_admin_anybody(tmp_path: Path) -> None:
    ana = key(tmp_path, *RIGHTS, user="ana", tenant="acme")
    bob = key(tmp_path, *RIGHTS, user="bob", tenant="umbrella")
    boss = key(tmp_path, *RIGHTS, "admin", user="boss", tenant="hq")

    async def main(server: Server) -> None:
        async with (
            visitor(server, ana) as hers,
            visitor(server, bob) as his,
            visitor(server, boss) as all_of_it,
            client(server, ana) as http,
        ):
            form = {"csrf": await hers.token(), "kind": "tenant", "name": "umbrella", "reason": "a leak"}
            assert (await hers.post("/console/switches/kill", form))[0] == 303  # her own, whatever she names
            status, problem = await http.call("print.page.v1", {"page": 1}, run_id="r1")
            assert (status, problem["error"]["error_code"]) == (403, "KILL_SWITCH")
            assert "tenant:acme" not in (await his.get("/console/switches"))[1]
            page = (await all_of_it.get("/console/switches"))[1]
            assert ("tenant:acme" in page, "a leak" in page) == (True, True)
            form = {"csrf": await his.token(), "target": "tenant:acme", "reason": "why not"}
            assert (await his.post("/console/switches/revive", form))[0] == 403
            form = {"csrf": await hers.token(), "target": "tenant:acme"}
            assert (await hers.post("/console/switches/revive", {**form, "reason": " "}))[0] == 422
            assert (await hers.post("/console/switches/revive", {**form, "reason": "mended"}))[0] == 303
            assert (await http.call("print.page.v1", {"page": 1}, run_id="r1"))[0] == 200
            form = {
                "csrf": await all_of_it.token(),
                "kind": "tool",
                "name": "print.page.v1",
                "reason": "dry cartridge",
            }
            assert (await all_of_it.post("/console/switches/kill", form))[0] == 303
            page = (await his.get("/console/switches"))[1]
            assert ("tool:print.page.v1" in page, "dry cartridge" in page, "boss" in page) == (
                True,
                False,
                False,
            )
            _, page, _ = await all_of_it.get("/console/audit?run=switches&kind=revived")
            assert ("switch.revived" in page, "mended" in page) == (True, True)
            form = {"csrf": await all_of_it.token(), "kind": "planet", "name": "x", "reason": "x"}
            assert (await all_of_it.post("/console/switches/kill", form))[0] == 422

    with started(*MODEL_OFF, *TOOLS, folder=tmp_path) as server:
        asyncio.run(main(server))


def test_a_decision_holds_for_what_was_shown_only(plain: Server) -> None:
    async def work(at: Visitor) -> None:
        async with client(plain) as http:
            _, one = await http.call("mail.send.v1", {"to": "one@example.org", "text": "x"}, run_id="s1")
            _, two = await http.call("mail.send.v1", {"to": "two@example.org", "text": "x"}, run_id="s2")
            seen = {}
            for pending in (one, two):
                _, page, _ = await at.get(f"/console/approval?id={pending['approval_id']}")
                seen[pending["approval_id"]] = page.split('name="seen" value="', 1)[1].split('"', 1)[0]
            token = await at.token()
            first, second = seen
            form = {"csrf": token, "id": first, "seen": seen[second]}
            status, page, _ = await at.post("/console/approval/approve", form)
            assert (status, "CHANGED" in page) == (409, True)
            form["seen"] = seen[first]
            assert (await at.post("/console/approval/approve", form))[0] == 303
            status, page, _ = await at.post("/console/approval/approve", form)
            assert (status, "DECIDED" in page) == (409, True)
            form = {"csrf": token, "id": second, "seen": seen[second], "reason": "x" * 2_001}
            assert (await at.post("/console/approval/deny", form))[0] == 422
            form["arguments"] = "[1]"
            status, page, _ = await at.post("/console/approval/review", form)
            assert (status, "one JSON object" in page) == (422, True)
            form["arguments"] = '{"to": </textarea><script>'
            status, page, _ = await at.post("/console/approval/review", form)
            assert (status, "&lt;/textarea&gt;&lt;script&gt;" in page) == (422, True)
            form["arguments"] = '{"to": 7}'
            for place in ("review", "edit"):  # told at once, with all that is wrong
                status, page, _ = await at.post(f"/console/approval/{place}", form)
                assert (status, "cannot run" in page, "/to" in page, "/text" in page) == (
                    422,
                    True,
                    True,
                    True,
                )
            assert (await http.get(f"/v1/approvals/{second}"))[1]["state"] == "pending"

    visiting(plain, work)


def test_pages_speak_two_languages(plain: Server) -> None:
    async def main() -> None:
        cases: list[tuple[str, dict[str, str], str]] = [
            ("", {}, "en"),
            ("", {"Accept-Language": "id-ID,id;q=0.9,en;q=0.8"}, "id"),
            ("", {"Accept-Language": "fr, en;q=0.5, id;q=0.4"}, "en"),
            ("", {"Accept-Language": "fr;q=x, ;;, de"}, "en"),
            ("?lang=id", {}, "id"),
            ("?lang=en", {"Accept-Language": "id"}, "en"),
        ]
        for query, headers, lang in cases:
            _, page, _ = await visit_fresh(plain, f"/console/approvals{query}", **headers)
            assert f'<html lang="{lang}">' in page, (query, headers)
            assert ("Tidak ada" in page or "Setujui" in page) == (lang == "id")
        async with visitor(plain) as at:
            await at.get("/console/runs?lang=id")
            assert '<html lang="id">' in (await at.get("/console/runs"))[1], "it is remembered"
            assert (await at.get("/console/runs?lang=xx"))[0] == 400

    asyncio.run(main())
