"""Measures subjects for a parent process: `worker.py SUBJECT ...`, then one JSON request and answer a line.

A peer library lives in an environment of its own, so each gets a process of its own; the parent asks
them in turn, which interleaves their rounds.
"""

import asyncio
import gc
import importlib
import itertools
import json
import os
import statistics
import sys
import time
from typing import Any, Protocol

from script import Script, current

SUBJECTS = {
    "floor": ("floors", "Floor", {}),
    "floor+": ("floors", "FloorPlus", {}),
    "gerbang": ("own", "Gerbang", {}),
    "gerbang, text": ("own", "Gerbang", {"text": True}),
    "agent-framework": ("other_agent_framework", "AgentFramework", {}),
    "pydantic-ai": ("other_pydantic_ai", "PydanticAI", {}),
    "openai-agents": ("other_openai_agents", "OpenAIAgents", {}),
}
WINDOW = 20


class Subject(Protocol):
    """What is measured."""

    async def start(self) -> None:
        """Open what a run needs."""

    async def run(self, script: Script) -> None:
        """Run the script to its end."""


async def timed(subject: Subject, script: Script) -> tuple[float, float]:
    """Run the script; return the CPU and wall seconds it took. Raises when it was cut short."""
    current.set(script)
    wall, cpu = time.perf_counter(), time.process_time()
    await subject.run(script)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if script.turns != script.steps:
        raise RuntimeError(f"the run ended after {script.turns} of {script.steps} turns")
    return cpu, wall


async def step(subject: Subject, steps: int, repeat: int) -> dict[str, float]:
    """Return the median CPU and wall time of one step, in microseconds."""
    taken = [await timed(subject, Script(steps)) for _ in range(repeat)]
    return {
        "cpu_us": statistics.median(cpu for cpu, _ in taken) / steps * 1e6,
        "wall_us": statistics.median(wall for _, wall in taken) / steps * 1e6,
    }


async def history(subject: Subject, steps: int) -> dict[str, float]:
    """Return the median CPU of the first and the last 20 steps of one long run, in microseconds."""
    script = Script(steps, marked=True)
    before = resident("VmRSS")
    await timed(subject, script)
    marks = script.marks or []
    taken = [(later - earlier) * 1e6 for earlier, later in itertools.pairwise(marks)]
    first, last = statistics.median(taken[2 : WINDOW + 2]), statistics.median(taken[-WINDOW:])
    return {
        "first_us": first,
        "last_us": last,
        "ratio": last / first,
        "rss_grown_mb": resident("VmRSS") - before,
    }


async def parallel(subject: Subject, calls: int) -> dict[str, float]:
    """Return the CPU and wall time of one answer with many slow reads, in milliseconds."""
    cpu, wall = await timed(subject, Script(1, calls, "slow"))
    return {"cpu_ms": cpu * 1e3, "wall_ms": wall * 1e3}


async def concurrent(subject: Subject, runs: int, steps: int) -> dict[str, float]:
    """Return the CPU and wall seconds of many runs side by side, and the memory before and at its peak."""

    async def one() -> None:
        script = Script(steps)
        current.set(script)
        await subject.run(script)
        if script.turns != steps:
            raise RuntimeError(f"a run ended after {script.turns} of {steps} turns")

    gc.collect()
    before = resident("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(asyncio.create_task(one()) for _ in range(runs)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu_s": cpu, "wall_s": wall, "rss_before_mb": before, "rss_peak_mb": resident("VmHWM")}


def resident(key: str) -> float:
    """Return this process's memory in MB: `VmRSS` now, `VmHWM` at its peak; 0 without /proc."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(key):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


MEASURES = {"step": step, "history": history, "parallel": parallel, "concurrent": concurrent}


async def serve(names: list[str], answers: Any) -> None:
    """Answer requests until the input ends."""
    subjects: dict[str, Subject] = {}
    for name in names:
        module, kind, options = SUBJECTS[name]
        subjects[name] = getattr(importlib.import_module(module), kind)(**options)
        await subjects[name].start()
    print(json.dumps({"ready": names}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        measure: Any = MEASURES[request.pop("measure")]
        found = await measure(subjects[request.pop("subject")], **request)
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    # What a library prints must not get between the answers.
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asyncio.run(serve(sys.argv[1:], own))
    own.close()
    os._exit(0)  # some libraries leave threads behind that would hold the process
