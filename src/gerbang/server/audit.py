"""`/v1/audit`: the events of a run as the chain holds them, and whether the chain is whole."""

from typing import Any, Final

from msgspec import Struct

from gerbang.audit.chain import verify
from gerbang.server.operation import Answer, Exchange, Operation, Parameter, RouteGroup, number, whole
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply, json_reply
from gerbang.server.run_history import own_run
from gerbang.server.schemas import EventView, event_view
from gerbang.values.record import EventRow

_PAGE: Final = 1_000


class EventList(Struct, frozen=True):
    """Events of a run in order. `next` is the `after` of the next page; null on the last."""

    run_id: str
    events: list[EventView]
    next: int | None


class ChainState(Struct, frozen=True):
    """Whether a run's chain is whole. `broken_at` is the first event that is not in its place.

    `head` is the last digest: a tail that was cut off is seen by comparing it with one kept elsewhere.
    """

    run_id: str
    whole: bool
    broken_at: int | None
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
    """Check a run's chain, page by page."""
    run_id = await _own(exchange)
    former: EventRow | None = None
    broken: int | None = None
    while broken is None:
        after = 0 if former is None else former.seq
        rows = await exchange.service.store.events(run_id, after=after, limit=_PAGE)
        if not rows:
            break
        broken = verify(rows, former)
        former = rows[-1]
    head = "" if former is None else former.digest.hex()
    seen = 0 if former is None else former.seq
    return json_reply(ChainState(exchange.path[0], broken is None, broken, seen, head))


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
            "Check a run's chain",
            right="audit",
            answers=(
                Answer(
                    200,
                    "What was found",
                    ChainState,
                    {"run_id": "r1", "whole": True, "broken_at": None, "events": 2, "head": _EVENT["digest"]},
                ),
            ),
            problems=_COMMON,
        ),
    ),
)
