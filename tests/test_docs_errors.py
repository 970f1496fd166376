"""Every code that docs/errors.md names is one that the source can give."""

import re
from pathlib import Path

from gerbang.values.failure import ERROR_TYPES

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text("utf-8")
TABLE = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", PAGE.partition("## Codes")[2], re.MULTILINE)
SOURCE = "".join(path.read_text("utf-8") for path in (ROOT / "src" / "gerbang").rglob("*.py"))


def test_types_exist() -> None:
    assert {kind for kind, _ in TABLE} <= ERROR_TYPES


def test_codes_exist() -> None:
    codes = {code for _, row in TABLE for code in re.findall(r"`([A-Z_]+)`", row)}
    assert len(codes) > 30
    assert sorted(code for code in codes if f'"{code}"' not in SOURCE) == []
