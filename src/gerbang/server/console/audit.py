"""Searching the audit chain: events of the tenant's runs, and whether each run's chain is whole."""

from typing import Any, Final

from gerbang.audit.check import Checked, RunCheck
from gerbang.compose.auditing import finish
from gerbang.ports import Store
from gerbang.runtime.switches import SWITCH_RUN
from gerbang.server.console.events import Line, line_of
from gerbang.server.console.runs import own
from gerbang.server.console.turns import Turns
from gerbang.server.console.visit import Page, Visit
from gerbang.server.operation import short, whole
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply
from gerbang.values.record import EventRow, RunRow

_RUNS: Final = 50
_MAX_RUNS: Final = 200
_MAX_EVENTS: Final = 20_000
"""What one search looks at; the page says how far it came, and goes on from there."""
_HITS: Final = 100
_PAGE: Final = 500


class Search:
    """One search: what is asked for, what was found, how much was looked at."""

    def __init__(self, tool: str, kind: str, words: str) -> None:
        self.tool = tool.lower()
        self.kind = kind.lower()
        self.words = [word.encode() for word in words.lower().split()]
        self.hits: list[Line] = []
        self.chains: list[Checked] = []
        self.runs = 0
        self.events = 0
        self.turns = Turns()

    def takes(self, row: EventRow) -> bool:
        """Tell whether an event is asked for."""
        if self.kind and self.kind not in row.kind.lower():
            return False
        body = row.body.lower()
        if any(word not in body for word in self.words):
            return False
        if not self.tool:
            return True
        line = dict(line_of(row).facts)
        return self.tool in line.get("tool_name", "").lower() or self.tool in line.get("calls", "").lower()

    @property
    def over(self) -> bool:
        """Tell whether enough was found, or looked at."""
        return len(self.hits) >= _HITS or self.events >= _MAX_EVENTS or self.runs >= _MAX_RUNS


async def searched(visit: Visit) -> Reply:
    """Search, or show the events of one run."""
    asked = visit.query(run=_text, tool=_text, kind=_text, q=_text, before=short, after=whole(0, 2**53))
    if asked.get("run"):
        return await _one(visit, asked)
    search = Search(asked.get("tool", ""), asked.get("kind", ""), asked.get("q", ""))
    before = asked.get("before")
    if before is not None:
        before = (await own(visit, before)).run_id
    last = await _search(visit, search, before)
    return visit.page(
        "audit.html", asked=asked, search=search, lines=search.hits, chain=None, following=last, after=None
    )


async def _search(visit: Visit, search: Search, before: str | None) -> str | None:
    """Look through runs, the newest first. Returns the run to go on from, None when there are no more."""
    while True:
        rows = await visit.store.runs(limit=_RUNS, tenant=visit.tenant, before=before)
        for run in rows:
            before = run.run_id
            await _look(visit.store, run, search)
            if search.over:
                return before
        if len(rows) < _RUNS:
            return None


async def _look(store: Store, run: RunRow, search: Search) -> None:
    """Check one run's chain and keep the events that are asked for."""
    found = 0
    check = RunCheck(run.run_id, run)
    async for row in store.stream(run.run_id):
        check.take(row)
        await search.turns.step()
        search.events += 1
        if len(search.hits) < _HITS and search.takes(row):
            search.hits.append(line_of(row))
            found += 1
    search.runs += 1
    chain = await finish(store, run.run_id, check)
    if found or not chain.whole:
        search.chains.append(chain)


async def _one(visit: Visit, asked: dict[str, Any]) -> Reply:
    run_id = asked["run"]
    run: RunRow | None = None
    if not (visit.rules_all and run_id == SWITCH_RUN):
        run = await own(visit, run_id)
        run_id = run.run_id
    search = Search(asked.get("tool", ""), asked.get("kind", ""), asked.get("q", ""))
    check = RunCheck(run_id, run)
    after = asked.get("after", 0)
    lines: list[Line] = []
    following: int | None = None
    async for row in visit.store.stream(run_id):
        check.take(row)
        await search.turns.step()
        if row.seq <= after or not search.takes(row):
            continue
        if len(lines) < _PAGE:
            lines.append(line_of(row))
        elif following is None:
            following = lines[-1].seq
    chain = await finish(visit.store, run_id, check)
    if not chain.events and run_id != SWITCH_RUN:
        raise not_found("event of that run")
    return visit.page(
        "audit.html", asked=asked, search=None, lines=lines, chain=chain, following=None, after=following
    )


def _text(value: str) -> str:
    if len(value) > 512 or "\x00" in value:
        raise ValueError("it has at most 512 characters")
    return value


PAGES: Final = (Page("GET", "/console/audit", "audit", searched),)
