"""`/v1/runs`: agent runs in the background. Start, list, show, follow, cancel, resume."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gerbang.compose.carrying import answer_of
from gerbang.errors import UsageError
from gerbang.server.cancelling import cancel_run
from gerbang.server.live import LiveRun
from gerbang.server.operation import (
    SHORT,
    VISIBLE,
    Answer,
    Exchange,
    Operation,
    Parameter,
    RouteGroup,
    number,
    short,
    whole,
)
from gerbang.server.owners import owner_of
from gerbang.server.problems import bad_request, not_found, problem, wait
from gerbang.server.replies import EventStream, Reply, json_reply
from gerbang.server.run_history import WORKING, own_run
from gerbang.server.run_keys import begun_under, key_of, key_parameter, key_part, run_under
from gerbang.server.run_stream import frames
from gerbang.server.schemas import RunView, run_view
from gerbang.values import Message
from gerbang.values.record import RunState

Name = Annotated[str, Meta(min_length=1, max_length=512)]
Prompt = Annotated[str, Meta(min_length=1, max_length=100_000, pattern=VISIBLE)]


class RunBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A run to start. `continues` is a run of yours whose request and answer the model shall know of.

    History comes from the server's own records only; nobody can submit one.
    """

    prompt: Prompt
    purpose: Name | None = None
    intent: Name | None = None
    continues: Name | None = None


class RunList(Struct, frozen=True):
    """Runs, newest first. `next` is the `before` of the next page; null on the last."""

    runs: list[RunView]
    next: str | None


class RunEvent(Struct, frozen=True, omit_defaults=True):
    """One event of the stream. `data` is JSON; `id` is the sequence, where the event is of the record."""

    event: str
    data: str
    id: str | None = None


_RUN: Final = msgspec.json.Decoder(RunBody)
_MAX_CHAIN: Final = 50


async def create(exchange: Exchange) -> Reply:
    """Start a run in the background, or find the one that this key began."""
    asked: RunBody = exchange.read(_RUN)
    service, who = exchange.service, exchange.caller.principal
    key, name = key_of(exchange), None
    if key is not None:
        name = run_under(key, who, asked)
        begun = await begun_under(service.store, name, who.tenant)
        if begun is not None:
            return _begun(run_view(begun, _is_live(exchange, name)))
    history: list[Message] = []
    if asked.continues is not None:
        before = await own_run(service.store, asked.continues, who.tenant)
        if before is None or before.user != who.user:
            raise not_found("run to continue")
        catalogue = service.toolsets.of(who.tenant).gateway.catalogue
        answer = await answer_of(service.store, before.run_id, catalogue, before.answer)
        history = [Message("user", before.prompt), answer]
    live = None if name is None else service.runs.find(name, who.tenant)
    live = live or service.runs.start(
        service.toolsets.of(who.tenant),
        who,
        asked.prompt,
        purpose=asked.purpose,
        intent=asked.intent,
        history=history,
        run_id=name,
        key=None if name is None else key_part(name),
        key_id=exchange.caller.key,
    )
    if name is not None and not await live.on_record():
        return await _begun_elsewhere(exchange, live)
    return _begun(_of_live(live))


async def _begun_elsewhere(exchange: Exchange, live: LiveRun) -> Reply:
    """Return the run that another process began under the key. Raises what kept ours from beginning."""
    service, tenant = exchange.service, exchange.caller.principal.tenant
    service.runs.drop(live)
    begun = await begun_under(service.store, live.run_id, tenant)
    if begun is not None:
        return _begun(run_view(begun, _is_live(exchange, live.run_id)))
    if live.fault is not None:
        raise live.fault
    raise wait(503, "cancelled", "CANCELLED", "The run was cancelled before it began.", 1)


def _begun(view: RunView) -> Reply:
    return json_reply(view, 202, ((b"location", f"/v1/runs/{view.run_id}".encode()),))


