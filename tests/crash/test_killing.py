"""Processes killed at every kind of point, and what is on record then. `make crash` takes longer."""

import asyncio
from pathlib import Path

from .coverage import uncovered
from .harness import Campaign, Report, many
from .scenarios import ALL, CELLS


def test_at_every_kind_of_point(tmp_path: Path) -> None:
    """Each scenario is run until none of its lives comes to a point at which nothing has died yet."""

    async def work() -> Report:
        async with Campaign(f"sqlite:{tmp_path / 'store.db'}", tmp_path).open() as campaign:
            await many(campaign.every_new_point(scenario) for scenario in ALL.values())
            return campaign.report

    report = asyncio.run(work())
    assert report.wrong == []
    assert uncovered(report.steps) == []


def test_in_every_cell_of_the_matrix_on_postgresql(database: str, tmp_path: Path) -> None:
    """While the request is on its way, which nobody can know the fate of."""

    async def work() -> Report:
        async with Campaign(database, tmp_path).open() as campaign:
            await many(
                campaign.run(scenario, ["first: in the tool, its request on the way"]) for scenario in CELLS
            )
            return campaign.report

    report = asyncio.run(work())
    assert report.wrong == []
    assert report.kills == len(CELLS)
    writes = 7  # classes that are neither reads nor computations
    states = report.states
    assert (states["key SUCCEEDED"], states["none SUCCEEDED"], states["none UNCERTAIN"]) == (10, 3, writes)
    # a request that had not left in time has not happened, and is made again
    assert states["probe RESOLVED_SUCCEEDED"] + states["probe SUCCEEDED"] == writes
    assert states.total() == len(CELLS)
