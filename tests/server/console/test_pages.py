"""What pages say: requests that need two people, policy explained, the chain, tools, figures."""

import asyncio
import re
import sqlite3
from pathlib import Path
from typing import Any

import gerbang as g
from tests.server.console.browsing import TOOLS, Visitor, visitor
from tests.server.running import Client, Server, client, key, started

POLICY = ("--policy", str(Path(__file__).parent / "policy.yaml"))
RIGHTS = ("calls", "runs", "approvals", "audit")
OFF = ("--model", "none", *TOOLS, *POLICY)
MEMORY = ("--store", "memory:")


def between(page: str, before: str, after: str) -> str:
    return page.split(before, 1)[1].split(after, 1)[0]


async def form_of(at: Visitor, approval: str) -> dict[str, str]:
    """Return the hidden fields of a request's forms."""
    _, page, _ = await at.get(f"/console/approval?id={approval}")
    return {
        "csrf": between(page, 'name="csrf" value="', '"'),
        "seen": between(page, 'name="seen" value="', '"'),
        "id": approval,
    }


async def asked(http: Client, tool: str, arguments: dict[str, Any], run_id: str) -> str:
    """Make a call that waits for a person; return the approval's id."""
    _, pending = await http.call(tool, arguments, run_id=run_id)
    name: str = pending["approval_id"]
    return name


def test_two_people_agree_and_the_second_sees_what_the_first_changed(tmp_path: Path) -> None:
    carl = key(tmp_path, *RIGHTS, user="carl", tenant="acme")
    ana = key(tmp_path, *RIGHTS, user="ana", tenant="acme")
    bob = key(tmp_path, *RIGHTS, user="bob", tenant="acme")

    async def main(server: Server) -> None:
        async with (
            client(server, carl) as http,
            visitor(server, carl) as his,
            visitor(server, ana) as hers,
            visitor(server, bob) as bobs,
        ):
            call = {"to": "shop", "amount": 90, "note": "pin swordfish"}
            approval = await asked(http, "bank.pay.v1", call, "r1")
            for at in (his, hers):
                _, page, _ = await at.get(f"/console/approval?id={approval}")
                assert "swordfish" not in page
                assert "two_person" in page
                assert "0 of 2 people have agreed" in page
            assert "swordfish" not in (await hers.get("/console/run?id=r1"))[1]
            status, page, _ = await his.post("/console/approval/approve", await form_of(his, approval))
            assert (status, "SELF_APPROVAL" in page) == (409, True)
            _, page, _ = await hers.get(f"/console/approval/edit?id={approval}")
            assert "swordfish" not in page
            form = await form_of(hers, approval)
            masked = between(page, '<textarea id="arguments"', "</textarea>")
            form["arguments"] = masked.split(">", 1)[1].replace("&#34;", '"').replace("90", "9")
            status, _, headers = await hers.post("/console/approval/edit", form)
            assert (status, headers["Location"]) == (303, "/console/approvals?done=vote")
            assert "Another person has to agree" in (await hers.get(headers["Location"]))[1]
            status, page, _ = await hers.post("/console/approval/approve", await form_of(hers, approval))
            assert (status, "SECOND_PERSON" in page) == (409, True)
            _, page, _ = await bobs.get(f"/console/approval?id={approval}")
            assert "ana changed the call" in page
            assert "1 of 2 people have agreed. ana" in page
            assert "&#34;amount&#34;: 90," in between(page, "<del>", "</del>")
            assert "&#34;amount&#34;: 9," in between(page, "<ins>", "</ins>")
            status, _, _ = await bobs.post("/console/approval/approve", await form_of(bobs, approval))
            assert status == 303
            _, done = await http.call("bank.pay.v1", call, run_id="r1")
            assert done["value"] == "9 to shop: pin swordfish"
            _, page, _ = await bobs.get("/console/approvals?state=used")
            assert "ana, bob" in page

    with started(*OFF, *MEMORY, folder=tmp_path) as server:
        asyncio.run(main(server))


def test_what_destroys_is_approved_by_typing_its_name() -> None:
    async def main(server: Server) -> None:
        async with client(server) as http, visitor(server) as at:
            approval = await asked(http, "disk.wipe.v1", {"disk": "sda"}, "r1")
            form = await form_of(at, approval)
            for typed in ({}, {"typed": ""}, {"typed": "disk.wipe"}):
                status, page, _ = await at.post("/console/approval/approve", {**form, **typed})
                assert (status, "NOT_CONFIRMED" in page) == (422, True)
            status, _, _ = await at.post("/console/approval/approve", {**form, "typed": " disk.wipe.v1 "})
            assert status == 303
            assert (await http.get(f"/v1/approvals/{approval}"))[1]["state"] == "granted"

    with started(*OFF, *MEMORY) as server:
        asyncio.run(main(server))


