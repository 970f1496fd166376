"""The page about HTTP tools: its file loads, its tables name what there is."""

import re
from pathlib import Path

import gerbang as g
from gerbang.adapters.tools.egress import Egress
from gerbang.adapters.tools.http_definition import REQUEST_FIELDS
from gerbang.adapters.tools.http_file import TIMEOUT_S, read_tools
from gerbang.config import OTHER_NAMES

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = (DOCS / "http-tools.md").read_text("utf-8")


def column(heading: str) -> list[str]:
    """Return what stands in code letters in the first column of the table under a heading."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (.+?) \|", part, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_the_file_of_the_page_loads() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (tool,) = read_tools(block.encode(), origin="page")
    assert (tool.notes, tool.contract.risk, tool.contract.timeout_s) == ((), "read_external", TIMEOUT_S)
    shown = tool.show_request({"city": "Rio de Janeiro", "units": "c"}).splitlines()[0]
    (said,) = re.findall(r"sends `(.+?)`", PAGE)
    assert shown.replace(":443", "") == said


def test_the_fields_of_the_page() -> None:
    assert column("Fields") == ["name", "description", "parameters", *REQUEST_FIELDS]
    named = {"risk", "returns", "side_effects", "timeout_s", "retry", "natural_key", "sensitive", "scopes"}
    assert named | {"expose", "honours_key"} <= set(g.Contract.__struct_fields__)
    for name in named:
        assert f"`{name}`" in PAGE


def test_the_entries_of_the_page() -> None:
    entries = column("Where tools may connect")
    assert len(Egress(entries).entries) == len(entries) == 9


def test_the_second_names_of_settings() -> None:
    page = (DOCS / "configuration.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(LLM_[A-Z_]+)` \| `([a-z_]+)` \|$", page, re.MULTILINE)) == OTHER_NAMES
