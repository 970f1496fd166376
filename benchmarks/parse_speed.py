"""How fast are the readers of model text?

One string argument of 100 KB arrives in deltas of 4 characters. "Times the loop" is against a bare Python
loop that appends the same deltas to a list, in the same run; "growth" is 1 MB against 100 KB (10 would be
linear). Prose and the long argument in 4 KB deltas are in MB/s. Best of 5. Every delta gives its events at
once.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gerbang.parse import dialects, reader
from gerbang.parse.render import render

HERE = Path(__file__).resolve().parent
PEERS = ("hermes", "qwen3_coder", "glm47", "kimi_k2", "minimax_m2", "deepseek_v31")
TOOLS: list[dict[str, Any]] = [
    {
        "name": "write_note",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "body": {"type": "string"}},
        },
    }
]
LINE = "The quick brown fox jumps over the lazy dog, and 12 more of them follow in the next sentence. "
PROSE = "The quick brown fox jumps over the lazy dog, twice.\n"
RUNS = 5


def argument(dialect: str, size: int) -> str:
    """Return an answer with one call whose text argument has `size` characters."""
    body = (LINE * (size // len(LINE) + 1))[:size]
    return render([{"name": "write_note", "arguments": {"path": "p", "body": body}}], dialect, tools=TOOLS)


def cut(text: str, size: int) -> list[str]:
    """Return the text in deltas."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Return the shortest time in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def loop(deltas: list[str]) -> list[str]:
    """The bare loop."""
    out: list[str] = []
    for delta in deltas:
        out.append(delta)  # noqa: PERF402 -- the loop is what is measured
    return out


def read(dialect: str, deltas: list[str]) -> None:
    """Feed all deltas to a fresh reader."""
    made = reader(dialect, tools=TOOLS)
    for delta in deltas:
        made.feed(delta)
    made.finish()


def row(dialect: str) -> list[str]:
    """Measure one dialect."""
    small, large = argument(dialect, 100_000), argument(dialect, 1_000_000)
    deltas, more = cut(small, 4), cut(large, 4)
    bare = best(lambda: loop(deltas))
    short = best(lambda: read(dialect, deltas))
    long = best(lambda: read(dialect, more), 2)
    pieces = cut(large, 4_096)
    piece = best(lambda: read(dialect, pieces))
    prose = cut((PROSE * (1_000_000 // len(PROSE))), 4_096)
    plain = best(lambda: read(dialect, prose))
    return [
        dialect,
        f"{short * 1e3:.1f}",
        f"{short / len(deltas) * 1e6:.2f}",
        f"{short / bare:.0f}",
        f"{long / short:.1f}",
        f"{1 / plain:.0f}",
        f"{len(large) / 1e6 / piece:.0f}",
    ]


def peers() -> str:
    """Measure other parsers on the same text, if their environment is there."""
    python = Path(os.environ.get("GERBANG_PARSE_PEERS", HERE.parent / ".bench/parse-peers/bin/python"))
    if not python.exists():
        return "Other parsers were not measured: their environment is not installed (see _parse_peers.py)."
    texts = {dialect: argument(dialect, 100_000) for dialect in PEERS}
    done = subprocess.run(
        # -P: `http.py` beside it is not the library's
        [str(python), "-P", str(HERE / "_parse_peers.py")],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        return f"Other parsers were not measured: {done.stderr.strip().splitlines()[-1][:200]}"
    found = json.loads(done.stdout.splitlines()[-1])
    lines = [
        "The same 100 KB in 4-character deltas, seconds. SGLang's stream parsers are those of the package",
        "llm-router-utils 0.8.1; a run over 20 s was stopped, and the figure tells how far it had read.",
        "agent-tool-parser 0.1.3 reads whole texts only, so its figure is one pass over the finished text.",
        "",
        "| dialect | Gerbang | SGLang | agent-tool-parser (whole text) |",
        "|---|---|---|---|",
    ]
    for dialect, text in texts.items():
        deltas = cut(text, 4)
        own = best(lambda dialect=dialect, deltas=deltas: read(dialect, deltas))  # type: ignore[misc]
        others = [_figure(found[peer].get(dialect), len(text)) for peer in ("sglang", "agent-tool-parser")]
        lines.append(f"| {dialect} | {own:.3f} | {others[0]} | {others[1]} |")
    return "\n".join(lines)


def _figure(found: Any, size: int) -> str:
    if not isinstance(found, list):
        return str(found or "not measured")
    seconds, read_up_to = found
    return f"{seconds:.3f}" if read_up_to >= size else f"over {seconds:.0f} (after {read_up_to // 1000} KB)"


def table() -> str:
    """Return the tables as Markdown."""
    head = ["dialect", "ms", "µs a delta", "times the loop", "growth", "prose MB/s", "4 KB deltas MB/s"]
    rows = [head, ["---"] * len(head)] + [row(item.id) for item in dialects() if item.id != "auto"]
    own = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return f"{own}\n\n{peers()}\n"


if __name__ == "__main__":
    text = table()
    print(text)
    if "--write" in sys.argv:
        intro = (__doc__ or "").strip().split("\n", 1)
        (HERE.parent / "docs" / "benchmarks-parse.md").write_text(
            f"# {intro[0]}\n\n{intro[1].strip()}\n\n{text}", encoding="utf-8"
        )
