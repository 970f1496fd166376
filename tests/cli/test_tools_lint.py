"""`gerbang tools lint`: its three forms, what it reads, and its exit codes."""

import json
from pathlib import Path

import pytest

from gerbang.contract.lint import RULES
from tests.cli.terminal import gerbang

CLEAN = """\
name: notes.search.v1
risk: read_internal
description: Search the notes of the user.
parameters:
  type: object
  properties:
    words: {type: string, maxLength: 200, description: Words to look for.}
  required: [words]
returns: {type: string}
guidance:
  when_to_use: The user asks about something written down.
  when_not: Questions about the world.
  effect: Changes nothing.
  returns_text: The lines found.
  limits: At most 20 lines.
  nudge: Use this before you answer from memory.
owner: notes team
error_categories: [semantic_error]
"""
TWO = (
    CLEAN.replace("owner: notes team\n", "")
    + "---\n# the next one\n"
    + CLEAN.replace("notes.search.v1", "find")
)
HTTP = [
    {
        "name": "get_weather",
        "description": "Current weather for a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "key": {"type": "string"}},
            "required": ["city", "key"],
        },
        "url": "https://api.example.com/weather/{city}",
        "method": "GET",
        "headers": {"X-Key": "{key}"},
    }
]
PYTHON = '''\
import gerbang as g


@g.tool(name="notes.drop", risk="destructive")
async def drop(note: str) -> str:
    """Drop a note."""
    raise RuntimeError("linting runs nothing")


more = [drop]
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with contracts of every kind."""
    (tmp_path / "contracts").mkdir()
    (tmp_path / "contracts" / "clean.yaml").write_text(CLEAN)
    (tmp_path / "two.yaml").write_text(TWO)
    (tmp_path / "tools.json").write_text(json.dumps(HTTP, indent=1))
    (tmp_path / "drops.py").write_text(PYTHON)
    (tmp_path / "broken.yaml").write_text("name: [")
    return tmp_path


def test_the_shipped_tools_are_clean(place: Path) -> None:
    ran = gerbang("tools", "lint", cwd=place)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("tools looked at: nothing found.\n")


def test_a_clean_folder(place: Path) -> None:
    ran = gerbang("tools", "lint", "contracts", cwd=place)
    assert (ran.code, ran.out, ran.err) == (0, "1 tool looked at: nothing found.\n", "")


def test_text_names_file_and_line(place: Path) -> None:
    ran = gerbang("tools", "lint", "two.yaml", cwd=place)
    assert ran.code == 1
    heads = [line for line in ran.out.splitlines() if line[:1] not in (" ", "")]
    assert heads == [
        "two.yaml:1: note missing-owner: notes.search.v1 /owner",
        "two.yaml:20: warning unversioned-name: find /name",
        "two.yaml:20: warning name-without-domain: find /name",
        "two.yaml:20: warning near-duplicate-description: find /description",
        "2 tools looked at: 0 errors, 3 warnings, 1 note.",
    ]
    assert "    Write the team or person in owner.\n" in ran.out


def test_json(place: Path) -> None:
    ran = gerbang("tools", "lint", "two.yaml", "--json", cwd=place)
    assert (ran.code, ran.err) == (1, "")
    assert (ran.json["tools"], ran.json["counts"]) == (2, {"note": 1, "warning": 3, "error": 0})
    first = ran.json["findings"][0]
    assert first == {
        "rule": "missing-owner",
        "level": "note",
        "tool": "notes.search.v1",
        "path": "/owner",
        "message": "Nobody is named who answers for the tool.",
        "fix": "Write the team or person in owner.",
        "origin": "two.yaml",
        "file": "two.yaml",
        "line": 1,
    }


def test_sarif(place: Path) -> None:
    ran = gerbang("tools", "lint", "two.yaml", "--sarif", cwd=place)
    assert (ran.code, ran.err, ran.json["version"]) == (1, "", "2.1.0")
    (run,) = ran.json["runs"]
    assert len(run["tool"]["driver"]["rules"]) == len(RULES)
    physical = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in physical} == {"two.yaml"}
    assert [place["region"]["startLine"] for place in physical] == [1, 20, 20, 20]


def test_a_python_module_is_read_and_not_run(place: Path) -> None:
    ran = gerbang("tools", "lint", "--module", "drops", "--json", cwd=place)
    assert ran.code == 1
    found = {finding["rule"]: finding for finding in ran.json["findings"]}
    assert ran.json["tools"] == 1
    assert {"destructive-without-approval", "undeclared-side-effects", "unversioned-name"} <= set(found)
    assert {(one["file"], one["line"]) for one in found.values()} == {("drops.py", 4)}


def test_a_contract_names_a_module_of_the_current_folder(place: Path) -> None:
    (place / "bodies.py").write_text("def search(words: str) -> str:\n    return words\n")
    (place / "mine.yaml").write_text(CLEAN + "python: bodies:search\n")
    ran = gerbang("tools", "lint", "mine.yaml", "--json", cwd=place)
    assert (ran.code, ran.json["tools"], ran.json["findings"]) == (0, 1, [])


def test_a_file_of_http_tools(place: Path) -> None:
    ran = gerbang("tools", "lint", "tools.json", "--json", cwd=place)
    assert ran.code == 1
    found = {finding["rule"]: finding for finding in ran.json["findings"]}
    assert found["header-argument"]["path"] == "/parameters/properties/key"
    assert (found["header-argument"]["file"], found["header-argument"]["line"]) == ("tools.json", 3)


@pytest.mark.parametrize(("level", "code"), [("note", 1), ("warning", 1), ("error", 0)])
def test_fail_on(place: Path, level: str, code: int) -> None:
    ran = gerbang("tools", "lint", "two.yaml", "--fail-on", level, cwd=place)
    assert ran.code == code
    assert "3 warnings" in ran.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fail-on", "fatal"], "--fail-on takes note, warning or error, not 'fatal'."),
        (["--json", "--sarif"], "choose one"),
        (["nowhere.yaml"], "There is no nowhere.yaml."),
        ([""], "There is no file without a name."),
        (["/dev/null"], "/dev/null holds no contract."),
        (["broken.yaml"], "broken.yaml"),
        (["--module", "no_such_module"], "The module 'no_such_module' was not found."),
        (["--module", "json"], "The module 'json' holds no tools."),
        (["--python", "json:dumps"], "'dumps' of the module 'json' holds no tools."),
        (["--module", "json:nothing"], "The module 'json' has no 'nothing'."),
    ],
)
def test_wrong_usage(place: Path, arguments: list[str], said: str) -> None:
    ran = gerbang("tools", "lint", *arguments, cwd=place)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err
