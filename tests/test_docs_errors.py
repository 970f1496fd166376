"""Every code that docs/errors.md names is one that the source can give."""

import re
from pathlib import Path

from gerbang.values.failure import ERROR_TYPES

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "errors.md").read_text("utf-8")
TABLE = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", PAGE.partition("## Codes")[2], re.MULTILINE)
KINDS = ("sentences", "approvals", "limits")
TABLES = {f"{kind}_{lang}.py" for kind in KINDS for lang in ("en", "id")}  # what could be said, not what is
SOURCE = "".join(
    path.read_text("utf-8") for path in (ROOT / "src" / "gerbang").rglob("*.py") if path.name not in TABLES
)
MADE = {"HTTP": 'code=f"HTTP_{status // 100}XX"', "RATE": 'f"RATE_{by}"'}  # codes with a part that varies


def test_types_exist() -> None:
    assert {kind for kind, _ in TABLE} <= ERROR_TYPES


def test_codes_exist() -> None:
    codes = {code for _, row in TABLE for code in re.findall(r"`([A-Z_]+(?:[345]XX)?)`", row)}
    assert len(codes) > 30
    missing = {code for code in codes if f'"{code}"' not in SOURCE}
    assert sorted(code for code in missing if MADE.get(code.partition("_")[0], "?") not in SOURCE) == []
