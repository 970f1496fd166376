"""What is in the outbox arrives: after restarts, after a crash, from one process at a time, or on record."""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import gerbang as g
from gerbang.adapters.approvals.webhook import Webhook
from gerbang.testing import ManualClock
from tests.adapters.approvals.desk import SECRET, Keys, desk, hook, until
from tests.runtime.street import Effects, bodies, toolbox

from .helpers import CHILD_S, opened, run

GONE = "http://127.0.0.1:9/hook"
"""Nobody listens there."""
ROOT = Path(__file__).parents[2]


def gateway(store: Any, channel: Any, **more: Any) -> g.Gateway:
    return g.Gateway(tools=toolbox(Effects()), store=store, approver=channel, secrets=Keys(), **more)


async def ask(gate: g.Gateway, run_id: str = "r") -> str:
    waiting = await gate.call("mail.send.v1", {"to": "ana", "text": "hi"}, run_id=run_id)
    assert waiting.status == "pending"
    assert waiting.approval_id is not None
    return waiting.approval_id


def test_a_message_that_was_not_taken_is_sent_by_the_next_gateway(shared: str) -> None:
    async def work() -> None:
        clock = ManualClock()
        async with desk(500, 500) as server:
            first = Webhook(server.url, base_s=60)
            async with gateway(shared, first, clock=clock) as gate:
                name = await ask(gate)
                await until(lambda: server.tried)
            assert (first.deliveries, server.tried) == ([], 1)  # nobody waits a minute for the end
            async with opened(shared) as store:
                (kept,) = await store.messages()
                assert (kept.message_id, kept.attempts, kept.status) == (f"{name}/0", 1, 500)
                assert 30 <= kept.due_at - clock.now() <= 60
            async with gateway(shared, Webhook(server.url, base_s=60), clock=clock) as gate:
                await gate.call(
                    "mail.send.v1", {"to": "ana", "text": "hi"}, run_id="r"
                )  # asks again: too early
                clock.advance(60)
                await until(lambda: server.tried == 2)
            clock.advance(120)
            last = Webhook(server.url, base_s=60)
            async with gateway(shared, last, clock=clock) as gate:
                await until(lambda: last.deliveries)
                assert await gate.store.messages() == []
                assert (
                    await gate.call("mail.send.v1", {"to": "ana", "text": "hi"}, run_id="r")
                ).status == "pending"
            assert server.ids == [f"{name}/0"] * 3
            assert [told["approval_id"] for told in server.taken] == [name]
            assert [(one.attempts, one.status, one.error) for one in last.deliveries] == [(3, 204, "")]

    run(work())


def test_a_message_of_a_process_that_died_is_sent(shared: str) -> None:
    async def work() -> None:
        async with desk() as server:
            command = [sys.executable, "-W", "error", "-m", "tests.stores.child_asking", shared, server.url]
            died = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
            said, _ = await asyncio.wait_for(died.communicate(), CHILD_S)
            name = said.decode().strip()
            assert (died.returncode, name[:4]) == (1, "apr_")
            async with gateway(shared, hook(server.url)) as gate:
                await until(lambda: server.taken)
                row = await gate.store.approval(name)
                assert row is not None
            assert {told["approval_id"] for told in server.taken} == {name}
            assert set(server.ids) == {f"{name}/0"}

    run(work())


def test_one_process_sends_at_a_time(shared: str) -> None:
    async def work() -> None:
        async with desk(*[500] * 12) as server, contextlib.AsyncExitStack() as stack:
            gates = [
                await stack.enter_async_context(gateway(shared, Webhook(server.url, base_s=0.2)))
                for _ in range(4)
            ]
            names = await asyncio.gather(*(ask(gates[n % 4], f"r{n}") for n in range(24)))
            await until(lambda: len(server.taken) >= 24)
            async with opened(shared) as store:
                assert await store.messages() == []
            assert sorted(told["approval_id"] for told in server.taken) == sorted(names)
            assert server.tried == 24 + 12

    run(work())


def test_a_message_that_is_never_taken_ends_on_record(url: str) -> None:
    async def work() -> None:
        channel = Webhook(f"{GONE}?token=hunter2", base_s=0.01, attempts=3)
        async with gateway(url, channel) as gate:
            name = await ask(gate)
            await until(lambda: channel.deliveries)
            *_, last = await bodies(gate.store, "r")
            wanted = {
                "kind": "message.undelivered",
                "what": "approval.requested",
                "message_id": f"{name}/0",
                "approval_id": name,
                "attempts": 3,
                "status": 0,
                "error_code": "ClientConnectorError",
            }
            assert wanted.items() <= last.items()
            assert "hunter2" not in json.dumps(last)
            assert SECRET not in json.dumps(last)
            assert await gate.store.messages() == []
            await ask(gate)  # it was asked for already, and given up
            assert await gate.store.messages() == []

    run(work())


def test_a_request_that_is_decided_first_is_not_sent(shared: str) -> None:
    async def work() -> None:
        clock = ManualClock()
        async with gateway(shared, Webhook(GONE, base_s=60), clock=clock) as gate:
            decided, waiting = await ask(gate, "r1"), await ask(gate, "r2")
            async with asyncio.timeout(10):  # both have been tried in vain
                while [one.attempts for one in await gate.store.messages()] != [1, 1]:
                    await asyncio.sleep(0.01)
            await gate.refuse(decided, by=g.Principal("bo"))
        async with desk() as server:
            moved = Webhook(server.url)
            moved.channel = Webhook(GONE).channel  # the same desk, at another address
            clock.advance(120)
            async with gateway(shared, moved, clock=clock):
                await until(lambda: len(moved.deliveries) == 2)
            assert [told["approval_id"] for told in server.taken] == [waiting]
            told = {one.about: one.error for one in moved.deliveries}
            assert told == {decided: "decided before it was sent", waiting: ""}

    run(work())


def test_channels_with_other_addresses_leave_it_alone(shared: str) -> None:
    async def work() -> None:
        async with desk() as server:
            async with gateway(shared, Webhook(GONE)) as gate:
                await ask(gate)
            other = hook(server.url)
            async with gateway(shared, other) as gate:
                name = await ask(gate, "r2")
                await until(lambda: other.deliveries)
                assert len(await gate.store.messages()) == 1
            assert [told["approval_id"] for told in server.taken] == [name]

    run(work())


def test_news_is_written_with_what_it_tells_of(shared: str) -> None:
    rule = {
        "id": "told",
        "match": {"tool": "mail.send.v1"},
        "decision": "allow",
        "reason": "TOLD",
        "obligations": [{"notify": ["security"]}],
    }

    async def work() -> None:
        policy = g.Policy.from_rules([rule])
        async with gateway(shared, Webhook(GONE, base_s=60), policy=policy) as gate:
            assert (await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")).status == "ok"
            (kept,) = await gate.store.messages()
            assert (kept.kind, kept.run_id, kept.approval_id) == ("policy.notified", "r", None)
            said = json.loads(kept.body)
            assert (said["message_id"], said["notify"]) == (kept.message_id, ["security"])

    run(work())


def test_a_webhook_that_cannot_send_asks_nobody(url: str) -> None:
    async def work() -> None:
        inner = hook(GONE)

        async def both(request: g.ApprovalRequest) -> Any:
            return await inner.ask(request)  # nothing would send it

        async with gateway(url, both) as gate:
            refused = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
            assert refused.error is not None
            assert refused.error.error_code == "APPROVER_ERROR"

    run(work())
