"""The table of 180 cases: each read whole, char by char, mark by mark and at random cuts, with the same
result.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.parse.reading import cuts, read, same

FILE = Path(__file__).parent.parent / "data" / "parser_cases.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def shown(text: str, white_space: str | None) -> str:
    return "".join(text.split()) if white_space == "ignore" else text.strip()


def test_all_cases_are_there() -> None:
    assert len(CASES) == 180
    assert len({case["format"] for case in CASES}) == 49


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    text = case["text"]
    ways = list(cuts(text, case["format"], seed=len(text), count=6 if len(text) < 30_000 else 1))
    if "deltas" in case:
        ways.append(case["deltas"])
    results = [
        read(
            deltas,
            case["format"],
            tools=case["tools"],
            reasoning_open=case.get("reasoning_open", False),
            truncated=case.get("truncated", False),
        )
        for deltas in ways
    ]
    first = results[0]
    white_space = case.get("content_ws")
    if white_space != "any":
        assert shown(first.content, white_space) == shown(case["expected_content"], white_space)
    wanted = [(call["name"], call["arguments"]) for call in case["expected_calls"]]
    assert same(first.calls, wanted)
    if case.get("expected_reasoning") is not None:
        assert first.reasoning.strip() == case["expected_reasoning"].strip()
    for other in results[1:]:
        assert other == first
