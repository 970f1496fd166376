"""Writes the table of dialects into docs/parsing.md; `--check` only says whether it is stale."""

import sys
from pathlib import Path

from gerbang.parse.dialect import Dialect
from gerbang.parse.dialects import dialects
from gerbang.parse.render.calls import shape_of
from gerbang.parse.render.envelope import ENVELOPES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "parsing.md"
BEGIN, END = "<!-- dialects: begin -->\n", "<!-- dialects: end -->\n"
ENCODINGS = {
    "J": "JSON",
    "X": "raw text in tags; types from the schema",
    "X+": "raw text in tags with a type mark",
    "P": "Python literals",
    "O": "own notation",
}
SHOWN_STARTS = 4


def main() -> int:
    """Write the table, or with `--check` return 1 when the page does not hold it."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    fresh = before + BEGIN + table() + END + after
    if fresh == page:
        return 0
    if "--check" in sys.argv[1:]:
        print("docs/parsing.md is stale. Run: python tools/gen_dialect_table.py")
        return 1
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


def table() -> str:
    """Return the table as Markdown."""
    rows = [row(dialect) for dialect in sorted(dialects(), key=lambda one: one.id) if dialect.id != "auto"]
    head = "| id | models | a call starts at | arguments | calls in an answer | reasoning | results |\n"
    return head + "|---|---|---|---|---|---|---|\n" + "".join(rows)


def row(dialect: Dialect) -> str:
    """Return the line of one dialect."""
    cells = (
        f"`{dialect.id}`",
        ", ".join(dialect.models),
        marks(dialect.starts),
        ENCODINGS[dialect.encoding],
        "several" if shape_of(dialect.id).many else "one",
        marks(tuple(pair[0] for pair in dialect.reasoning)) or "own channel",
        "own form" if dialect.id in ENVELOPES or dialect.id == "tool_use" else "neutral",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def marks(found: tuple[str, ...]) -> str:
    """Return marks as code, the first ones only."""
    shown = [code(mark) for mark in found[:SHOWN_STARTS]]
    return ", ".join(shown) + (f" and {len(found) - SHOWN_STARTS} more" if len(found) > SHOWN_STARTS else "")


def code(mark: str) -> str:
    """Return a mark as inline code, whatever characters it has."""
    text = mark.replace("\n", "\\n")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


if __name__ == "__main__":
    sys.exit(main())
