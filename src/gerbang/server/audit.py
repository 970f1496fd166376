"""`/v1/audit`: the events of runs as the chain holds them, and whether a run's chain is whole."""

from typing import Any, Final

from msgspec import Struct

from gerbang.compose.auditing import check_run
from gerbang.server.audit_search import MOST, PLACE, FoundEvents, found
from gerbang.server.operation import (
    SHORT,
    Answer,
    Exchange,
    Operation,
    Parameter,
    RouteGroup,
    number,
    whole,
)
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply, json_reply
from gerbang.server.run_history import own_run
from gerbang.server.schemas import EventView, event_view

_PAGE: Final = 1_000


class EventList(Struct, frozen=True):
    """Events of a run in order. `next` is the `after` of the next page; null on the last."""

    run_id: str
    events: list[EventView]
    next: int | None


class ChainState(Struct, frozen=True):
    """Whether a run's record is whole. `broken_at` is the first event that is not in its place.

    `what` says of it: `chain` (changed, removed, reordered or inserted), `detail` (the detail that goes with
    it was changed) or `payload` (the arguments or the result in the store are not those that it commits to).
    It is empty when all is whole. `events` have been looked at; `head` is the last digest of them: a tail
    that was cut off is seen by comparing it with one kept elsewhere.
    """

    run_id: str
    whole: bool
    broken_at: int | None
    what: str
    events: int
    head: str


async def listed(exchange: Exchange) -> Reply:
    """Give a run's events."""
    asked = exchange.query(after=whole(0, 2**53), limit=whole(1, _PAGE))
    run_id = await _own(exchange)
    limit = asked.get("limit", 200)
    rows = await exchange.service.store.events(run_id, after=asked.get("after", 0), limit=limit)
    following = rows[-1].seq if len(rows) == limit else None
    return json_reply(EventList(exchange.path[0], [event_view(row) for row in rows], following))


async def verified(exchange: Exchange) -> Reply:
    """Check a run's chain, the details of its events and its payloads: what `gerbang audit verify` does."""
    check = await check_run(exchange.service.store, await _own(exchange))
    name = exchange.path[0]
    return json_reply(ChainState(name, check.whole, check.broken_at, check.what, check.events, check.head))


async def _own(exchange: Exchange) -> str:
    run = await own_run(exchange.service.store, exchange.path[0], exchange.caller.principal.tenant)
    if run is None:
        raise not_found("run of that id")
    return run.run_id


_EVENT: Final[dict[str, Any]] = {
    "seq": 2,
    "kind": "call.finished",
    "body": {
        "run_id": "r1",
        "step_id": "step_001",
        "tool_name": "weather.get_current.v1",
        "status": "success",
    },
    "digest": "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab",
}
_COMMON: Final = (400, 401, 403, 404, 429, 500, 503)
GROUP: Final = RouteGroup(
    "audit",
    "The audit chain.",
    (
        Operation(
            "GET",
            "/v1/audit",
            found,
            "audit",
            "Search the events of all runs",
            right="audit",
            about="The newest run comes first; within a run events are in order.",
            parameters=(
                Parameter("run_id", "query", "Only events of this run.", SHORT),
                Parameter("tool", "query", "Only events that name this tool.", SHORT),
                Parameter("kind", "query", "Only events of this kind, such as call.finished.", SHORT),
                Parameter("after", "query", "`next` of the page before.", PLACE),
                Parameter("limit", "query", "How many.", number(1, MOST)),
            ),
            answers=(
                Answer(
                    200, "The events", FoundEvents, {"events": [{"run_id": "r1", **_EVENT}], "next": "r1/2"}
                ),
            ),
            problems=_COMMON,
        ),
        Operation(
            "GET",
            "/v1/audit/{run_id}",
            listed,
            "audit",
            "Give a run's events",
            right="audit",
            parameters=(
                Parameter("after", "query", "Only events after this sequence.", number(0, 2**53)),
                Parameter("limit", "query", "How many.", number(1, _PAGE)),
            ),
            answers=(
                Answer(200, "The events", EventList, {"run_id": "r1", "events": [_EVENT], "next": None}),
            ),
            problems=_COMMON,
        ),
        Operation(
            "GET",
            "/v1/audit/{run_id}/verify",
            verified,
            "audit",
            "Check a run's chain, details and payloads",
            right="audit",
            answers=(
                Answer(
                    200,
                    "What was found",
                    ChainState,
                    {
                        "run_id": "r1",
                        "whole": True,
                        "broken_at": None,
                        "what": "",
                        "events": 2,
                        "head": _EVENT["digest"],
                    },
                ),
            ),
            problems=_COMMON,
        ),
    ),
)
