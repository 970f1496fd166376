"""`gerbang audit`, `replay` and `runs cost` on a store that real runs have written."""

import asyncio
import contextlib
import io
import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agentboundary.conformance import check_conformance  # type: ignore[import-untyped]

import gerbang as g
from gerbang.cli.app import run as cli
from gerbang.testing import ScriptedModel
from tests.cli.terminal import gerbang
from tests.runtime.street import ALLOW_ALL

TOOLS = '''
import gerbang as g

@g.tool(name="docs.read.v1", risk="read_internal")
def read(name: str) -> str:
    """Read a document. Returns its text."""
    raise SystemExit("a replay runs nothing")

@g.tool(name="docs.write.v1", risk="write_internal")
def write(name: str) -> str:
    """Write a document. Returns `written`."""
    raise SystemExit("a replay runs nothing")

tools = [read, write]
'''


@g.tool(name="docs.read.v1", risk="read_internal")
def read(name: str) -> str:
    """Read a document. Returns its text."""
    if name == "none":
        raise g.ToolError("There is no such document.", code="NOT_FOUND")
    return f"text of {name}"


@g.tool(name="docs.write.v1", risk="write_internal")
def write(name: str) -> str:
    """Write a document. Returns `written`."""
    return f"written {name}"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a store: an agent's run with three calls, and a run of two calls by a program."""
    (tmp_path / "mytools.py").write_text(TOOLS)
    (tmp_path / "allow.yaml").write_text(
        "version: 1\nrules:\n- {id: all, match: {tool: ['*']}, everything: true, "
        "decision: allow, reason: TEST_ALLOWS}\n"
    )

    async def work() -> None:
        async with g.Gateway([read, write], policy=ALLOW_ALL, store=f"sqlite:{tmp_path / 's.db'}") as gate:
            model = ScriptedModel(
                [
                    [("docs.read.v1", {"name": "pelangi"}), ("docs.read.v1", {"name": "none"})],
                    [("docs.write.v1", {"name": "a"}), ("docs.read.v1", {"nam": 1})],
                    "selesai",
                ]
            )
            agent = g.Agent(model, gate, profile="minimal")
            result = await agent.run("baca pelangi", principal=g.Principal("ana", team="red"))
            (tmp_path / "run").write_text(result.run_id)
            for step in (1, 2):
                await gate.call("docs.read.v1", {"name": "b"}, run_id="prog", step_id=step)

    asyncio.run(work())
    return tmp_path


