"""The page about contracts names every field, and what it shows can be loaded."""

import re
from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from gerbang.adapters.tools.contract_files import contract_schema, load_contract
from gerbang.adapters.tools.signature import FILLED

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "contracts.md").read_text("utf-8")
FIELDS = sorted(
    {
        field
        for name, definition in contract_schema()["$defs"].items()
        for field in definition.get("properties", {})
        if name != "Exposure"
    }
)


@pytest.mark.parametrize("name", [*FIELDS, *FILLED, "intents", "states", "tenants", "roles", "scopes"])
def test_every_field_is_named(name: str) -> None:
    assert re.search(rf"`{name}[`:]", PAGE)


def test_the_example_is_a_contract(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "refund.yaml"
    path.write_text(text)
    contract = load_contract(str(path))
    assert contract.name == "payments.refund.v1"
    assert contract.control == frozenset({"order", "cents"})
    with pytest.raises(g.ContractError, match="has no body"):
        g.Gateway(g.load_contracts(path))


def test_the_function_is_a_tool() -> None:
    source = re.findall(r"```python\n(from typing.*?)```", PAGE, re.DOTALL)[0]
    found: dict[str, Any] = {"__name__": "page"}
    exec(compile(source, "contracts.md", "exec"), found)
    contract = found["share"].contract
    assert (contract.control, contract.content, contract.sensitive) == ({"to"}, {"text"}, {"to"})
