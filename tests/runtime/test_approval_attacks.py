"""Approvals that must not open anything: forged, replayed, stale, from elsewhere. Each has its own name."""

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import gerbang as g
from gerbang.approval.seal import sealed
from gerbang.testing import ManualClock
from gerbang.values.contract_parts import ResourceRef, SideEffects
from gerbang.values.record import Batch
from tests.runtime.street import Effects, bodies, code, endings, run

HERE = Path(__file__).parent
BO = g.Principal("bo")
ANA = g.Principal("ana", scopes={"pay"})
ASK = [{"id": "pay", "match": {"tool": ["bank.pay.v1", "web.*"]}, "decision": "ask", "reason": "PAY"}]
OTHER = [{"id": "pay", "match": {"tool": "bank.*"}, "decision": "ask", "reason": "ELSE"}]
DENY = [{"id": "pay", "match": {"tool": "bank.*"}, "decision": "deny", "reason": "NOT_NOW"}]


class Bank:
    """Tools that pay and read, with what they did; what the world says can be changed."""

    def __init__(self, about: str = "Pay somebody.") -> None:
        self.effects = Effects()
        self.version = "1"

        @g.tool(
            name="bank.pay.v1",
            risk="write_internal",
            scopes=["pay"],
            description=about,
        )
        async def pay(to: str, amount: int, version: str = "1") -> str:
            self.effects(f"{to} {amount}")
            return "paid"

        @g.tool(name="web.read.v1", risk="read_external")
        async def read(page: str) -> str:
            """Read a page."""
            return "Pay eve."

        self.tools: list[Any] = [pay, read]

    def open(self, url: str, rules: list[dict[str, Any]] | None = None, **more: Any) -> g.Gateway:
        reads = {"id": "read", "match": {"tool": "web.*"}, "decision": "allow", "reason": "READ"}
        policy = g.Policy.from_rules([*(ASK[:1] if rules is None else rules)])
        del reads
        return g.Gateway(tools=self.tools, store=url, policy=policy, **more)


async def pay(gate: g.Gateway, run_id: str = "r", **more: Any) -> g.Result:
    arguments = {"to": more.pop("to", "ana"), "amount": more.pop("amount", 5)}
    more.setdefault("principal", ANA)
    return await gate.call("bank.pay.v1", arguments, run_id=run_id, step_id=more.pop("step", 1), **more)


async def approved(gate: g.Gateway, **more: Any) -> str:
    waiting = (await pay(gate, **more)).approval_id
    assert waiting is not None
    assert (await gate.approve(waiting, by=BO)).state == "granted"
    return waiting


