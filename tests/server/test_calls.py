"""One gated call over HTTP: results, problems and their statuses, keys, runs of a caller's own."""

import asyncio
import uuid
from typing import Any

import pytest

from tests.server.running import Client, Server, asking


def test_a_call_gives_its_result(plain: Server) -> None:
    async def work(client: Client) -> None:
        status, body = await client.call("weather.get_current.v1", {"city": "Paris"}, run_id="one", step_id=1)
        assert status == 200
        assert body["status"] == "ok"
        assert body["value"] == {"city": "Paris", "celsius": 21}
        assert body["run_id"] == "one"
        assert body["event_id"].startswith("one/")
        assert body["decision"]["decision"] == "allow"
        again, same = await client.call("weather.get_current.v1", {"city": "Paris"}, run_id="one", step_id=1)
        assert (again, same["replayed"], same["value"]) == (200, True, body["value"])

    asking(plain, work)


CASES: list[tuple[str, Any, int, str]] = [
    ("unknown tool", {"tool": "weather.get_curent.v1"}, 404, "TOOL_UNKNOWN"),
    ("missing argument", {"tool": "weather.get_current.v1"}, 422, "MISSING_FIELD"),
    ("wrong type", {"tool": "weather.get_current.v1", "arguments": {"city": {}}}, 422, "WRONG_TYPE"),
    (
        "extra argument",
        {"tool": "weather.get_current.v1", "arguments": {"city": "P", "x": 1}},
        422,
        "EXTRA_FIELD",
    ),
    ("arguments not an object", {"tool": "weather.get_current.v1", "arguments": [1]}, 400, "CALL_SHAPE"),
    (
        "arguments as text, cut",
        {"tool": "weather.get_current.v1", "arguments": '{"city": "P'},
        400,
        "CALL_NOT_JSON",
    ),
    (
        "denied",
        {"tool": "mail.send.v1", "arguments": {"to": "spam@example.org", "text": "x"}},
        403,
        "NO_SPAM",
    ),
    ("tool fails", {"tool": "broken.raise.v1"}, 500, "INTERNAL"),
    ("no tool", {"arguments": {}}, 422, "BODY_SHAPE"),
    ("unknown member", {"tool": "weather.get_current.v1", "principal": "root"}, 422, "BODY_SHAPE"),
    ("no object", [], 422, "BODY_SHAPE"),
    ("empty run id", {"tool": "weather.get_current.v1", "run_id": ""}, 422, "BODY_SHAPE"),
    ("step is a list", {"tool": "weather.get_current.v1", "step_id": []}, 422, "BODY_SHAPE"),
]


