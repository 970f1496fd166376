"""`gerbang tools approve` and `gerbang tools schema`: contract files, their definitions and their format."""

import asyncio
import getpass
from typing import Annotated, Any

import msgspec
import orjson
import typer

from gerbang.adapters.tools.contract_files import contract_schema
from gerbang.cli import options, street
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.texts import say
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.values import Principal

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[TOOL]...", help="Tools to approve. Without any: what waits.")
]
Contracts = Annotated[
    str | None, typer.Option("--contracts", metavar="PATH", help="A file or folder of contracts.")
]


def approve(
    tools: Names = None,
    contracts: Contracts = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Approve contracts of files as they are now, or list those that wait. Exit code 3 when some wait."""
    chosen = options.settings(config, contracts=contracts, store=store, pin_contracts=True)
    if chosen.contracts is None:
        raise UsageError(say("contracts_where"))
    held = asyncio.run(_approve(chosen, tools or []))
    screen = Screen.standard()
    for name in () if json else tools or ():
        screen.line(say("contract_approved", tool=one_line(name)))
    if json:
        screen.document([msgspec.to_builtins(tool) for tool in held])
    for tool in () if json else held:
        was = say("never_approved") if tool.approved is None else say("approved_as", digest=tool.approved)
        facts = {"tool": tool.name, "digest": tool.digest, "origin": one_line(tool.origin)}
        screen.line(say("contract_waits", was=was, **facts))
    if not held and not json:
        screen.line(say("no_contract_waits"))
    return Exit.WAITING if held else Exit.DONE


def schema(json: options.Json = False) -> int:
    """Print the JSON Schema of contract files, for editors. With --json on one line."""
    if json:
        Screen.standard().document(contract_schema())
    else:
        Screen.standard().line(orjson.dumps(contract_schema(), option=orjson.OPT_INDENT_2).decode())
    return Exit.DONE


async def _approve(settings: Settings, names: list[str]) -> tuple[Any, ...]:
    async with street.gateway(settings, Screen.standard(), look=True) as gate:
        for name in names:
            await gate.approve_tool(name, by=Principal(getpass.getuser()))
        return gate.held_tools
