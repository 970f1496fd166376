"""A question about a lost call can be asked again and again: it is none of the run's budget."""

import asyncio
from pathlib import Path

from .harness import Campaign
from .scenarios import ALL


def test_a_probe_that_is_cut_off_many_times(tmp_path: Path) -> None:
    async def work() -> None:
        async with Campaign(f"sqlite:{tmp_path / 'store.db'}", tmp_path).open() as campaign:
            cut_off = "resumed: after ledger PLANNED dispatch, call.dispatched, made"
            first = "first: before ledger DISPATCHED succeed, call.finished, act"
            again = cut_off.replace("call.", "run.resumed, call.")
            lines = await campaign.run(
                ALL["transactional/probe"], [first, cut_off, again, again, again, again]
            )
            assert campaign.report.wrong == []
            assert campaign.report.states == {"probe RESOLVED_SUCCEEDED": 1}
            assert sum(line.what == "killed" for line in lines) == 6

    asyncio.run(work())
