"""One step of an agent with the whole gate, records in memory.

A step is one model turn with one call: read the answer, check, decide, count, record, run the tool in a
task with a time-out, record, frame the result. The model is a script and the tool does nothing, so what is
measured is the runtime alone. `floor+` is a plain loop with the least that a trusted runtime adds: a
look-up that denies by default, schema validation, a task with a time-out, the result as JSON with a cap, a
chained record in memory. It runs in the same process and the same rounds. Peers are measured as they come,
tracing off; what they do for a step is their own affair, and less than the whole gate.
"""

from harness import PEERS, Field, Found, Worker, installed_peers, markdown, median, paired, program, verdict

OWN = ("floor+", "gerbang", "gerbang, text")
MAX_FLOORS = 3.0
MAX_PEER = 0.5
MAX_GROWTH = 1.2


def table(quick: bool = False) -> str:
    """Measure and return the tables."""
    return f"{steps(9 if quick else 31)}\n\n{histories(3 if quick else 7)}"


def steps(rounds: int) -> str:
    """Measure one step of everything, round by round."""
    peers = installed_peers()
    with Field(OWN, *([peer] for peer in peers)) as field:
        found = field.rounds(rounds, "step", steps=20, repeat=5)
    floor, own = found["floor+"], found["gerbang"]
    rows = []
    for name in (*OWN, *PEERS):
        if name not in found:
            rows.append((name, "not installed", "", ""))
            continue
        cpu, wall = median(found[name], "cpu_us"), median(found[name], "wall_us")
        rows.append((name, f"{cpu:.0f} µs", f"{wall:.0f} µs", f"{paired(found[name], floor, 'cpu_us'):.2f}"))
    text = markdown(("one step", "CPU", "wall", "CPU ÷ floor+"), rows)
    factor = paired(own, floor, "cpu_us")
    text += f"\n\nBound: at most {MAX_FLOORS:g} × floor+: {factor:.2f}, {verdict(factor <= MAX_FLOORS)}."
    if peers:
        fastest = min(peers, key=lambda peer: median(found[peer], "cpu_us"))
        share = paired(own, found[fastest], "cpu_us")
        kept = verdict(share <= MAX_PEER)
        text += f" At most {MAX_PEER:g} of the fastest peer ({fastest}): {share:.2f}, {kept}."
    return f"{text} Medians of {rounds} interleaved rounds of 5 runs of 20 steps; ratios are of one round."


def histories(rounds: int) -> str:
    """Measure long runs: a step must not cost more because many came before it."""
    rows = []
    worst = 0.0
    for count in (200, 2000):
        found: list[Found] = []
        for _ in range(rounds if count == 200 else max(3, rounds // 2)):
            with Worker("gerbang") as worker:  # a process of its own: memory is that of one run
                worker.ask("step", "gerbang", steps=20, repeat=5)
                found.append(worker.ask("history", "gerbang", steps=count))
        ratio = median(found, "ratio")
        worst = max(worst, ratio)
        rows.append(
            (
                f"{count:,} steps",
                f"{median(found, 'first_us'):.0f} µs",
                f"{median(found, 'last_us'):.0f} µs",
                f"{ratio:.2f}",
                f"{median(found, 'rss_grown_mb'):.1f} MB",
            )
        )
    text = markdown(("one run", "CPU of a step, first 20", "last 20", "last ÷ first", "memory grown"), rows)
    return (
        f"{text}\n\nBound: last ÷ first at most {MAX_GROWTH:g}: {worst:.2f}, {verdict(worst <= MAX_GROWTH)}."
    )


if __name__ == "__main__":
    program(table)
