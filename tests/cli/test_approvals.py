"""`gerbang approvals`, `runs resume`, `runs recover`, `kill`: the real program, on a store, without tools."""

import json
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import PROGRAM, Terminal, environment, gerbang

STORE = ("--store", "sqlite:records.db")
CALL = ("call", "mail.send.v1", "--python", "mytools:tools", *STORE, "--pending")
MAIL = {"to": "ana", "text": "hello"}
POLICY = """
version: 1
rules:
  - {id: mail, match: {tool: mail.send.v1}, decision: ask, reason: MAIL, obligations: [%s]}
"""


def ask(place: Path, *more: str, text: str = "hello") -> str:
    """Have a call left pending, and return its approval's id."""
    ran = gerbang(*CALL, json.dumps({**MAIL, "text": text}), "--json", *more, cwd=place)
    assert (ran.code, ran.json["status"]) == (3, "pending"), ran.err
    return str(ran.json["approval_id"])


def approvals(place: Path, *arguments: str, env: dict[str, str] | None = None) -> Any:
    return gerbang("approvals", *arguments, *STORE, cwd=place, env=env)


def test_list_show_approve(place: Path) -> None:
    name = ask(place)
    listed = approvals(place, "list")
    assert listed.code == 0
    assert name in listed.out
    assert "mail.send.v1" in listed.out
    shown = approvals(place, "show", name)
    for text in ("pending", "to: ana", "text: hello", "CLASS_EXTERNAL_COMMUNICATION", "local of local"):
        assert text in shown.out
    done = approvals(place, "approve", name, "--as", "bo", "--reason", "fine")
    assert done.code == 0
    assert "granted" in done.out
    assert approvals(place, "list").out == ""
    found = approvals(place, "show", name, "--json").json
    assert (found["state"], found["decided_by"], found["note"]) == ("granted", "bo", "fine")
    again = approvals(place, "approve", name)
    assert (again.code, "granted already" in again.err) == (2, True)


@pytest.mark.parametrize(
    "decision", [["approve"], ["deny"], ["edit", "--arguments", json.dumps({**MAIL, "text": "bye"})]]
)
def test_a_mark_that_is_no_longer_true_decides_nothing(place: Path, decision: list[str]) -> None:
    (place / "policy.yaml").write_text(POLICY % "two_person")
    name = ask(place, "--policy", "policy.yaml")
    mark = approvals(place, "show", name, "--json").json["mark"]
    assert mark in approvals(place, "show", name).out
    changed = ("--arguments", json.dumps({**MAIL, "to": "eve"}), "--as", "cy", "--mark", mark)
    assert approvals(place, "edit", name, *changed).code == 3
    command = [decision[0], name, *decision[1:], "--as", "bo", "--mark"]
    late = approvals(place, *command, mark)
    assert (late.code, "not what was shown" in late.err) == (2, True)
    found = approvals(place, "show", name, "--json").json
    assert (found["state"], found["agreed"]) == ("pending", ["cy"])
    assert approvals(place, *command, found["mark"]).code in (0, 3)
    assert approvals(place, "show", name, "--json").json["mark"] != found["mark"]


def test_deny_and_cancel(place: Path) -> None:
    name, other = ask(place), ask(place, text="other")
    assert approvals(place, "deny", name, "--reason", "no").code == 0
    assert approvals(place, "cancel", other).code == 0
    states = {
        row["approval_id"]: row["state"] for row in approvals(place, "list", "--state", "all", "--json").json
    }
    assert states == {name: "refused", other: "cancelled"}


def test_pages(place: Path) -> None:
    names = [ask(place, text=str(number)) for number in range(3)]
    first = approvals(place, "list", "--limit", "2", "--json").json
    rest = approvals(place, "list", "--limit", "2", "--before", first[-1]["approval_id"], "--json").json
    assert [row["approval_id"] for row in first + rest] == names[::-1]
    assert approvals(place, "list", "--tenant", "acme", "--json").json == []


