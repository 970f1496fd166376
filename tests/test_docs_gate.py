"""Every program of docs/gate.md runs and prints what the page says; its table of checks is the code's."""

import ast
import asyncio
import inspect
import re
import types
from pathlib import Path

import pytest

from gerbang.contract.validators import _TAKES as TAKES
from gerbang.contract.validators import SHIPPED
from gerbang.values.sentences_en import ERRORS

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "gate.md").read_text("utf-8")
SHOWN = re.findall(r"(?<!-->\n)^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROWS = re.findall(r"^\| `(\w+)` \| (.+?) \| .+? \| (.+?) \|$", PAGE, re.MULTILINE)


def test_every_program_of_the_page_is_run() -> None:
    assert len(SHOWN) == len(re.findall(r"(?<!-->\n)^```python\n", PAGE, re.MULTILINE)) > 5


@pytest.mark.parametrize(("program", "printed"), SHOWN)
def test_program(program: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = compile(program, "docs/gate.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = {"__name__": "page"}
    work = types.FunctionType(code, names)()
    assert inspect.iscoroutine(work)
    asyncio.run(work)
    assert capsys.readouterr().out == printed


def test_the_table_of_checks() -> None:
    assert [name for name, _, _ in ROWS] == list(SHIPPED) == list(TAKES)
    for name, options, codes in ROWS:
        needed, more = TAKES[name]
        assert set(re.findall(r"\*\*`(\w+)`\*\*", options)) == needed
        assert set(re.findall(r"`(\w+)`", options)) == needed | more
        assert set(re.findall(r"`([A-Z_]+)`", codes)) <= set(ERRORS)
