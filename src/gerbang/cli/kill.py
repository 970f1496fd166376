"""`gerbang kill`, `revive`, `kills`: the switches that stop calls in every process that shares the store."""

from typing import Annotated

import typer
from msgspec import to_builtins

from gerbang import Gateway
from gerbang.cli import options
from gerbang.cli.approval_view import when
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.store_gate import at_store, person
from gerbang.cli.table import rows
from gerbang.values.record import Kill

Target = Annotated[str, typer.Argument(metavar="TARGET", help="all, tool:NAME, group:NAME or tenant:NAME.")]
By = Annotated[str, typer.Option("--as", metavar="USER", help="Who does it.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command("kill")(kill)
    app.command("revive")(revive)
    app.command("kills")(kills)


def kill(
    target: Target,
    reason: Annotated[str, typer.Option("--reason", help="Why; the record keeps it.")],
    by: By = "local",
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Stop calls at once, in every process. It beats every policy."""

    async def work(gate: Gateway) -> list[Kill]:
        await gate.kill(target, by=person(by, "local", None), reason=reason)
        return await gate.kills()

    return _show(at_store(options.settings(config, store=store), work), as_json=json)


def revive(
    target: Target,
    by: By = "local",
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Turn a switch off again."""

    async def work(gate: Gateway) -> list[Kill]:
        await gate.revive(target, by=person(by, "local", None))
        return await gate.kills()

    return _show(at_store(options.settings(config, store=store), work), as_json=json)


def kills(store: options.Store = None, config: options.Config = None, json: options.Json = False) -> int:
    """List the switches that are on."""

    async def work(gate: Gateway) -> list[Kill]:
        return await gate.kills()

    return _show(at_store(options.settings(config, store=store), work), as_json=json)


def _show(found: list[Kill], *, as_json: bool) -> Exit:
    screen = Screen.standard()
    if as_json:
        screen.document([to_builtins(one) for one in found])
    elif not found:
        screen.note("No kill switch is on.")
    else:
        table = [
            (one_line(one.target, 100), one_line(one.by, 60), when(one.at), one_line(one.reason, 100))
            for one in found
        ]
        for line in rows(("switch", "by", "since", "reason"), table):
            screen.line(line)
    return Exit.DONE
