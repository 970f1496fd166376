"""Each figure that operators are promised stands under /metrics, with the number of what was done."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from tests.server.running import client, key, scripted, started

MAIL = {"to": "a@example.org", "text": "x"}


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Do something of everything, and return the figures of it by name and labels."""
    folder: Path = tmp_path_factory.mktemp("figures")
    token = key(folder, "calls", "approvals", "metrics")
    options = ("--model", "none", "--store", "memory:", "--python", "tools_of_figures:TOOLS")

    async def main() -> str:
        with started(*options, folder=folder) as server:
            async with client(server, token) as http:
                for step in (1, 2, 2):
                    body = {"run_id": "r", "step_id": step}
                    status, _ = await http.call("priced.look_up.v1", {"what": "x"}, **body)
                    assert status == 200
                assert (await http.call("late.wait.v1"))[0] == 504
                assert (await http.call("broken.shape.v1"))[0] == 502
                assert (await http.call("shaky.get.v1", {"word": "a"}))[0] == 200
                assert (await http.call("no.such.v1"))[0] == 404
                assert (await http.call("mail.send.v1", {**MAIL, "to": "spam@example.org"}))[0] == 403
                _, waits = await http.call("mail.send.v1", MAIL, run_id="m", step_id=1)
                await http.post(f"/v1/approvals/{waits['approval_id']}/deny", {"reason": "no"})
                assert (await http.call("mail.send.v1", MAIL, run_id="m", step_id=1))[0] == 403
                _, text = await http.get("/metrics")
        return str(text)

    lines = re.findall(r"^(gerbang_[a-z_]+)(\{.*\})? ([0-9.e+-]+)$", asyncio.run(main()), re.MULTILINE)
    return {name + labels: float(value) for name, labels, value in lines}


PRICED = 'tool="priced.look_up.v1"'
CASES = [
    ("calls by tool", f'gerbang_tool_calls_total{{error_code="",status="success",{PRICED}}}', 2),
    (
        "errors by tool",
        'gerbang_tool_calls_total{error_code="OUTPUT_SHAPE",status="error",tool="broken.shape.v1"}',
        1,
    ),
    ("latency: how many", f"gerbang_tool_latency_seconds_count{{{PRICED}}}", 2),
    ("latency: buckets for p50, p95, p99", f'gerbang_tool_latency_seconds_bucket{{le="120.0",{PRICED}}}', 2),
    ("time-outs", 'gerbang_tool_timeouts_total{tool="late.wait.v1"}', 1),
    ("retries", 'gerbang_tool_retries_total{tool="shaky.get.v1"}', 1),
    ("attempts", 'gerbang_tool_dispatches_total{tool="shaky.get.v1"}', 2),
    ("replays", f"gerbang_tool_replays_total{{{PRICED}}}", 1),
    ("approvals required", 'gerbang_approvals_total{state="requested",tool="mail.send.v1"}', 1),
    ("approvals denied", 'gerbang_approvals_total{state="refused",tool="mail.send.v1"}', 1),
    ("policy denials", 'gerbang_policy_denials_total{error_code="NO_SPAM",tool="mail.send.v1"}', 1),
    ("cost by tool", f"gerbang_tool_cost_units_total{{{PRICED}}}", 5),
    ("cost by user, team and tenant", 'gerbang_cost_units_total{team="",tenant="acme",user="ana"}', 5),
    ("broken results", 'gerbang_output_validation_failures_total{tool="broken.shape.v1"}', 1),
    ("tools that do not exist", "gerbang_hallucinated_tool_calls_total", 1),
]


@pytest.mark.parametrize(("name", "value"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_figure_counts_what_was_done(figures: dict[str, float], name: str, value: float) -> None:
    assert figures.get(name) == value, sorted(item for item in figures if item.startswith(name.split("{")[0]))


def test_a_streaming_fallback_is_counted() -> None:
    async def main() -> str:
        script: dict[str, Any] = {"nothing": [[], "Words."], "words": ["Words."]}
        async with scripted(script) as (server, model), client(server) as http:
            for prompt in ("nothing", "words"):
                _, run = await http.post("/v1/runs", {"prompt": prompt})
                _, said = await http.get(f"/v1/runs/{run['run_id']}/events")
                assert "Words." in said
            assert [request["stream"] for request in model.requests] == [True, False, True]
            return str((await http.get("/metrics"))[1])

    text = asyncio.run(main())
    assert "\ngerbang_model_stream_fallbacks_total 1.0\n" in text
    assert "\ngerbang_model_answers_total 2.0\n" in text


def test_no_name_of_a_run_is_a_label(figures: dict[str, float]) -> None:
    assert not [name for name in figures if "run=" in name or "run_id=" in name]
