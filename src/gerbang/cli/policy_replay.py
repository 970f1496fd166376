"""`gerbang policy replay`: recorded runs against another policy, to see which decisions would change."""

from typing import Annotated, Any, Final

import typer

from gerbang.adapters.stores import shown_address
from gerbang.cli import options, street
from gerbang.cli.exits import Exit
from gerbang.cli.meant import run_id_of
from gerbang.cli.policy_records import recorded
from gerbang.cli.policy_source import PolicyName, opened
from gerbang.cli.recorded_store import with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.policy.replay import Recorded, Replayed, replay_run
from gerbang.ports import Store
from gerbang.values.counting import counted

_MAX_LIMIT: Final = 10_000
_EVENTS: Final = 10_000


def register(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command("replay")(replay)


def replay(
    policy: PolicyName,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="One run, by its id or its beginning; else the newest."),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MAX_LIMIT, help="How many runs, newest first.")] = 100,
    check: Annotated[bool, typer.Option("--check", help="Exit code 1 when a decision changes.")] = False,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Decide recorded calls again by another policy, and say which decisions change. Nothing is run.

    \b
    Examples:
      gerbang policy replay new-rules.yaml
      gerbang policy replay strict --run r1 --json
    """
    settings = options.settings(config, store=store)

    async def read(opened: Store) -> list[list[Recorded]]:
        return await _runs(opened, run, limit)

    runs = with_store(settings, read) if street.store_exists(settings) else []
    if run is not None and not runs:
        raise UsageError(f"No run {one_line(run)} in {shown_address(settings.store)}. See: gerbang runs list")
    with opened(policy) as source:
        found = [item for calls in runs for item in replay_run(calls, source.policy.decide)]
        version = source.policy.version
    screen = Screen.standard()
    if json:
        screen.document(_report(version, runs, found))
    else:
        _print(screen, settings, runs, found)
    return Exit.FAILED if check and any(item.changed for item in found) else Exit.DONE


async def _runs(store: Store, given: str | None, limit: int) -> list[list[Recorded]]:
    if given is not None:
        one = await store.run(await run_id_of(store, given))
        rows = [] if one is None else [one]
    else:
        rows = await store.runs(limit=limit)
    return [recorded(row, await _events(store, row.run_id), await store.calls(row.run_id)) for row in rows]


async def _events(store: Store, run_id: str) -> list[Any]:
    found: list[Any] = []
    while True:
        page = await store.events(run_id, after=found[-1].seq if found else 0, limit=_EVENTS)
        found += page
        if len(page) < _EVENTS:
            return found


def _report(version: str, runs: list[list[Recorded]], found: list[Replayed]) -> dict[str, Any]:
    return {
        "version": version,
        "runs": len(runs),
        "calls": len(found),
        "changed": sum(item.changed for item in found),
        "not_replayed": sum(item.now is None for item in found),
        "guessed": sum(item.now is not None and not item.call.whole for item in found),
        "decisions": [item.as_dict() for item in found],
    }


def _print(screen: Screen, settings: Settings, runs: list[list[Recorded]], found: list[Replayed]) -> None:
    if not runs:
        screen.note(
            f"No runs are recorded in {shown_address(settings.store)} yet. Start one with: gerbang chat"
        )
        return
    for item in found:
        if item.changed and item.now is not None:
            change = f"{item.call.decision} -> {item.now.decision}"
            codes = ", ".join(item.now.reasons)
            screen.line(
                f"{one_line(item.call.run_id)}  {one_line(item.call.tool)}  {change}  {one_line(codes)}"
            )
    changed = sum(item.changed for item in found)
    screen.line(f"{changed} of {len(found)} decisions change, in {counted(len(runs), 'run')}.")
    lost = sum(item.now is None for item in found)
    guessed = sum(item.now is not None and not item.call.whole for item in found)
    if lost:
        screen.line(f"Not decided again, since what was asked for was not kept: {counted(lost, 'call')}.")
    if guessed:
        screen.line(
            f"Decided on parts of what policy saw then (no roles, facts or provenance): "
            f"{counted(guessed, 'call')}."
        )
