"""Finding out how far a run got: its conversation, its last answer's calls, and what came of them."""

from typing import Any

import msgspec
from msgspec import Struct

from gerbang.approval.machine import ApprovalState
from gerbang.approval.terms import read_terms
from gerbang.approval.votes import read_votes
from gerbang.contract.catalogue import Catalogue
from gerbang.errors import UsageError
from gerbang.parse import arguments_from_json
from gerbang.policy.history import STATUSES
from gerbang.policy.tool_facts import tool_facts
from gerbang.ports import Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import step_name
from gerbang.runtime.kept import OPENING, KeptAnswer, KeptCall, Opening, read_answer, read_opening
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.taint.label import trust_of
from gerbang.values import Proposal
from gerbang.values.message import Message
from gerbang.values.record import CallRow, CallState, RunRow, RunState

_OVER = frozenset(
    {
        CallState.SUCCEEDED,
        CallState.FAILED,
        CallState.UNCERTAIN,
        CallState.RESOLVED_SUCCEEDED,
        CallState.RESOLVED_FAILED,
        CallState.REFUSED,
    }
)
"""CANCELLED is none: its run was being cancelled, and is not recorded as such."""
_PAGE = 200
RESUMABLE = frozenset({RunState.RUNNING, RunState.PENDING_APPROVAL})
"""States of a run that can be gone on with."""


class Progress(Struct, frozen=True):
    """How far a run got.

    `messages` is the conversation up to the last answer, `proposals` that answer's calls, `rows` the rows of
    those that have one. `final` says that the answer had no call. `closed` are those of the answer's calls
    that were refused (their error code), or answered by a stored result (no code), and have no row.
    """

    row: RunRow
    opening: Opening
    messages: list[Message]
    answers: int
    proposals: list[Proposal]
    rows: dict[int, CallRow]
    content: str
    used_ids: set[str]
    final: bool
    closed: dict[str, str]


async def progress_of(store: Store, row: RunRow) -> Progress:
    """Return how far the run got. Raises UsageError when it is over, or was not an agent's."""
    if row.state not in RESUMABLE:
        raise UsageError(f"Run {row.run_id} is {row.state}; there is nothing to go on with.")
    answers = await store.answers(row.run_id)
    opening = read_opening(answers[0].message) if answers and answers[0].step == OPENING else None
    if opening is None:
        raise UsageError(
            f"Run {row.run_id} keeps no conversation: whoever made its calls can make them again."
        )
    messages = list(opening.messages)
    last: KeptAnswer | None = None
    used: set[str] = set()
    for answer in answers[1:]:
        kept = read_answer(answer.message)
        if kept is None:
            raise UsageError(f"Answer {answer.step} of run {row.run_id} cannot be read.")
        messages.extend(kept.before)
        messages.append(kept.message)
        used.update(call.id for call in _calls(kept))
        last = kept
    step = len(answers) - 1
    proposals = [] if last is None else _proposals(row.run_id, step, last)
    rows = {}
    if proposals:
        for call in await store.calls(row.run_id):
            if call.step_id == step_name(step) or call.step_id == str(step):
                rows[call.ordinal] = call
    return Progress(
        row,
        opening,
        messages,
        step,
        proposals,
        rows,
        "" if last is None else last.content if last.final is None else last.final,
        used,
        last is not None and not proposals,
        await _closed(store, row.run_id, proposals) if proposals else {},
    )


async def _closed(store: Store, run_id: str, proposals: list[Proposal]) -> dict[str, str]:
    named = {proposal.call_id for proposal in proposals}
    closed: dict[str, str] = {}
    async for event in store.stream(run_id):
        if event.kind in ("call.refused", "call.replayed", "call.previewed"):
            body = msgspec.json.decode(event.body)
            if body["call_id"] in named:
                closed[body["call_id"]] = body.get("error_code", "")
    return closed


def is_over(row: CallRow, catalogue: Catalogue) -> bool:
    """Tell whether a call has its outcome: it is not made again, whatever that was.

    Not one that is UNCERTAIN and can still be found out about.
    """
    if row.state == CallState.UNCERTAIN:
        entry = catalogue.find(row.tool)
        return entry is None or entry.contract.probe is None
    return row.state in _OVER


async def remember(store: Store, session: RunSession, memory: RunMemory) -> None:
    """Give a run its counters back: its calls, what it has read from outside, what people refused."""
    for row in await store.calls(session.run_id):
        entry = session.catalogue.find(row.tool)
        if entry is None or row.state == CallState.PLANNED:
            continue
        memory.budget.recall(row.tool, row.fingerprint, entry.contract.cost_units)
        facts = tool_facts(entry.contract)
        number = memory.history.note_started(facts, row.step_id)
        good = row.state in (CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED)
        lost = row.state in (CallState.UNCERTAIN, CallState.DISPATCHED)
        memory.history.note_finished(
            number, facts, STATUSES[1] if good else STATUSES[3] if lost else STATUSES[2]
        )
        trust = trust_of(entry.contract.risk)
        if good:
            memory.tainted = memory.tainted or trust == "external"
            memory.known.hear(row.tool, trust, _value(row.result))
    await remember_refusals(store, session.run_id, memory)


async def remember_refusals(store: Store, run_id: str, memory: RunMemory) -> None:
    """Have a run know which calls people decided against: they are not asked about again."""
    for state in (ApprovalState.REFUSED, ApprovalState.EXPIRED):
        before: str | None = None
        while True:
            page = await store.approvals(run_id=run_id, state=state, before=before, limit=_PAGE)
            for approval in page:
                terms, votes = read_terms(approval.terms), read_votes(approval.votes) or ()
                lapsed = state == ApprovalState.EXPIRED and votes and votes[-1].code
                held = await store.call(approval.key)
                waits = (
                    held is not None and held.state == CallState.PLANNED
                )  # the refusal is not on record yet
                if terms is not None and not lapsed and not waits:  # else something else than time ended it
                    memory.budget.refuse_again(terms.fingerprint, refusals.decided_against(approval))
            if len(page) < _PAGE:
                break
            before = page[-1].approval_id


def _value(stored: bytes) -> Any:
    try:
        return msgspec.json.decode(stored)
    except msgspec.MsgspecError:
        return None


def _calls(kept: KeptAnswer) -> tuple[KeptCall, ...]:
    if kept.calls is not None:
        return kept.calls
    return tuple(KeptCall(call.id, call.name, _arguments(call.arguments)) for call in kept.tool_calls)


def _arguments(text: str) -> dict[str, Any] | None:
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.MsgspecError:
        value = arguments_from_json(text)[0]
    return value if isinstance(value, dict) else None


def _proposals(run_id: str, step: int, kept: KeptAnswer) -> list[Proposal]:
    return [
        Proposal(
            run_id,
            step,
            index,
            call.id,
            call.name,
            call.arguments,
            call.fault if call.arguments is None else None,
            call.repaired,
        )
        for index, call in enumerate(_calls(kept))
    ]