def test_edit_with_arguments_and_with_an_editor(place: Path) -> None:
    name = ask(place)
    done = approvals(place, "edit", name, "--arguments", json.dumps({**MAIL, "to": "bo"}), "--as", "cy")
    assert done.code == 0
    assert 'Changed: to: "ana" → "bo"' in done.out
    found = approvals(place, "show", name, "--json").json
    assert (found["arguments"], found["checked"]) == ({**MAIL, "to": "bo"}, False)
    name = ask(place, text="second")
    assert approvals(place, "edit", name).code == 2  # no editor is known
    editor = place / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/ana/di/' \"$1\"\n")
    editor.chmod(0o755)
    done = approvals(place, "edit", name, env={"EDITOR": str(editor)})
    assert (done.code, 'to: "ana" → "di"' in done.out) == (0, True)
    name = ask(place, text="third")
    same = approvals(place, "edit", name, "--arguments", json.dumps({**MAIL, "text": "third"}))
    assert (same.code, "Nothing was changed" in same.err) == (2, True)
    for text in ("[1]", "{", '{"a": 1, "a": 2}'):
        assert approvals(place, "edit", name, "--arguments", text).code == 2


def test_two_people(place: Path) -> None:
    (place / "two.yaml").write_text(POLICY % "two_person, no_self_approval")
    name = ask(place, "--policy", "two.yaml")
    assert "two_person" in approvals(place, "show", name).out
    own = approvals(place, "approve", name)
    assert (own.code, "SELF_APPROVAL" in own.err) == (1, True)
    first = approvals(place, "approve", name, "--as", "bo")
    assert (first.code, "one more has to" in first.out) == (3, True)
    assert approvals(place, "approve", name, "--as", "bo").code == 1
    assert approvals(place, "approve", name, "--as", "cy").code == 0
    found = approvals(place, "show", name, "--json").json
    assert (found["agreed"], found["needed"], found["decided_by"]) == (["bo", "cy"], 2, "bo, cy")
    assert [vote["user"] for vote in found["votes"]] == ["bo", "cy"]


def test_roles_and_tenants(place: Path) -> None:
    (place / "ops.yaml").write_text(POLICY % "approvers:ops")
    name = ask(place, "--policy", "ops.yaml")
    assert approvals(place, "approve", name, "--as", "bo").code == 1
    assert approvals(place, "approve", name, "--as", "bo", "--role", "ops", "--tenant", "acme").code == 2
    assert approvals(place, "approve", name, "--as", "bo", "--role", "dev", "--role", "ops").code == 0


@pytest.mark.parametrize("command", ["show", "approve", "deny", "edit", "cancel"])
def test_unknown(command: str, place: Path) -> None:
    more = ["--arguments", "{}"] if command == "edit" else []
    ran = approvals(place, command, "apr_none", *more)
    assert (ran.code, "no store" in ran.err) == (2, True)
    ask(place)
    ran = approvals(place, command, "apr_none", *more)
    assert (ran.code, "There is no approval" in ran.err) == (2, True)
    assert "Traceback" not in ran.err


def test_nobody_is_asked_where_nobody_is(place: Path) -> None:
    ran = gerbang(*CALL[:-1], json.dumps(MAIL), "--json", cwd=place)
    assert (ran.code, ran.json["error"]["error_code"]) == (1, "APPROVER_UNAVAILABLE")


def test_two_people_at_the_terminal(place: Path) -> None:
    (place / "two.yaml").write_text(POLICY % "two_person")
    with Terminal(*CALL[:-1], json.dumps(MAIL), "--policy", "two.yaml", cwd=place) as terminal:
        terminal.wait_for("two_person")
        terminal.wait_for("Run it?")
        terminal.type("y\r")
        terminal.wait_for("A second person has to agree")
        assert terminal.end() == 3
    (row,) = approvals(place, "list", "--json").json
    assert row["agreed"] == ["local"]
    assert not (place / "outbox.txt").exists()


def test_kill_and_revive(place: Path) -> None:
    ask(place)
    ran = gerbang("kill", "tool:mail.send.v1", "--reason", "spam", "--as", "bo", *STORE, "--json", cwd=place)
    assert ran.code == 0
    assert [(kill["target"], kill["by"], kill["reason"]) for kill in ran.json] == [
        ("tool:mail.send.v1", "bo", "spam")
    ]
    stopped = gerbang(*CALL, json.dumps(MAIL), "--json", cwd=place)
    assert (stopped.code, stopped.json["error"]["error_code"]) == (1, "KILL_SWITCH")
    assert "spam" in gerbang("kills", *STORE, cwd=place).out
    assert gerbang("kill", "tool", "--reason", "x", *STORE, cwd=place).code == 2
    assert gerbang("kill", "all", *STORE, cwd=place).code == 2  # a reason is needed
    assert gerbang("revive", "tool:mail.send.v1", *STORE, cwd=place).code == 0
    assert gerbang("kills", *STORE, "--json", cwd=place).json == []
    assert gerbang(*CALL, json.dumps(MAIL), cwd=place).code == 3


