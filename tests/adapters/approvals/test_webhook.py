"""Requests over HTTP to a real server: signed, repeated until taken, never waited for; answers come back."""

import json
import time

import pytest

import gerbang as g
from gerbang.adapters.approvals.signing import sign, verify_reply
from gerbang.adapters.approvals.webhook import Webhook
from tests.adapters.approvals.desk import SECRET, Keys, desk, hook, until
from tests.runtime.street import Effects, bodies, run, toolbox


@pytest.mark.parametrize("statuses", [[], [500], [503, 429, 404, 302, 500]])
def test_a_request_arrives_and_its_answer_comes_back(statuses: list[int], url: str) -> None:
    effects = Effects()

    async def work() -> None:
        async with desk(*statuses) as server:
            channel = hook(server.url)
            async with g.Gateway(tools=toolbox(effects), store=url, approver=channel, secrets=Keys()) as gate:

                async def send() -> g.Result:
                    return await gate.call("mail.send.v1", {"to": "ana", "text": "hi"}, run_id="r")

                waiting = await send()
                assert waiting.status == "pending"
                await until(lambda: server.taken)
                assert (await send()).status == "pending"  # it is not told a second time
                await until(lambda: channel.deliveries)
                (told,) = server.taken
                assert told["approval_id"] == waiting.approval_id
                assert told["arguments"] == {"to": "ana", "text": "hi"}
                assert (told["version"], told["kind"]) == (1, "approval.requested")
                assert "mail.send.v1" in told["preview"]
                assert server.ids == [f"{waiting.approval_id}/0"] * (len(statuses) + 1)
                (delivery,) = channel.deliveries
                assert (delivery.attempts, delivery.status, delivery.error) == (len(statuses) + 1, 204, "")
                said = {"approval_id": waiting.approval_id, "verdict": "approve", "user": "bo"}
                body = json.dumps({**said, "arguments": {"to": "al"}}).encode()
                row = await gate.reply(body, sign(body, SECRET, time.time()))
                assert (row.state, row.decided_by) == ("granted", "bo")
                assert (await send()).value == "sent to al"
                with pytest.raises(g.UsageError, match="already"):
                    await gate.reply(body, sign(body, SECRET, time.time()))

    run(work())
    assert effects.log == ["mail al"]


def test_a_server_that_is_not_there_stops_nothing(url: str) -> None:
    async def work() -> None:
        channel = hook("http://127.0.0.1:9/hook", attempts=3)
        async with g.Gateway(tools=toolbox(Effects()), store=url, approver=channel, secrets=Keys()) as gate:
            waiting = await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")
            assert waiting.status == "pending"
            assert waiting.approval_id is not None
            await until(lambda: channel.deliveries)
            assert (channel.deliveries[0].attempts, channel.deliveries[0].status) == (3, 0)
            assert channel.deliveries[0].error == "ClientConnectorError"
            await gate.approve(waiting.approval_id, by=g.Principal("bo"))
            assert (await gate.call("mail.send.v1", {"to": "ana"}, run_id="r")).status == "ok"

    run(work())


def test_a_server_that_never_answers_does_not_hold_up_the_end() -> None:
    async def work() -> None:
        async with desk(0) as server:
            channel = hook(server.url, timeout_s=0.1, attempts=2)
            async with g.Gateway(tools=toolbox(Effects()), approver=channel, secrets=Keys()) as gate:
                assert (await gate.call("mail.send.v1", {"to": "ana"})).status == "pending"
            assert [one.attempts for one in channel.deliveries] == [2]
            assert server.taken  # the second time it took it

    run(work())


def test_no_secret_no_message(url: str) -> None:
    class Empty:
        def get(self, name: str) -> str | None:
            return None

    async def work() -> None:
        async with (
            desk() as server,
            g.Gateway(tools=toolbox(Effects()), store=url, approver=server.url, secrets=Empty()) as gate,
        ):
            result = await gate.call("mail.send.v1", {"to": "ana"})
            assert result.error is not None
            assert result.error.error_code == "APPROVER_ERROR"
            assert server.tried == 0

    run(work())


def test_masked_arguments_stay_here_and_news_is_sent(url: str) -> None:
    rule = {
        "id": "mail",
        "match": {"tool": "mail.send.v1"},
        "decision": "ask",
        "reason": "MAIL",
        "obligations": [{"redact": ["text"]}, {"notify": ["security"]}, "two_person"],
    }

    async def work() -> None:
        policy = g.Policy.from_rules([rule])
        async with (
            desk() as server,
            g.Gateway(
                tools=toolbox(Effects()),
                store=url,
                policy=policy,
                approver=hook(server.url),
                secrets=Keys(),
            ) as gate,
        ):
            waiting = await gate.call("mail.send.v1", {"to": "ana", "text": "heron"}, run_id="r")
            assert waiting.approval_id is not None
            await gate.approve(waiting.approval_id, by=g.Principal("bo"))
            await gate.call(
                "mail.send.v1", {"to": "ana", "text": "heron"}, run_id="r"
            )  # one vote: told again
            await until(lambda: len(server.taken) == 2)
            assert "heron" not in json.dumps(server.taken)
            assert sorted(told["votes"] for told in server.taken) == [[], ["bo"]]
            assert server.taken[0]["arguments"]["text"] == "[redacted]"
            assert [body["kind"] for body in await bodies(gate.store, "r")] == [
                "approval.requested",
                "approval.voted",
            ]

    run(work())