class Printed:
    """What a command printed, run in this process: a hundred children would take minutes."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out.decode()
        self.err = err.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


def command(place: Path, *arguments: str, env: dict[str, str] | None = None) -> Printed:
    out, err = io.BytesIO(), io.BytesIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.TextIOWrapper(out, write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(err, write_through=True)),
    ):
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        code = cli(list(arguments))
        sys.modules.pop("mytools", None)
        return Printed(code, out.getvalue(), err.getvalue())


def audit(place: Path, *arguments: str, env: dict[str, str] | None = None) -> Printed:
    return command(place, *arguments, "--store", "sqlite:s.db", env=env)


def change(place: Path, statement: str) -> None:
    with closing(sqlite3.connect(place / "s.db")) as database:
        database.execute(statement)
        database.commit()


_PROG = "run = (SELECT run FROM chains WHERE run_id = 'prog')"


@pytest.mark.parametrize(
    ("tamper", "at", "what"),
    [
        (
            f"UPDATE events SET body = CAST(replace(body, 'success', 'failure') AS BLOB) WHERE {_PROG}",
            2,
            "chain",
        ),
        (
            "UPDATE events SET body = CAST(replace(body, 'name\\', 'eman\\') AS BLOB) "
            f"WHERE {_PROG} AND seq = 3",
            3,
            "detail",
        ),
        (f"DELETE FROM events WHERE {_PROG} AND seq = 2", 2, "chain"),
        ("UPDATE runs SET salt = randomblob(32) WHERE run_id = 'prog'", 1, "detail"),
        ("UPDATE calls SET arguments = x'7b7d' WHERE run_id = 'prog' AND step_id = 'step_002'", 4, "payload"),
        (
            "UPDATE calls SET result = x'2278' || x'22' WHERE run_id = 'prog' AND step_id = 'step_001'",
            2,
            "payload",
        ),
        (f"UPDATE events SET seq = 5 - seq + 100 WHERE {_PROG} AND seq IN (2, 3)", 2, "chain"),
    ],
)
def test_verify_says_where_a_chain_breaks(place: Path, tamper: str, at: int, what: str) -> None:
    whole = audit(place, "audit", "verify", "--json")
    assert (whole.code, whole.json["whole"], whole.json["runs"]) == (0, True, 2)
    change(place, tamper)
    broken = audit(place, "audit", "verify", "--json")
    assert broken.code == 1
    assert broken.json["broken"] == [{"run_id": "prog", "broken_at": at, "what": what}]
    told = audit(place, "audit", "verify", "prog")
    assert (told.code, "event" in told.out, str(at) in told.out) == (1, True, True)
    assert audit(place, "audit", "verify", (place / "run").read_text()).code == 0


def test_a_checkpoint_sees_what_the_chain_cannot(place: Path) -> None:
    made = audit(place, "audit", "checkpoint", "--out", "kept.jsonl", "--key", "k", "--json")
    assert (made.code, made.json["runs"]) == (0, 2)
    assert oct((place / "k").stat().st_mode & 0o777) == "0o600"
    good = audit(place, "audit", "verify", "--checkpoint", "kept.jsonl", "--json")
    assert good.code == 0
    assert good.json["vouched_events"] == good.json["events"]
    told = audit(place, "audit", "verify", "--checkpoint", "kept.jsonl", "--key", "k")
    assert "changed, removed, reordered or inserted up to the checkpoint" in told.out
    change(place, f"DELETE FROM events WHERE {_PROG} AND seq > 2")  # a cut tail leaves a sound chain
    assert audit(place, "audit", "verify").code == 0
    cut = audit(place, "audit", "verify", "--checkpoint", "kept.jsonl", "--json")
    assert cut.code == 1
    assert cut.json["broken"] == [{"run_id": "prog", "broken_at": 4, "what": "missing"}]


@pytest.mark.parametrize(
    ("change_line", "words"),
    [
        (lambda lines: lines[:-1], "end is missing"),
        (lambda lines: [lines[0], lines[2], lines[3]], "not those"),
        (lambda lines: [lines[0].replace('"at":', '"at":1'), *lines[1:]], "not those"),
        (lambda lines: [*lines[:-1], lines[-1].replace('"signature":"', '"signature":"00')], "signature"),
        (lambda lines: ["hello", *lines], "line 1"),
    ],
)
def test_a_checkpoint_that_was_changed_proves_nothing(place: Path, change_line: Any, words: str) -> None:
    made = audit(place, "audit", "checkpoint", "--key", "k")
    lines = made.out.splitlines()
    (place / "bad").write_text("\n".join(change_line(lines)) + "\n")
    ran = audit(place, "audit", "verify", "--checkpoint", "bad")
    assert (ran.code, words in ran.err) == (2, True), ran.err


def test_a_key_without_a_public_half_is_asked_for_by_its_file(place: Path) -> None:
    (place / ".gerbang").mkdir(exist_ok=True)
    key = place / ".gerbang" / "checkpoint.key"  # as it is made where the extra is not installed
    key.write_text(f"hmac-sha256 {'5a' * 32}\n")
    key.chmod(0o600)
    assert audit(place, "audit", "checkpoint", "--out", "kept.jsonl").code == 0
    bare = audit(place, "audit", "verify", "--checkpoint", "kept.jsonl")
    (said,) = re.findall(r"--key (\S+),", bare.err)
    assert (bare.code, said) == (2, ".gerbang/checkpoint.key")
    assert audit(place, "audit", "verify", "--checkpoint", "kept.jsonl", "--key", said).code == 0


def test_a_checkpoint_of_somebody_else(place: Path) -> None:
    audit(place, "audit", "checkpoint", "--key", "other", "--out", "o.jsonl")
    audit(place, "audit", "checkpoint", "--key", "k", "--out", "kept.jsonl")
    ran = audit(place, "audit", "verify", "--checkpoint", "o.jsonl", "--key", "k")
    assert (ran.code, "not by" in ran.err) == (2, True)
    command(place, "call", "calculate", '{"expression": "1"}', "--store", "sqlite:t.db")
    other = command(place, "audit", "verify", "--checkpoint", "kept.jsonl", "--store", "sqlite:t.db")
    assert (other.code, "another store" in other.err) == (2, True)


def test_export(place: Path) -> None:
    events = audit(place, "audit", "export").lines
    assert [event["seq"] for event in events if event["run_id"] == "prog"] == [1, 2, 3, 4]
    clouds = audit(place, "audit", "export", "prog", "--format", "cloudevents").lines
    assert len(clouds) == 4
    for cloud in clouds:
        assert {"specversion", "id", "source", "type", "time", "data"} <= cloud.keys()
        assert all(key.islower() and key.isalnum() and len(key) <= 20 for key in cloud)
        assert cloud["specversion"] == "1.0"
    assert len({(cloud["source"], cloud["id"]) for cloud in clouds}) == 4
    calls = audit(place, "audit", "export", "--format", "calls").lines
    names = {
        *("run_id", "step_id", "agent_id", "tool_name", "risk_class", "input_hash", "input_redacted"),
        *("policy_decision", "approval_id", "started_at", "finished_at", "status", "output_hash"),
        *("cost_units", "latency_ms"),
    }
    assert len(calls) == 6
    assert all(names <= call.keys() for call in calls)
    assert calls[0]["step_id"] == "step_001"
    assert calls[0]["policy_decision"] == "approved_by_policy"
    assert calls[0]["input_hash"].startswith("sha256:")
    receipts = audit(place, "audit", "export", "--format", "receipts", "--environment", "prod")
    assert len(receipts.lines) == 5  # the call that fits no contract is no action
    assert "No receipt for 1 call:" in receipts.err
    for one in receipts.lines:
        assert [c for c in check_conformance(one, 3) if c.severity == "fail"] == []
    first = check_conformance(receipts.lines[0], 3, arguments={"name": "pelangi"})
    assert [check for check in first if check.severity == "fail"] == []


def test_erase_and_prune(place: Path) -> None:
    name = (place / "run").read_text()
    kept = audit(place, "audit", "checkpoint", "--out", "kept.jsonl", "--key", "k")
    assert kept.code == 0
    assert b"pelangi" in (place / "s.db").read_bytes()
    done = audit(place, "audit", "erase", name, "--reason", "asked for", "--json")
    assert (done.code, done.json["erased"]) == (0, name)
    assert b"pelangi" not in (place / "s.db").read_bytes()
    assert audit(place, "audit", "verify", "--checkpoint", "kept.jsonl").code == 0
    assert audit(place, "audit", "erase", name).code == 2
    assert audit(place, "audit", "erase", "nobody").code == 2
    assert audit(place, "audit", "prune").code == 2
    pruned = audit(place, "audit", "prune", "--json", env={"GERBANG_RETENTION_DAYS": "0"})
    assert (pruned.code, pruned.json) == (0, {"erased": ["prog"], "left": []})
    assert audit(place, "audit", "verify", "--checkpoint", "kept.jsonl").code == 0
    assert "were erased" in audit(place, "replay", name).err
    assert audit(place, "audit", "export", "--format", "receipts").out == ""


def test_replay(place: Path) -> None:
    name = (place / "run").read_text()
    mine = ("--python", "mytools:tools")
    same = audit(place, "replay", name, *mine, "--policy", "allow.yaml")
    assert (same.code, same.out) == (0, "4 calls, no difference.\n"), same.err
    assert audit(place, "replay", "prog", *mine, "--policy", "allow.yaml").code == 0
    other = audit(place, "replay", name, *mine, "--json")  # the shipped policy asks before it writes
    assert other.code == 1
    assert other.json["difference"]["tool"] in ("docs.read.v1", "docs.write.v1")
    assert other.json["difference"]["what"] in ("policy_decision", "reasons")
    changed = (place / "mytools.py").read_text().replace("name: str", "name: int")
    (place / "mytools.py").write_text(changed)
    now = audit(place, "replay", name, *mine, "--policy", "allow.yaml", "--json")
    assert (now.code, now.json["difference"]["then"]) == (1, "approved_by_policy")
    assert audit(place, "replay", "nobody").code == 2


def test_a_replay_without_the_tools_names_them_and_how_to_give_them(place: Path) -> None:
    name = (place / "run").read_text()
    bare = audit(place, "replay", name, "--policy", "allow.yaml")
    assert (bare.code, bare.out) == (2, "")
    for part in ("docs.read.v1, docs.write.v1", "--python MODULE:NAME", "--tools FILE", name):
        assert part in bare.err, part
    assert audit(place, "replay", name, "--json").code == 2


def test_a_replay_leaves_out_what_a_switch_stopped(place: Path) -> None:
    async def work() -> None:
        async with g.Gateway([read, write], policy=ALLOW_ALL, store=f"sqlite:{place / 's.db'}") as gate:
            model = ScriptedModel(
                [
                    [("docs.read.v1", {"name": "a"}), ("docs.write.v1", {"name": "b"})],
                    [("docs.write.v1", {"name": "c"})],
                    "selesai",
                ]
            )
            await gate.kill("tool:docs.write.v1")
            result = await g.Agent(model, gate).run("go", run_id="stopped")
            assert [call.status for call in result.calls] == ["ok", "error", "error"]
            await gate.revive("tool:docs.write.v1")

    asyncio.run(work())
    again = audit(place, "replay", "stopped", "--python", "mytools:tools", "--policy", "allow.yaml")
    assert (again.code, again.out) == (0, "1 call, no difference.\n"), again.err
    assert "Stopped then by a switch, a limit or" in again.err
    assert again.err.endswith("and not gone through: 2 calls.\n")


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("tool", ["docs.read.v1", "docs.write.v1"]),
        ("user", ["ana", "local"]),
        ("team", ["-", "red"]),
        ("tenant", ["local"]),
    ],
)
def test_costs(place: Path, by: str, names: list[str]) -> None:
    found = audit(place, "runs", "cost", "--by", by, "--json").lines
    assert [one["name"] for one in found] == names
    assert sum(one["calls"] for one in found) == 5
    assert sum(one["errors"] for one in found) == 1
    if by != "tool":
        assert sum(one["answers"] for one in found) == 3


def test_costs_by_run_and_since(place: Path) -> None:
    found = audit(place, "runs", "cost", "--json").lines
    assert {one["name"] for one in found} == {"prog", (place / "run").read_text()}
    assert audit(place, "runs", "cost", "--since", "2999-01-01", "--json").out == ""
    assert len(audit(place, "runs", "cost", "--since", "1h", "--json").lines) == 2
    assert audit(place, "runs", "cost", "--since", "soon").code == 2
    assert "calls" in audit(place, "runs", "cost").out.lower()


def test_without_a_store_there_is_nothing_to_check(tmp_path: Path) -> None:
    for asked in (["audit", "verify"], ["audit", "export"], ["replay", "x"], ["runs", "cost"]):
        ran = command(tmp_path, *asked, "--store", "sqlite:none.db")
        assert (ran.code, "Nothing is recorded" in ran.err) == (2, True), asked
    assert list(tmp_path.iterdir()) == []


def test_a_sealed_store_on_the_command_line(tmp_path: Path) -> None:
    made = gerbang("audit", "seal-key", "file:seal.keys", "--json", cwd=tmp_path)
    assert (made.code, oct((tmp_path / "seal.keys").stat().st_mode & 0o777)) == (0, "0o600")
    env = {"GERBANG_SEAL": "file:seal.keys"}
    call = ("call", "calculate", '{"expression": "271828 + 1"}', "--store", "sqlite:s.db")
    assert gerbang(*call, cwd=tmp_path, env=env).out == "271829\n"
    raw = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*"))
    assert b"271828" not in raw
    assert b"271829" not in raw
    shown = gerbang("runs", "list", "--store", "sqlite:s.db", "--json", cwd=tmp_path, env=env)
    assert (shown.code, len(shown.json)) == (0, 1)
    assert "salt" not in shown.json[0]
    exported = gerbang("audit", "export", "--store", "sqlite:s.db", cwd=tmp_path, env=env)
    assert "271828" in exported.out
    refused = gerbang("runs", "list", "--store", "sqlite:s.db", cwd=tmp_path)
    assert (refused.code, "GERBANG_SEAL" in refused.err) == (1, True)
    assert gerbang("audit", "seal-key", "file:seal.keys", cwd=tmp_path).code == 0
    assert gerbang(*call, cwd=tmp_path, env=env).code == 0
    assert gerbang("audit", "verify", "--store", "sqlite:s.db", cwd=tmp_path, env=env).code == 0