def test_policy_is_explained() -> None:
    async def main(server: Server) -> None:
        async with client(server) as http, visitor(server) as at:
            token = await at.token("/console/policy")
            form = {"csrf": token, "tool": "print.page.v1", "arguments": '{"page": 3}', "purpose": ""}
            _, page, _ = await at.post("/console/policy", form)
            assert 'What the policy says: <span class="state state-allow">allow' in page
            assert "SMALL_PAGES" in page
            why = between(page, '<th scope="row"><code>no-big-pages</code>', "</tr>")
            assert "does not match" in why
            assert "wants {&#34;ge&#34;:100}; it is 3" in why
            assert "<strong>decided</strong>" in between(
                page, '<th scope="row"><code>ana-prints</code>', "</tr>"
            )
            _, page, _ = await at.post("/console/policy", {**form, "arguments": '{"page": 300}'})
            assert "state-deny" in page
            assert "<strong>decided</strong>" in between(
                page, '<th scope="row"><code>no-big-pages</code>', "</tr>"
            )
            _, page, _ = await at.post("/console/policy", {**form, "arguments": '{"page": "x"}'})
            assert 'What the whole gate says: <span class="state state-deny">deny' in page
            assert "WRONG_TYPE" in page or "INVALID" in page or "validation" in page.lower()
            for wrong in ("", "[", "[]", "3"):
                status, page, _ = await at.post("/console/policy", {**form, "arguments": wrong})
                assert (status, 'role="alert"' in page) == (422, True), wrong
            status, _, _ = await at.post("/console/policy", {**form, "tool": "no.such.v1"})
            assert status == 404
            approval = await asked(http, "bank.pay.v1", {"to": "x", "amount": 1, "note": "hunter2"}, "r1")
            _, page, _ = await at.get(f"/console/policy?approval={approval}")
            assert "<strong>decided</strong>" in between(page, '<th scope="row"><code>money</code>', "</tr>")
            assert "hunter2" not in page
            assert (await http.get("/v1/runs"))[1]["runs"][0]["run_id"] == "r1", "nothing else was recorded"

    with started(*OFF, *MEMORY) as server:
        asyncio.run(main(server))


def test_the_audit_is_searched_and_a_broken_chain_is_seen(tmp_path: Path) -> None:
    store = tmp_path / "store.db"

    async def fill(server: Server) -> None:
        async with client(server) as http, visitor(server) as at:
            for number in range(3):
                await http.call("print.page.v1", {"page": number}, run_id=f"run-{number}")
            await http.call("print.page.v1", {"page": 500}, run_id="run-denied")
            _, page, _ = await at.get("/console/audit?kind=refused")
            assert "TOO_BIG" in page
            assert ("run-denied" in page, "run-1" in page) == (True, False)
            assert "Looked at 4 runs" in page
            _, page, _ = await at.get("/console/audit?tool=PRINT&q=input_redacted")
            assert page.count("call.dispatched") == 3
            _, page, _ = await at.get("/console/audit?run=run-1")
            assert "whole, 2 events" in page
            assert (await at.get("/console/audit?run=nobody"))[0] == 404
            _, page, _ = await at.get("/console/audit?tool=no.such")
            assert "There is nothing here." in page

    async def look(server: Server) -> None:
        async with visitor(server) as at:
            _, page, _ = await at.get("/console/audit?run=run-1")
            assert "broken at event 1" in page
            _, page, _ = await at.get("/console/audit?q=nothing-has-this")
            assert "broken at event 1" in page, "found though nothing was searched for in it"
            _, page, _ = await at.get("/console/audit?run=run-2")
            assert "whole, 2 events" in page

    with started(*OFF, "--store", f"sqlite:{store}", folder=tmp_path) as server:
        asyncio.run(fill(server))
    with sqlite3.connect(store) as opened:
        changed = opened.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'print.page', 'print.cage') AS BLOB) "
            "WHERE kind = 'call.dispatched' AND CAST(body AS TEXT) LIKE '%\"run-1\"%'"
        )
        assert changed.rowcount == 1
    opened.close()
    with started(*OFF, "--store", f"sqlite:{store}", folder=tmp_path) as server:
        asyncio.run(look(server))


def test_tools_are_shown_with_what_the_review_finds() -> None:
    async def main(server: Server) -> None:
        async with client(server) as http, visitor(server) as at:
            count = len((await http.get("/v1/tools"))[1]["tools"])
            _, page, _ = await at.get("/console/tools")
            assert f"{count} tools" in page
            found = re.findall(r'level-(\w+)">', between(page, "disk.wipe.v1</a>", "</tr>"))
            assert found == [level for level in ("error", "warning", "note") if level in found]
            _, page, _ = await at.get("/console/tools?q=wipe+DISK")
            assert ("disk.wipe.v1" in page, "1 tool<" in page, "bank.pay" in page) == (True, True, False)
            _, page, _ = await at.get("/console/tool?name=disk.wipe.v1")
            assert "destructive" in page
            assert '<span class="tag strong level-' in between(page, "<h2>Findings</h2>", "<h2>")
            assert "&#34;disk&#34;" in between(page, "JSON Schema", "</pre>")
            assert (await at.get("/console/tool?name=no.such"))[0] == 404

    with started(*OFF, *MEMORY) as server:
        asyncio.run(main(server))


