"""`gerbang runs resume` and `runs recover`: going on with runs that wait, or that were cut off."""

from typing import Annotated

import typer
from msgspec import to_builtins
from msgspec.structs import replace

from gerbang import Gateway, Principal, Result
from gerbang.cli import options, street
from gerbang.cli.exits import Exit, for_status
from gerbang.cli.meant import run_of
from gerbang.cli.narrate import Narrator, run_json
from gerbang.cli.running import run_interruptible
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.cli.texts import TEXTS, say
from gerbang.compose.recovery import Recovered
from gerbang.compose.rights import decided_as
from gerbang.compose.waiting import RESUMED_STEP
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.runtime.ballot import opened
from gerbang.runtime.events import RunResult
from gerbang.values.record import RunRow, RunState

Scopes = Annotated[
    list[str] | None,
    typer.Option(
        "--scope", help="A scope that the run's user has now; may be repeated. None: those the run had."
    ),
]
Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role", help="A role that the run's user has now; may be repeated. None: those the run had."
    ),
]


def resume(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, or the beginning of it.")],
    model: options.Model = None,
    profile: options.Profile = None,
    lang: options.Lang = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    python: options.Tools = None,
    tools: options.HttpTools = None,
    secrets: options.Secrets = None,
    policy: options.Policy = None,
    scope: Scopes = None,
    role: Roles = None,
    pending: options.Pending = False,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Go on with a run that was cut off, or whose approval has been given. Nothing finished is done again."""
    chosen = options.settings(
        config,
        model=model,
        profile=profile,
        lang=lang,
        workspace=workspace,
        knowledge=knowledge,
        policy=policy,
        store=store,
        tools_file=tools,
        secrets=secrets,
    )
    rights = _rights(scope, role)
    return run_interruptible(_resume(chosen, run_id, rights, python or [], pending=pending, as_json=json))


def recover(
    model: options.Model = None,
    profile: options.Profile = None,
    lang: options.Lang = None,
    workspace: options.Workspace = None,
    knowledge: options.Knowledge = None,
    python: options.Tools = None,
    tools: options.HttpTools = None,
    secrets: options.Secrets = None,
    policy: options.Policy = None,
    scope: Scopes = None,
    role: Roles = None,
    pending: options.Pending = False,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """See to all runs that were cut off: an agent's goes on, a single call is ended with what is known."""
    chosen = options.settings(
        config,
        model=model,
        profile=profile,
        lang=lang,
        workspace=workspace,
        knowledge=knowledge,
        policy=policy,
        store=store,
        tools_file=tools,
        secrets=secrets,
    )
    rights = _rights(scope, role)
    return run_interruptible(_recover(chosen, rights, python or [], pending=pending, as_json=json))


async def _resume(
    settings: Settings,
    run_id: str,
    rights: Principal | None,
    extra: list[str],
    *,
    pending: bool,
    as_json: bool,
) -> Exit:
    screen = _screen(settings)
    later = pending or not screen.interactive  # what waits already is not refused by coming back too early
    async with street.gateway(settings, screen, extra, pending=later) as gate:
        row = await run_of(gate.store, run_id)
        again = await _call_again(gate, row, rights)
        if again is not None:
            if as_json:
                screen.document(again.as_dict())
            else:
                Narrator(screen).result_only(again)
            return for_status(again.status)
        async with street.agent(settings, screen, gate) as agent:
            result = await agent.resume(row.run_id, principal=await _user(gate, row, rights))
    if as_json:
        screen.document(run_json(result))
    else:
        screen.line(printable(result.answer).rstrip("\n"))
        _note(screen, result)
    return for_status(result.status)


async def _call_again(gate: Gateway, row: RunRow, rights: Principal | None) -> Result | None:
    """Make the one call of a run of `gerbang call` again; None for the run of an agent.

    The same place of the same run is the same call: approved by now it runs, and what ran is not run again.
    """
    if row.prompt or await gate.store.answers(row.run_id):
        return None
    asked = await gate.store.approvals(run_id=row.run_id, limit=1)
    ballot = opened(asked[0]) if asked else None
    if ballot is None or ballot.terms.step_id != RESUMED_STEP:
        return None
    tool, user = asked[0].tool, await _user(gate, row, rights)
    if gate.catalogue.recorded(tool) is None:
        raise UsageError(say("tool_not_here", tool=one_line(tool), run=one_line(row.run_id)))
    asked_for = ballot.asked_for.decode()
    return await gate.call(tool, asked_for, run_id=row.run_id, principal=user, alone=True)


async def _recover(
    settings: Settings, rights: Principal | None, extra: list[str], *, pending: bool, as_json: bool
) -> Exit:
    screen, worst = _screen(settings), Exit.DONE
    said: list[Recovered] = []
    later = pending or not screen.interactive
    async with street.gateway(settings, screen, extra, pending=later) as gate:
        found = await gate.recover()
        said += [one for one in found if one.state != RunState.RUNNING]
        open_runs = [one.run_id for one in found if one.state == RunState.RUNNING]
        if open_runs:
            async with street.agent(settings, screen, gate) as agent:
                for name in open_runs:
                    row = await gate.store.run(name)
                    assert row is not None  # noqa: S101 - it was found a moment ago
                    try:
                        result = await agent.resume(name, principal=await _user(gate, row, rights))
                    except UsageError as error:  # driven by another process by now, or cannot be read
                        screen.note(one_line(str(error), 400))
                        worst = max(worst, Exit.FAILED)
                        continue
                    calls = tuple((call.tool, call.status) for call in result.calls)
                    said.append(Recovered(name, result.status, calls))
                    worst = max(worst, for_status(result.status))
    if as_json:
        screen.document([to_builtins(one) for one in said])
    elif not said:
        screen.note(say("none_cut_off"))
    for one in () if as_json else said:
        calls_said = ", ".join(f"{tool} {state}" for tool, state in one.calls)
        screen.line(one_line(f"{one.run_id}  {one.state}  {calls_said}".rstrip(), 400))
    return worst


def _screen(settings: Settings) -> Screen:
    if not street.store_exists(settings):
        raise UsageError(say("no_store"))
    return Screen.standard()


def _rights(scopes: list[str] | None, roles: list[str] | None) -> Principal | None:
    """Return the rights that were named; None: none was, which is not to say that there are none."""
    return Principal("", scopes=scopes or (), roles=roles or ()) if scopes or roles else None


async def _user(gate: Gateway, row: RunRow, rights: Principal | None) -> Principal:
    """Return whose the run is, with the rights that were named, or else with those that the run had."""
    then = await decided_as(gate.store, row) or Principal(row.user, row.tenant)
    return then if rights is None else replace(then, scopes=rights.scopes, roles=rights.roles)


def _note(screen: Screen, result: RunResult) -> None:
    if result.status != "completed":
        detail = f": {one_line(result.detail, 400)}" if result.detail else ""
        ending = say(f"end_{result.status}") if f"end_{result.status}" in TEXTS else result.status
        screen.note(f"({ending}{detail})")
    for call in result.calls:
        if call.status == "pending" and call.approval_id:
            screen.note(say("call_waits", id=one_line(call.approval_id)))
