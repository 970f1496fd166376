"""`gerbang policy test`, `explain` and `lint` on policies of other engines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .bundles import ALLOW, HARD, rego, write
from .opa_server import OpaServer

CALL = '{"tool": {"name": "box.open.v1", "risk_class": "compute"}, "arguments": {"kind": "plain"}}'
CASES = f"- note: Plain calls are allowed.\n  input: {CALL}\n  want: {{decision: allow, reasons: [OK]}}\n"
WRONG = CASES.replace("allow, reasons", "deny, reasons")


def gerbang(*arguments: str) -> tuple[int, str]:
    """Run the command. Returns the exit code and what it printed, on either stream."""
    program = "import sys; from gerbang.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a Rego policy and its cases."""
    return write(tmp_path, {"hard.rego": HARD, "hard.cases.yaml": CASES})


def test_cases_beside_a_bundle_and_of_the_shipped_policy(folder: Path) -> None:
    for place in (folder, folder / "hard.rego", folder / "hard.cases.yaml"):
        assert gerbang("policy", "test", str(place)) == (0, "1 of 1 cases passed.\n")
    code, said = gerbang("policy", "test", "repository-agent", "--json")
    report = json.loads(said)
    assert (code, report["failed"], report["rules_without_case"]) == (0, 0, None)
    assert report["passed"] >= 30


def test_a_case_that_fails(folder: Path) -> None:
    write(folder, {"hard.cases.yaml": WRONG})
    code, said = gerbang("policy", "test", str(folder / "hard.cases.yaml"), "--policy", f"rego:{folder}")
    assert code == 1
    assert "decision is allow, wanted deny" in said
    assert "0 of 1 cases passed." in said


def test_explain_says_the_result_and_what_went_wrong(folder: Path) -> None:
    bundle = str(folder / "hard.rego")
    assert gerbang("policy", "explain", bundle, CALL) == (0, "allow  OK\n")
    code, said = gerbang("policy", "explain", bundle, CALL.replace("plain", "conflict"))
    assert (code, said.splitlines()[0]) == (0, "deny  POLICY_ERROR, POLICY_EVALUATION")
    assert f"{bundle}:" in said
    assert "conflict" in said
    found = json.loads(gerbang("policy", "explain", f"rego:{folder}", CALL, "--json")[1])
    assert (found["decision"]["decision"], found["detail"]) == ("allow", "")


def test_explain_asks_a_server(tmp_path: Path) -> None:
    server = OpaServer(f'package gerbang\n\ndecision := {ALLOW} if input.arguments.kind == "plain"\n')
    try:
        url = f"opa:{server.url('gerbang/decision')}"
        assert gerbang("policy", "explain", url, CALL) == (0, "allow  OK\n")
        code, said = gerbang("policy", "explain", url, CALL.replace("plain", "other"))
        assert (code, said.splitlines()[0]) == (0, "deny  POLICY_UNDEFINED")
    finally:
        server.close()


def test_lint_has_a_place_for_every_fault(tmp_path: Path) -> None:
    bad = rego(tmp_path, "package gerbang\n\ndecision := nope(1)\n\ndefault a := 1\n\ndefault a := 2\n")
    code, said = gerbang("policy", "lint", str(bad), "--json")
    found = [(item["line"], item["column"], item["level"]) for item in json.loads(said)]
    assert (code, found) == (1, [(3, 13, "error"), (7, 1, "error")])
    assert gerbang("policy", "lint", "repository-agent") == (0, "Nothing found.\n")


def test_a_bundle_that_does_not_load_is_wrong_usage(tmp_path: Path) -> None:
    bad = rego(tmp_path, "package gerbang\n\ndecision := {")
    code, said = gerbang("policy", "explain", str(bad), CALL)
    assert code == 2
    assert f"{bad}:3:14: expecting expression" in said


TOOL = """
import gerbang as g

@g.tool(name="box.open.v1", risk="compute")
def open_box(kind: str) -> str:
    \"\"\"Open a box.\"\"\"
    return f"opened {kind}"
"""


def test_a_call_goes_by_rego(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, {"boxes.py": TOOL})
    monkeypatch.setenv("PYTHONPATH", str(folder))
    common = ("--python", "boxes:open_box", "--store", "memory:", "--policy", f"rego:{folder}")
    code, said = gerbang("call", "box.open.v1", '{"kind": "plain"}', *common)
    assert (code, "opened plain" in said) == (0, True)
    code, said = gerbang("call", "box.open.v1", '{"kind": "crash"}', *common)
    assert (code, "POLICY_ERROR" in said) == (1, True)
