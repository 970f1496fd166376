"""`gerbang audit erase` and `prune`: take payloads away and leave the chain."""

import getpass
from typing import Annotated, Final

import typer

from gerbang.adapters.clock import SystemClock
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.meant import run_of
from gerbang.cli.recorded_store import with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.compose.erasure import DAY_S, Pruned, erase_run, prune
from gerbang.errors import UsageError
from gerbang.ports import Store
from gerbang.runtime.store_time import following
from gerbang.values import Principal
from gerbang.values.counting import counted

Reason = Annotated[str, typer.Option("--reason", help="Why; it goes on record.")]
_MAX_REASON: Final = 500


def add(group: typer.Typer) -> None:
    """Add the commands to their group."""
    group.command("erase")(erase)
    group.command("prune")(prune_)


def erase(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of a run that is over, or its beginning.")],
    reason: Reason = "",
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Erase the prompt, answers, arguments and results of a run. Its audit chain stays whole."""
    settings = options.settings(config, store=store)

    async def work(opened: Store) -> tuple[str, str]:
        row = await run_of(opened, run_id)
        by = _person(row.tenant)
        return row.run_id, await erase_run(
            opened, await following(SystemClock(), opened), row.run_id, by, reason[:_MAX_REASON]
        )

    name, event_id = with_store(settings, work)
    screen = Screen.standard()
    if json:
        screen.document({"erased": name, "event_id": event_id})
    else:
        screen.line(f"Erased the payloads of {one_line(name)}; recorded as {one_line(event_id)}.")
    return Exit.DONE


def prune_(
    days: Annotated[
        float | None,
        typer.Option(min=0, max=36_500, help="Older than so many days; else the setting retention_days."),
    ] = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Erase the payloads of all runs that are over and older than the retention."""
    settings = options.settings(config, store=store)
    limit = settings.retention_days if days is None else days
    if limit is None:
        raise UsageError("How old may payloads get? Give --days, or set retention_days.")

    async def work(opened: Store) -> Pruned:
        return await prune(opened, await following(SystemClock(), opened), limit * DAY_S, _person("local"))

    done = with_store(settings, work)
    screen = Screen.standard()
    if json:
        screen.document(
            {
                "erased": list(done.erased),
                "left": [{"run_id": name, "why": why} for name, why in done.left],
            }
        )
        return Exit.DONE
    for name, why in done.left:
        screen.note(f"{one_line(name)} was left: {one_line(why)}")
    screen.line(f"Erased the payloads of {counted(len(done.erased), 'run')}.")
    return Exit.DONE


def _person(tenant: str) -> Principal:
    """Return who sits at this machine: whoever can run the command can read the store as well."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        name = "local"
    return Principal(name, tenant)
