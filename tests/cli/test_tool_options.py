"""Tools and secrets that options name: the same ones on every command that opens a gateway."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.main import get_command

from gerbang.cli.app import build
from tests.cli.terminal import gerbang

FILE = ("--tools", "http.json")
KEYS = ("--secrets", "envfile:wallet.env")
# every command that opens a gateway by settings, and so has to be told of all tools
RUNS_TOOLS = ["call", "chat", "runs resume", "runs recover", "serve"]
LOOKS_AT_TOOLS = ["tools list", "tools show", "replay", "policy lint"]


class Target(BaseHTTPRequestHandler):
    def answer(self) -> None:
        known = self.headers["Authorization"] == "Bearer s3cret-of-the-wallet"
        body = json.dumps({"path": self.path, "known": known}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def tools(place: Path) -> Iterator[Path]:
    """`place` with a file of two HTTP tools, their target, and a file of secrets."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Target) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        key = {"Authorization": "Bearer ${secret:WEATHER_KEY}"}
        read = {"name": "get_weather", "url": f"{url}/{{city}}", "method": "GET", "headers": key}
        write = {"name": "order", "url": f"{url}/orders/{{city}}", "headers": key}
        named = [{**tool, "parameters": city, "description": "For tests."} for tool in (read, write)]
        (place / "http.json").write_text(json.dumps(named))
        wallet = place / "wallet.env"
        wallet.write_text("WEATHER_KEY=s3cret-of-the-wallet\n")
        wallet.chmod(0o600)
        yield place
        server.shutdown()


def options(command: str) -> set[str]:
    found = get_command(build())
    for word in command.split():
        found = found.commands[word]  # type: ignore[attr-defined]
    return {option for given in found.params for option in given.opts}


@pytest.mark.parametrize("command", [*RUNS_TOOLS, *LOOKS_AT_TOOLS])
def test_every_command_with_tools_takes_both_kinds(command: str) -> None:
    assert {"--python", "--tools"} <= options(command)


@pytest.mark.parametrize("command", RUNS_TOOLS)
def test_every_command_that_runs_tools_is_told_where_secrets_are(command: str) -> None:
    assert "--secrets" in options(command)


def test_a_call_finds_the_tool_and_its_secret(tools: Path) -> None:
    ran = gerbang("call", "get_weather", '{"city": "Oslo"}', *FILE, *KEYS, "--json", cwd=tools)
    assert (ran.code, ran.json["value"]) == (0, {"path": "/Oslo", "known": True})
    without = gerbang("call", "get_weather", '{"city": "Oslo"}', *FILE, cwd=tools)
    assert (without.code, "SECRET_MISSING" in without.err) == (1, True)


def test_a_call_that_waited_is_gone_on_with_and_replayed(tools: Path) -> None:
    asked = gerbang("call", "order", '{"city": "Oslo"}', *FILE, *KEYS, "--pending", "--json", cwd=tools)
    assert asked.code == 3
    run = asked.json["run_id"]
    assert gerbang("approvals", "approve", asked.json["approval_id"], cwd=tools).code == 0
    bare = gerbang("runs", "resume", run, cwd=tools)
    assert (bare.code, "order" in bare.err, "--tools FILE" in bare.err) == (2, True, True)
    ran = gerbang("runs", "resume", run, *FILE, *KEYS, "--json", cwd=tools)
    assert (ran.code, ran.json["value"]) == (0, {"path": "/orders/Oslo", "known": True})
    assert gerbang("replay", run, *FILE, cwd=tools).code == 0


def test_tools_are_listed_and_shown(tools: Path) -> None:
    listed = gerbang("tools", "list", *FILE, "--json", cwd=tools).json
    assert {"get_weather", "order", "calculate"} <= {tool["name"] for tool in listed}
    assert gerbang("tools", "show", "order", *FILE, "--json", cwd=tools).json["risk"] == "write_external"


RULES = """
version: 1
rules:
  - {id: file, match: {tool: order, arguments: {city: Oslo}}, decision: deny, reason: NOT_OSLO}
  - {id: mine, match: {tool: mail.send.v1}, decision: deny, reason: NO_MAIL}
  - {id: gone, match: {tool: orders}, decision: deny, reason: NO_ORDERS}
"""


@pytest.mark.parametrize(
    ("named", "unknown"),
    [
        ((), set()),
        (FILE, {"mine", "gone"}),
        (("--python", "mytools:tools"), {"file", "gone"}),
        ((*FILE, "--python", "mytools:tools"), {"gone"}),
    ],
)
def test_lint_knows_the_tools_of_every_kind(tools: Path, named: tuple[str, ...], unknown: set[str]) -> None:
    (tools / "rules.yaml").write_text(RULES)
    found = gerbang("policy", "lint", "rules.yaml", *named, "--json", cwd=tools).json
    assert {item["rule"] for item in found if item["code"] == "UNKNOWN_TOOL"} == unknown
    assert not (tools / ".gerbang").exists()  # looking makes no record