@pytest.mark.parametrize(
    ("body", "status", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_what_goes_wrong_is_a_problem_document(plain: Server, body: Any, status: int, code: str) -> None:
    async def work(client: Client) -> None:
        got, problem = await client.post("/v1/calls", body)
        assert got == status, problem
        assert problem["status"] == status
        assert problem["type"].startswith("urn:gerbang:problem:")
        assert problem["title"]
        error = problem["error"]
        assert (error["status"], error["error_type"]) == ("error", problem["type"].rpartition(":")[2])
        found = [error["error_code"], *(field["code"] for field in error["invalid_fields"])]
        assert code in found
        assert "hunter2" not in str(problem)
        assert "Traceback" not in str(problem)

    asking(plain, work)


RAW: list[tuple[str, bytes, str, int]] = [
    (
        "two tools",
        b'{"tool":"weather.get_current.v1","tool":"mail.send.v1","arguments":{}}',
        "application/json",
        400,
    ),
    ("not JSON", b"{tool", "application/json", 400),
    ("empty", b"", "application/json", 400),
    ("not UTF-8", b'{"tool":"\xff"}', "application/json", 400),
    ("a form", b"tool=x", "application/x-www-form-urlencoded", 415),
    ("deep", b'{"tool":"x","arguments":' + b"[" * 5000 + b"]" * 5000 + b"}", "application/json", 400),
    ("too large", b'{"tool":"' + b"x" * 2_200_000 + b'"}', "application/json", 413),
    (
        "doubled name",
        b'{"tool":"weather.get_current.v1","arguments":{"city":"a","city":"b"}}',
        "application/json",
        400,
    ),
]


@pytest.mark.parametrize(
    ("data", "kind", "status"), [case[1:] for case in RAW], ids=[case[0] for case in RAW]
)
def test_bodies_that_cannot_be_read(plain: Server, data: bytes, kind: str, status: int) -> None:
    async def work(client: Client) -> None:
        got, problem = await client.post("/v1/calls", data, Content_Type=kind)
        assert (got, problem["status"]) == (status, status)

    asking(plain, work)


def test_an_idempotency_key_runs_a_change_once(plain: Server) -> None:
    key = uuid.uuid4().hex

    async def work(client: Client) -> None:
        body = {"tool": "notes.add.v1", "arguments": {"text": key}}
        answers = await asyncio.gather(
            *(client.post("/v1/calls", body, Idempotency_Key=key) for _ in range(8))
        )
        assert [status for status, _ in answers] == [200] * 8
        assert len({answer["value"] for _, answer in answers}) == 1
        assert sum(answer["replayed"] for _, answer in answers) == 7
        other = {"tool": "notes.add.v1", "arguments": {"text": "other"}}
        status, problem = await client.post("/v1/calls", other, Idempotency_Key=key)
        assert (status, problem["error"]["error_code"]) == (409, "KEY_REUSED")
        status, problem = await client.post("/v1/calls", {**body, "key": "another"}, Idempotency_Key=key)
        assert (status, problem["error"]["error_code"]) == (409, "TWO_KEYS")

    asking(plain, work)


def test_a_call_waits_for_approval_and_runs_when_it_is_made_again(plain: Server) -> None:
    async def work(client: Client) -> None:
        mail = {"to": "ana@example.org", "text": "hello"}
        status, pending = await client.call("mail.send.v1", mail, run_id="wait", step_id="s")
        assert (status, pending["status"]) == (202, "pending")
        place = f"/v1/approvals/{pending['approval_id']}"
        status, shown = await client.get(place)
        assert (status, shown["state"], shown["arguments"]) == (200, "pending", mail)
        status, listed = await client.get("/v1/approvals?state=pending&run_id=wait")
        assert [item["approval_id"] for item in listed["approvals"]] == [pending["approval_id"]]
        status, decided = await client.post(f"{place}/approve", {"reason": "fine"})
        assert (status, decided["approval"]["state"], decided["resumed"]) == (200, "granted", False)
        status, again = await client.post(f"{place}/approve")
        assert (status, again["error"]["error_code"]) == (409, "DECIDED")
        status, done = await client.call("mail.send.v1", mail, run_id="wait", step_id="s")
        assert (status, done["value"]) == (200, "sent to ana@example.org: hello")

    asking(plain, work)


def test_an_approver_refuses_or_edits(plain: Server) -> None:
    async def work(client: Client) -> None:
        mail = {"to": "ana@example.org", "text": "hello"}
        _, pending = await client.call("mail.send.v1", mail, run_id="edit")
        place = f"/v1/approvals/{pending['approval_id']}"
        status, problem = await client.post(f"{place}/edit", {"arguments": {"to": 7, "more": 1}})
        assert status == 422
        assert problem["error"]["error_type"] == "validation_error"
        found = {(one["path"], one["code"]) for one in problem["error"]["invalid_fields"]}
        assert found == {("/to", "WRONG_TYPE"), ("/text", "MISSING_FIELD"), ("/more", "EXTRA_FIELD")}
        _, still = await client.get(place)
        assert (still["state"], still["arguments"], still["edited_by"]) == ("pending", mail, None)
        status, _ = await client.post(f"{place}/edit", {"arguments": {**mail, "text": "hi"}})
        assert status == 200
        status, done = await client.call("mail.send.v1", mail, run_id="edit")
        assert (status, done["value"]) == (200, "sent to ana@example.org: hi")
        _, pending = await client.call("mail.send.v1", mail, run_id="no")
        await client.post(f"/v1/approvals/{pending['approval_id']}/deny", {"reason": "not today"})
        status, problem = await client.call("mail.send.v1", mail, run_id="no")
        assert (status, problem["error"]["error_code"]) == (403, "APPROVER_REFUSED")
        assert "not today" in problem["detail"]

    asking(plain, work)


def test_a_decision_runs_and_records_nothing(plain: Server) -> None:
    async def work(client: Client) -> None:
        body = {"tool": "mail.send.v1", "arguments": {"to": "a@example.org", "text": "x"}, "run_id": "dry"}
        status, decision = await client.post("/v1/decisions", body)
        assert (status, decision["decision"]) == (200, "ask")
        body.pop("run_id")
        status, decision = await client.post("/v1/decisions", body)
        assert (status, decision["decision"]) == (200, "ask")
        assert "a@example.org" in decision["preview"]
        wrong = {"tool": "mail.send.v1", "arguments": {}}
        status, decision = await client.post("/v1/decisions", wrong)
        assert (decision["decision"], decision["error"]["error_code"]) == ("deny", "MISSING_FIELD")
        status, decision = await client.post("/v1/decisions", {"tool": "no.such.v1"})
        assert (status, decision["decision"], decision["reasons"]) == (200, "deny", ["TOOL_UNKNOWN"])
        status, _ = await client.get("/v1/audit/dry")
        assert status == 404

    asking(plain, work)


def test_the_audit_chain_of_a_run_is_given_and_checked(plain: Server) -> None:
    async def work(client: Client) -> None:
        for step in range(3):
            await client.call("weather.get_current.v1", {"city": "Oslo"}, run_id="chain", step_id=step)
        status, first = await client.get("/v1/audit/chain?limit=4")
        assert (status, [event["seq"] for event in first["events"]], first["next"]) == (200, [1, 2, 3, 4], 4)
        status, rest = await client.get("/v1/audit/chain?after=4")
        assert [event["kind"] for event in rest["events"]] == ["call.dispatched", "call.finished"]
        status, state = await client.get("/v1/audit/chain/verify")
        assert (state["whole"], state["broken_at"], state["events"]) == (True, None, 6)
        assert state["head"] == rest["events"][-1]["digest"]

    asking(plain, work)


def test_tools_are_listed_with_their_contracts(plain: Server) -> None:
    async def work(client: Client) -> None:
        status, listed = await client.get("/v1/tools")
        names = [tool["name"] for tool in listed["tools"]]
        assert status == 200
        assert names == sorted(names)
        assert "weather.get_current.v1" in names
        status, tool = await client.get("/v1/tools/mail.send.v1")
        assert (status, tool["risk"]) == (200, "external_communication")
        assert tool["parameters"]["required"] == ["to", "text"]
        assert (await client.get("/v1/tools/no.such.v1"))[0] == 404
        assert (await client.get("/v1/tools?colour=red"))[0] == 400

    asking(plain, work)