async def listed(exchange: Exchange) -> Reply:
    """List the tenant's runs."""
    asked = exchange.query(limit=whole(1, 500), before=short, state=_state)
    limit = asked.get("limit", 50)
    try:
        rows = await exchange.service.store.runs(
            limit=limit,
            tenant=exchange.caller.principal.tenant,
            state=asked.get("state"),
            before=await _own_cursor(exchange, asked.get("before")),
        )
    except UsageError:
        raise not_found("run 'before'") from None
    views = [run_view(row, _is_live(exchange, row.run_id)) for row in rows]
    return json_reply(RunList(views, views[-1].run_id if len(rows) == limit else None))


async def shown(exchange: Exchange) -> Reply:
    """Show one run."""
    run_id = exchange.path[0]
    row = await own_run(exchange.service.store, run_id, exchange.caller.principal.tenant)
    if row is not None:
        return json_reply(run_view(row, _is_live(exchange, run_id)))
    live = exchange.service.runs.find(run_id, exchange.caller.principal.tenant)
    if live is None:
        raise not_found("run of that id")
    return json_reply(_of_live(live))


async def followed(exchange: Exchange) -> EventStream:
    """Stream a run's events: those of its record by their sequence, its text as it comes."""
    asked = exchange.query(after=whole(0, 2**53))
    tenant = exchange.caller.principal.tenant
    run_id = exchange.path[0]
    header = exchange.header(b"last-event-id")
    if header is not None:
        try:
            asked["after"] = whole(0, 2**53)(header)
        except ValueError as error:
            raise bad_request(f"Last-Event-ID is wrong: {error}.", "Send the last id that came.") from None
    live = exchange.service.runs.find(run_id, tenant)
    if live is None:
        run = await own_run(exchange.service.store, run_id, tenant)
        if run is None:
            raise not_found("run of that id")
        run_id = run.run_id
    timeout_s = exchange.service.settings.send_timeout_s
    return EventStream(
        frames(exchange.service, run_id, exchange.caller, live, asked.get("after", 0)), timeout_s
    )


async def cancelled(exchange: Exchange) -> Reply:
    """Cancel a run, whichever process drives it, and tell how it ended. One that has ended stays as it is."""
    run_id, who = exchange.path[0], exchange.caller.principal
    row = await cancel_run(exchange.service, run_id, who)
    if row is None:
        live = exchange.service.runs.find(run_id, who.tenant)
        if live is None:
            raise not_found("run of that id")
        return json_reply(_of_live(live))  # it ended before its first record
    return json_reply(run_view(row, _is_live(exchange, run_id)), 202 if row.state in WORKING else 200)


async def resumed(exchange: Exchange) -> Reply:
    """Take up a run that waits for an approval which is decided by now, or that was cut off."""
    service, who = exchange.service, exchange.caller.principal
    row = await own_run(service.store, exchange.path[0], who.tenant)
    if row is None:
        raise not_found("run of that id")
    if row.state not in (RunState.PENDING_APPROVAL, RunState.RUNNING):
        raise problem(409, "conflict", "NOT_WAITING", f"The run is {row.state}: there is nothing to resume.")
    owner = await owner_of(service, row)
    live = service.runs.resume(service.toolsets.of(who.tenant), row.run_id, owner, row.prompt)
    return json_reply(_of_live(live), 202, ((b"location", f"/v1/runs/{live.run_id}".encode()),))


async def _own_cursor(exchange: Exchange, run_id: str | None) -> str | None:
    if run_id is None:
        return None
    run = await own_run(exchange.service.store, run_id, exchange.caller.principal.tenant)
    if run is None:
        raise not_found("run 'before'")
    return run.run_id


def _state(text: str) -> str:
    if text not in set(RunState):
        raise ValueError(f"it is one of {', '.join(RunState)}")
    return text


def _is_live(exchange: Exchange, run_id: str) -> bool:
    live = exchange.service.runs.find(run_id, exchange.caller.principal.tenant)
    return live is not None and not live.over


def _of_live(live: LiveRun) -> RunView:
    """Return a run whose first record is still to come."""
    who = live.principal
    state = live.status if live.over else str(RunState.RUNNING)
    return RunView(
        run_id=live.run_id,
        state=state,
        user=who.user,
        tenant=who.tenant,
        prompt=live.prompt,
        answer=live.answer or "",
        model="",
        profile="",
        steps=0,
        events=0,
        started_at=live.started_at,
        updated_at=live.started_at,
        live=not live.over,
    )


