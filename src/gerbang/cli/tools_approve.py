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
        raise UsageError("Name a file or folder of contracts: --contracts PATH, or the setting contracts.")
    held = asyncio.run(_approve(chosen, tools or []))
    screen = Screen.standard()
    if json:
        screen.document([msgspec.to_builtins(tool) for tool in held])
    for tool in () if json else held:
        was = "never approved" if tool.approved is None else f"approved as {tool.approved}"
        screen.line(f"{tool.name} waits: {was}, now {tool.digest} ({one_line(tool.origin)})")
    if not held and not json:
        screen.line("No contract waits for approval.")
    return Exit.WAITING if held else Exit.DONE


def schema() -> int:
    """Print the JSON Schema of contract files, for editors."""
    Screen.standard().line(orjson.dumps(contract_schema(), option=orjson.OPT_INDENT_2).decode())
    return Exit.DONE


async def _approve(settings: Settings, names: list[str]) -> tuple[Any, ...]:
    async with street.gateway(settings, Screen.standard()) as gate:
        for name in names:
            await gate.approve_tool(name, by=Principal(getpass.getuser()))
        return gate.held_tools
