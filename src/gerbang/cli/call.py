"""`gerbang call`: one tool, once, through the gate."""

import contextlib
import sys
from typing import Annotated

import typer

from gerbang.cli import options, street
from gerbang.cli.exits import Exit, for_status
from gerbang.cli.json_text import read_object
from gerbang.cli.narrate import Narrator
from gerbang.cli.running import run_interruptible
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.standard_input import read_all
from gerbang.cli.texts import language, say
from gerbang.config import Settings
from gerbang.limits import MAX_ARGUMENT_BYTES
from gerbang.runtime.run_settings import new_run_id
from gerbang.values.sentences import advised, further_advice, in_language


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("call")(call)


def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Name of the tool; see: gerbang tools list")],
    arguments: Annotated[
        str, typer.Argument(metavar="JSON", help="Arguments as a JSON object; - reads standard input.")
    ] = "{}",
    python: options.Tools = None,
    tools: options.HttpTools = None,
    secrets: options.Secrets = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    policy: options.Policy = None,
    lang: options.Lang = None,
    store: options.Store = None,
    config: options.Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen and why; run and record nothing.")
    ] = False,
    pending: options.Pending = False,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="RUN", help="The run of an earlier call, by its whole name: go on with it."
        ),
    ] = None,
    json: options.Json = False,
) -> int:
    """Call one tool through the gate and print what came back.

    The same call with the same --run is the same call: approved by now it runs, and what ran is not run
    again.
    """
    chosen = options.settings(
        config,
        workspace=workspace,
        knowledge=knowledge,
        policy=policy,
        lang=lang,
        store=store,
        tools_file=tools,
        secrets=secrets,
    )
    text = read_all(MAX_ARGUMENT_BYTES, say("the_arguments")) if arguments == "-" else arguments
    if dry_run:
        return run_interruptible(
            _dry_run(chosen, tool, read_object(text), python or [], as_json=json, run_id=run)
        )
    return run_interruptible(
        _call(chosen, tool, read_object(text), python or [], as_json=json, pending=pending, run_id=run)
    )


async def _call(
    settings: Settings,
    tool: str,
    arguments: dict[str, object],
    extra: list[str],
    *,
    as_json: bool,
    pending: bool,
    run_id: str | None,
) -> Exit:
    screen = Screen.standard()
    with contextlib.redirect_stdout(sys.stderr):  # what a tool prints is no part of the answer
        later = pending or (run_id is not None and not screen.interactive)  # as when a run is gone on with
        async with street.gateway(settings, screen, extra, pending=later) as gate:
            named = run_id or (new_run_id() if pending else None)  # what waits is found again by its run
            result = await gate.call(tool, arguments, run_id=named, alone=True)
    if as_json:
        screen.document(result.as_dict())
    else:
        Narrator(screen).result_only(result)
    return for_status(result.status)


async def _dry_run(
    settings: Settings,
    tool: str,
    arguments: dict[str, object],
    extra: list[str],
    *,
    as_json: bool,
    run_id: str | None,
) -> Exit:
    screen = Screen.standard()
    with contextlib.redirect_stdout(sys.stderr):  # what a tool prints is no part of the answer
        async with street.gateway(settings, screen, extra) as gate:
            would = await gate.dry_run(tool, arguments, run_id=run_id)
    if as_json:
        screen.document(would.as_dict())
    else:
        reasons = ", ".join(would.decision.reasons)
        screen.line(say("decision", decision=one_line(would.decision.decision), reasons=one_line(reasons)))
        if would.error is not None:
            error = advised(in_language(would.error, language()), language())
            screen.line(printable(f"{error.message} {further_advice(error)}".rstrip()))
        for line in printable(would.preview).splitlines():
            screen.line(line)
        screen.line(say("nothing_run"))
    return Exit.FAILED if would.decision.decision == "deny" else Exit.DONE
