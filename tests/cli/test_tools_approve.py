"""Contract files on the command line: listed, shown, approved, and approved again after a change."""

import json
from pathlib import Path

from tests.cli.terminal import gerbang

FILE = """
name: notes.count.v1
risk: compute
description: {about}
guidance: {{when_not: for words}}
parameters: {{properties: {{text: {{type: string}}}}, required: [text]}}
python: counting:count
"""
BODY = '''
def count(text: str) -> int:
    """Counts."""
    return len(text)
'''


def test_from_the_file_to_the_call(place: Path) -> None:
    path = place / "contracts.yaml"
    path.write_text(FILE.format(about="Counts letters."))
    (place / "counting.py").write_text(BODY)
    (place / "settings.toml").write_text("contracts = 'contracts.yaml'\npin_contracts = true\n")
    call = ("call", "notes.count.v1", '{"text": "abc"}', "--config", "settings.toml")

    refused = gerbang(*call, cwd=place)
    assert (refused.code, "TOOL_CHANGED" in refused.out + refused.err) == (1, True)
    waits = gerbang("tools", "approve", "--contracts", "contracts.yaml", cwd=place)
    assert (waits.code, waits.out.startswith("notes.count.v1 waits: never approved, now sha256:")) == (
        3,
        True,
    )
    done = gerbang("tools", "approve", "notes.count.v1", "--config", "settings.toml", cwd=place)
    said = "notes.count.v1 is approved as it is now.\nNo contract waits for approval.\n"
    assert (done.code, done.out) == (0, said)
    assert gerbang(*call, cwd=place).out == "3\n"
    shown = gerbang("tools", "show", "notes.count.v1", "--config", "settings.toml", "--json", cwd=place)

    path.write_text(FILE.format(about="Counts letters, and sends them away."))
    assert gerbang(*call, cwd=place).code == 1
    again = gerbang("tools", "approve", "--config", "settings.toml", "--json", cwd=place)
    assert (again.code, [tool["name"] for tool in again.json]) == (3, ["notes.count.v1"])
    assert again.json[0]["approved"] != again.json[0]["digest"]
    assert (shown.code, shown.json["digest"]) == (0, again.json[0]["approved"])


def test_what_is_wrong(place: Path) -> None:
    missing = gerbang("tools", "approve", cwd=place)
    assert (missing.code, "--contracts PATH" in missing.err) == (2, True)
    (place / "contracts.yaml").write_text(FILE.format(about="x") + "timout_s: 3\n")
    wrong = gerbang("tools", "approve", "--contracts", "contracts.yaml", cwd=place)
    assert (wrong.code, "timout_s: unknown field (did you mean timeout_s?)" in wrong.err) == (2, True)
    (place / "contracts.yaml").write_text(FILE.format(about="x"))
    (place / "counting.py").write_text(BODY)
    unknown = gerbang("tools", "approve", "a.b.v1", "--contracts", "contracts.yaml", cwd=place)
    assert (unknown.code, "Tools that do: notes.count.v1" in unknown.err) == (2, True)


def test_the_whole_contract_is_shown(place: Path) -> None:
    (place / "contracts.yaml").write_text(FILE.format(about="Counts."))
    (place / "counting.py").write_text(BODY)
    (place / "settings.toml").write_text("contracts = 'contracts.yaml'\n")
    shown = gerbang("tools", "show", "notes.count.v1", "--config", "settings.toml", "--json", cwd=place).json
    assert shown["guidance"]["when_not"] == "for words"
    assert shown["group"] == "notes"
    assert "rate" not in shown


def test_the_schema(place: Path) -> None:
    schema = json.loads(gerbang("tools", "schema", cwd=place).out)
    assert "risk" in schema["$defs"]["ContractFile"]["properties"]
