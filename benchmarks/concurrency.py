"""Many calls in one answer, and many runs side by side.

50 reads that each take 50 ms run at once; the bound is what a bare loop needs, plus 50 steps at three times
`floor+`. 200 runs of 5 steps share one event loop in a new process; figures are runs a second of CPU and
the peak of the process's memory, libraries included, in the first batch and over all.
"""

import statistics

from harness import PEERS, Field, Found, Worker, installed_peers, markdown, median, program, verdict

CALLS = 50
RUNS = 200
STEPS = 5
MIN_PEERS = 3.0
MAX_MB = 60.0
STEP_FLOORS = 3.0


def table(quick: bool = False) -> str:
    """Measure and return the tables."""
    return f"{reads(3 if quick else 9)}\n\n{runs(1 if quick else 3)}"


def reads(rounds: int) -> str:
    """Measure one answer with many slow reads."""
    peers = installed_peers()
    with Field(("floor", "gerbang"), *([peer] for peer in peers)) as field:
        found = field.rounds(rounds, "parallel", calls=CALLS)
    with Worker("floor+") as worker:
        steps = [worker.ask("step", "floor+", steps=20, repeat=5) for _ in range(rounds)]
    floor = median(found["floor"], "wall_ms")
    bound = floor + CALLS * STEP_FLOORS * median(steps, "cpu_us") / 1e3
    rows = [
        (name, f"{median(found[name], 'wall_ms'):.1f} ms", f"{median(found[name], 'cpu_ms'):.1f} ms")
        if name in found
        else (name, "not installed", "")
        for name in ("floor", "gerbang", *PEERS)
    ]
    own = median(found["gerbang"], "wall_ms")
    text = markdown((f"{CALLS} reads of 50 ms", "wall", "CPU"), rows)
    return f"{text}\n\nBound: at most {bound:.1f} ms: {own:.1f} ms, {verdict(own <= bound)}."


def runs(rounds: int) -> str:
    """Measure many runs at once; each subject in a new process every round."""
    peers = installed_peers()
    found: dict[str, list[list[Found]]] = {name: [] for name in ("floor+", "gerbang", *peers)}
    for _ in range(rounds):
        for name, kept in found.items():
            with Worker(name) as worker:
                worker.ask("step", name, steps=STEPS, repeat=1)
                kept.append([worker.ask("concurrent", name, runs=RUNS, steps=STEPS) for _ in range(5)])
    speed = {
        name: statistics.median(RUNS / one["cpu_s"] for batches in kept for one in batches)
        for name, kept in found.items()
    }
    first = {name: median([batches[0] for batches in kept], "rss_peak_mb") for name, kept in found.items()}
    peak = {name: median([batches[-1] for batches in kept], "rss_peak_mb") for name, kept in found.items()}
    rows = [
        (name, f"{speed[name]:,.0f}", f"{first[name]:.0f} MB", f"{peak[name]:.0f} MB")
        if name in found
        else (name, "not installed", "", "")
        for name in ("floor+", "gerbang", *PEERS)
    ]
    head = (f"{RUNS} runs × {STEPS} steps", "runs per CPU second", "peak memory, 1 batch", "5 batches")
    text = markdown(head, rows)
    text += (
        f"\n\nBound: at most {MAX_MB:g} MB: {peak['gerbang']:.0f} MB, {verdict(peak['gerbang'] <= MAX_MB)}."
    )
    if peers:
        best = max(peers, key=lambda peer: speed[peer])
        factor = speed["gerbang"] / speed[best]
        text += (
            f" At least {MIN_PEERS:g} × the best peer ({best}): {factor:.1f}, {verdict(factor >= MIN_PEERS)}."
        )
    return text


if __name__ == "__main__":
    program(table)
