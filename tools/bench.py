"""Runs every program in benchmarks/ that has a `table()` and writes their tables to docs/benchmarks.md.

`tools/bench.py NAME ...` runs only those and prints their tables without writing the document; with `--write`
their sections of the document are replaced, or added, and the others stay.
"""

import datetime
import importlib.util
import os
import platform
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "benchmarks.md"


def main(names: list[str]) -> int:
    """Run the benchmarks and return the exit code."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    write, names = "--write" in names, [name for name in names if name != "--write"]
    programs = [path for path in sorted((ROOT / "benchmarks").glob("*.py")) if not path.stem.startswith("_")]
    if names:
        programs = [path for path in programs if path.stem in names]
        if len(programs) != len(set(names)):
            print(f"bench: there are {', '.join(path.stem for path in programs) or 'none'} of {names}")
            return 2
    sections: dict[str, str] = {}
    for path in programs:
        module = load(path)
        table = getattr(module, "table", None)
        if table is None:
            continue  # shared code of the benchmarks
        print(f"bench: {path.stem}", flush=True)
        text = table()
        print(text, flush=True)
        title, _, rest = (module.__doc__ or path.stem).strip().partition("\n")
        head = f"## {title.rstrip('.')}"
        sections[head] = "\n\n".join(part for part in (head, rest.strip(), text.strip()) if part) + "\n"
    if write or not names:
        before, old = standing() if names else (header(), {})
        TARGET.write_text(before + "\n" + "\n".join({**old, **sections}.values()), encoding="utf-8")
        print(f"bench: wrote {TARGET.relative_to(ROOT)}")
    return 0


def standing() -> tuple[str, dict[str, str]]:
    """Return what the document begins with, and its sections by their headings."""
    before, *parts = re.split(r"^(?=## )", TARGET.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return before.rstrip() + "\n", {part.partition("\n")[0]: part.rstrip() + "\n" for part in parts}


def load(path: Path) -> ModuleType:
    """Import a program by its path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def header() -> str:
    """Say where and when it was measured: figures mean little without."""
    return (
        "# Benchmarks\n\n"
        "Written by `make bench`; do not edit. Take the ratios, not the absolute numbers: each\n"
        "table compares things that ran in the same minutes on the same machine.\n\n"
        f"Measured on {datetime.date.today().isoformat()}: Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores.\n"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
