"""`gerbang runs`: what happened, from the record."""

import datetime
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
import typer
from msgspec import to_builtins

from gerbang.adapters.stores import shown_address
from gerbang.cli import options, run_cancelling, run_doubts, run_resuming, runs_cost, street
from gerbang.cli.exits import Exit
from gerbang.cli.meant import run_id_of
from gerbang.cli.recorded_store import with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.table import rows
from gerbang.cli.texts import say
from gerbang.cli.timeline import next_step, timeline
from gerbang.compose.asked import asked_of
from gerbang.compose.waiting import Waits, waits_for
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.ports import Store
from gerbang.values.principal import MAX_NAME
from gerbang.values.record import AnswerRow, CallRow, EventRow, RunRow

T = TypeVar("T")
_MAX_LIMIT: Final = 10_000


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(
        help="List runs, show their timelines, go on with them, end them, settle doubt.",
        no_args_is_help=True,
    )
    group.command("list")(list_)
    group.command("show")(show)
    group.command("resume")(run_resuming.resume)
    group.command("recover")(run_resuming.recover)
    group.command("cancel")(run_cancelling.cancel)
    run_doubts.add(group)
    runs_cost.add(group)
    app.add_typer(group, name="runs")


def list_(
    limit: Annotated[int, typer.Option(min=1, max=_MAX_LIMIT, help="How many, newest first.")] = 20,
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """List the newest runs."""

    async def read(opened: Store) -> list[tuple[RunRow, str, Waits | None]]:
        now, newest = await opened.time(), await opened.runs(limit=limit)
        return [(run, await asked_of(opened, run), await waits_for(opened, run, now)) for run in newest]

    settings = options.settings(config, store=store, lang=lang)
    found = _read(settings, read) or []
    screen = Screen.standard()
    if json:
        screen.document([{**_run(run), "waits_for": to_builtins(waits)} for run, _, waits in found])
    elif not found:
        screen.note(say("no_runs", store=shown_address(settings.store)))
    else:
        table = [
            (_name(run), _when(run.started_at), run.state, str(run.steps), one_line(asked, 60))
            for run, asked, _ in found
        ]
        for line in rows(say("head_runs").split("|"), table):
            screen.line(line)
        for run, _, waits in found:
            if waits is not None:
                screen.note(f"{_name(run)}: {next_step(run.run_id, waits)}")
    return Exit.DONE


def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, or the beginning of it.")],
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Show one run's timeline: proposals, decisions, outcomes."""

    async def read(
        opened: Store,
    ) -> tuple[RunRow, list[EventRow], list[CallRow], list[AnswerRow], Waits | None] | None:
        run = await opened.run(await run_id_of(opened, run_id))
        if run is None:
            return None
        return (
            run,
            await opened.events(run.run_id),
            await opened.calls(run.run_id),
            await opened.answers(run.run_id),
            await waits_for(opened, run, await opened.time()),
        )

    settings = options.settings(config, store=store, lang=lang)
    found = _read(settings, read)
    if found is None:
        raise UsageError(say("no_run", run=one_line(run_id), store=shown_address(settings.store)))
    run, events, calls, answers, waits = found
    screen = Screen.standard()
    if json:
        screen.document(
            {
                "run": {**_run(run), "waits_for": to_builtins(waits)},
                "events": [_event(event) for event in events],
                "calls": [_row(call) for call in calls],
                "answers": [_row(answer) for answer in answers],
            }
        )
        return Exit.DONE
    for line in timeline(screen, run, events, waits):
        screen.line(line)
    return Exit.DONE


def _read(settings: Settings, read: Callable[[Store], Awaitable[T]]) -> T | None:
    """Read from the store; None when it does not exist, which is then not made."""
    return with_store(settings, read) if street.store_exists(settings) else None


def _name(run: RunRow) -> str:
    """Return the whole name, which commands take: a caller chose it, and may have put anything into it."""
    return one_line(run.run_id, 10 * MAX_NAME)


def _when(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _run(row: RunRow) -> dict[str, Any]:
    """Return the run's row without its salt, which is for checking commitments only."""
    return {name: value for name, value in to_builtins(row).items() if name != "salt"}


def _row(row: CallRow | AnswerRow) -> dict[str, Any]:
    """Return a stored row, its JSON columns as JSON."""
    return {name: _readable(getattr(row, name)) for name in row.__struct_fields__}


def _event(event: EventRow) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "kind": event.kind,
        "body": _readable(event.body),
        "digest": event.digest.hex(),
    }


def _readable(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return msgspec.json.decode(value) if value else None
    except msgspec.MsgspecError:
        return value.decode("utf-8", "backslashreplace")
