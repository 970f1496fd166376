"""The gateway: the gate for people who have their own loop, and what an agent stands on."""

import asyncio
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any, Final

from msgspec.structs import replace

from gerbang import parse
from gerbang.adapters.clock import SystemClock
from gerbang.approval.machine import ApprovalEvent
from gerbang.compose.policy import Policy
from gerbang.compose.runs import CallerRuns, check_place
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError, UsageError
from gerbang.ledger.keys import runtime_key
from gerbang.limits import MAX_ARGUMENT_BYTES, MAX_PARALLEL
from gerbang.loop.budget import Budget
from gerbang.loop.profile import Profile, profile_named
from gerbang.policy.rules import DenyAll
from gerbang.ports import ApproverLike, Clock, Secrets, Store, Tool
from gerbang.ports import Policy as PolicyPort
from gerbang.runtime import refusals
from gerbang.runtime.approvals import Approvals
from gerbang.runtime.batching import run_batch
from gerbang.runtime.bodies import event, refused_body
from gerbang.runtime.executor import Executor
from gerbang.runtime.gate import Gate
from gerbang.runtime.guarded import GuardedTool
from gerbang.runtime.requests import decide_row, edit, not_json
from gerbang.runtime.run_settings import new_run_id
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.runtime.threads import SyncPool
from gerbang.runtime.writing import write
from gerbang.taint.label import trust_of
from gerbang.values import LOCAL, CallError, Contract, Decision, Principal, Proposal, Result, StepId
from gerbang.values.canonical import copied
from gerbang.values.record import ApprovalRow, Batch, RunRow, RunState
from gerbang.values.text import clean_text

_OMITTED: Final = object()