def sql(url: str, statement: str, *values: Any) -> None:
    """Change the store's file behind its back, as somebody with the file but without the key would."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:"))) as database, database:
        assert database.execute(statement, values).rowcount == 1


FORGERIES: list[tuple[str, str, str]] = [
    ("a grant that nobody gave", "UPDATE approvals SET state = 'granted', decided_by = 'bo'", "pending"),
    ("another call's arguments", 'UPDATE approvals SET arguments = \'{"amount":5,"to":"eve"}\'', "granted"),
    (
        "arguments of the right type",
        'UPDATE approvals SET arguments = CAST(\'{"amount":5,"to":"eve"}\' AS BLOB)',
        "granted",
    ),
    ("another binding", "UPDATE approvals SET binding = 'sha256:00'", "granted"),
    ("no end", "UPDATE approvals SET expires_at = 9e9", "granted"),
    (
        "other duties",
        'UPDATE approvals SET terms = replace(terms, \'"run"\', \'"duties":[],"run"\')',
        "granted",
    ),
    ("a vote that nobody cast", "UPDATE approvals SET votes = '[]'", "granted"),
    ("another preview", "UPDATE approvals SET preview = 'Nothing to see.'", "granted"),
    ("no terms", "UPDATE approvals SET terms = '{}'", "granted"),
    ("no seal", "UPDATE approvals SET seal = ''", "granted"),
    ("a row that is gone", "DELETE FROM approvals", "granted"),
]


@pytest.mark.parametrize(
    ("statement", "before"), [row[1:] for row in FORGERIES], ids=[r[0] for r in FORGERIES]
)
def test_forged(statement: str, before: str, durable: str) -> None:
    bank = Bank()

    async def work() -> None:
        async with bank.open(durable) as gate:
            if before == "granted":
                await approved(gate)
            else:
                await pay(gate)
        sql(durable, statement)
        async with bank.open(durable) as gate:
            result = await pay(gate)
            assert code(result) in ("APPROVAL_FORGED", "APPROVAL_STALE")
            assert await endings(gate.store, "r") == {result.call_id: 1}

    run(work())
    assert bank.effects.log == []


def test_a_forged_request_is_not_decided_either(durable: str) -> None:
    bank = Bank()

    async def work() -> None:
        async with bank.open(durable) as gate:
            waiting = (await pay(gate)).approval_id
            assert waiting is not None
        sql(durable, 'UPDATE approvals SET arguments = \'{"amount":500,"to":"eve"}\'')
        async with bank.open(durable) as gate:
            with pytest.raises(g.UsageError, match="not as it was issued"):
                await gate.approve(waiting, by=BO)
            (tried,) = [one for one in await bodies(gate.store, "r") if one["kind"] == "approval.attempted"]
            assert (tried["error_code"], tried["approver"]) == ("APPROVAL_FORGED", "bo")

    run(work())


def test_an_approval_of_one_call_pointed_at_another(durable: str) -> None:
    bank = Bank()

    async def work() -> None:
        async with bank.open(durable) as gate:
            good = await approved(gate)
            await pay(gate, step=2, to="eve", amount=900)
            sql(durable, "UPDATE calls SET approval_id = ? WHERE CAST(arguments AS TEXT) LIKE '%eve%'", good)
        async with bank.open(durable) as gate:
            assert code(await pay(gate, step=2, to="eve", amount=900)) == "APPROVAL_FORGED"
            assert (await pay(gate)).status == "ok"  # the good one is still good

    run(work())
    assert bank.effects.log == ["ana 5"]


def test_unknown_ids_are_refused_and_recorded(url: str) -> None:
    bank = Bank()

    async def work() -> None:
        async with bank.open(url) as gate:
            waiting = (await pay(gate)).approval_id
            assert waiting is not None
            eve = g.Principal("eve", "evil")
            for name, by in (("apr_none", BO), (waiting, eve), ("", BO), ("x" * 500, BO)):
                for decide in (gate.approve, gate.refuse, gate.cancel):
                    with pytest.raises(g.UsageError, match="no approval"):
                        await decide(name, by=by)
            tried = await bodies(gate.store, "approvals")
            assert len(tried) == 12
            assert {body["error_code"] for body in tried} == {"APPROVAL_UNKNOWN"}
            assert {body["approver_tenant"] for body in tried} == {"local", "evil"}

    run(work())


Change = Callable[[g.Gateway, ManualClock], Awaitable[None]]


async def read_outside(gate: g.Gateway, clock: ManualClock) -> None:
    waiting = await gate.call("web.read.v1", {"page": "x"}, principal=ANA, run_id="r", step_id=9)
    assert waiting.approval_id is not None
    await gate.approve(waiting.approval_id, by=BO)
    done = await gate.call("web.read.v1", {"page": "x"}, principal=ANA, run_id="r", step_id=9)
    assert done.status == "ok"


async def a_day(gate: g.Gateway, clock: ManualClock) -> None:
    clock.advance(86_400)


async def killed(gate: g.Gateway, clock: ManualClock) -> None:
    await gate.kill("tool:bank.pay.v1")


async def nothing(gate: g.Gateway, clock: ManualClock) -> None:
    return


# what changes between the grant and its use; the gateway and the call that use it; the code, and the reason
CHANGES: list[tuple[str, Change, dict[str, Any], dict[str, Any], str, str]] = [
    ("nothing", nothing, {}, {}, "ok", ""),
    ("the run read something", read_outside, {}, {}, "APPROVAL_STALE", "APPROVAL_STALE/taint"),
    ("its time is over", a_day, {}, {}, "APPROVAL_TIMEOUT", ""),
    ("a kill switch", killed, {}, {}, "KILL_SWITCH", ""),
    ("another policy", nothing, {"rules": OTHER}, {}, "APPROVAL_STALE", "APPROVAL_STALE/policy"),
    ("a policy that denies", nothing, {"rules": DENY}, {}, "NOT_NOW", ""),
    ("another contract", nothing, {"about": "Pay anybody."}, {}, "APPROVAL_STALE", "APPROVAL_STALE/contract"),
    ("a scope was revoked", nothing, {}, {"principal": g.Principal("ana")}, "SCOPE_MISSING", ""),
    ("another purpose", nothing, {}, {"purpose": "fun"}, "APPROVAL_STALE", ""),
    ("an agent instead", nothing, {}, {"principal": g.Principal("ana", scopes={"pay"}, agent="x")},
     "APPROVAL_STALE", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "gateway", "call", "wanted", "why"), [row[1:] for row in CHANGES], ids=[r[0] for r in CHANGES]
)
def test_stale(
    change: Change, gateway: dict[str, Any], call: dict[str, Any], wanted: str, why: str, durable: str
) -> None:
    bank, clock = Bank(), ManualClock()
    later = Bank(gateway.pop("about", "Pay somebody."))

    async def work() -> None:
        async with bank.open(durable, clock=clock) as gate:
            granted = await approved(gate)
            await change(gate, clock)
        async with later.open(durable, gateway.get("rules"), clock=clock) as gate:
            result = await pay(gate, **call)
            assert code(result) == wanted
            ended = await endings(gate.store, "r")
            assert ended[result.call_id] == 1
            expired = [one for one in await bodies(gate.store, "r") if one["kind"] == "approval.expired"]
            assert [one.get("why", "") for one in expired] == ([why] if why or "TIMEOUT" in wanted else [])
            if why:
                row = await gate.store.approval(granted)
                assert row is not None
                assert row.state == "expired"
                assert row.note.startswith(why)

    run(work())
    assert [*bank.effects.log, *later.effects.log] == (["ana 5"] if wanted == "ok" else [])


def test_a_snapshot_that_is_stale_at_use(durable: str) -> None:
    """What validators read is read again: the record has moved on since the person looked."""
    now = {"version": "1"}
    effects = Effects()

    @g.tool(
        name="docs.change.v1",
        risk="write_internal",
        validators=[
            {"name": "version", "options": {"argument": "version", "reader": "version", "subject": ["name"]}}
        ],
    )
    async def change(name: str, version: str) -> str:
        """Change a document."""
        effects(name)
        return "changed"

    def approver(request: g.ApprovalRequest) -> g.ApprovalAnswer:
        now["version"] = "2"  # while the person thinks
        return g.ApprovalAnswer("approve", BO)

    async def work() -> None:
        readers = {"version": lambda _, __: now["version"]}
        async with g.Gateway(tools=[change], store=durable, readers=readers, approver=approver) as gate:
            call = ("docs.change.v1", {"name": "a", "version": "1"})
            assert code(await gate.call(*call, run_id="r")) == "STALE_SNAPSHOT"
            (row,) = await gate.store.approvals()
            assert row.state == "expired"
            assert row.note.startswith("STALE_SNAPSHOT")

    run(work())
    assert effects.log == []


def test_an_approval_of_another_run(url: str) -> None:
    paid: list[str] = []

    @g.tool(name="invoice.pay.v1", risk="transactional", natural_key=("invoice",))
    async def settle(invoice: str) -> str:
        """Pay an invoice."""
        paid.append(invoice)
        return "paid"

    async def work() -> None:
        async with g.Gateway(tools=[settle], store=url) as gate:

            async def call(name: str | None) -> g.Result:
                return await gate.call("invoice.pay.v1", {"invoice": "3"}, principal=ANA, run_id=name)

            waiting = (await call("a")).approval_id
            assert waiting is not None
            assert (await call("b")).approval_id == waiting  # the same effect waits once
            await gate.approve(waiting, by=BO)
            for name in ("b", None):
                stolen = await call(name)
                assert code(stolen) == "APPROVAL_STALE"
                assert stolen.error is not None
                assert "another run" in stolen.error.message
            assert paid == []
            assert (await call("a")).status == "ok"

    run(work())
    assert paid == ["3"]


def test_used_twice(durable: str) -> None:
    bank = Bank()

    async def work() -> None:
        async with bank.open(durable) as one, bank.open(durable) as two:
            waiting = await approved(one)
            results = await asyncio.gather(*(pay(gate) for gate in (one, two) * 4))
            assert "ok" in {result.status for result in results}
            row = await one.store.approval(waiting)
            assert row is not None
            assert row.state == "used"
            for decide in (one.approve, one.refuse, one.cancel):
                with pytest.raises(g.UsageError, match="used already"):
                    await decide(waiting, by=BO)
            # put back by somebody with the key: the ledger still knows that the call was made
            again = sealed(replace(row, state="granted"), await one.store.secret_key())
            await one.store.commit(Batch(approvals=[again]))
            assert (await pay(two)).replayed

    run(work())
    assert bank.effects.log == ["ana 5"]


def test_an_approval_is_not_good_for_a_second_try(url: str) -> None:
    """The call that it was for has failed, for good: whoever wants it again asks again."""
    tries: list[int] = []

    @g.tool(name="docs.write.v1", risk="write_internal")
    async def write(name: str) -> str:
        """Write."""
        tries.append(1)
        raise g.ToolError("no such folder", effect="none")

    async def work() -> None:
        async with g.Gateway(tools=[write], store=url) as gate:
            call = ("docs.write.v1", {"name": "a"})
            waiting = (await gate.call(*call, run_id="r")).approval_id
            assert waiting is not None
            await gate.approve(waiting, by=BO)
            assert (await gate.call(*call, run_id="r")).status == "error"
            again = await gate.call(*call, run_id="r")
            assert code(again) == "pending"
            assert again.approval_id != waiting

    run(work())
    assert len(tries) == 1


def test_used_by_two_processes_at_once(durable: str, tmp_path: Path) -> None:
    bank = Bank()
    log = tmp_path / "effects"
    log.touch()
    child = [sys.executable, str(HERE / "child_approved.py"), durable, str(log)]

    async def work() -> None:
        for round_ in range(3):
            asking = await asyncio.create_subprocess_exec(*child, f"r{round_}", "ask")
            assert await asking.wait() == 0
            async with bank.open(durable) as gate:
                (row,) = await gate.store.approvals(run_id=f"r{round_}", state="pending")
                await gate.approve(row.approval_id, by=BO)
            both = [
                await asyncio.create_subprocess_exec(*child, f"r{round_}", "use", stdout=subprocess.PIPE)
                for _ in range(3)
            ]
            said = [(await one.communicate())[0].decode().strip() for one in both]
            assert sorted(set(said)) in (["ok"], ["APPROVAL_STALE", "ok"]), said

    run(work(), within_s=60)
    assert log.read_text().split() == ["r0", "r1", "r2"]


def link_elsewhere(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


FILE_CHANGES: list[tuple[str, Callable[[Path], object], str]] = [
    ("as it was", lambda path: path.write_text("one"), "ok"),
    ("other text", lambda path: path.write_text("two"), "APPROVAL_STALE"),
    ("gone", lambda path: path.unlink(), "APPROVAL_STALE"),
    (
        "a link to something else",
        link_elsewhere,
        "APPROVAL_FILES",
    ),
    ("a folder", make_folder, "APPROVAL_STALE"),
]


@pytest.mark.parametrize(
    ("change", "wanted"), [row[1:] for row in FILE_CHANGES], ids=[r[0] for r in FILE_CHANGES]
)
@pytest.mark.parametrize("how", ["resource", "hook"])
def test_files(how: str, change: Callable[[Path], object], wanted: str, durable: str, tmp_path: Path) -> None:
    effects = Effects()
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    marks: dict[str, Any] = {"arguments": {"path": g.Argument(resource=ResourceRef("file"))}}

    @g.tool(name="files.publish.v1", risk="write_internal", **(marks if how == "resource" else {}))
    async def publish(path: str) -> str:
        """Publish a file."""
        effects(path)
        return "published"

    if how == "hook":
        publish.files(lambda arguments: [folder / arguments["path"]])

    async def work() -> None:
        owners = {"file": lambda _, who: who.tenant} if how == "resource" else {}
        async with g.Gateway(tools=[publish], store=durable, files=folder, owners=owners) as gate:
            call = ("files.publish.v1", {"path": "a.txt"})
            waiting = await gate.call(*call, run_id="r")
            assert waiting.approval_id is not None
            await gate.approve(waiting.approval_id, by=BO)
            change(folder / "a.txt")
            result = await gate.call(*call, run_id="r")
            # a tool's own hook may name what it likes: what the link leads to is what counts
            assert code(result) == (wanted if how == "resource" else wanted.replace("FILES", "STALE"))
            if code(result) == "APPROVAL_STALE":
                assert result.error is not None
                assert "a.txt has changed" in result.error.message
                (expired,) = [
                    one for one in await bodies(gate.store, "r") if one["kind"] == "approval.expired"
                ]
                assert expired["why"] == "APPROVAL_STALE/file"

    run(work())
    assert effects.log == (["a.txt"] if wanted == "ok" else [])


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b", "\0"])
def test_a_file_outside_is_not_approved(path: str, durable: str, tmp_path: Path) -> None:
    @g.tool(name="files.publish.v1", risk="write_internal",
            arguments={"path": g.Argument(resource=ResourceRef("file"))})  # fmt: skip
    async def publish(path: str) -> str:
        """Publish a file."""
        return "published"

    async def work() -> None:
        folder = tmp_path / "work"
        owners = {"file": lambda _, who: who.tenant}
        async with g.Gateway(tools=[publish], store=durable, files=folder, owners=owners) as gate:
            assert code(await gate.call("files.publish.v1", {"path": path})) == "APPROVAL_FILES"

    run(work())


def test_a_call_that_is_approved_keeps_its_place_for_as_long_as_it_says(url: str) -> None:
    clock = ManualClock()
    short = g.Policy.from_rules([{**ASK[0], "obligations": [{"expires": 60}]}])
    bank = Bank()

    async def work() -> None:
        by_policy = g.Gateway(tools=bank.tools, store=url, clock=clock, policy=short)
        by_both = g.Gateway(tools=bank.tools, clock=clock, policy=short, approval_s=10)
        by_gateway = bank.open("memory:", clock=clock, approval_s=30)
        for made, lasts in ((by_policy, 60.0), (by_both, 10.0), (by_gateway, 30.0)):
            async with made as gate:
                waiting = (await pay(gate)).approval_id
                assert waiting is not None
                row = await gate.store.approval(waiting)
                assert row is not None
                assert row.expires_at - row.created_at == lasts
                clock.advance(lasts)
                assert code(await pay(gate)) == "APPROVAL_TIMEOUT"

    run(work())


def test_a_contract_may_shorten_the_time() -> None:
    @g.tool(name="bank.pay.v1", risk="write_internal", side_effects=SideEffects("paid", approval_s=20))
    async def hasty(to: str, amount: int) -> str:
        """Pay in a hurry."""
        return "paid"

    async def work() -> None:
        for lasts, given_s in ((20.0, 86_400.0), (5.0, 5.0)):
            async with g.Gateway(tools=[hasty], approval_s=given_s) as gate:
                await pay(gate)
                (row,) = await gate.store.approvals()
                assert row.expires_at - row.created_at == pytest.approx(lasts)

    run(work())


@pytest.mark.parametrize("value", [0, -1, float("nan"), True, "60"])
def test_times_that_are_none(value: Any) -> None:
    with pytest.raises(g.UsageError, match="approval_s"):
        g.Gateway(approval_s=value)


def test_withdrawn(url: str) -> None:
    bank = Bank()

    async def work() -> None:
        async with bank.open(url) as gate:
            waiting = (await pay(gate)).approval_id
            assert waiting is not None
            row = await gate.cancel(waiting, by=ANA, reason="not needed")
            assert (row.state, row.note) == ("cancelled", "not needed")
            (call,) = await gate.store.calls("r")
            assert call.state == "CANCELLED"
            with pytest.raises(g.UsageError, match="cancelled already"):
                await gate.approve(waiting, by=BO)
            again = await pay(gate)
            assert (again.status, again.approval_id != waiting) == ("pending", True)

    run(work())
    assert bank.effects.log == []


def test_an_edited_call_that_was_cut_off_goes_on_as_it_was_edited(durable: str, tmp_path: Path) -> None:
    log = tmp_path / "effects"
    child = [sys.executable, str(HERE / "child_edited.py"), durable, str(log)]
    assert subprocess.run([*child, "die"], timeout=60).returncode == -signal.SIGKILL
    again = subprocess.run([*child, "go"], timeout=60, capture_output=True, text=True)
    assert again.stdout == "ok sent to al\n"
    first, second = log.read_text().splitlines()
    assert first == second  # the same call under the same key, and nobody else's mail
    assert first.startswith("al ")


@pytest.mark.parametrize(("decide", "wanted"), [("cancel", "RUN_CANCELLED"), ("refuse", "APPROVER_REFUSED")])
def test_decided_elsewhere_while_somebody_was_asked(decide: str, wanted: str, url: str) -> None:
    bank = Bank()

    async def approver(request: g.ApprovalRequest) -> bool:
        await getattr(made, decide)(request.approval_id, by=BO)
        return True  # too late

    made = bank.open(url, approver=approver)

    async def work() -> None:
        async with made as gate:
            result = await pay(gate)
            assert code(result) == wanted
            assert await endings(gate.store, "r") == {result.call_id: 1}

    run(work())
    assert bank.effects.log == []


@pytest.mark.parametrize(
    ("decide", "wanted"), [("approve", "ok"), ("refuse", "APPROVER_REFUSED"), ("cancel", "RUN_CANCELLED")]
)
def test_a_question_is_dropped_when_somebody_else_decides(decide: str, wanted: str, durable: str) -> None:
    bank = Bank()
    dropped: list[bool] = []
    asked = asyncio.Event()

    async def approver(request: g.ApprovalRequest) -> bool:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped.append(True)
            raise
        return True

    async def work() -> None:
        async with bank.open(durable, approver=approver) as gate, bank.open(durable) as other:
            call = asyncio.create_task(pay(gate))
            await asked.wait()
            (row,) = await other.store.approvals()
            await getattr(other, decide)(row.approval_id, by=BO)
            assert code(await call) == wanted
            assert dropped == [True]

    run(work())
    assert bank.effects.log == (["ana 5"] if wanted == "ok" else [])
