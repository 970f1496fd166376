"""`gerbang tools`: what the model may be offered."""

import asyncio
from typing import Annotated, Any, Final

import msgspec
import orjson
import typer

from gerbang.cli import options, street
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.table import rows
from gerbang.cli.texts import say
from gerbang.cli.tools_approve import approve, schema
from gerbang.cli.tools_lint import lint_
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.values import Contract


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="List and show tools.", no_args_is_help=True)
    group.command("list")(list_)
    group.command("show")(show)
    group.command("lint")(lint_)
    group.command("approve")(approve)
    group.command("schema")(schema)
    app.add_typer(group, name="tools")


def list_(
    python: options.Tools = None,
    tools: options.HttpTools = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    lang: options.Lang = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """List the tools with their risk class and what they are for."""
    chosen = options.settings(config, workspace=workspace, knowledge=knowledge, lang=lang, tools_file=tools)
    contracts = asyncio.run(_contracts(chosen, python or []))
    screen = Screen.standard()
    if json:
        screen.document([_as_dict(contract) for contract in contracts])
        return Exit.DONE
    table = [(item.name, str(item.risk), one_line(item.description, 100)) for item in contracts]
    for line in rows(say("head_tools").split("|"), table):
        screen.line(line)
    return Exit.DONE


def show(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Name of the tool.")],
    python: options.Tools = None,
    tools: options.HttpTools = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    lang: options.Lang = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Show one tool's whole contract."""
    chosen = options.settings(config, workspace=workspace, knowledge=knowledge, lang=lang, tools_file=tools)
    by_name = {item.name: item for item in asyncio.run(_contracts(chosen, python or []))}
    if tool not in by_name:
        raise UsageError(say("unknown_tool", tool=one_line(tool), known=", ".join(sorted(by_name))))
    found = _as_dict(by_name[tool])
    screen = Screen.standard()
    if json:
        screen.document(found)
        return Exit.DONE
    for name, value in found.items():
        if isinstance(value, str):
            screen.line(f"{screen.styled(name, 'bold')}: {printable(value)}")
        else:
            text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
            screen.line(f"{screen.styled(name, 'bold')}: {printable(text)}")
    return Exit.DONE


async def _contracts(settings: Settings, extra: list[str]) -> list[Contract]:
    # Nothing runs, so nothing is recorded: the list must not need a writable folder, nor approved contracts.
    settings = msgspec.structs.replace(settings, pin_contracts=None)
    async with street.gateway(settings, Screen.standard(), extra, store="memory:", look=True) as gate:
        return sorted(gate.tools(), key=lambda item: item.name)


def _as_dict(contract: Contract) -> dict[str, Any]:
    return {
        "name": contract.name,
        "risk": str(contract.risk),
        "description": contract.description,
        "parameters": contract.parameters,
        "returns": contract.returns,
        "timeout_s": contract.timeout_s,
        "result_max_chars": contract.result_max_chars,
        "natural_key": list(contract.natural_key),
        "sensitive": sorted(contract.sensitive),
        "intents": sorted(contract.intents),
        "secrets": list(contract.secrets),
        "cost_units": contract.cost_units,
        **_declared(contract),
        "origin": contract.origin,
        "digest": contract.digest,
    }


def _declared(contract: Contract) -> dict[str, Any]:
    """Return what the contract says beyond the fields that every tool has."""
    return {
        field.name: msgspec.to_builtins(value, order="sorted")
        for field in msgspec.structs.fields(Contract)
        if field.name not in _ALWAYS and (value := getattr(contract, field.name)) not in ({}, field.default)
    }


_ALWAYS: Final = frozenset(
    {
        *("name", "risk", "description", "parameters", "returns", "timeout_s", "result_max_chars"),
        *("natural_key", "sensitive", "secrets", "cost_units", "origin", "digest"),
    }
)
