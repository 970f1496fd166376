"""`gerbang runs uncertain` and `runs resolve`: calls of unknown fate, and a person's word on one."""

import datetime
from typing import Annotated

import typer
from msgspec import to_builtins

from gerbang import Gateway, Principal
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.meant import run_of
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.store_gate import at_store
from gerbang.cli.table import rows
from gerbang.cli.texts import say
from gerbang.compose.doubts import Doubt
from gerbang.errors import UsageError
from gerbang.values.record import CallRow

_HEAD = ("run", "call", "tool", "arguments", "sent", "attempts", "came back")


def add(group: typer.Typer) -> None:
    """Add the commands to the group of `runs`."""
    group.command("uncertain")(uncertain)
    group.command("resolve")(resolve)


def uncertain(
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only runs of this tenant.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000, help="How many, oldest first.")] = 50,
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """List calls of which nobody knows what became of them, oldest first."""

    async def work(gate: Gateway) -> list[Doubt]:
        return await gate.uncertain(tenant=tenant, limit=limit)

    found = at_store(options.settings(config, store=store, lang=lang), work)
    screen = Screen.standard()
    if json:
        screen.document([to_builtins(one) for one in found])
    elif not found:
        screen.note(say("no_doubts"))
    else:
        for line in rows(_HEAD, [_row(one) for one in found]):
            screen.line(line)
    return Exit.DONE


def resolve(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, or the beginning of it.")],
    call_id: Annotated[
        str | None,
        typer.Argument(metavar="[CALL]", help="Id of the call; needed when several of the run are in doubt."),
    ] = None,
    happened: Annotated[
        bool | None,
        typer.Option("--happened/--not-happened", help="What you have found out."),
    ] = None,
    by: Annotated[str, typer.Option("--as", metavar="USER", help="Who says so.")] = "local",
    role: Annotated[
        list[str] | None, typer.Option("--role", help="A role of theirs; may be repeated.")
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="How it was found out; the record keeps it.")] = "",
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Say what became of a call in doubt. One that happened is not made again; the key of another is free."""
    if happened is None:
        raise UsageError(say("doubt_unsaid"))
    said = happened

    async def work(gate: Gateway) -> CallRow:
        run = await run_of(gate.store, run_id)
        who = Principal(by, run.tenant, roles=role or ())
        return await gate.resolve(run.run_id, call_id, happened=said, by=who, reason=reason)

    row = at_store(options.settings(config, store=store, lang=lang), work)
    screen = Screen.standard()
    if json:
        screen.document(
            {
                "run_id": row.run_id,
                "call_id": row.call_id,
                "tool": row.tool,
                "state": str(row.state),
                "by": by,
            }
        )
    else:
        screen.line(f"{one_line(row.call_id)} {one_line(row.tool)}: {row.state}")
    return Exit.DONE


def _row(one: Doubt) -> list[str]:
    sent = datetime.datetime.fromtimestamp(one.sent_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return [
        one_line(one.run_id),
        one_line(one.call_id),
        one_line(one.tool),
        one_line(one.arguments, 60),
        sent if one.sent_at else "-",
        str(one.attempt),
        one_line(one.error_code) or "-",
    ]