_EXAMPLE: Final[dict[str, Any]] = {
    "run_id": "run_3f1d20a9b7c4d5e6f708",
    "state": "completed",
    "user": "ana",
    "tenant": "acme",
    "prompt": "What is the weather in Paris?",
    "answer": "It is 21 degrees in Paris.",
    "model": "embedded:",
    "profile": "gateway",
    "steps": 2,
    "events": 6,
    "started_at": 1796033011.5,
    "updated_at": 1796033012.1,
    "live": False,
}
_EVENT: Final[dict[str, Any]] = {
    "id": "2",
    "event": "model.answered",
    "data": '{"run_id":"run_3f1d20a9b7c4d5e6f708","step_id":"step_001","calls":["weather.get_current.v1"]}',
}
_LIMIT: Final = Parameter("limit", "query", "How many, 50 if not said.", number(1, 500))
_BEFORE: Final = Parameter("before", "query", "The `next` of the page before.", SHORT)
_STATE: Final = Parameter(
    "state",
    "query",
    "Only runs in this state.",
    {"type": "string", "enum": [str(state) for state in RunState]},
)
_COMMON: Final = (400, 401, 403, 429, 500, 503)
GROUP: Final = RouteGroup(
    "runs",
    "Agent runs in the background.",
    (
        Operation(
            "POST",
            "/v1/runs",
            create,
            "runs",
            "Start a run",
            right="runs",
            body=RunBody,
            examples={"weather": {"value": {"prompt": "What is the weather in Paris?"}}},
            parameters=(key_parameter("A key of your own: the same key with the same body begins one run."),),
            answers=(
                Answer(202, "The run has started, or had been; Location is where it is", RunView, _EXAMPLE),
            ),
            problems=(*_COMMON, 404, 409, 413, 415, 422),
        ),
        Operation(
            "GET",
            "/v1/runs",
            listed,
            "runs",
            "List runs, newest first",
            right="runs",
            parameters=(_LIMIT, _BEFORE, _STATE),
            answers=(Answer(200, "The runs", RunList, {"runs": [_EXAMPLE], "next": None}),),
            problems=(*_COMMON, 404),
        ),
        Operation(
            "GET",
            "/v1/runs/{run_id}",
            shown,
            "runs",
            "Show one run",
            right="runs",
            answers=(Answer(200, "The run", RunView, _EXAMPLE),),
            problems=(*_COMMON, 404),
        ),
        Operation(
            "GET",
            "/v1/runs/{run_id}/events",
            followed,
            "runs",
            "Follow a run's events",
            right="runs",
            about="Server-sent events. Events of the record have their sequence as id: send the last one as "
            "Last-Event-ID to go on from there. Messages without an id (`assistant_delta` and the like) are "
            "what the run says while it runs. The last event is `end`, with the run.",
            parameters=(
                Parameter("after", "query", "Only events after this sequence.", number(0, 2**53)),
                Parameter(
                    "Last-Event-ID",
                    "header",
                    "The same; it wins.",
                    {"type": "string", "pattern": "^[0-9]{1,15}$"},
                ),
            ),
            answers=(Answer(200, "The events", RunEvent, _EVENT, content_type="text/event-stream"),),
            problems=(*_COMMON, 404),
        ),
        Operation(
            "POST",
            "/v1/runs/{run_id}/cancel",
            cancelled,
            "runs",
            "Cancel a run",
            right="runs",
            about="The process that drives it hears of it within a second. A run that nobody drives, or that "
            "waits for a person, ends at once. Of a run of your own calls every further call is refused.",
            answers=(
                Answer(200, "How the run ended", RunView, _EXAMPLE),
                Answer(202, "It has not ended within ten seconds; the request stands", RunView, _EXAMPLE),
            ),
            problems=(*_COMMON, 404, 413),
        ),
        Operation(
            "POST",
            "/v1/runs/{run_id}/resume",
            resumed,
            "runs",
            "Resume a run that waits",
            right="runs",
            answers=(Answer(202, "The run goes on", RunView, _EXAMPLE),),
            problems=(*_COMMON, 404, 409, 413, 501),
        ),
    ),
)
