"""What the benchmarks share: worker processes that are asked in turn, medians, tables."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS_FOLDER = HERE / "peers"
sys.path.append(str(PEERS_FOLDER))  # who imports this module may import the subjects after it
PEERS = ("agent-framework", "pydantic-ai", "openai-agents")
PLACE = HERE.parent / ".bench"
"""Peers live here, each in an environment of its own: `python benchmarks/peers/install.py`."""

Found = dict[str, float]


def peer_python(peer: str) -> Path | None:
    """Return the interpreter of a peer's environment, or None when the peer is not installed."""
    python = PLACE / peer / "bin" / "python"
    return python if (PLACE / peer / ".ready").exists() and python.exists() else None


def installed_peers() -> list[str]:
    """Return the peers that can be measured."""
    return [peer for peer in PEERS if peer_python(peer) is not None]


class Worker:
    """A process that measures subjects. `environment` is added to its environment variables."""

    def __init__(self, *subjects: str, environment: dict[str, str] | None = None) -> None:
        python = next((found for name in subjects if (found := peer_python(name))), Path(sys.executable))
        self._process = subprocess.Popen(
            [str(python), str(PEERS_FOLDER / "worker.py"), *subjects],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1", **(environment or {})},
            text=True,
        )
        self._answer()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def ask(self, measure: str, subject: str, **options: int) -> Found:
        """Return one measurement. Raises RuntimeError when the worker died; it has said why."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"measure": measure, "subject": subject, **options}) + "\n")
        self._process.stdin.flush()
        found: Found = self._answer()
        return found

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with code {self._process.wait()}")
        return json.loads(line)


class Field:
    """Workers for several subjects. Subjects named together share a process, the others have their own."""

    def __init__(self, *groups: Sequence[str]) -> None:
        self._groups = groups
        self._stack = ExitStack()
        self._workers: dict[str, Worker] = {}

    def __enter__(self) -> "Field":
        for group in self._groups:
            worker = self._stack.enter_context(Worker(*group))
            self._workers.update(dict.fromkeys(group, worker))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def rounds(self, count: int, measure: str, **options: int) -> dict[str, list[Found]]:
        """Ask every subject once a round, in turn. The first round warms up and is not kept."""
        found: dict[str, list[Found]] = {name: [] for name in self._workers}
        for number in range(count + 1):
            for name, worker in self._workers.items():
                answer = worker.ask(measure, name, **options)
                if number:
                    found[name].append(answer)
        return found


def median(found: Iterable[Found], key: str) -> float:
    """Return the median of one figure."""
    return statistics.median(item[key] for item in found)


def paired(one: Sequence[Found], other: Sequence[Found], key: str) -> float:
    """Return the median over rounds of one subject's figure divided by the other's in the same round."""
    return statistics.median(mine[key] / theirs[key] for mine, theirs in zip(one, other, strict=True))


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; all columns but the first are aligned to the right."""
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def verdict(kept: bool) -> str:
    """Say in a table whether a bound was kept in this run."""
    return "kept" if kept else "MISSED"


def program(table: Callable[[bool], str]) -> None:
    """Run a benchmark from the command line: `--quick` measures less."""
    print(table("--quick" in sys.argv[1:]))
