"""`gerbang approvals`: what waits for a person, and deciding it. Works on the store, without the tools."""

import os
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final

import typer
from msgspec import to_builtins

from gerbang import Gateway
from gerbang.approval.seal import shown_mark
from gerbang.cli import options, street
from gerbang.cli.approval_view import as_dict, lines, state_now, when
from gerbang.cli.approvals_outbox import outbox
from gerbang.cli.editing import edited_text, editor_of
from gerbang.cli.exits import Exit
from gerbang.cli.json_text import read_object
from gerbang.cli.meant import approval_id_of, run_id_of
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.store_gate import at_store, person
from gerbang.cli.table import rows
from gerbang.cli.timeline import next_step
from gerbang.compose.people import Objected, Unfit
from gerbang.compose.waiting import Waits, waits_for
from gerbang.config import Settings
from gerbang.errors import UsageError
from gerbang.runtime.requests import shown_arguments
from gerbang.values import CallError
from gerbang.values.principal import MAX_NAME
from gerbang.values.record import ApprovalRow

_MAX_LIMIT: Final = 1_000
_ALL: Final = "all"
_RUNS_WHEN_MADE: Final = "The call runs when its program makes it again."
_TOLD: Final = "Whoever made the call is told when they make it again."
_STATES: Final = ("pending", "granted", "refused", "expired", "cancelled", "used", _ALL)

