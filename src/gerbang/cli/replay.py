"""`gerbang replay RUN`: go through a recorded run again, without effects, up to the first difference."""

import contextlib
from typing import Annotated, Any

import orjson
import typer
from msgspec import to_builtins

from gerbang import Policy
from gerbang.cli import options, street
from gerbang.cli.exits import Exit
from gerbang.cli.meant import run_of
from gerbang.cli.recorded_store import with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.texts import say
from gerbang.compose.replay import Replayed, replay_run
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.ports import Store
from gerbang.values.counting import counted


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("replay")(replay)


def replay(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, or the beginning of it.")],
    python: options.Tools = None,
    tools: options.HttpTools = None,
    policy: options.Policy = None,
    profile: options.Profile = None,
    lang: options.Lang = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Take a run's proposals through validation, policy and presentation again; nothing is executed.

    Answers of the model and results of tools are those on record. Ends with 1 at the first difference.
    """
    settings = options.settings(
        config,
        store=store,
        policy=policy,
        profile=profile,
        lang=lang,
        workspace=workspace,
        knowledge=knowledge,
        tools_file=tools,
    )

    async def work(opened: Store) -> Replayed:
        return await _replayed(opened, settings, run_id, python or ())

    found = with_store(settings, work)
    if found.missing:
        names = ", ".join(one_line(name) for name in found.missing)
        raise UsageError(say("tool_not_here", tool=names, run=one_line(found.run_id)))
    screen = Screen.standard()
    if json:
        screen.document(to_builtins(found))
    else:
        _print(screen, found)
    return Exit.DONE if found.difference is None else Exit.FAILED


async def _replayed(store: Store, settings: Settings, run_id: str, extra: Any) -> Replayed:
    tools = [
        *street.tools(settings, extra),
        *street.contract_tools(settings),
        *street.file_tools(settings),
    ]
    async with contextlib.AsyncExitStack() as stack:
        chosen = street.policy_of(settings)
        policy = Policy.default() if chosen is None else await stack.enter_async_context(chosen)
        return await replay_run(
            store, (await run_of(store, run_id)).run_id, tools, policy, lang=settings.lang
        )


def _print(screen: Screen, found: Replayed) -> None:
    for name in found.changed:
        screen.note(f"Not as it was then: {one_line(name)}.")
    if found.lost:
        screen.note(f"Not kept, and cannot be gone through: {counted(found.lost, 'proposal')}.")
    if found.stopped:
        screen.note(
            f"Stopped then by a switch, a limit or an approval that held no longer, and not gone through: "
            f"{counted(found.stopped, 'call')}."
        )
    one = found.difference
    if one is None:
        screen.line(f"{counted(found.calls, 'call')}, no difference.")
        return
    screen.line(
        f"{one_line(one.step_id)} {one_line(one.tool)} ({one_line(one.call_id)}): {one.what} differs."
    )
    screen.line(f"  then: {one_line(_text(one.then), 500)}")
    screen.line(f"  now:  {one_line(_text(one.now), 500)}")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
