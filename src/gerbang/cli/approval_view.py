"""A request for approval as a person reads it, and as JSON. Everything that is to be masked is."""

import datetime
from collections.abc import Iterator
from typing import Any

from gerbang.approval.seal import shown_mark
from gerbang.cli.safe_text import one_line, printable
from gerbang.cli.screen import Screen
from gerbang.runtime.ballot import opened
from gerbang.runtime.requests import shown_arguments
from gerbang.values.record import ApprovalRow


def as_dict(row: ApprovalRow) -> dict[str, Any]:
    """Return the request as JSON."""
    ballot = opened(row)
    found: dict[str, Any] = {
        "approval_id": row.approval_id,
        "run_id": row.run_id,
        "tool": row.tool,
        "tenant": row.tenant,
        "state": str(row.state),
        "preview": row.preview,
        "arguments": shown_arguments(row),
        "reasons": [reason for reason in row.reasons.split(",") if reason],
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "decided_by": row.decided_by,
        "decided_at": row.decided_at,
        "note": row.note,
        "mark": shown_mark(row),
    }
    return found if ballot is None else found | ballot.facts


def lines(screen: Screen, row: ApprovalRow, now: float) -> Iterator[str]:
    """Yield the lines that show one request at the store's time `now`. All of them are safe to print."""
    found = as_dict(row)

    def line(name: str, text: Any) -> str:
        return f"{screen.styled(f'{name:<12}', 'bold')}{one_line(str(text), 400)}"

    yield line("approval", f"{row.approval_id}  {state_now(row, now)}")
    yield line("run", row.run_id)
    yield line("for", f"{found.get('asked_for', '?')} of {row.tenant}")
    yield line("asked", f"{when(row.created_at)}, good until {when(row.expires_at)}")
    yield ""
    for text in printable(row.preview).splitlines():
        yield f"  {text}"
    yield ""
    if found.get("tainted"):
        yield line("taint", "the run has read something from outside")
    if found.get("obligations"):
        yield line("policy wants", ", ".join(found["obligations"]))
    for name in found.get("files", ()):
        yield line("file", name)
    for vote in found.get("votes", ()):
        who = vote["user"] or "the runtime"
        roles = f" ({', '.join(vote['roles'])})" if vote["roles"] else ""
        note = f": {vote['note']}" if vote["note"] else ""
        yield line("vote", f"{who}{roles} {vote['verdict']}, {when(vote['at'])}{note}")
    for change in found.get("changes", ()):
        yield line("changed", change)
    if not found.get("checked", True):
        yield line("", "The change is checked against the tool's contract when the call is made.")
    if row.note:
        yield line("note", row.note)
    if row.state == "pending":
        yield line("mark", found["mark"])


def state_now(row: ApprovalRow, now: float) -> str:
    """Return the state, with a word when its time is over though nobody has noted that yet."""
    over = row.state in ("pending", "granted") and now >= row.expires_at
    return f"{row.state}, too late" if over else str(row.state)


def when(seconds: float) -> str:
    """Return a time in the local zone."""
    return datetime.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
