"""Finding out how far a run got: its conversation, its last answer's calls, and what came of them."""

from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import ApprovalState
from gerbang.approval.terms import read_terms
from gerbang.approval.votes import read_votes
from gerbang.contract.catalogue import Catalogue
from gerbang.errors import UsageError
from gerbang.ledger.retry import next_step
from gerbang.parse import arguments_from_json
from gerbang.policy.history import STATUSES
from gerbang.policy.tool_facts import ToolFacts, make_tool_facts, tool_facts
from gerbang.ports import Store
from gerbang.runtime import refusals
from gerbang.runtime.bodies import step_name
from gerbang.runtime.denying import any_sent
from gerbang.runtime.kept import OPENING, KeptAnswer, KeptCall, Opening, read_answer, read_opening
from gerbang.runtime.listening import listen
from gerbang.runtime.probing import is_probe
from gerbang.runtime.session import Elsewhere, RunMemory, RunSession
from gerbang.runtime.stored import read_stored
from gerbang.taint.label import trust_of
from gerbang.taint.provenance import field_names
from gerbang.values import Contract, Proposal, RiskClass
from gerbang.values.failure import OWN_WORDS
from gerbang.values.message import Message
from gerbang.values.record import CallRow, CallState, RunRow, RunState
from gerbang.values.taint import TrustLevel

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
_NEVER_SENT = frozenset({CallState.PLANNED, CallState.CANCELLED, CallState.REFUSED})
_TRUSTED: Final[tuple[TrustLevel, ...]] = ("trusted", "internal", "external")
_PAGE = 200
RESUMABLE = frozenset({RunState.RUNNING, RunState.PENDING_APPROVAL})
"""States of a run that can be gone on with."""


class _Noted(Struct, frozen=True):
    """What is looked up of a run's records."""

    call_id: str = ""
    risk_class: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class Progress(Struct, frozen=True):
    """How far a run got.

    `messages` is the conversation up to the last answer, `proposals` that answer's calls, `rows` the rows of
    those that have one. `final` says that the answer had no call. `closed` are those of the answer's calls
    that were refused (their error code), or answered by a stored result (no code), and have no row. `ran`
    tells that a call of an earlier answer was let through.
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
    ran: bool = False


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
    proposals = [] if last is None else proposals_of(row.run_id, step, last)
    rows, earlier = {}, []
    for call in await store.calls(row.run_id) if proposals else ():
        if call.step_id == step_name(step) or call.step_id == str(step):
            rows[call.ordinal] = call
        else:
            earlier.append(call)
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
        any_sent(earlier),
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
    answers = await store.answers(session.run_id)
    opening = read_opening(answers[0].message) if answers and answers[0].step == OPENING else None
    if opening is not None:
        listen(memory, opening.messages)
    await remember_calls(store, session.run_id, session.catalogue, memory)
    await remember_refusals(store, session.run_id, memory)


async def remember_calls(store: Store, run_id: str, catalogue: Catalogue, memory: RunMemory) -> None:
    """Give a run back what its calls have left, those of tools too that it may not know of any more.

    A tool counts as what it was when it was called, if it has become harmless or is gone since. In a run that
    others may drive too, what they have sent and not ended goes on; what they do from now on is not counted.
    """
    classes, tokens, last = await _recorded(store, run_id)
    shared = memory.knows >= 0
    memory.knows = last if shared else -1
    memory.budget.tokens += tokens
    for row in await store.calls(run_id):
        if row.state in _NEVER_SENT or is_probe(row) or (shared and row.call_id not in classes):
            continue
        was = classes.get(row.call_id, "")
        contract, facts = facts_of(catalogue, row.tool, was)
        memory.budget.recall(row.tool, row.fingerprint, 0.0 if contract is None else contract.cost_units)
        good = row.state in (CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED)
        lost = row.state in (CallState.UNCERTAIN, CallState.DISPATCHED)
        number = memory.history.note_started(facts, row.step_id)
        if shared and row.state == CallState.DISPATCHED:
            memory.elsewhere[row.step_id, row.call_id] = Elsewhere(number, facts)
            continue
        memory.history.note_finished(
            number, facts, STATUSES[1] if good else STATUSES[3] if lost else STATUSES[2]
        )
        heard(memory, row, contract, was)


def facts_of(catalogue: Catalogue, tool: str, was: str) -> tuple[Contract | None, ToolFacts]:
    """Return the contract of a recorded call's tool, and what policy sees of it. `was` is its class then."""
    entry = catalogue.recorded(tool)
    contract = None if entry is None else entry.contract
    facts = make_tool_facts(tool, was) if contract is None else tool_facts(contract)
    if was and was != facts.risk_class:
        facts = replace(facts, keys=(*facts.keys, f"class:{was}"))
    return contract, facts


def heard(
    memory: RunMemory, row: CallRow, contract: Contract | None, was: str, *, taint: bool = True
) -> bool:
    """Have a run know what a recorded call told it. Returns whether the call succeeded."""
    good = row.state in (CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED)
    trust = _trust(contract, was)
    output, error = read_stored(row.result)
    told = None if output is None else output.value
    speaks = error is not None and error.said == OWN_WORDS
    if error is not None and speaks:
        told = error.message
    if error is not None and contract is not None and next_step(contract, error, row.attempt) == "ask":
        memory.budget.turn_away(row.fingerprint)
    if good or speaks:
        if trust == "external":
            memory.taint(row.step_id, row.ordinal)
        fields = frozenset() if contract is None else field_names(contract.parameters)
        if taint:
            memory.known.hear(row.tool, trust, told, _given(row), fields)
    return good


def _given(row: CallRow) -> dict[str, Any]:
    """Return a call's arguments; none when they have been erased."""
    try:
        given: Any = msgspec.json.decode(row.arguments)
    except msgspec.MsgspecError:
        return {}
    return given if isinstance(given, dict) else {}


def _trust(contract: Contract | None, was: str | None) -> TrustLevel:
    """Return how far a tool's result is trusted: as it was, or as it would be now, whichever is less."""
    found: list[TrustLevel] = [] if contract is None else [trust_of(contract.risk)]
    if was in frozenset(RiskClass):
        found.append(trust_of(RiskClass(was)))
    return max(found, key=_TRUSTED.index, default="external")


async def _recorded(store: Store, run_id: str) -> tuple[dict[str, str], int, int]:
    """Return the class that each call's tool had when it was sent, by the call's id, the tokens used, and the
    number of the last event.
    """
    classes: dict[str, str] = {}
    tokens = last = 0
    async for event in store.stream(run_id):
        last = event.seq
        if event.kind in ("call.dispatched", "model.answered"):
            try:
                body = msgspec.json.decode(event.body, type=_Noted)
            except msgspec.MsgspecError:
                continue  # not one of ours; `audit verify` says so
            tokens += body.input_tokens + body.output_tokens
            if body.risk_class:
                classes[body.call_id] = body.risk_class
    return classes, tokens, last


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


def proposals_of(run_id: str, step: int, kept: KeptAnswer) -> list[Proposal]:
    """Return the calls of a kept answer as they were proposed."""
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