MODEL = """
import asyncio
import sys

import gerbang as g
from gerbang.testing import ScriptedModel
from mytools import tools


async def main() -> None:
    async with g.Gateway(tools=tools, store="sqlite:records.db") as gate:
        script = [[("mail.send.v1", {"to": "ana", "text": "hello"})], "Sent."]
        if "cut" in sys.argv:
            script = [lambda _: __import__("os").kill(__import__("os").getpid(), 9)]
        print((await g.Agent(ScriptedModel(script), gate).run("Send it.")).run_id)


asyncio.run(main())
"""


def agent_run(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (place / "run.py").write_text(MODEL)
    return subprocess.run(
        [sys.executable, "run.py", *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        env=environment(place),
        timeout=60,
    )


def test_a_run_goes_on_when_its_approval_is_given(place: Path) -> None:
    run_id = agent_run(place).stdout.strip()
    (row,) = approvals(place, "list", "--run", run_id, "--json").json
    resume = ("runs", "resume", run_id[:12], "--python", "mytools:tools", *STORE)
    waits = gerbang(*resume, cwd=place)  # too early, and nobody can be asked here: it goes on waiting
    assert waits.code == 3, waits.err
    assert row["approval_id"] in waits.err
    assert approvals(place, "approve", row["approval_id"], "--as", "bo").code == 0
    done = gerbang(*resume, "--json", cwd=place)
    assert (done.code, done.json["status"]) == (0, "completed"), done.err
    assert (place / "outbox.txt").read_text() == "ana: hello\n"
    assert gerbang(*resume, cwd=place).code == 2  # it is over
    assert gerbang("runs", "resume", "run_none", *STORE, cwd=place).code == 2


def test_recover(place: Path) -> None:
    nothing = gerbang("runs", "recover", *STORE, cwd=place)
    assert nothing.code == 2
    killed = subprocess.run(
        [PROGRAM, "call", "slow.wait.v1", '{"seconds": 30}', "--python", "dying:tools", *STORE],
        cwd=place,
        env=_dying(place),
        timeout=60,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL
    ran = gerbang("runs", "recover", "--python", "dying:tools", *STORE, "--json", cwd=place)
    assert ran.code == 0, ran.err
    assert [(one["state"], one["calls"]) for one in ran.json] == [("cancelled", [["slow.wait.v1", "FAILED"]])]
    again = gerbang("runs", "recover", "--python", "dying:tools", *STORE, cwd=place)
    assert (again.code, "No run was cut off" in again.err) == (0, True)


def _dying(place: Path) -> dict[str, str]:
    (place / "dying.py").write_text(
        "import os\n\nimport gerbang as g\n\n\n"
        '@g.tool(name="slow.wait.v1", risk="compute")\n'
        "async def wait(seconds: float) -> str:\n"
        '    """Wait. Use for tests only. Returns `waited`."""\n'
        "    os.kill(os.getpid(), 9)\n"
        '    return "waited"\n\n\ntools = [wait]\n'
    )
    return environment(place)


def test_a_webhook_of_the_settings_is_told(place: Path) -> None:
    taken: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            taken.append({**json.loads(self.rfile.read(length)), "mark": self.headers["Gerbang-Signature"]})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {
        "GERBANG_APPROVER": f"http://127.0.0.1:{server.server_address[1]}/hook",
        "GERBANG_APPROVAL_S": "60",
        "webhook_secret": "not-a-real-secret",
    }
    try:
        ran = gerbang(*CALL[:-1], json.dumps(MAIL), "--json", cwd=place, env=env)
        assert ran.code == 3, ran.err
    finally:
        server.shutdown()
        server.server_close()
    (told,) = taken
    assert told["approval_id"] == ran.json["approval_id"]
    assert told["mark"].startswith("t=")
    (row,) = approvals(place, "list", "--json").json
    assert row["expires_at"] - row["created_at"] == pytest.approx(60)


def test_the_outbox_lists_what_was_not_taken(place: Path) -> None:
    """Nobody listens at the webhook: the message waits, with what came back; its content is not shown."""
    assert approvals(place, "outbox").code == 2  # there is no store yet
    env = {
        "GERBANG_APPROVER": "http://127.0.0.1:9/hook?token=tok-1234",
        "webhook_secret": "not-a-real-secret",
    }
    ran = gerbang(*CALL[:-1], json.dumps(MAIL), "--json", cwd=place, env=env)
    assert ran.code == 3, ran.err
    name = ran.json["approval_id"]
    first = approvals(place, "outbox", "--json")
    assert first.code == 0, first.err
    (row,) = first.json
    assert (row["message_id"], row["approval_id"], row["run_id"]) == (f"{name}/0", name, ran.json["run_id"])
    assert (row["kind"], row["state"], row["status"]) == ("approval.requested", "waiting", 0)
    assert row["attempts"] >= 1
    assert row["next_at"] > row["created_at"]
    assert "Error" in row["error"]
    assert set(row) == {
        *("message_id", "channel", "run_id", "approval_id", "kind", "state", "created_at", "attempts"),
        *("status", "error", "next_at"),
    }
    listed = approvals(place, "outbox")
    assert listed.code == 0
    for text in (
        "MESSAGE",
        f"{name}/0",
        f"approval.requested {name}",
        row["channel"],
        "waiting",
        row["error"],
    ):
        assert text in listed.out
    for secret in ("tok-1234", "not-a-real-secret", "hello"):
        assert secret not in listed.out + json.dumps(row)
    assert approvals(place, "outbox", "--channel", row["channel"], "--json").json == [row]
    assert approvals(place, "outbox", "--channel", "other", "--json").json == []
    assert approvals(place, "outbox", "--given-up", "--json").json == []
    assert "No message was given up." in approvals(place, "outbox", "--given-up").err
    assert approvals(place, "deny", name).code == 0


UNFIT: list[tuple[dict[str, Any], set[tuple[str, str]]]] = [
    ({"to": "ana"}, {("/text", "MISSING_FIELD")}),
    ({"to": 7, "text": "x"}, {("/to", "WRONG_TYPE")}),
    ({}, {("/to", "MISSING_FIELD"), ("/text", "MISSING_FIELD")}),
    ({"to": "a", "text": "b", "cc": "c"}, {("/cc", "EXTRA_FIELD")}),
]


@pytest.mark.parametrize(("new", "findings"), UNFIT)
def test_an_editor_is_told_at_once_what_does_not_fit(
    place: Path, new: dict[str, Any], findings: set[tuple[str, str]]
) -> None:
    name, given = ask(place), ("--arguments", json.dumps(new), "--python", "mytools:tools")
    before = approvals(place, "show", name, "--json").json
    said = approvals(place, "edit", name, *given)
    assert (said.code, said.out) == (2, "")
    assert "Nothing was changed" in said.err
    for path, code in findings:
        assert f"{path}: {code}: " in said.err
    told = approvals(place, "edit", name, *given, "--json")
    assert (told.code, told.json["changed"], told.json["error"]["error_type"]) == (
        2,
        False,
        "validation_error",
    )
    assert {(one["path"], one["code"]) for one in told.json["error"]["invalid_fields"]} == findings
    assert approvals(place, "show", name, "--json").json == before


@pytest.mark.parametrize("fits", [True, False])
def test_an_edit_without_the_tool_at_hand_says_when_it_is_checked(place: Path, fits: bool) -> None:
    name = ask(place)
    run_id = approvals(place, "show", name, "--json").json["run_id"]
    new = {"to": "bo", "text": "hello"} if fits else {"to": 7}
    done = approvals(place, "edit", name, "--arguments", json.dumps(new))
    assert (done.code, "granted" in done.out) == (0, True)
    assert "Not checked: the contract of mail.send.v1 is not known here" in done.err
    assert not approvals(place, "show", name, "--json").json["checked"]
    ran = gerbang("runs", "resume", run_id, "--python", "mytools:tools", *STORE, cwd=place)
    assert (ran.code, (place / "outbox.txt").exists()) == ((0, True) if fits else (1, False))


def test_an_edit_with_the_tool_at_hand_says_nothing_of_it(place: Path) -> None:
    name = ask(place)
    new = json.dumps({"to": "bo", "text": "hello"})
    done = approvals(place, "edit", name, "--arguments", new, "--python", "mytools:tools")
    assert (done.code, "Not checked" in done.err) == (0, False)
    assert approvals(place, "show", name, "--json").json["checked"]