class Gateway:
    """Takes calls, gives results. Use as `async with Gateway(tools=[...]) as gate`.

    `tools` are tools made by `@gerbang.tool` (or any object with `contract` and the Tool port).
    `policy` omitted means the shipped `strict`; `None` denies everything. `store` is an address:
    `memory:`, `sqlite:PATH`, or a Store. `approver` asks a person; without one, calls that need
    approval come back `pending` and wait in the store. `secrets` is where tools and models get what their
    contracts and addresses name: an address (`env:`, `file:PATH`, `keyring:`, `envfile:PATH`, or several
    with commas between) or a Secrets.
    Raises ContractError, PolicyError or ConfigError at once, StoreError when it is entered.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        policy: PolicyPort | object | None = _OMITTED,
        store: "str | Store" = "memory:",
        approver: ApproverLike | None = None,
        clock: Clock | None = None,
        secrets: "str | Secrets" = "env:",
    ) -> None:
        pool = SyncPool()
        self.secrets: Secrets = _open_secrets(secrets)
        bodies: dict[str, Tool] = {}
        contracts: list[Contract] = []
        self._closers: list[Any] = []  # of tools that hold connections
        for tool in tools:
            contract = getattr(tool, "contract", None)
            if not isinstance(contract, Contract):
                raise ContractError(
                    f"{tool!r} is not a tool: decorate the function with @gerbang.tool(name=..., risk=...)."
                )
            check_name(contract.name, contract.origin)
            contracts.append(contract)
            self._closers += [tool.aclose] if hasattr(tool, "aclose") else []
            bodies[contract.name] = (
                GuardedTool(tool, contract, self.secrets, pool) if contract.secrets else tool
            )
        self.catalogue = Catalogue(contracts)
        self.clock: Clock = clock or SystemClock()
        self.store: Store = _open_store(store)
        self.policy: PolicyPort = _policy(policy)
        self._approver = approver
        self._executor = Executor(bodies, pool)
        self._gate: Gate | None = None
        self._runs = CallerRuns()

    async def __aenter__(self) -> "Gateway":
        await self.store.open()
        self._gate = Gate(
            policy=self.policy,
            store=self.store,
            store_key=await self.store.secret_key(),
            executor=self._executor,
            approvals=Approvals(self.store, self.clock, self._approver),
            clock=self.clock,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Finish what is queued, close the tools' connections and the store. May be called more than once."""
        gate, self._gate = self._gate, None
        if gate is not None:
            await gate.aclose()
        await self._executor.aclose()
        for close in self._closers:
            await close()
        await self.store.close()

    @property
    def gate(self) -> Gate:
        """The open gate. Raises UsageError before `async with`."""
        if self._gate is None:
            raise UsageError("The gateway is not open. Use it inside 'async with Gateway(...) as gate:'.")
        return self._gate

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any] | str,
        *,
        principal: Principal | None = None,
        run_id: str | None = None,
        step_id: StepId = 1,
        key: str | None = None,
        purpose: str | None = None,
        intent: str | None = None,
    ) -> Result:
        """Make one gated call and return its result; never raises for what a model or tool did.

        `arguments` is a dict, or the JSON text that a model gave. `run_id` and `step_id` name the place
        of the call: the same place with the same arguments gives the stored result (`replayed`).
        `key` is an idempotency key of the caller's own. Raises UsageError and StoreError.
        """
        session = await self._session(run_id, principal, purpose, intent, step_id, key)
        proposal = self._propose(session, tool, arguments, step_id, 0)
        gate = self.gate
        try:
            return await gate.call(session, proposal, key=key)
        except asyncio.CancelledError:
            if session.closing is not None:  # nothing has ended the run's record yet
                ended = replace(session.closing, state=RunState.CANCELLED, updated_at=self.clock.now())
                await asyncio.shield(write(self.store, Batch(runs=[ended])))
            raise

    async def call_many(
        self,
        calls: Sequence[tuple[str, dict[str, Any] | str]],
        *,
        principal: Principal | None = None,
        run_id: str | None = None,
        step_id: StepId = 1,
        purpose: str | None = None,
        intent: str | None = None,
        max_parallel: int = MAX_PARALLEL,
    ) -> list[Result]:
        """Make the calls of one answer: reads side by side, the others in order; results in call order."""
        session = await self._session(run_id, principal, purpose, intent, step_id)
        proposals = [
            self._propose(session, tool, arguments, step_id, ordinal)
            for ordinal, (tool, arguments) in enumerate(calls)
        ]
        return await run_batch(self.gate, session, proposals, max_parallel) if proposals else []

    def decide(
        self,
        tool: str,
        arguments: dict[str, Any] | str,
        *,
        principal: Principal | None = None,
        run_id: str | None = None,
        step_id: StepId = 1,
        purpose: str | None = None,
        intent: str | None = None,
    ) -> Decision:
        """Say what would happen and why. Runs and records nothing.

        A call that a layer before policy refuses is denied with that layer's error code as its reason.
        """
        who = principal or LOCAL
        check_place(who, run_id, step_id, None, purpose, intent)
        session = self.session(
            run_id or "dry",
            principal=who,
            purpose=purpose,
            intent=intent,
            memory=self._runs.known(run_id, who),
        )
        return self.gate.decide(session, self._propose(session, tool, arguments, step_id, 0))

    def tools(
        self,
        *,
        principal: Principal | None = None,
        intent: str | None = None,
        purpose: str | None = None,
    ) -> list[Contract]:
        """Return the contracts that a run with this intent may know of, with their JSON Schemas."""
        return [entry.contract for entry in self.catalogue.for_intent(intent)]

    async def approve(
        self, approval_id: str, *, by: Principal, arguments: dict[str, Any] | None = None
    ) -> ApprovalRow:
        """Grant a pending request; the call runs when it is made again, or its run is resumed.

        `arguments` replaces the call's arguments; they pass the whole gate again. Raises UsageError for
        an unknown id, a request of another tenant, or one that was decided before.
        """
        row = await self._approval(approval_id, by)
        edited: ApprovalRow | CallError = row
        if arguments is not None:
            entry = self.catalogue.find(row.tool)
            if entry is None:
                raise UsageError(f"This gateway does not know {row.tool}. Edit the call where its tool is.")
            fault = not_json(arguments)
            if fault:
                raise UsageError(f"The new arguments are not JSON {fault}")
            edited = edit(row, entry, arguments, self.policy.version)
        if isinstance(edited, CallError):
            fields = "; ".join(f"{field.path}: {field.message}" for field in edited.invalid_fields)
            raise UsageError(f"The new arguments cannot run: {edited.message} {fields}".strip())
        row = edited
        return await self._decide_approval(row, ApprovalEvent.APPROVE, by, "")

    async def refuse(self, approval_id: str, *, by: Principal, reason: str = "") -> ApprovalRow:
        """Refuse a pending request; the model is told. Raises UsageError like `approve`."""
        row = await self._approval(approval_id, by)
        return await self._decide_approval(row, ApprovalEvent.REFUSE, by, str(reason))

    def session(
        self,
        run_id: str,
        *,
        principal: Principal | None = None,
        purpose: str | None = None,
        intent: str | None = None,
        profile: Profile | None = None,
        lang: str = "en",
        memory: RunMemory | None = None,
        emit: Any = None,
    ) -> RunSession:
        """Return what carries one call, or one agent's run, down the street."""
        return RunSession(
            run_id=run_id,
            principal=principal or LOCAL,
            catalogue=self.catalogue.for_intent(intent),
            memory=memory or RunMemory(Budget()),
            profile=profile or profile_named("gateway"),
            lang=lang,
            purpose=purpose,
            intent=intent,
            emit=emit,
        )

    async def _session(
        self,
        run_id: str | None,
        principal: Principal | None,
        purpose: str | None,
        intent: str | None,
        step_id: StepId,
        key: str | None = None,
    ) -> RunSession:
        """Return the session of a call; the first call of a run records its start."""
        _ = self.gate
        who = principal or LOCAL
        check_place(who, run_id, step_id, key, purpose, intent)
        name, memory, first = run_id, None, True
        if name is None:
            name = new_run_id()
        else:
            memory, first = await self._runs.memory(name, who, self.store, self._reads_outside)
        session = self.session(name, principal=who, purpose=purpose, intent=intent, memory=memory)
        if first:
            now = self.clock.now()
            state = RunState.RUNNING if run_id is None else RunState.OPEN
            session.memory.row = RunRow(name, who.tenant, who.user, state, now, now, profile="gateway")
            session.closing = session.memory.row if run_id is None else None
        if session.memory.row is not None:  # until a commit has written it
            session.carry = Batch(runs=[session.memory.row])
        return session

    def _reads_outside(self, tool: str) -> bool:
        """Tell whether a tool's results come from outside; one that is no longer known counts as such."""
        entry = self.catalogue.find(tool)
        return entry is None or trust_of(entry.contract.risk) == "external"

    def _propose(
        self, session: RunSession, tool: str, arguments: dict[str, Any] | str, step: StepId, ordinal: int
    ) -> Proposal:
        fault: CallError | None = None
        if isinstance(arguments, str):
            given, fault = _read(arguments)
        else:
            given = copied(arguments)  # the caller may go on changing theirs
        return Proposal(
            session.run_id,
            step,
            ordinal,
            f"call_{runtime_key(session.principal.tenant, session.run_id, step, ordinal)[:12]}",
            clean_text(str(tool)),
            given if fault is None else None,
            fault,
        )

    async def _approval(self, approval_id: str, by: Principal) -> ApprovalRow:
        _ = self.gate
        check_place(by, None, 1, None, None, None)
        row = await self.store.approval(approval_id)
        if row is None or row.tenant != by.tenant:
            raise UsageError(f"There is no approval {str(approval_id)[:80]!r}.")
        return row

    async def _decide_approval(
        self, row: ApprovalRow, what: ApprovalEvent, by: Principal, note: str
    ) -> ApprovalRow:
        now = self.clock.now()
        expired = now >= row.expires_at
        decided = (
            decide_row(row, ApprovalEvent.TIME_OUT, None, "", now)
            if expired
            else decide_row(row, what, by.user, note, now)
        )
        proposal = Proposal(row.run_id, "approval", 0, row.key[:12], row.tool)
        body = refused_body(
            by, proposal, approval_id=row.approval_id, approver=by.user, state=decided.state, finished_at=now
        )
        committed = await write(
            self.store,
            Batch(
                approvals=[decided],
                events=[event(f"approval.{decided.state}", row.run_id, body)],
                expects={row.approval_id: row.state},
            ),
        )
        if committed.stale is not None:
            raise UsageError(
                f"Approval {row.approval_id} is {committed.stale.state} already; nothing was changed."
            )
        if expired:
            raise UsageError(f"Approval {row.approval_id} has expired.")
        return decided


