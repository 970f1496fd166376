"""Runs scenarios whose processes are killed, and has each run judged when it has come to its end."""

import asyncio
import contextlib
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import msgspec

from gerbang.adapters.stores import open_store
from gerbang.ports import Store

from .judge import judge, lines_of
from .life import Order, main, processes
from .points import Line
from .scenarios import ALL, Scenario
from .target import effects_in

ROOT = Path(__file__).parent.parent.parent
MOST_LIVES = 12
_TROUBLED = 1  # what a life ends with that has written down why


class Report:
    """What was killed, and what was found."""

    def __init__(self) -> None:
        self.kills = 0
        self.runs = 0
        self.killed: Counter[str] = Counter()  # by label
        self.steps: Counter[str] = Counter()  # by transition, before and after
        self.random_kills = 0
        self.gave_up = 0  # lives that ended because the store was busy or away, as they say
        self.states: Counter[str] = Counter()
        self.wrong: list[str] = []

    def add(self, lines: list[Line]) -> None:
        """Count the kills of a finished run."""
        self.runs += 1
        for line in lines:
            if line.what == "killed":
                self.kills += 1
                for step in line.steps:
                    self.steps[step] += 1


class Campaign:
    """Runs on one store against one target. At most `width` processes live at once."""

    def __init__(self, store: str, folder: Path, width: int = 12, lease_s: float = 1.0) -> None:
        self.report = Report()
        self._address = store
        self._folder = folder
        self._lease_s = lease_s
        self._width = asyncio.Semaphore(width)
        self._context = processes()
        self._origin = ""
        self._store: Store
        self._number = 0
        self._seen = folder / "seen"
        self._seen.mkdir()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Campaign"]:
        """Start the target and open the store."""
        self._effects = self._folder / "effects"
        target = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.target", str(self._effects)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert target.stdout is not None
        self._origin = f"http://127.0.0.1:{target.stdout.readline().strip()}"
        self._store = open_store(self._address)
        await self._store.open()
        try:
            yield self
        finally:
            await self._store.close()
            target.communicate()

    async def run(self, scenario: Scenario, kills: Iterable[int | str | float]) -> list[Line]:
        """Bring one run to its end. Of each life `kills` says when it dies: at its point number (an int), at
        the first point that is new (`new`), at one with that label, after so many seconds (a float). Returns
        the trace.
        """
        self._number += 1
        run_id = f"run_{self._number}"
        trace = self._folder / f"{run_id}.trace"
        async with self._width:
            for number, kill in enumerate((*kills, *[-1] * MOST_LIVES)):
                if await self._live(scenario, run_id, trace, number, kill):
                    break
        lines = lines_of(trace)
        await self._judge(scenario, run_id, lines)
        return lines

    async def _live(
        self, scenario: Scenario, run_id: str, trace: Path, number: int, kill: int | str | float
    ) -> bool:
        """Have one life; True when it came to its own end."""
        order = self.order(scenario, run_id, trace, f"{'resumed' if number else 'first'}-{number}", kill)
        process = self.start(order)
        if isinstance(kill, float) and await ended(process, kill) is None:
            process.kill()
        code = await ended(process)
        if code is None:
            process.kill()
            self.report.wrong.append(f"{scenario.name}, {run_id}: a life does not end")
            return True
        if code == -9:
            died = [line for line in lines_of(trace) if line.what == "killed" and line.life == order.life]
            if died:
                self.report.killed[died[0].label] += 1
            else:
                self.report.random_kills += 1
                self.report.kills += 1
            return False
        troubles = [line for line in lines_of(trace) if line.what == "trouble" and line.life == order.life]
        if code not in (0, _TROUBLED) or (code == _TROUBLED and not troubles):
            self.report.wrong.append(f"{scenario.name}, {run_id}: a life ended with {code}")
        return code == 0 or not any(_store_away(line) for line in troubles)

    def order(
        self, scenario: Scenario, run_id: str, trace: Path, life: str, kill: int | str | float = -1
    ) -> Order:
        """Return what a life is to do."""
        return Order(
            store=self._address,
            scenario=scenario.name,
            run_id=run_id,
            origin=self._origin,
            trace=str(trace),
            life=life,
            at=kill if isinstance(kill, int) else -1,
            label=kill if isinstance(kill, str) and kill != "new" else "",
            seen=str(self._seen) if kill == "new" else "",
            lease_s=self._lease_s,
        )

    def start(self, order: Order) -> Any:
        """Start a life."""
        process = self._context.Process(target=main, args=(msgspec.msgpack.encode(order),), daemon=True)
        process.start()
        return process

    async def judge(self, scenario: Scenario, run_id: str, trace: Path) -> list[Line]:
        """Have a run judged whose lives were started one by one. Returns its trace."""
        lines = lines_of(trace)
        await self._judge(scenario, run_id, lines)
        return lines

    async def _judge(self, scenario: Scenario, run_id: str, lines: list[Line]) -> None:
        report = self.report
        report.add(lines)
        effects = [effect for effect in effects_in(self._effects) if effect.item.startswith(run_id)]
        effects = [effect for effect in effects if effect.item.split(".")[0] == run_id]
        if scenario.single:  # its run has a name of its own
            run_id = next((line.run_id for line in lines if line.run_id), run_id)
        wrong = await judge(self._store, scenario, run_id, lines, effects)
        troubles = [line for line in lines if line.what == "trouble"]
        report.gave_up += sum(1 for line in troubles if _store_away(line))
        wrong += [f"trouble: {line.label}" for line in troubles if not _store_away(line)]
        died = [line.label for line in lines if line.what == "killed"]
        report.wrong += [f"{scenario.name}, {run_id}, killed at {died}: {one}" for one in wrong]
        for call in await self._store.calls(run_id):
            if call.tool == "cell.act.v1":
                report.states[f"{scenario.how} {call.state}"] += 1

    async def every_new_point(self, scenario: Scenario) -> None:
        """Run a scenario until none of its lives comes to a point at which nothing has died yet."""
        while any(line.what == "killed" for line in await self.run(scenario, ["new"] * MOST_LIVES)):
            pass

    async def every_point(self, scenario: Scenario) -> None:
        """Kill a run's first life at its first point, another one's at its second, and so on."""
        at = 1
        while any(line.what == "killed" for line in await self.run(scenario, [at])):
            at += 1

    async def at_random(self, scenario: Scenario, chance: random.Random) -> None:
        """Kill the lives of a run at points and at moments that nobody chose."""
        kills: list[int | float] = [
            chance.randrange(1, 40) if chance.random() < 0.6 else chance.uniform(0.005, 0.6)
            for _ in range(chance.randrange(1, 5))
        ]
        await self.run(scenario, kills)


async def ended(process: Any, seconds: float = 180.0) -> int | None:
    """Return the code that a life ended with, None when it goes on for so long.

    Waited for in the event loop, like all that reads a code: starting a life reads those of the others, and
    of two threads that read one code at once, one is told that it was 255.
    """
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_reader(process.sentinel, over.set)
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(process.sentinel)
    return int(process.exitcode)


def _store_away(trouble: Line) -> bool:
    return "StoreBusy" in trouble.label or "StoreUnavailable" in trouble.label


async def many(work: Iterable[Any]) -> None:
    """Wait for all."""
    await asyncio.gather(*work)


__all__ = ["ALL", "Campaign", "Report", "ended", "many"]
