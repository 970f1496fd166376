"""A decision by Rego in the worker process.

The shipped `repository-agent` policy decides about a draft pull request, from the typed input to the checked
decision: one decision after another, then 50 tasks that each decide one after another. Two documents: a run
that has just begun, and one with 50 past calls in its history; the worker is sent past calls and arguments
only if the policy can see them, and this one cannot. Each round asks all of them; times are
medians of the rounds, rates the best of them. The engine alone is the same rule on the whole document
in this process, where a policy that crashes or never ends would take the program with it.
"""

import asyncio
import importlib
import statistics
import time
from pathlib import Path
from typing import Any

import msgspec
from harness import markdown, program, verdict

from gerbang import policy as policies
from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.policy.document import read_document
from gerbang.policy.input import PolicyInput

POLICY = Path(policies.__file__).parent / "shipped" / "repository-agent.rego"
TASKS = 50
MAX_P50_US = 150
MIN_RATE = 5_000


def table(quick: bool = False) -> str:
    """Measure and return the table."""
    rounds, each = (3, 500) if quick else (9, 2_000)
    inputs = {"run just begun": document(0), "50 past calls": document(50)}
    rows, bounds = [], []
    for name, given in inputs.items():
        p50, p99, rate = measure(given, rounds, each)
        alone = engine_alone(given, each)
        size = len(msgspec.json.encode(given.document()))
        rows.append(
            (name, f"{size:,} B", f"{alone:.0f} µs", f"{p50:.0f} µs", f"{p99:.0f} µs", f"{rate:,.0f}/s")
        )
        bounds.append((p50, rate))
    text = markdown(("document", "size", "engine alone", "p50", "p99", f"{TASKS} tasks"), rows)
    p50, rate = bounds[0]
    return (
        f"{text}\n\nBounds, for a run that has just begun: p50 at most {MAX_P50_US} µs: {p50:.0f} µs, "
        f"{verdict(p50 <= MAX_P50_US)}. At least {MIN_RATE:,} decisions a second from {TASKS} tasks: "
        f"{rate:,.0f}, {verdict(rate >= MIN_RATE)}."
    )


def document(past: int) -> PolicyInput:
    """Return the input about a small draft pull request, after `past` calls of the run."""
    call = {"tool": "repo.read_file.v1", "risk_class": "read_internal", "resources": ["repository/web"]}
    return read_document(
        {
            "tool": {"name": "github.create_draft_pr.v1", "risk_class": "draft"},
            "arguments": {"title": "Mend the clock", "branch": "mend-clock", "body": "It was late. " * 20},
            "actor": {"user": "ana", "tenant": "acme", "scopes": ["repo:write"]},
            "resources": [{"kind": "repository", "id": "web", "tenant": "acme"}],
            "facts": {"repository.visibility": "internal", "diff.files_changed": 3},
            "history": {"calls": [call] * past},
        },
        "benchmark",
    )


def measure(given: PolicyInput, rounds: int, each: int) -> tuple[float, float, float]:
    """Return p50 and p99 of single decisions in µs, and decisions a second from many tasks."""
    with_policy = RegoPolicy.open(POLICY)
    try:
        return asyncio.run(_measure(with_policy, given, rounds, each))
    finally:
        with_policy.close()


async def _measure(
    policy: RegoPolicy, given: PolicyInput, rounds: int, each: int
) -> tuple[float, float, float]:
    decision = await policy.decide_async(given)
    if decision.decision != "allow":
        raise RuntimeError(f"the policy said {decision}")

    async def several() -> None:
        for _ in range(each // TASKS):
            await policy.decide_async(given)

    middles, tails, rates = [], [], []
    for _ in range(rounds):
        times = []
        for _ in range(each):
            begin = time.perf_counter()
            await policy.decide_async(given)
            times.append((time.perf_counter() - begin) * 1e6)
        times.sort()
        middles.append(times[each // 2])
        tails.append(times[each * 99 // 100])
        begin = time.perf_counter()
        await asyncio.gather(*(several() for _ in range(TASKS)))
        rates.append(each / (time.perf_counter() - begin))
    return statistics.median(middles), statistics.median(tails), max(rates)


def engine_alone(given: PolicyInput, each: int) -> float:
    """Return the median µs of the engine in this process."""
    engine: Any = importlib.import_module("regorus").Engine()
    engine.add_policy_from_file(str(POLICY))
    text = msgspec.json.encode(given.document()).decode()
    times = []
    for _ in range(each):
        begin = time.perf_counter()
        engine.set_input_json(text)
        engine.eval_rule_as_json("data.gerbang.decision")
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


if __name__ == "__main__":
    program(table)
