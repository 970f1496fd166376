"""The gateway: the gate for people who have their own loop, and what an agent stands on."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final

from msgspec.structs import replace

from gerbang import parse
from gerbang.adapters.clock import SystemClock
from gerbang.compose.people import People
from gerbang.compose.policy import Policy
from gerbang.compose.runs import CallerRuns, check_place
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.risk_facts import WorkingHours
from gerbang.contract.semantic import SemanticValidator
from gerbang.contract.validators import SHIPPED
from gerbang.contract.wire import check_name
from gerbang.errors import ContractError, UsageError
from gerbang.ledger.keys import Fingerprints, runtime_key
from gerbang.limits import MAX_ARGUMENT_BYTES, MAX_PARALLEL
from gerbang.loop.budget import Budget
from gerbang.loop.profile import Profile, profile_named
from gerbang.policy.rules import DenyAll
from gerbang.ports import ApproverLike, Clock, Secrets, Store, Tool
from gerbang.ports import Policy as PolicyPort
from gerbang.runtime import refusals
from gerbang.runtime.admission import Admission
from gerbang.runtime.approvals import Approvals
from gerbang.runtime.batching import run_batch
from gerbang.runtime.dispatch import Dispatch
from gerbang.runtime.executor import Executor
from gerbang.runtime.gate import Gate
from gerbang.runtime.guarded import GuardedTool
from gerbang.runtime.lookups import Lookup, Lookups
from gerbang.runtime.plan import Plans
from gerbang.runtime.records import Records
from gerbang.runtime.run_settings import new_run_id
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.runtime.switches import Switches
from gerbang.runtime.threads import SyncPool
from gerbang.runtime.writing import write
from gerbang.taint.label import trust_of
from gerbang.values import LOCAL, CallError, Contract, Decision, Principal, Proposal, Result, StepId
from gerbang.values.canonical import copied
from gerbang.values.limit import Limit, Limits
from gerbang.values.record import ApprovalRow, Batch, Kill, RunRow, RunState
from gerbang.values.text import clean_text

_OMITTED: Final = object()


class Gateway:
    """Takes calls, gives results. Use as `async with Gateway(tools=[...]) as gate`.

    `tools` are tools made by `@gerbang.tool` (or any object with `contract` and the Tool port).
    `policy` omitted means the shipped `strict`; `None` denies everything. `store` is an address:
    `memory:`, `sqlite:PATH`, or a Store. `approver` asks a person; without one, calls that need
    approval come back `pending` and wait in the store. `secrets` is where tools and models get what their
    contracts and addresses name: an address (`env:`, `file:PATH`, `keyring:`, `envfile:PATH`, or several
    with commas between) or a Secrets. `readers`, `owners` and `facts` look things up for a decision
    (`Lookup`): what semantic validators read, whose a resource is, what a policy has to know.
    `validators` are further semantic checks that contracts may name. `limits` bound what tools, actors,
    tenants, teams and runs may do. `hours` says when people are there: other changes are asked about.
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
        readers: Mapping[str, Lookup] | None = None,
        owners: Mapping[str, Lookup] | None = None,
        facts: Mapping[str, Lookup] | None = None,
        validators: Iterable[SemanticValidator] = (),
        limits: Iterable[Limit] = (),
        hours: WorkingHours | None = None,
    ) -> None:
        pool = SyncPool()
        self.secrets: Secrets = _open_secrets(secrets)
        bodies: dict[str, Tool] = {}
        contracts: list[Contract] = []
        places: dict[str, str] = {}
        self._closers: list[Any] = []  # of tools that hold connections
        for tool in tools:
            contract = getattr(tool, "contract", None)
            if not isinstance(contract, Contract):
                raise ContractError(
                    f"{tool!r} is not a tool: decorate the function with @gerbang.tool(name=..., risk=...)."
                )
            check_name(contract.name, contract.origin)
            contracts.append(contract)
            places[contract.name] = getattr(tool, "defined_by", "code")
            self._closers += [tool.aclose] if hasattr(tool, "aclose") else []
            bodies[contract.name] = (
                GuardedTool(tool, contract, self.secrets, pool) if contract.secrets else tool
            )
        self.catalogue = Catalogue(contracts)
        self.clock: Clock = clock or SystemClock()
        self.store: Store = _open_store(store)
        self.policy: PolicyPort = _policy(policy)
        self._approver = approver
        self._lookups = Lookups(readers or {}, owners or {}, facts or {}, pool)
        self._plans = Plans(
            {**SHIPPED, **{one.name: one for one in validators}},
            owners or (),
            readers or (),
            Limits.made(limits),
            places,
        )
        for contract in contracts:
            self._plans.check(contract)
        self._hours = hours
        self._executor = Executor(bodies, pool)
        self._gate: Gate | None = None
        self._runs = CallerRuns()
        self._people: People
        self._switches: Switches

    async def __aenter__(self) -> "Gateway":
        await self.store.open()
        admission = Admission(
            policy=self.policy,
            clock=self.clock,
            fingerprints=Fingerprints(await self.store.secret_key()),
            plans=self._plans,
            lookups=self._lookups,
            hours=self._hours,
        )
        records = Records(
            self.store, self.clock, self._plans.watched(entry.contract for entry in self.catalogue)
        )
        self._gate = Gate(
            admission=admission,
            dispatch=Dispatch(
                executor=self._executor, records=records, admission=admission, clock=self.clock
            ),
            records=records,
            store=self.store,
            approvals=Approvals(self.store, self.clock, self._approver),
            clock=self.clock,
        )
        self._people = People(self.store, self.clock, self.catalogue, self.policy)
        self._switches = Switches(self.store, self.clock, admission)
        await self._switches.refresh()
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
            await self._switches.aclose()
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
        _ = self.gate
        return await self._people.approve(approval_id, by, arguments)

    async def refuse(self, approval_id: str, *, by: Principal, reason: str = "") -> ApprovalRow:
        """Refuse a pending request; the model is told. Raises UsageError like `approve`."""
        _ = self.gate
        return await self._people.refuse(approval_id, by, str(reason))

    def kill(self, target: str, *, by: Principal | None = None, reason: str = "") -> "asyncio.Future[None]":
        """Turn a kill switch on: `all`, `tool:NAME`, `group:NAME` or `tenant:NAME`. It beats every policy.

        In this process it holds from the return on; in every process that shares the store from the moment
        that the returned future is done, which may be awaited. Raises UsageError, and StoreError by the
        future: the switch then holds in this process only.
        """
        _ = self.gate
        return self._switches.kill(target, by or LOCAL, reason)

    def revive(self, target: str, *, by: Principal | None = None) -> "asyncio.Future[None]":
        """Turn a kill switch off again; the returned future is done when that is on record."""
        _ = self.gate
        return self._switches.revive(target, by or LOCAL)

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on."""
        _ = self.gate
        return await self._switches.refresh()

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
