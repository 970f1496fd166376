"""`gerbang approvals outbox`: messages to a webhook that have not been taken. Their content is not shown."""

from typing import Annotated, Any, Final

import typer

from gerbang import Gateway
from gerbang.audit.redact import redact
from gerbang.cli import options
from gerbang.cli.approval_view import when
from gerbang.cli.exits import Exit
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.cli.store_gate import at_store
from gerbang.cli.table import rows
from gerbang.values.record import Message, MessageState

_MAX_LIMIT: Final = 1_000
_HEAD: Final = ("message", "about", "channel", "state", "attempts", "last answer", "next try")


def outbox(
    given_up: Annotated[
        bool, typer.Option("--given-up", help="Those that are not sent any more, instead of those that wait.")
    ] = False,
    channel: Annotated[str | None, typer.Option("--channel", help="Only those of this channel.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MAX_LIMIT, help="How many, earliest due first.")] = 50,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """List messages to a webhook that have not been taken: how often they were sent, and what came back."""

    async def read(gate: Gateway) -> tuple[list[Message], float]:
        found = await gate.store.messages(channel, limit=limit, given_up=given_up)
        return found, await gate.store.time()

    found, now = at_store(options.settings(config, store=store), read)
    screen = Screen.standard()
    if json:
        screen.document([_as_dict(message) for message in found])
        return Exit.DONE
    if not found:
        screen.note("No message was given up." if given_up else "No message waits to be sent.")
        return Exit.DONE
    for line in rows(_HEAD, [_cells(message, now) for message in found]):
        screen.line(one_line(line, 400))
    if len(found) == limit:
        screen.note(f"There may be more: --limit {min(2 * limit, _MAX_LIMIT)}")
    return Exit.DONE


def _answer(message: Message) -> str:
    """Return why it was not taken the last time, without what could be a secret."""
    return one_line(redact(message.error), 80)


def _next(message: Message) -> float | None:
    return message.due_at if message.state == MessageState.WAITING else None


def _cells(message: Message, now: float) -> tuple[str, ...]:
    due = _next(message)
    return (
        one_line(message.message_id, 60),
        one_line(f"{message.kind} {message.approval_id or message.run_id}", 80),
        one_line(message.channel, 40),
        "given up" if message.state == MessageState.GIVEN_UP else "waiting",
        str(message.attempts),
        _answer(message) or "-",
        "-" if due is None else "now" if due <= now else when(due),
    )


def _as_dict(message: Message) -> dict[str, Any]:
    return {
        "message_id": message.message_id,
        "channel": message.channel,
        "run_id": message.run_id,
        "approval_id": message.approval_id,
        "kind": message.kind,
        "state": str(message.state),
        "created_at": message.created_at,
        "attempts": message.attempts,
        "status": message.status,
        "error": _answer(message),
        "next_at": _next(message),
    }
