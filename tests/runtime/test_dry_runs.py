"""A dry run in a run that other processes drive: it is decided as a call would be, and nothing is kept."""

from pathlib import Path
from typing import Any

import pytest

import gerbang as g
from tests.runtime.street import Effects, run, toolbox

AFTER_READ: list[dict[str, Any]] = [
    {"id": "all", "match": {"tool": "*"}, "everything": True, "decision": "allow", "reason": "YES"},
    {
        "id": "once",
        "match": {"tool": "docs.read.v1", "history": {"after": {"tool": "docs.read.v1"}}},
        "decision": "deny",
        "reason": "READ_BEFORE",
    },
]
READ = ("docs.read.v1", {"name": "a"})


def test_what_others_did_in_the_run_counts(tmp_path: Path) -> None:
    url, effects = f"sqlite:{tmp_path / 's.db'}", Effects()

    async def work() -> None:
        policy = g.Policy.from_rules(AFTER_READ)
        async with (
            g.Gateway(toolbox(effects), policy=policy, store=url) as one,
            g.Gateway(toolbox(effects), policy=policy, store=url) as two,
        ):
            assert (await two.dry_run(*READ, run_id="r")).decision.decision == "allow"
            assert await two.store.run("r") is None
            assert (await one.call(*READ, run_id="r", step_id=1)).status == "ok"
            assert one.decide(*READ, run_id="r").reasons[0] == "READ_BEFORE"
            assert two.decide(*READ, run_id="r").decision == "allow"  # it goes by its own process
            for _ in range(2):
                assert (await two.dry_run(*READ, run_id="r")).decision.reasons[0] == "READ_BEFORE"
            assert (await two.dry_run(*READ)).decision.decision == "allow"
            assert (await two.call("docs.store.v1", {"name": "b"}, run_id="q")).status == "ok"
            assert (await one.call(*READ, run_id="q", step_id=2)).status == "ok"
            assert (await two.dry_run(*READ, run_id="q")).decision.reasons[0] == "READ_BEFORE"
            before = await one.store.events("r")
            await two.dry_run(*READ, run_id="r")
            assert await one.store.events("r") == before
            with pytest.raises(g.UsageError, match="somebody else"):
                await two.dry_run(*READ, run_id="r", principal=g.Principal("eve"))

    run(work())
