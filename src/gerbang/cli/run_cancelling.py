"""`gerbang runs cancel`: ending a run, whichever process drives it."""

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
from gerbang.cli.texts import say
from gerbang.values.record import RunRow, RunState


def cancel(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, or the beginning of it.")],
    by: Annotated[str, typer.Option("--as", metavar="USER", help="Who does it.")] = "local",
    reason: Annotated[str, typer.Option("--reason", help="Why; the record keeps it.")] = "",
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """End a run, whichever process drives it. Ends with 1 when it was over before, or has not ended yet."""

    async def work(gate: Gateway) -> RunRow:
        row = await run_of(gate.store, run_id)
        return await gate.cancel_run(row.run_id, by=Principal(by, row.tenant), reason=reason)

    row = at_store(options.settings(config, store=store, lang=lang), work)
    screen = Screen.standard()
    if json:
        screen.document({name: value for name, value in to_builtins(row).items() if name != "salt"})
    elif row.state == RunState.RUNNING:
        screen.note(say("cancel_asked", run=one_line(row.run_id)))
    elif row.state == RunState.CANCELLED:
        screen.line(say("run_cancelled", run=one_line(row.run_id)))
    else:
        screen.note(say("cancel_late", run=one_line(row.run_id), state=row.state))
    return Exit.DONE if row.state == RunState.CANCELLED else Exit.FAILED
