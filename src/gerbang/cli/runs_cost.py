"""`gerbang runs cost`: what runs cost, by run, tool, user, team or tenant."""

import re
import time
from enum import StrEnum
from typing import Annotated, Any, Final

import orjson
import typer
from msgspec import to_builtins

from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.recorded_store import with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.table import rows
from gerbang.compose.costs import Cost, costs
from gerbang.errors import UsageError
from gerbang.ports import Store
from gerbang.values.instant import seconds_of

_SPAN: Final = re.compile(r"([0-9]{1,6})([smhdw])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_HEAD: Final = (
    "name",
    "runs",
    "calls",
    "refused",
    "errors",
    "cost",
    "seconds",
    "answers",
    "tokens in",
    "out",
)
_TABLE_ROWS: Final = 10_000


class By(StrEnum):
    """What the sums are of."""

    RUN = "run"
    TOOL = "tool"
    USER = "user"
    TEAM = "team"
    TENANT = "tenant"


def add(group: typer.Typer) -> None:
    """Add the command to the group of `runs`."""
    group.command("cost")(cost)


def cost(
    by: Annotated[By, typer.Option("--by", help="What the sums are of.")] = By.RUN,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="2026-01-31, an RFC 3339 time, or 12h, 7d.")
    ] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only runs of this tenant.")] = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Add up cost units, calls, errors, time and tokens. With --json one document a line."""
    settings = options.settings(config, store=store)
    start = 0.0 if since is None else _since(since)
    screen = Screen.standard()
    found: list[Cost] = []

    async def work(opened: Store) -> None:
        async for one in costs(opened, by.value, since=start, tenant=tenant):
            if json:
                screen.write(orjson.dumps(to_builtins(one)).decode() + "\n")
            else:
                found.append(one)
                if len(found) == _TABLE_ROWS:  # a table has to know all its lines
                    _print(screen, found)
                    found.clear()

    with_store(settings, work)
    if not json:
        _print(screen, found)
    return Exit.DONE


def _print(screen: Screen, found: list[Cost]) -> None:
    for line in rows(_HEAD, [_cells(one) for one in found]):
        screen.line(line)


def _cells(one: Cost) -> tuple[str, ...]:
    values: list[Any] = [one.runs, one.calls, one.refused, one.errors, f"{one.cost_units:g}"]
    values += [f"{one.seconds:.3f}", one.answers, one.input_tokens, one.output_tokens]
    return (one_line(one.name, 60), *map(str, values))


def _since(text: str) -> float:
    span = _SPAN.fullmatch(text)
    if span is not None:
        return time.time() - int(span[1]) * _UNITS[span[2]]
    found = seconds_of(text)
    if found is None:
        raise UsageError(
            f"--since takes 2026-01-31, an RFC 3339 time, or a span such as 7d; not {text[:40]!r}."
        )
    return found
