"""Do the readers agree with a public conformance suite?

The fixtures are those of canitoolcall 0.1.1 (Apache-2.0), which come from chat templates, tests of serving
engines and bug reports. Each is read whole, char by char and in random cuts. "Exact" compares all characters,
the next column strips content and reasoning first, as the soft policy of the suite does.
"""

import importlib.metadata
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from gerbang.parse import dialect_for, reader
from gerbang.parse.events import CallClosed, Content, Reasoning
from gerbang.parse.plan import plan_of
from gerbang.parse.render.readback import same

Result = tuple[str, str, list[tuple[str, dict[str, Any]]]]


def folder() -> Path | None:
    """Return the folder of the fixtures, or None when the package is not installed."""
    if "GERBANG_FIXTURES" in os.environ:
        return Path(os.environ["GERBANG_FIXTURES"])
    try:
        files = importlib.metadata.files("canitoolcall") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = next((file for file in files if file.name == "family.json"), None)
    return None if found is None else Path(str(found.locate())).parent.parent


def fixtures(place: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield (family, fixture)."""
    for family in sorted(place.glob("*/family.json")):
        about = json.loads(family.read_text("utf-8"))
        for file in sorted(family.parent.glob("*.jsonl")):
            for line in file.read_text("utf-8").splitlines():
                yield about, json.loads(line)


def opened(about: dict[str, Any], fixture: dict[str, Any], dialect: str) -> bool:
    """Tell whether the prompt of a fixture has opened the thinking block."""
    models = {model["repo"]: model for model in about["reference_models"]}
    default = models.get(fixture["models"][0], {}).get("default_generation_prompt")
    prompt = (fixture.get("generation_prompt") or default or "").rstrip()
    return any(prompt.endswith(mark.rstrip()) for mark, _ in plan_of(dialect).dialect.reasoning)


def read(fixture: dict[str, Any], dialect: str, deltas: list[str], *, reasoning_open: bool) -> Result:
    """Read one cut of a fixture."""
    made = reader(dialect, tools=fixture["tools"], reasoning_open=reasoning_open)
    events = [event for delta in deltas for event in made.feed(delta)]
    events += made.finish(truncated="truncated" in fixture["tags"])
    return (
        "".join(event.text for event in events if isinstance(event, Content)),
        "".join(event.text for event in events if isinstance(event, Reasoning)),
        [(event.name, event.arguments) for event in events if isinstance(event, CallClosed)],
    )


def verdict(about: dict[str, Any], fixture: dict[str, Any]) -> str:
    """Return "exact", "soft" or what went wrong."""
    dialect = "hermes" if fixture["family"] == "qwen3-hermes" else dialect_for(fixture["models"][0]) or "auto"
    text = fixture["raw_output"]
    chance = random.Random(fixture["id"])
    places = [0, *sorted(chance.sample(range(len(text) + 1), min(5, len(text)))), len(text)]
    ways = [[text], list(text), [text[a:b] for a, b in pairwise(places)]]
    thinks = opened(about, fixture, dialect)
    first, *others = [read(fixture, dialect, deltas, reasoning_open=thinks) for deltas in ways]
    if any(other != first for other in others):
        return "cut differs"
    content, reasoning, calls = first
    wanted = fixture.get("expected")
    if not wanted:
        accepted = fixture["expected_error"]["accept"]
        kept = content.strip() == text.strip()
        fine = not calls and ("no_tool_calls" in accepted or ("content_passthrough" in accepted and kept))
        return "exact" if fine else "wrong outcome"
    right = [(call["name"], call["arguments"]) for call in wanted["tool_calls"]]
    names = [name for name, _ in calls] == [name for name, _ in right]
    if not names or not all(same(a[1], b[1]) for a, b in zip(calls, right, strict=True)):
        return "wrong calls"
    texts = ((content, wanted.get("content") or ""), (reasoning, wanted.get("reasoning_content") or ""))
    if all(got == want for got, want in texts):
        return "exact"
    return "soft" if all(got.strip() == want.strip() for got, want in texts) else "wrong text"


def table() -> str:
    """Return the table as Markdown."""
    place = folder()
    if place is None:
        return "Not measured: the fixtures are not installed (`pip install --no-deps canitoolcall==0.1.1`)."
    found: dict[str, Counter[str]] = {}
    for about, fixture in fixtures(place):
        found.setdefault(fixture["family"], Counter())[verdict(about, fixture)] += 1
    lines = ["| family | fixtures | exact | apart from outer white space | wrong |", "|---|---|---|---|---|"]
    for family, counts in [*found.items(), ("all", sum(found.values(), Counter()))]:
        wrong = sum(counts.values()) - counts["exact"] - counts["soft"]
        lines.append(
            f"| {family} | {sum(counts.values())} | {counts['exact']} | {counts['soft']} | {wrong} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