def test_figures_are_of_the_own_calls(tmp_path: Path) -> None:
    ana = key(tmp_path, *RIGHTS, user="ana", tenant="acme")
    bob = key(tmp_path, *RIGHTS, user="bob", tenant="umbrella")

    async def main(server: Server) -> None:
        async with (
            client(server, ana) as http,
            visitor(server, ana) as hers,
            visitor(server, bob) as his,
        ):
            for page_number in (1, 2, 3, 500):
                await http.call("print.page.v1", {"page": page_number}, run_id=f"p{page_number}")
            _, page, _ = await hers.get("/console/figures?period=1h")
            assert "newest 4 runs; 4 calls" in page
            row = between(page, '<th scope="row">print.page.v1</th>', "</tr>")
            cells = [cell.split("<", 1)[0] for cell in re.split(r'<td class="number"[^>]*>', row)[1:]]
            assert cells[:2] == ["4", "1"]
            assert cells[-1] == "7.5"
            assert 'aria-label="Calls, and calls that ended in an error. Calls: max 4; Errors: max 1"' in page
            _, page, _ = await his.get("/console/figures")
            assert "newest 0 runs; 0 calls" in page
            assert "<svg" not in page

    with started(*OFF, *MEMORY, folder=tmp_path) as server:
        asyncio.run(main(server))


ODD = ("a/b", "a b?c=d&e#f", "é日本🙂", "..", "%2e%2e", "x\u202ey", "'\"<>", "r" * 480)


def test_runs_with_odd_names_have_their_pages() -> None:
    async def main(server: Server) -> None:
        async with client(server) as http, visitor(server) as at:
            for name in ODD:
                await http.call("print.page.v1", {"page": 7}, run_id=name)
            _, page, _ = await at.get("/console/runs")
            places = re.findall(r'href="(/console/run\?id=[^"]+)"', page)
            assert len(places) == page.count("call print.page.v1") == len(ODD)
            for place in places:
                status, shown, _ = await at.get(place)
                assert (status, "printed 7" in shown) == (200, True), place
                status, shown, _ = await at.get(place.replace("run?id=", "audit?run="))
                assert (status, "whole, 2 events" in shown) == (200, True), place
            for wrong in ("", "no", "x" * 513, "a%00b"):
                assert (await at.get(f"/console/run?id={wrong}"))[0] in (400, 404), wrong

    with started(*OFF, *MEMORY) as server:
        asyncio.run(main(server))


def test_long_timelines_come_in_parts() -> None:
    async def main(server: Server) -> None:
        async with client(server) as http, visitor(server) as at:
            for number in range(300):
                await http.call("print.page.v1", {"page": number % 9}, run_id="long", step_id=number)
            _, page, _ = await at.get("/console/run?id=long")
            assert page.count('class="seq"') == 500
            assert '<p><a href="/console/run?id=long&amp;after=500">' in page
            _, page, _ = await at.get("/console/run?id=long&after=500")
            assert page.count('class="seq"') == 100
            assert '<span class="seq">600</span>' in page
            _, page, _ = await at.get("/console/audit?run=long")
            assert "whole, 600 events" in page
            _, page, _ = await at.get("/console/audit?run=long&after=500")
            assert page.count("<tr><td ") == 100

    with started(*OFF, *MEMORY) as server:
        asyncio.run(main(server))


def test_a_run_that_was_erased_says_so(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'store.db'}"

    async def fill(server: Server) -> str:
        async with client(server) as http, visitor(server) as at:
            approval = await asked(http, "door.open.v1", {"door": "north", "code": "swordfish"}, "r1")
            form = await form_of(at, approval)
            assert (await at.post("/console/approval/deny", {**form, "reason": "no"}))[0] == 303
            await http.call("door.open.v1", {"door": "north", "code": "swordfish"}, run_id="r1")
            return approval

    async def erase() -> None:
        async with g.Gateway(store=store) as gate:
            await gate.erase("r1", by=g.Principal("local", "local"))

    async def look(server: Server, approval: str) -> None:
        async with visitor(server) as at:
            for path in (f"/console/approval?id={approval}", "/console/run?id=r1"):
                status, page, _ = await at.get(path)
                assert (status, "were erased" in page, "north" in page) == (200, True, False), path
            _, page, _ = await at.get("/console/audit?run=r1")
            assert ("whole," in page, "run.erased" in page) == (True, True)
            assert (await at.get("/console/approvals?state=refused"))[0] == 200

    with started(*OFF, "--store", store, folder=tmp_path) as server:
        approval = asyncio.run(fill(server))
    asyncio.run(erase())
    with started(*OFF, "--store", store, folder=tmp_path) as server:
        asyncio.run(look(server, approval))
