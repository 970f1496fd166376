"""`gerbang policy`: what it prints, and its exit codes."""

import json
from pathlib import Path

import pytest

from tests.cli.terminal import gerbang

RULES = """version: 1
rules:
  - {id: mail, match: {tool: mail.*}, decision: allow, reason: MAIL}
  - {id: never, match: {tool: mail.*, arguments: {to: {prefix: "x@"}}}, decision: deny, reason: NOT_TO_X}
"""
CASES = """- note: Mail may be sent.
  input: {tool: {name: mail.send.v1, risk_class: external_communication}, arguments: {to: a@b}}
  want: {decision: allow, rule: mail}
"""
CALL = {"tool": {"name": "mail.send.v1", "risk_class": "external_communication"}, "arguments": {"to": "x@y"}}


@pytest.fixture
def rules(place: Path) -> Path:
    (place / "rules.yaml").write_text(RULES)
    (place / "rules.cases.yaml").write_text(CASES)
    (place / "typo.yaml").write_text(
        "version: 1\nrules:\n"
        "  - {id: a, match: {tool: mail.send.v1, arguments: {too: x}}, decision: deny, reason: R}\n"
    )
    (place / "binary").write_bytes(b"\xff\x00\x01")
    (place / "empty").write_text("")
    (place / "bundle").mkdir()
    for name in ("rules.yaml", "rules.cases.yaml"):
        (place / "bundle" / name).write_text((place / name).read_text())
    return place


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["test", "rules.yaml"], 0, ["1 of 1 cases passed.", "1 of 2 rules", "no case for the rule never"]),
        (["test", "rules.cases.yaml"], 0, ["1 of 1 cases passed."]),
        (
            ["test", "rules.cases.yaml", "--policy", "strict"],
            1,
            ["FAILED rules.cases.yaml, case 1: Mail may", "ask"],
        ),
        (["test", "bundle"], 0, ["1 of 1 cases passed."]),
        (["test", "rules.yaml", "--full"], 1, ["no case for the rule never"]),
        (["test", "strict", "--full"], 0, ["13 of 13 cases passed."]),
        (["test", "nothing.yaml"], 2, ["There is no file or folder nothing.yaml"]),
        (["test", "workspace"], 2, ["workspace has no cases", "*.cases.yaml"]),
        (["test", "workspace/notes.txt"], 2, ["has no cases", "no notes.cases.yaml lies beside it"]),
        (["explain", "rules.yaml", json.dumps(CALL)], 0, ["deny  NOT_TO_X, MAIL", "never (deny): decided"]),
        (
            ["explain", "strict", json.dumps(CALL)],
            0,
            ["ask  CLASS_EXTERNAL", "No rule matches: the default of"],
        ),
        (["explain", "strict", "call.json"], 2, ["cannot be read"]),
        (["explain", "strict", "nothing.json"], 2, ["nothing.json cannot be read: there is no such file"]),
        (["explain", "strict", "bundle"], 2, ["bundle cannot be read: it is a folder"]),
        (["explain", "strict", "binary"], 2, ["binary cannot be read: it is not UTF-8 text (byte 0)"]),
        (["explain", "strict", ""], 2, ["The input cannot be read: it is empty"]),
        (["explain", "strict", "[]"], 2, ["Expected `object`, got `array`. The input is a mapping, such as"]),
        (["explain", "strict", "empty"], 2, ["got `null`. The input is a mapping, such as"]),
        (["explain", "", "{}"], 2, ["There is no policy ''"]),
        (["test", ""], 2, ["There is no file or folder without a name"]),
        (["test", "empty"], 2, ["empty has no cases: no empty.cases.yaml lies beside it"]),
        (["lint", "binary"], 2, ["it is not UTF-8 text"]),
        (["explain", "strict", '{"tool": 5}'], 2, ["input: Expected `object`, got `int` - at `$.tool`"]),
        (["explain", "nothing.yaml", "{}"], 2, ["There is no policy 'nothing.yaml'"]),
        (["lint", "rules.yaml"], 0, ["rules.yaml: note: no default is written"]),
        (["lint", "strict"], 0, ["Nothing found."]),
        (["lint", "rules.yaml", "--python", "mytools:tools"], 0, ["note: no default is written"]),
        (
            ["lint", "typo.yaml", "--python", "mytools:tools"],
            1,
            ["typo.yaml:3:5: warning", "takes no argument 'too'"],
        ),
        (["lint", "rules.cases.yaml"], 1, ["error: a policy is a mapping", "[DOES_NOT_LOAD]"]),
        (["replay", "strict"], 0, []),
        (["replay", "strict", "--run", "none"], 2, ["No run none"]),
        (["replay", "rules.cases.yaml"], 2, ["a policy is a mapping"]),
    ],
)
def test_commands(rules: Path, arguments: list[str], code: int, words: list[str]) -> None:
    ran = gerbang("policy", *arguments, cwd=rules)
    assert ran.code == code
    assert [word for word in words if word not in ran.out + ran.err] == []
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["test", "explain", "lint", "replay"])
def test_help_has_examples(place: Path, command: str) -> None:
    ran = gerbang("policy", command, "--help", cwd=place)
    assert ran.code == 0
    assert f"gerbang policy {command} " in ran.out
    assert "--json" in ran.out


