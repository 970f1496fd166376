"""`gerbang config show`, and a file of HTTP tools on the command line."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gerbang.config import KEYS
from tests.cli.model_server import serving
from tests.cli.terminal import gerbang


def test_every_value_and_its_origin(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text("max_steps = 7\nlang = 'id'\negress = ['a.example', '10.0.0.0/8']\n")
    env = {"LLM_TOOLS_FILE": "tools.json", "GERBANG_STORE": "postgresql://ana:hunter2@db/x"}
    arguments = ("config", "show", "--config", "g.toml", "--lang", "en")
    shown = gerbang(*arguments, "--json", cwd=tmp_path, env=env)
    assert shown.code == 0
    assert list(shown.json) == list(KEYS)
    assert shown.json["max_steps"] == {"value": 7, "source": "file", "detail": "g.toml"}
    assert shown.json["lang"] == {"value": "en", "source": "flag", "detail": "--lang"}
    assert shown.json["egress"]["value"] == ["a.example", "10.0.0.0/8"]
    assert shown.json["tools_file"] == {
        "value": "tools.json",
        "source": "environment",
        "detail": "LLM_TOOLS_FILE",
    }
    assert shown.json["model"] == {"value": "embedded:", "source": "default", "detail": ""}
    assert shown.json["store"]["value"] == "postgresql://ana:[redacted]@db/x"
    text = gerbang(*arguments, cwd=tmp_path, env=env)
    rows = [line.split() for line in text.out.splitlines()]
    assert rows[0] == ["SETTING", "VALUE", "FROM"]
    assert [row[0] for row in rows[1:]] == list(KEYS)
    assert ["tools_file", "tools.json", "environment", "LLM_TOOLS_FILE"] in rows
    assert ["egress", "a.example,", "10.0.0.0/8", "file", "g.toml"] in rows
    assert "hunter2" not in shown.out + text.out


@pytest.mark.parametrize(
    ("env", "wanted"),
    [
        ({}, {"tools_enabled": False, "max_steps": 5, "result_max_chars": 8000, "policy": "strict"}),
        ({"LLM_TOOLS_FILE": "t.json"}, {"tools_enabled": True}),
        ({"LLM_TOOLS_FILE": "t.json", "LLM_TOOLS_ENABLED": "false"}, {"tools_enabled": False}),
        ({"GERBANG_PROFILE": "voice"}, {"max_steps": 4, "max_repeats": None, "policy": "voice"}),
        ({"GERBANG_PROFILE": "voice", "LLM_TOOL_MAX_ITERATIONS": "9"}, {"max_steps": 9}),
        ({"GERBANG_LANG": "id"}, {"workspace": "./ruang-kerja"}),
        ({"GERBANG_MODEL": "openai:m@http://127.0.0.1:1/v1"}, {"api_key_secret": "OPENAI_API_KEY"}),
        ({"GERBANG_MAX_CALLS": "7"}, {"max_calls": 7, "max_repeats": 3, "max_parallel": 16}),
        ({"GERBANG_PROFILE": "nobody's"}, {"max_steps": None, "deadline_s": 600.0, "approval_s": 86_400}),
    ],
)
def test_what_holds_where_a_setting_is_left_out(
    tmp_path: Path, env: dict[str, str], wanted: dict[str, Any]
) -> None:
    shown = gerbang("config", "show", "--json", cwd=tmp_path, env=env).json
    assert {name: shown[name]["value"] for name in wanted} == wanted
    if "policy" in wanted:
        profile = shown["profile"]["value"]
        assert shown["policy"] == {
            "value": wanted["policy"],
            "source": "default",
            "detail": f"of the profile {profile}",
        }
    assert not list(tmp_path.iterdir())


def test_wrong_settings_are_told(tmp_path: Path) -> None:
    (tmp_path / "g.toml").write_text("modle = 'x'\n")
    shown = gerbang("config", "show", "--config", "g.toml", cwd=tmp_path)
    assert (shown.code, shown.out) == (2, "")
    assert "Unknown setting 'modle' in g.toml. Did you mean 'model'?" in shown.err
    shown = gerbang("config", "show", cwd=tmp_path, env={"LLM_TOOL_FILE": "x"})
    assert shown.code == 2
    assert "Did you mean LLM_TOOLS_FILE?" in shown.err


@contextmanager
def notes() -> Iterator[tuple[str, list[Any]]]:
    """Serve a place that takes notes. Gives its URL and what it was sent."""
    taken: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"noted")

        def log_message(self, *args: Any) -> None:
            """Be silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/notes", taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_file_of_http_tools(tmp_path: Path) -> None:
    with notes() as (url, taken), serving([("take_note", {"text": "rice"})], "Noted.") as model:
        tool = {
            "name": "take_note",
            "description": "Takes a note.",
            "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
            "url": url,
        }
        (tmp_path / "tools.json").write_text(json.dumps([tool]))
        env = {"LLM_TOOLS_FILE": "tools.json"}
        chat = ("chat", "Note rice.", "--model", model.address, "--json", "--profile", "voice")
        ran = gerbang(*chat, cwd=tmp_path, env=env)
        assert (ran.code, ran.json["answer"], taken) == (0, "Noted.", [{"text": "rice"}])
        names = [item["function"]["name"] for item in model.requests[0]["tools"]]
        assert names == ["take_note"]

        off = gerbang(*chat, cwd=tmp_path, env={**env, "LLM_TOOLS_ENABLED": "false"})
        assert off.code == 0
        assert "take_note" not in json.dumps(model.requests[-1].get("tools"))

        away = gerbang(
            "call",
            "take_note",
            '{"text": "tea"}',
            cwd=tmp_path,
            env={**env, "GERBANG_EGRESS": "api.example.com"},
        )
        assert away.code == 1
        assert len(taken) == 1

        (tmp_path / "tools.json").write_text(json.dumps([{**tool, "urll": "x"}]))
        wrong = gerbang(*chat, cwd=tmp_path, env=env)
        assert wrong.code == 2
        assert "tools.json[0] 'take_note': urll: there is no such field; did you mean 'url'?" in wrong.err