BODY = json.dumps({"approval_id": "a", "verdict": "refuse", "user": "bo", "roles": ["ops"]}).encode()


def test_a_reply_that_is_right() -> None:
    reply = verify_reply(BODY, sign(BODY, SECRET, 1_000), SECRET, now=1_299)
    assert (reply.approval_id, reply.verdict, reply.user, reply.roles) == ("a", "refuse", "bo", ("ops",))
    two = f"{sign(BODY, SECRET, 1_000)},v1={'0' * 64}"
    assert verify_reply(BODY, two, SECRET, now=1_000) == reply


WRONG: list[tuple[bytes, str, float]] = [
    (BODY, sign(BODY, SECRET, 1_000), 1_301.0),
    (BODY, sign(BODY, SECRET, 1_000), 699.0),
    (BODY, sign(BODY, SECRET, 1_000), float("nan")),
    (BODY, sign(BODY, "another", 1_000), 1_000.0),
    (BODY + b" ", sign(BODY, SECRET, 1_000), 1_000.0),
    (BODY, sign(BODY, SECRET, 1_000).replace("t=1000", "t=1200"), 1_200.0),
    (BODY, sign(BODY, SECRET, 1_000).replace("t=1000", "t=1e3"), 1_000.0),
    (BODY, "", 1_000.0),
    (BODY, "t=1000", 1_000.0),
    (BODY, "t=1000,t=1000,v1=00", 1_000.0),
    (BODY, "t=1000,v1=\xff", 1_000.0),
    *[
        (body, sign(body, SECRET, 1_000), 1_000.0)
        for body in (
            b"",
            b"\xff",
            b"[]",
            b"{}",
            b"[" * 100_000,
            json.dumps({"approval_id": "a", "verdict": "maybe", "user": "bo"}).encode(),
            json.dumps({"approval_id": "a", "verdict": "approve", "user": ""}).encode(),
            json.dumps({"approval_id": 1, "verdict": "approve", "user": "bo"}).encode(),
            json.dumps({"approval_id": "a", "verdict": "approve", "user": "bo", "roles": "ops"}).encode(),
            json.dumps({"approval_id": "a", "verdict": "approve", "user": "bo", "arguments": []}).encode(),
            b" " * 2_000_000,
        )
    ],
]


@pytest.mark.parametrize(("body", "signature", "now"), WRONG, ids=range(len(WRONG)))
def test_a_reply_that_is_wrong(body: bytes, signature: str, now: float) -> None:
    with pytest.raises(g.UsageError, match=r"reply|header"):
        verify_reply(body, signature, SECRET, now=now)


def test_replies_that_a_gateway_does_not_take(url: str) -> None:
    async def work() -> None:
        async with g.Gateway(tools=toolbox(Effects()), store=url, secrets=Keys()) as gate:
            with pytest.raises(g.UsageError, match="signature"):
                await gate.reply(BODY, sign(BODY, "wrong", time.time()))
            with pytest.raises(g.UsageError, match="no approval"):
                await gate.reply(BODY, sign(BODY, SECRET, time.time()))
            with pytest.raises(g.UsageError, match="secret"):
                await gate.reply(BODY, sign(BODY, SECRET, time.time()), secret="other")
            tried = [json.loads(event.body) for event in await gate.store.events("approvals")]
            named = json.loads(BODY)["approval_id"]
            assert [(one["approval_id"], one["approver"], one["error_code"]) for one in tried] == [
                (named, "unsigned", "REPLY_NOT_SIGNED"),
                (named, "bo", "APPROVAL_UNKNOWN"),
            ]

    run(work())


@pytest.mark.parametrize("own", [True, False], ids=["its own secrets", "the gateway's"])
def test_a_reply_is_signed_with_the_secret_of_the_webhook(url: str, own: bool) -> None:
    """Whatever it is called, and wherever it is kept: what signs the question signs the answer."""

    async def work() -> None:
        keys = {"HOOK_KEY": SECRET, "webhook_secret": "another one"}
        channel = Webhook("http://127.0.0.1:9/", secret="HOOK_KEY", secrets=Keys(keys) if own else None)
        secrets = Keys() if own else Keys(keys)
        async with g.Gateway(tools=toolbox(Effects()), store=url, approver=channel, secrets=secrets) as gate:
            waiting = await gate.call("mail.send.v1", {"to": "ana", "text": "hi"}, run_id="r")
            said = {"approval_id": waiting.approval_id, "verdict": "approve", "user": "bo"}
            body = json.dumps(said).encode()
            assert (await gate.reply(body, sign(body, SECRET, time.time()))).state == "granted"

    run(work())


@pytest.mark.parametrize("address", ["", "ftp://x", "hook", "https"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(g.UsageError):
        g.Gateway(approver=address)
