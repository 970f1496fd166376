"""Going through a recorded run again without effects: recorded answers and results, everything else anew."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.audit.calls import calls_of
from gerbang.compose.gateway import Gateway
from gerbang.compose.replay_people import NOBODY, People
from gerbang.errors import ToolError, UsageError
from gerbang.limits import MAX_PARALLEL
from gerbang.loop.profile import profile_named
from gerbang.ports import ApprovalAnswer, ApprovalRequest, Policy, Store
from gerbang.runtime.ballot import opened
from gerbang.runtime.batching import run_batch
from gerbang.runtime.kept import OPENING, read_answer, read_opening
from gerbang.runtime.resuming import proposals_of
from gerbang.runtime.stored import read_stored
from gerbang.values import CallContext, Contract, Principal, Proposal, Result, StepId
from gerbang.values.record import ERASED, CallRow, CallState, EventRow, RunRow

COMPARED: Final = (
    "tool_name",
    "policy_decision",
    "reasons",
    "rule",
    "risk_class",
    "error_code",
    "status",
    "coerced",
    "repaired",
    "taint",
    "may_contain_instructions",
)
OUTSIDE: Final = frozenset(
    {
        *("KILL_SWITCH", "CIRCUIT_OPEN", "RUN_CANCELLED", "RUN_TAKEN_OVER", "DEADLINE"),
        *("RATE_TOOL", "RATE_ACTOR", "RATE_TENANT", "RATE_TEAM", "RATE_RUN"),
        *("BUDGET_CALLS", "BUDGET_COST", "BUDGET_TIME", "BUDGET_CONTEXT", "TOO_MANY_AT_ONCE"),
        *("TOO_MANY_LATE_CALLS", "APPROVAL_STALE", "APPROVAL_FORGED", "APPROVAL_FILES"),
    }
)
"""Codes of calls that were stopped by what was so then, and is in no record of the run: they are left out."""
_DECIDED: Final = COMPARED[:5]
_OF_DECISION: Final = (*_DECIDED, "coerced", "repaired", "contract", "policy_version")
_AGAIN: Final = frozenset({"call.replayed", "call.refused"})
"""Ends that a call may get after the one that it came to."""
_STEP: Final = re.compile(r"step_([0-9]{3,18})")
_GOOD: Final = frozenset({CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED})


class Difference(Struct, frozen=True):
    """The first thing that came out otherwise: of which call, what, then and now."""

    step_id: str
    call_id: str
    tool: str
    what: str
    then: Any
    now: Any


class Replayed(Struct, frozen=True):
    """What came of a replay. `calls` were gone through; `lost` ones could not be: they were not kept.

    `stopped` ones were not either: something outside of the run stopped them then (`OUTSIDE`). `changed`
    names contracts and the policy that are not those of then. `missing` are tools that the run knew and that
    are not among those given: without them nothing was gone through.
    """

    run_id: str
    calls: int
    lost: int
    changed: tuple[str, ...]
    difference: Difference | None
    stopped: int = 0
    missing: tuple[str, ...] = ()


class _Clock:
    """Tells the time of the record."""

    def __init__(self) -> None:
        self.at = 0.0
        self._passed = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        self._passed += 1e-6
        return self._passed


class _Recorded:
    """A tool that gives what is on record. It does nothing."""

    blocking = False

    def __init__(self, contract: Contract, rows: Mapping[str, CallRow]) -> None:
        self.contract = replace(contract, secrets=())  # nothing is sent: none is needed
        self._rows = rows

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Return the recorded result, or raise the recorded error."""
        row = self._rows.get(context.call_id)
        output, error = (None, None) if row is None else read_stored(row.result)
        if output is not None:
            return output.value
        if error is None:
            raise ToolError(
                "Nothing is on record of what this call gave.", code="NOT_RECORDED", effect="none"
            )
        raise ToolError(
            error.message, code=error.error_code, error_type=error.error_type, effect=error.effect
        )

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Never called: the tool is a coroutine."""
        raise NotImplementedError


async def replay_run(
    store: Store, run_id: str, tools: Iterable[Any], policy: Policy | object | None, *, lang: str = "en"
) -> Replayed:
    """Take a run's proposals down the street again, up to the first difference.

    `tools` are those of now; only their contracts are used. Raises UsageError for a run that there is not, or
    that was erased.
    """
    row = await store.run(run_id)
    if row is None:
        raise UsageError(f"There is no run {run_id[:80]!r}.")
    if row.salt == ERASED:
        raise UsageError(f"The payloads of run {run_id} were erased; there is nothing to go through.")
    found = await store.calls(run_id)
    denied = {call.call_id: call for call in found if call.is_denial}
    rows = denied | {call.call_id: call for call in found if not call.is_denial}
    people = People(await store.approvals(run_id=run_id, limit=10_000), rows)
    then = _ends([event async for event in store.stream(run_id)])
    clock = _Clock()
    gateway: list[Gateway] = []

    async def approver(request: ApprovalRequest) -> ApprovalAnswer | bool:
        made = await gateway[0].store.approval(request.approval_id)
        ballot = None if made is None else opened(made)
        name = "" if ballot is None else ballot.terms.call_id
        said = people.answer(name, then.get(name, {}).get("error_code") == "APPROVAL_TIMEOUT")
        if isinstance(said, str):
            clock.at = max(clock.at, request.expires_at)
            return ApprovalAnswer("wait", NOBODY)
        return said

    contracts = [tool.contract for tool in tools]
    gate = Gateway(
        [_Recorded(contract, rows) for contract in contracts],
        policy=policy,
        store="memory:",
        approver=approver,
        clock=clock,
        secrets={},
    )
    gateway.append(gate)
    known = dict.fromkeys(str(one["tool_name"]) for one in then.values() if one["risk_class"])
    missing = tuple(name for name in known if gate.catalogue.recorded(name) is None)
    if missing:
        return Replayed(run_id, 0, 0, (), None, missing=missing)
    async with gate:
        return await _Going(gate, clock, row, rows, then).through(
            await _batches(store, row, rows, people), lang
        )


def _ends(events: list[EventRow]) -> dict[str, dict[str, Any]]:
    """Return the record of each call by its id: how it ended, whatever was asked of its place afterwards.

    A call that is made again gets its stored result or, with other arguments, a refusal; both are on record
    under the same id, and say nothing of the call itself. Of one whose fate was not known at first, the
    decision stands in its earlier record.
    """
    found: dict[str, dict[str, Any]] = {}
    for one in calls_of(events):
        name, kind = str(one["call_id"]), one["kind"]
        before = found.get(name)
        if before is None or (kind == "call.resolved" and before["kind"] in _AGAIN):
            found[name] = one
        elif kind == "call.resolved":
            found[name] = one | {key: before[key] for key in _OF_DECISION if key in before}
        elif kind not in _AGAIN or (kind == "call.refused" and before["kind"] in _AGAIN):
            found[name] = one
    return found


class _Going:
    def __init__(
        self,
        gate: Gateway,
        clock: _Clock,
        row: RunRow,
        rows: Mapping[str, CallRow],
        then: Mapping[str, dict[str, Any]],
    ) -> None:
        self._gate = gate
        self._clock = clock
        self._row = row
        self._rows = rows
        self._then = then
        self._changed: dict[str, None] = {}

    async def through(self, batches: list[list[Proposal]], lang: str) -> Replayed:
        row, gate = self._row, self._gate
        started = next(iter(self._then.values()), {})
        session = gate.session(
            row.run_id,
            principal=Principal(
                row.user,
                row.tenant,
                scopes=started.get("scopes") or (),
                roles=started.get("roles") or (),
                agent=started.get("agent_id"),
                delegated_by=started.get("delegated_by") or (),
                team=started.get("team"),
            ),
            profile=profile_named(row.profile) if row.profile else None,
            lang=lang,
        )
        done = 0
        found: Difference | None = None
        stopped = {name for name, one in self._then.items() if one["error_code"] in OUTSIDE}
        for answer in batches:
            proposals = [one for one in answer if one.call_id not in stopped]
            if not proposals:
                continue
            first = self._then.get(proposals[0].call_id, {})
            self._clock.at = float(first.get("started_at") or first.get("finished_at") or row.started_at)
            results = await run_batch(gate.gate, session, proposals, MAX_PARALLEL)
            done += len(results)
            found = await self._compare(results)
            if found is not None:
                break
        met = {one.call_id for proposals in batches for one in proposals}
        lost = len([name for name in self._then if name not in met and name not in stopped])
        return Replayed(row.run_id, done, lost, tuple(self._changed), found, len(stopped))

    async def _compare(self, results: list[Result]) -> Difference | None:
        events = await self._gate.store.events(self._row.run_id, limit=1_000_000)
        now = {str(one["call_id"]): one for one in calls_of(events)}
        for result in results:
            before, after = self._then.get(result.call_id), now.get(result.call_id)
            if before is None or after is None:
                continue  # it was never recorded how it ended: the run was cut off there
            name = str(before["tool_name"])
            if before["contract"] and after["contract"] not in ("", before["contract"]):
                self._changed[name] = None
            if before["policy_version"] and after["policy_version"] not in ("", before["policy_version"]):
                self._changed["policy"] = None
            row = self._rows.get(result.call_id)
            good = row is None or row.is_denial or row.state in _GOOD
            whole = good and before["kind"] != "call.resolved"  # what made such an end out shows nothing
            for what in COMPARED if whole else _DECIDED:
                if before.get(what) != after.get(what):
                    return self._differs(result, name, what, before.get(what), after.get(what))
            if whole and row is not None and row.for_model != result.for_model:
                return self._differs(result, name, "for_model", row.for_model, result.for_model)
        return None

    @staticmethod
    def _differs(result: Result, tool: str, what: str, then: Any, now: Any) -> Difference:
        return Difference(str(result.step_id), result.call_id, tool, what, then, now)


async def _batches(
    store: Store, row: RunRow, rows: Mapping[str, CallRow], people: People
) -> list[list[Proposal]]:
    """Return what was proposed, answer by answer."""
    answers = await store.answers(row.run_id)
    if answers and answers[0].step == OPENING and read_opening(answers[0].message) is not None:
        found = []
        for answer in answers[1:]:
            kept = read_answer(answer.message)
            if kept is None:
                raise UsageError(f"Answer {answer.step} of run {row.run_id} cannot be read.")
            found.append(proposals_of(row.run_id, answer.step, kept))
        return [proposals for proposals in found if proposals]
    return [
        [
            Proposal(
                row.run_id,
                _step(call.step_id),
                call.ordinal,
                name,
                call.tool,
                msgspec.json.decode(people.asked_for(name, call.arguments)),
            )
        ]
        for name, call in rows.items()
    ]


def _step(name: str) -> StepId:
    found = _STEP.fullmatch(name)
    return name if found is None else int(found[1])
