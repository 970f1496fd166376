"""What `import gerbang` costs a program.

CPU time of the import in a new process, against the import of what the floor needs: asyncio, json and the
schema validator. Public names load when they are first used, so another row uses every one of them. Medians
of interleaved processes; the first of each warms the file cache and is not kept.
"""

import statistics
import subprocess
import sys

from harness import markdown, program, verdict

FLOOR = "import asyncio, json, jsonschema_rs"
OWN = "import gerbang"
ALL = "from gerbang import *"
MAX_FLOORS = 1.6
_PROBE = """
import time
cpu, wall = time.process_time(), time.perf_counter()
{statement}
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
import sys
print(cpu * 1e3, wall * 1e3, len(sys.modules))
"""


def table(quick: bool = False) -> str:
    """Measure and return the table."""
    rounds = 7 if quick else 25
    found: dict[str, list[tuple[float, ...]]] = {FLOOR: [], OWN: [], ALL: []}
    for number in range(rounds + 1):
        for statement, kept in found.items():
            one = probe(statement)
            if number:
                kept.append(one)
    rows = []
    for statement, ones in found.items():
        cpu, wall, modules = (statistics.median(column) for column in zip(*ones, strict=True))
        rows.append((f"`{statement}`", f"{cpu:.0f} ms", f"{wall:.0f} ms", f"{modules:.0f}"))
    text = markdown(("statement", "CPU", "wall", "modules loaded"), rows)
    bare, whole = (
        statistics.median(mine[0] / floor[0] for mine, floor in zip(found[name], found[FLOOR], strict=True))
        for name in (OWN, ALL)
    )
    held = verdict(bare <= MAX_FLOORS)
    return (
        f"{text}\n\nBound: the import is at most {MAX_FLOORS:g} × the floor: {bare:.2f}, {held}. "
        f"With every public name used: {whole:.2f}."
    )


def probe(statement: str) -> tuple[float, ...]:
    """Return CPU and wall milliseconds of the statement in a new process, and the number of modules then."""
    code = _PROBE.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    return tuple(float(part) for part in done.stdout.split())


if __name__ == "__main__":
    program(table)
