"""docs/rego.md: its policies load, and it names every code that a denial can carry."""

import re
from pathlib import Path

import pytest

from gerbang.adapters.policy import opa, rego, rego_answer, rego_blocking, rego_line, rego_worker, verdict
from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.adapters.policy.rego_lint import UNSTEADY

from .bundles import rego as written

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "rego.md").read_text("utf-8")
BLOCKS = re.findall(r"^```rego\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_policy_of_the_page_loads(number: int, tmp_path: Path) -> None:
    RegoPolicy.open(written(tmp_path, BLOCKS[number])).close()


def test_the_page_names_every_code() -> None:
    modules = (opa, rego, rego_answer, rego_blocking, rego_line, rego_worker, verdict)
    sources = "".join(Path(str(module.__file__)).read_text("utf-8") for module in modules)
    codes = set(re.findall(r'"(POLICY_[A-Z]+)"', sources))
    rows = set(re.findall(r"`(POLICY_[A-Z]+)`", PAGE))
    assert codes == rows


def test_the_page_names_every_function_that_is_refused() -> None:
    assert [name for name in UNSTEADY if f"`{name}`" not in PAGE] == []
