"""`gerbang audit export`: the records for other programs, one JSON document a line, with flat memory."""

import contextlib
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import orjson
import typer

from gerbang import __version__
from gerbang.audit.calls import Calls
from gerbang.audit.checkpoint import store_name
from gerbang.audit.export import cloud_event, plain
from gerbang.audit.receipts import Environment, hash_of, receipt
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.recorded_store import known_run, with_store
from gerbang.cli.safe_text import json_safe
from gerbang.cli.screen import Screen
from gerbang.compose.auditing import every_event, every_head
from gerbang.ports import Store
from gerbang.values.counting import counted
from gerbang.values.record import ERASED, CallRow, RunRow


class Form(StrEnum):
    """What a line is: an event, a CloudEvent, all that is known of a call, or an Action Receipt."""

    EVENTS = "events"
    CLOUDEVENTS = "cloudevents"
    CALLS = "calls"
    RECEIPTS = "receipts"


class Place(StrEnum):
    """What Action Receipts say of where targets are."""

    PROD = "prod"
    STAGING = "staging"
    DEV = "dev"


def add(group: typer.Typer) -> None:
    """Add the command to its group."""
    group.command("export")(export)


def export(
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Export this run only, by its id or its beginning.")
    ] = None,
    form: Annotated[Form, typer.Option("--format", help="What a line is.")] = Form.EVENTS,
    environment: Annotated[Place, typer.Option(help="What receipts say of where targets are.")] = Place.DEV,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Print the records as JSON lines: events, CloudEvents 1.0, calls, or Action Receipts."""
    settings = options.settings(config, store=store)
    screen = Screen.standard()
    skipped = [0]

    async def work(opened: Store) -> None:
        one = None if run_id is None else await known_run(opened, run_id)
        if form in (Form.EVENTS, Form.CLOUDEVENTS):
            source = store_name(await opened.secret_key())
            async for event in every_event(opened, one):
                _line(screen, plain(event) if form is Form.EVENTS else cloud_event(event, source))
            return
        async for name in _runs(opened, one):
            async for line in _of_run(opened, name, form, environment.value, skipped):
                _line(screen, line)

    with_store(settings, work)
    if skipped[0]:
        screen.note(
            f"No receipt for {counted(skipped[0], 'call')}: arguments that are not on record, or were erased."
        )
    return Exit.DONE


def _line(screen: Screen, value: dict[str, Any]) -> None:
    screen.write(json_safe(orjson.dumps(value).decode()) + "\n")


async def _runs(store: Store, run_id: str | None) -> AsyncIterator[str]:
    if run_id is not None:
        yield run_id
        return
    async for head in every_head(store):
        yield head.run_id


async def _of_run(
    store: Store, run_id: str, form: Form, environment: Environment, skipped: list[int]
) -> AsyncIterator[dict[str, Any]]:
    """Yield the calls of a run, or their receipts."""
    row = await store.run(run_id)
    shown: Callable[[dict[str, Any]], dict[str, Any] | None] = dict
    if form is Form.RECEIPTS:
        receipts = Receipts(
            row,
            {call.call_id: call for call in await store.calls(run_id) if not call.is_denial},
            await store.secret_key(),
            environment,
        )
        shown = receipts.of
    calls = Calls()
    async for event in every_event(store, run_id):
        with contextlib.suppress(msgspec.MsgspecError):  # not one of ours; `audit verify` says so
            record = calls.take(event)
            if record is not None:
                made = shown(record)
                skipped[0] += made is None
                if made is not None:
                    yield made
    for record in calls.left():
        made = shown(record)
        skipped[0] += made is None
        if made is not None:
            yield made


class Receipts:
    """Makes the receipts of one run's calls. What was executed, or asked for, is in the run's rows."""

    def __init__(
        self, run: RunRow | None, rows: dict[str, CallRow], store_key: bytes, environment: Environment
    ) -> None:
        self._run = run
        self._rows = rows
        self._store = store_name(store_key)
        self._environment = environment

    def of(self, call: dict[str, Any]) -> dict[str, Any] | None:
        """Return the receipt of a call; None for one whose arguments are not known."""
        code = call.get("arguments_hash") or self._hash(str(call["call_id"]))
        if code is None:
            return None
        run = self._run
        known = {**call, "user": call["user"] or ("" if run is None else run.user)}
        return receipt(
            known,
            code,
            model="" if run is None else run.model,
            store=self._store,
            environment=self._environment,
            version=__version__,
        )

    def _hash(self, call_id: str) -> str | None:
        row = self._rows.get(call_id)
        if row is None or (self._run is not None and self._run.salt == ERASED):
            return None
        return hash_of(msgspec.json.decode(row.arguments))
