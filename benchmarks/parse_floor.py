"""What does one event a delta cost at the least in Python?

25,000 deltas of 4 characters, as in `parse_speed.py`. Nanoseconds a delta, best of 9, and times the bare loop
that appends the deltas to a list. No row but the last two looks at the text. "Repeated" deltas come from a
text whose pieces come back, "fresh" ones from random letters.
"""

import random
import string
import time
from collections.abc import Callable, Generator
from typing import Any

from gerbang.parse import ArgumentsDelta, reader

COUNT = 25_000
TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]
LINE = "The quick brown fox jumps over the lazy dog, and 12 more of them follow in the next sentence. "


class Methods:
    """One method call a delta."""

    __slots__ = ()

    def nothing(self, delta: str) -> None:
        """Return nothing."""

    def event(self, delta: str) -> list[ArgumentsDelta]:
        """Return a list with one event."""
        return [ArgumentsDelta(0, delta)]


def events() -> Generator[list[ArgumentsDelta], str, None]:
    """The same without building a frame for each delta."""
    delta = yield []
    while True:
        delta = yield [ArgumentsDelta(0, delta)]


def loop(deltas: list[str]) -> list[str]:
    """The bare loop."""
    out: list[str] = []
    for delta in deltas:
        out.append(delta)  # noqa: PERF402 -- the loop is what is measured
    return out


def calls(made: Callable[[], Callable[[str], Any]], deltas: list[str]) -> None:
    """Call what `made` returns once a delta."""
    take = made()
    for delta in deltas:
        take(delta)


def sender() -> Callable[[str], Any]:
    """Return the `send` of a fresh generator."""
    made = events()
    next(made)
    return made.send


def own() -> Callable[[str], Any]:
    """Return `feed` of a reader that is inside a long text argument."""
    made = reader("hermes", tools=TOOLS)
    made.feed('<tool_call>{"name": "f", "arguments": {"a": "')
    return made.feed


def best(work: Callable[[], object]) -> float:
    """Return the shortest time in nanoseconds a delta."""
    times = []
    for _ in range(9):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times) / COUNT * 1e9


def table() -> str:
    """Return the table as Markdown."""
    text = LINE * (4 * COUNT // len(LINE) + 1)
    repeated = [text[at : at + 4] for at in range(0, 4 * COUNT, 4)]
    chance = random.Random(1)
    fresh = ["".join(chance.choices(string.ascii_letters, k=4)) for _ in range(COUNT)]
    bare = best(lambda: loop(repeated))
    rows: list[tuple[str, Callable[[], object]]] = [
        ("the bare loop", lambda: loop(repeated)),
        ("a method call that returns nothing", lambda: calls(lambda: Methods().nothing, repeated)),
        (
            "a method call that returns a list with one event",
            lambda: calls(lambda: Methods().event, repeated),
        ),
        ("`send` of a generator, a list with one event", lambda: calls(sender, repeated)),
        ("`feed`, repeated deltas", lambda: calls(own, repeated)),
        ("`feed`, fresh deltas", lambda: calls(own, fresh)),
    ]
    lines = ["| a delta | ns | times the loop |", "|---|---|---|"]
    for name, work in rows:
        spent = best(work)
        lines.append(f"| {name} | {spent:.0f} | {spent / bare:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
