"""Copies files into the documents that show them: the code block after `<!-- file: PATH -->`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- file: (\S+) -->\n+```[a-z]*\n).*?^(```)$", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Rewrite every document that shows a file. `tools/check_docs.py` is what finds a stale one."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        shown = BLOCK.sub(lambda found: found[1] + (ROOT / found[2]).read_text("utf-8") + found[3], text)
        if shown != text:
            path.write_text(shown, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
