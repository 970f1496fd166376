"""The pages about parsing: the table is fresh, and the code that the guides show runs."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "guide-text-calls.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(source, "guide", "exec"), names)
    return names


def test_the_table_of_dialects_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "gen_dialect_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_reading_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    run(BLOCKS[0])
    assert capsys.readouterr().out == "Let me check.\n\nget_weather {'city': 'Zürich'}\n"


def test_reading_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    show = run(BLOCKS[1])["show"]
    show(["Hi <tool", '_call>{"name": "f", "argu', 'ments": {"a": 1}}</tool_call>'])
    assert capsys.readouterr().out == "Hi \ncall: f {'a': 1}\n"


def test_driving_a_model_by_text() -> None:
    names = run(BLOCKS[2])
    assert "- get_weather(city: string) - Current weather for a city." in names["system"]
    assert (
        names["past_turn"] == '<tool_use>{"name": "get_weather", "arguments": {"city": "Zürich"}}</tool_use>'
    )
    assert names["result"] == "Tool execution finished (step 1/12). Result:\n\n21 degrees, clear"