Name = Annotated[
    str,
    typer.Argument(metavar="APPROVAL", help="Id of the request, or its beginning; see: list"),
]
By = Annotated[str, typer.Option("--as", metavar="USER", help="Who decides.")]
Tenant = Annotated[str, typer.Option("--tenant", help="The tenant of the one who decides.")]
Role = Annotated[list[str] | None, typer.Option("--role", help="A role of theirs; may be repeated.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; the record keeps it.")]
Mark = Annotated[
    str | None,
    typer.Option(
        "--mark",
        metavar="MARK",
        help="The mark that show printed: nothing is decided if somebody has spoken on it since.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(help="List and decide requests for approval.", no_args_is_help=True)
    for name, command in (
        ("list", list_),
        ("show", show),
        ("approve", approve),
        ("deny", deny),
        ("edit", edit),
        ("cancel", cancel),
        ("outbox", outbox),
    ):
        group.command(name)(command)
    app.add_typer(group, name="approvals")


def list_(
    state: Annotated[
        str,
        typer.Option(help="pending, granted, refused, expired, cancelled, used, or all."),
    ] = "pending",
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only those of this tenant.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Only those of this run.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MAX_LIMIT, help="How many, newest first.")] = 50,
    before: Annotated[
        str | None, typer.Option("--before", metavar="APPROVAL", help="Go on after this one.")
    ] = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """List requests, newest first."""
    if state not in _STATES:
        raise UsageError(f"There is no state {one_line(state, 40)}. Write one of {', '.join(_STATES)}.")

    async def read(gate: Gateway) -> tuple[list[ApprovalRow], float]:
        rows_found = await gate.store.approvals(
            run_id=None if run is None else await run_id_of(gate.store, run),
            state=None if state == _ALL else state,
            tenant=tenant,
            before=None if before is None else await approval_id_of(gate.store, before),
            limit=limit,
        )
        return rows_found, await gate.store.time()

    found, now = at_store(options.settings(config, store=store), read)
    screen = Screen.standard()
    if json:
        screen.document([as_dict(row) for row in found])
        return Exit.DONE
    if not found:
        screen.note("Nothing waits for approval." if state == "pending" else "There are none.")
        return Exit.DONE
    table = [
        (
            row.approval_id,
            state_now(row, now),
            one_line(row.tool, 60),
            row.tenant,
            when(row.expires_at),
            row.reasons,
        )
        for row in found
    ]
    for line in rows(("approval", "state", "tool", "tenant", "good until", "because"), table):
        screen.line(one_line(line, 300))
    if len(found) == limit:
        screen.note(f"There may be more: --before {found[-1].approval_id}")
    return Exit.DONE


def show(
    approval_id: Name,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Show what a request would run, why it is asked, and who has said what."""

    async def read(gate: Gateway) -> tuple[ApprovalRow, Waits | None, float]:
        row = await _found(gate, approval_id)
        return row, await _waits(gate, row), await gate.store.time()

    row, waits, now = at_store(options.settings(config, store=store), read)
    screen = Screen.standard()
    if json:
        screen.document({**as_dict(row), "run_waits_for": to_builtins(waits)})
    else:
        for line in lines(screen, row, now):
            screen.line(line)
        if row.state != "pending" and waits is not None:
            screen.line(f"{screen.styled('next        ', 'bold')}{next_step(row.run_id, waits)}")
    return Exit.DONE


def approve(
    approval_id: Name,
    by: By = "local",
    tenant: Tenant = "local",
    role: Role = None,
    reason: Reason = "",
    mark: Mark = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Agree to a request. The call runs when it is made again, or its run is resumed."""
    who = person(by, tenant, role)

    def decide(gate: Gateway, name: str) -> Awaitable[ApprovalRow]:
        return gate.approve(name, by=who, reason=reason, seen=mark)

    return _decided(options.settings(config, store=store), _of(approval_id, decide), as_json=json)


def deny(
    approval_id: Name,
    by: By = "local",
    tenant: Tenant = "local",
    role: Role = None,
    reason: Reason = "",
    mark: Mark = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Refuse a request. The model is told, with the reason."""
    who = person(by, tenant, role)

    def decide(gate: Gateway, name: str) -> Awaitable[ApprovalRow]:
        return gate.refuse(name, by=who, reason=reason, seen=mark)

    return _decided(options.settings(config, store=store), _of(approval_id, decide), as_json=json)


def cancel(
    approval_id: Name,
    by: By = "local",
    tenant: Tenant = "local",
    reason: Reason = "",
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Withdraw a request that nobody has decided."""
    who = person(by, tenant, None)

    def decide(gate: Gateway, name: str) -> Awaitable[ApprovalRow]:
        return gate.cancel(name, by=who, reason=reason)

    return _decided(options.settings(config, store=store), _of(approval_id, decide), as_json=json)


def edit(
    approval_id: Name,
    arguments: Annotated[
        str | None, typer.Option("--arguments", metavar="JSON", help="The new arguments; else $EDITOR opens.")
    ] = None,
    by: By = "local",
    tenant: Tenant = "local",
    role: Role = None,
    reason: Reason = "",
    mark: Mark = None,
    python: options.Tools = None,
    tools: options.HttpTools = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Agree to a request with other arguments. They are checked now when the tool is named, else when the
    call is made.
    """
    who, given = person(by, tenant, role), None if arguments is None else read_object(arguments)
    settings = options.settings(config, store=store, tools_file=tools)
    known = [
        *street.tools(settings, python or [], look=True),
        *street.contract_tools(settings),
        *street.file_tools(settings),
    ]

    async def work(gate: Gateway) -> ApprovalRow:
        row = await _found(gate, approval_id)
        new = await _in_editor(row) if given is None else given
        if new == shown_arguments(row):
            raise UsageError("Nothing was changed. To agree to it as it is: gerbang approvals approve")
        seen = shown_mark(row) if mark is None else mark
        return await gate.approve(row.approval_id, by=who, arguments=new, reason=reason, seen=seen)

    return _decided(settings, work, known, as_json=json)


def _of(
    approval_id: str, decide: Callable[[Gateway, str], Awaitable[ApprovalRow]]
) -> Callable[[Gateway], Awaitable[ApprovalRow]]:
    """Return what decides the request that is meant."""

    async def work(gate: Gateway) -> ApprovalRow:
        return await decide(gate, await approval_id_of(gate.store, approval_id))

    return work


async def _in_editor(row: ApprovalRow) -> dict[str, Any]:
    editor = editor_of(os.environ)
    if editor is None:
        raise UsageError("No editor is known. Set EDITOR, or give the new arguments with --arguments.")
    try:
        return read_object(await edited_text(editor, shown_arguments(row)))
    except OSError as error:
        raise UsageError(f"The editor {editor!r} cannot be run: {error.strerror}.") from None


async def _found(gate: Gateway, approval_id: str) -> ApprovalRow:
    row = await gate.store.approval(await approval_id_of(gate.store, approval_id))
    if row is None:
        raise UsageError(f"There is no approval {one_line(approval_id, 80)}. See: gerbang approvals list")
    return row


def _decided(settings: Settings, work: Any, tools: Sequence[Any] = (), *, as_json: bool) -> Exit:
    """Do the work, print the request after it, and return the exit code: 3 when it still waits."""
    screen = Screen.standard()

    async def done(gate: Gateway) -> tuple[ApprovalRow, Waits | None]:
        row: ApprovalRow = await work(gate)
        return row, await _waits(gate, row)

    try:
        row, waits = at_store(settings, done, tools)
    except Objected as error:
        screen.note(one_line(str(error), 600))
        return Exit.FAILED
    except Unfit as unfit:
        return _unfit(screen, unfit.error, as_json=as_json)
    found = as_dict(row)
    if as_json:
        screen.document(found)
    else:
        for change in found.get("changes", ()):
            screen.line(f"Changed: {one_line(change, 400)}")
        screen.line(_said(row, waits))
    if row.state in ("granted", "pending") and not found.get("checked", True):
        tool = one_line(row.tool, 100)
        screen.note(
            f"Not checked: the contract of {tool} is not known here. The new arguments are checked when the "
            "run goes on, and the call is refused then if they do not fit. Named with --python or --tools, "
            "the tool is asked at once."
        )
    return Exit.WAITING if row.state == "pending" else Exit.DONE


def _unfit(screen: Screen, error: CallError, *, as_json: bool) -> Exit:
    """Say what is wrong with new arguments: all of it, in the words that a call would get."""
    if as_json:
        screen.document({"changed": False, "error": error.as_dict()})
    screen.note(f"The new arguments do not fit the tool: {one_line(error.message, 400)}")
    for finding in error.invalid_fields:
        place = one_line(finding.path or "/", 200)
        screen.note(f"  {place}: {finding.code}: {one_line(finding.message, 400)}")
    screen.note("Nothing was changed: the request waits as it was.")
    return Exit.USAGE


async def _waits(gate: Gateway, row: ApprovalRow) -> Waits | None:
    """Return what the request's run waits for now; None when it does not wait as a whole."""
    run = await gate.store.run(row.run_id)
    return None if run is None else await waits_for(gate.store, run, await gate.store.time())


def _said(row: ApprovalRow, waits: Waits | None) -> str:
    name, run = row.approval_id, one_line(row.run_id, 10 * MAX_NAME)
    goes_on = waits is not None and waits.what == "resume"
    others = ""
    if waits is not None and waits.what == "person":
        others = f" Its run waits for another decision too: {next_step(row.run_id, waits)}"
    match str(row.state):
        case "granted":
            said = f"Go on with its run: gerbang runs resume {run}" if goes_on else _RUNS_WHEN_MADE
            return f"{name} is granted.{others or ' ' + said}"
        case "refused":
            said = f"Its run hears of it when it goes on: gerbang runs resume {run}" if goes_on else _TOLD
            return f"{name} is refused.{others or ' ' + said}"
        case "pending":
            agreed = ", ".join(as_dict(row)["agreed"]) or "nobody"
            return f"{name} still waits: {one_line(agreed, 200)} agreed to it as it is; one more has to."
        case state:
            said = f" Its run goes on with: gerbang runs resume {run}" if goes_on else ""
            return f"{name} is {state}: the call may be asked for anew.{others or said}"