def _read(text: str) -> tuple[dict[str, Any], CallError | None]:
    if len(text) > MAX_ARGUMENT_BYTES:
        said = f"The arguments are {len(text)} characters; the limit is {MAX_ARGUMENT_BYTES}."
        return {}, refusals.unreadable("CALL_TOO_LARGE", said)
    arguments, fault = parse.arguments_from_json(text)
    if arguments is None:
        code, message = fault or ("CALL_NOT_JSON", "The arguments are not a JSON object.")
        return {}, refusals.unreadable(code, message)
    return arguments, None


def _open_store(store: "str | Store") -> Store:
    if not isinstance(store, str):
        return store
    from gerbang.adapters.stores import open_store

    return open_store(store)


def _open_secrets(secrets: "str | Secrets") -> Secrets:
    if not isinstance(secrets, str):
        if not callable(getattr(secrets, "get", None)):
            raise UsageError("secrets takes an address, such as env:, or an object with get(name).")
        return secrets
    from gerbang.adapters.secrets import open_secrets

    return open_secrets(secrets)


def _policy(policy: Any) -> PolicyPort:
    if policy is _OMITTED:
        return Policy.default()
    if policy is None:
        return DenyAll()
    if not callable(getattr(policy, "decide", None)):
        raise UsageError("policy takes a Policy, such as Policy.default(), or None to deny everything.")
    found: PolicyPort = policy
    return found
