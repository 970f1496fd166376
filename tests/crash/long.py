"""The long run: `python -m tests.crash.long [KILLS [STORE]]` (`make crash`). Prints figures and tables.

On each of SQLite and PostgreSQL: every scenario until nothing new can be killed, then lives are killed at
points and moments by chance until there were so many kills. KILLS `all`: at each point of each scenario.
What a campaign leaves (store, traces, effects) is kept when something in it is wrong.
"""

import asyncio
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.stores.server import new_server

from .coverage import table, uncovered
from .harness import Campaign, many
from .scenarios import ALL


async def campaign(name: str, store: str, folder: Path, kills: int | None, seed: int) -> int:
    """Run one; return how many things are wrong."""
    began = time.monotonic()
    chance = random.Random(seed)
    async with Campaign(store, folder, width=24, lease_s=1.5).open() as running:
        report = running.report
        await many(running.every_new_point(scenario) for scenario in ALL.values())
        print(f"{name}: {report.kills} kills at points that were new", flush=True)
        if kills is None:
            await many(running.every_point(scenario) for scenario in ALL.values())
        while kills is not None and report.kills < kills:
            await many(running.at_random(scenario, chance) for scenario in ALL.values())
            print(f"{name}: {report.kills} kills", flush=True)
    print(f"\n## {name}\n")
    print(f"{report.kills} kills ({report.random_kills} of them at moments by chance) in {report.runs} runs,")
    print(f"{len(report.killed)} kinds of point, {time.monotonic() - began:.0f} seconds, seed {seed}.")
    print(f"{report.gave_up} lives gave up because the store was busy or away, and were gone on with.")
    print(f"States in the end: {dict(sorted(report.states.items()))}\n")
    print(table(report.steps))
    missing = uncovered(report.steps)
    for one in (*report.wrong, *(f"nothing was killed {step}" for step in missing)):
        print("WRONG:", one)
    return len(report.wrong) + len(missing)


def _judged(folder: Path, wrong: int) -> int:
    """Let go of what a campaign left, or say where it is kept."""
    if wrong:
        print(f"\nStore, traces and effects are kept in {folder}.")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return wrong


def main(kills: int | None, stores: str) -> int:
    """Run on the stores that are named. Returns the exit status."""
    seed, wrong = random.SystemRandom().randrange(1_000_000), 0
    if "sqlite" in stores:
        folder = Path(tempfile.mkdtemp(prefix="gerbang-crash-"))
        found = asyncio.run(campaign("SQLite", f"sqlite:{folder}/store.db", folder, kills, seed))
        wrong += _judged(folder, found)
    if "postgresql" in stores:
        server = new_server()
        folder = server.folder.parent
        try:
            address = server.address(server.store())
            found = asyncio.run(campaign("PostgreSQL", address, folder, kills, seed))
        finally:
            server.stop()
        wrong += _judged(folder, found)
    print("\nNothing is wrong." if not wrong else f"\n{wrong} things are wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    how_many = sys.argv[1] if len(sys.argv) > 1 else "1000"
    where = sys.argv[2] if len(sys.argv) > 2 else "sqlite postgresql"
    sys.exit(main(None if how_many == "all" else int(how_many), where))