def test_lint_names_the_place(rules: Path) -> None:
    (rules / "bad.yaml").write_text(RULES.replace("tool: mail.*}", "tol: mail.*}"))
    ran = gerbang("policy", "lint", "bad.yaml", "--json", cwd=rules)
    assert ran.code == 1
    (found,) = ran.json
    assert (found["file"], found["line"], found["column"], found["level"]) == ("bad.yaml", 3, 29, "error")
    assert "Did you mean 'tool'?" in found["message"]


def test_explain_reads_standard_input_and_prints_json(rules: Path) -> None:
    ran = gerbang("policy", "explain", "rules.yaml", "-", "--json", cwd=rules, text=json.dumps(CALL))
    assert ran.json["decision"]["decision"] == "deny"
    assert [(rule["rule"], rule["role"]) for rule in ran.json["rules"]] == [
        ("mail", "matched"),
        ("never", "decided"),
    ]


def test_what_a_terminal_would_obey_is_shown_as_its_escape(rules: Path) -> None:
    call = {**CALL, "arguments": {"to": "\x1b[2J"}}
    ran = gerbang("policy", "explain", "rules.yaml", json.dumps(call), cwd=rules)
    assert ran.code == 0
    assert "\x1b" not in ran.out


def test_test_as_json(rules: Path) -> None:
    ran = gerbang("policy", "test", "rules.yaml", "--json", cwd=rules)
    assert (ran.code, ran.json["passed"], ran.json["failed"]) == (0, 1, 0)
    assert ran.json["rules_without_case"] == ["never"]


def test_replay_of_recorded_runs(rules: Path) -> None:
    (rules / "closed.yaml").write_text(
        "version: 1\nrules:\n  - {id: sums, match: {tool: calculate}, decision: deny, reason: NO_SUMS}\n"
    )
    assert gerbang("call", "calculate", '{"expression": "1 + 1"}', cwd=rules).code == 0
    sent = gerbang(
        "call",
        "mail.send.v1",
        '{"to": "a@b", "text": "hi"}',
        "--python",
        "mytools:tools",
        "--policy",
        "rules.yaml",
        cwd=rules,
    )
    assert sent.code == 0
    before = (rules / "outbox.txt").read_text()
    ran = gerbang("policy", "replay", "closed.yaml", "--json", cwd=rules)
    changes = {
        item["tool"]: (item["then"]["decision"], item["now"]["decision"], item["changed"])
        for item in ran.json["decisions"]
    }
    assert changes == {"calculate": ("allow", "deny", True), "mail.send.v1": ("allow", "ask", True)}
    assert (ran.code, ran.json["changed"], ran.json["runs"]) == (0, 2, 2)
    assert (rules / "outbox.txt").read_text() == before
    text = gerbang("policy", "replay", "closed.yaml", "--check", cwd=rules)
    assert text.code == 1
    assert "calculate  allow -> deny  NO_SUMS" in text.out
    assert "2 of 2 decisions change, in 2 runs." in text.out
    same = gerbang("policy", "replay", "rules.yaml", "--check", cwd=rules)
    assert same.code == 0
