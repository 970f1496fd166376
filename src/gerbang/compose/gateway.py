"""The gateway: the gate for people who have their own loop, and what an agent stands on."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from gerbang.adapters.clock import SystemClock
from gerbang.compose import given
from gerbang.compose.controls import Controls
from gerbang.compose.cut_off import cut_off
from gerbang.compose.people import People
from gerbang.compose.runs import CallerRuns, check_place, first_row, taken_up
from gerbang.compose.toolbox import HeldTool, Toolbox
from gerbang.compose.undriven import Undriven
from gerbang.contract.catalogue import Catalogue
from gerbang.contract.risk_facts import WorkingHours
from gerbang.contract.semantic import SemanticValidator
from gerbang.errors import UsageError
from gerbang.ledger.keys import Fingerprints
from gerbang.limits import MAX_PARALLEL
from gerbang.loop.budget import Budget
from gerbang.loop.profile import Profile, profile_named
from gerbang.ports import ApproverLike, Clock, FileReader, Secrets, Store
from gerbang.ports import Policy as PolicyPort
from gerbang.runtime.admission import Admission
from gerbang.runtime.approvals import LASTS_S, Approvals
from gerbang.runtime.batching import run_batch
from gerbang.runtime.dispatch import Dispatch
from gerbang.runtime.events import DryRun
from gerbang.runtime.executor import Executor
from gerbang.runtime.gate import Gate
from gerbang.runtime.known_secrets import KnownSecrets
from gerbang.runtime.leases import TTL_S, Leases
from gerbang.runtime.lookups import Lookup, Lookups
from gerbang.runtime.named_files import NamedFiles
from gerbang.runtime.outbox import Outbox, outbox_for
from gerbang.runtime.plan import Plans
from gerbang.runtime.records import Records
from gerbang.runtime.run_settings import new_run_id
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.runtime.store_time import StoreTime, following
from gerbang.runtime.switches import Switches
from gerbang.runtime.threads import SyncPool
from gerbang.values import LOCAL, Contract, Decision, Principal, Result, RiskClass, StepId
from gerbang.values.binding import read_bindings
from gerbang.values.limit import Limit, Limits
from gerbang.values.record import Batch


class Gateway(Controls):
    """Takes calls, gives results. Use as `async with Gateway(tools=[...]) as gate`.

    `tools` are tools made by `@gerbang.tool` (or any object with `contract` and the Tool port). `policy`
    omitted means the shipped `strict`; `None` denies everything. `store` is an address: `memory:`,
    `sqlite:PATH`, `postgresql://…`, or a Store. `approver` asks a person; without one, calls that need
    approval come back `pending` and wait in the store. `secrets` is where tools and models get what their
    contracts and addresses name: an address (`env:`, `file:PATH`, `keyring:`, `envfile:PATH`, or several
    with commas between) or a Secrets. `readers`, `owners` and `facts` look things up for a decision
    (`Lookup`): what semantic validators read, whose a resource is, what a policy has to know. `validators`
    are further checks that contracts may name. `limits` bound what tools, actors, tenants, teams and runs
    may do. `hours` says when people are there: other changes are asked about. `max_risk` hides every tool
    of a larger blast radius from every run. `lease_s`: after so many seconds another process may go on with
    a run whose process has died. A request for approval and its grant stand for `approval_s` seconds.
    `files` is the folder that file arguments are inside of (the current one): an approval is tied to what
    such files hold. `seal` is where the keys are that payloads in the store are sealed with: `file:PATH`
    (`gerbang audit seal-key`). `secret_bindings` say what each secret is for; one they do not name is for no
    tool. Raises ContractError, PolicyError, UsageError, ConfigError at once, StoreError when it is entered.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        policy: PolicyPort | object | None = given.OMITTED,
        store: "str | Store" = "memory:",
        approver: "str | ApproverLike | None" = None,
        clock: Clock | None = None,
        secrets: "str | Secrets" = "env:",
        readers: Mapping[str, Lookup] | None = None,
        owners: Mapping[str, Lookup] | None = None,
        facts: Mapping[str, Lookup] | None = None,
        validators: Iterable[SemanticValidator] = (),
        limits: Iterable[Limit] = (),
        hours: WorkingHours | None = None,
        max_risk: str | RiskClass | None = None,
        lease_s: float = TTL_S,
        seal: str | None = None,
        secret_bindings: Mapping[str, Any] | None = None,
        approval_s: float = LASTS_S,
        files: "str | Path | FileReader | None" = None,
    ) -> None:
        pool = SyncPool()
        self.secrets = KnownSecrets(given.open_secrets(secrets))
        self._toolbox = Toolbox(tools, self.secrets, pool, read_bindings(secret_bindings))
        self.models = self._toolbox.models
        self._max_risk = None if max_risk is None else given.read_risk(max_risk)
        self.clock: Clock = SystemClock() if clock is None else clock
        self._follows = clock is None
        self.store: Store = given.open_store(store, self.clock, seal)
        self.policy: PolicyPort = given.policy_of(policy)
        self._approver = given.read_approver(approver, self.secrets)
        self._approval_s = given.read_seconds("approval_s", approval_s)
        self._files = NamedFiles(given.read_files(files), self._toolbox.file_hooks)
        self._lookups = Lookups(*given.read_lookups(readers, owners, facts), pool)
        self._limits = Limits.made(limits)
        checks = given.read_validators(validators)
        self._plans = Plans(checks, owners or (), readers or (), self._limits, self._toolbox.places)
        for contract in self._toolbox.contracts:
            self._plans.check(contract)
        self._hours = given.read_hours(hours)
        self._lease_s = given.read_seconds("lease_s", lease_s)
        self._executor = Executor(self._toolbox.bodies, pool, self.secrets)
        self._gate: Gate | None = None
        self._outbox: Outbox | None = None
        self._runs = CallerRuns()
        self._undriven = Undriven(self.store, self._toolbox)
        self._people: People
        self._switches: Switches
        self.leases: Leases

    async def __aenter__(self) -> "Gateway":
        await self.store.open()
        if self._follows:
            self.clock = await following(self.clock, self.store)
        await self._toolbox.read_pins(self.store)
        admission = Admission(
            policy=self.policy,
            clock=self.clock,
            fingerprints=Fingerprints(await self.store.secret_key()),
            plans=self._plans,
            lookups=self._lookups,
            hours=self._hours,
        )
        watched = self._plans.watched(self._toolbox.contracts)
        records = Records(
            self.store, self.clock, watched, history=admission.asks_history, taint=admission.asks_taint
        )
        self._switches = Switches(self.store, self.clock, admission.stops)
        await self._switches.refresh()
        self._outbox = outbox_for(self.store, self.clock, self._approver)
        self._gate = Gate(
            admission=admission,
            dispatch=Dispatch(
                self._executor, records=records, admission=admission, clock=self.clock, files=self._files
            ),
            records=records,
            store=self.store,
            approvals=Approvals(
                self.store,
                self.clock,
                self._approver,
                lasts_s=self._approval_s,
                files=self._files,
                outbox=self._outbox,
            ),
            clock=self.clock,
        )
        self.leases = Leases(self.store, self.clock, self._lease_s)
        self._people = People(self.store, self.clock, self.catalogue)
        recorders = getattr(self.policy, "recorders", None)  # of a policy that follows its files
        if recorders is not None:
            recorders.append(self._switches.policy_turned)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Finish what is queued; close tools, models of agents and the store. May be called again."""
        gate, self._gate = self._gate, None
        if gate is not None:
            await gate.aclose()
            recorders = getattr(self.policy, "recorders", [])
            if self._switches.policy_turned in recorders:
                recorders.remove(self._switches.policy_turned)
            await self._switches.aclose()
            await self.leases.aclose()
        outbox, self._outbox = self._outbox, None
        if outbox is not None:
            await outbox.aclose()
        await self._executor.aclose()
        if hasattr(self._approver, "aclose"):
            await self._approver.aclose()
        await self._toolbox.aclose()
        await self.store.close()

    @property
    def catalogue(self) -> Catalogue:
        """All tools that may be called, of every run."""
        return self._toolbox.catalogue

    @property
    def held_tools(self) -> tuple[HeldTool, ...]:
        """Tools that wait for `approve_tool`: from a pinned source, and not as they were approved."""
        return self._toolbox.held

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
        state: str | None = None,
        alone: bool = False,
    ) -> Result:
        """Make one gated call and return its result; never raises for what a model or tool did.

        `arguments` is a dict, or the JSON text that a model gave. `run_id` and `step_id` name the place
        of the call: the same place with the same arguments gives the stored result (`replayed`).
        `key` is an idempotency key of the caller's own. A run that has no name consists of its one call and
        ends with it, and so does one with a name when `alone` is set. Raises UsageError and StoreError.
        """
        session = await self._session(run_id, principal, purpose, intent, step_id, key, state, alone)
        proposal = given.propose(session, tool, arguments, step_id, 0)
        gate = self.gate
        try:
            return await gate.call(session, proposal, key=key)
        except asyncio.CancelledError:
            await asyncio.shield(cut_off(self.store, self.clock, gate, session, [proposal]))
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
        state: str | None = None,
        max_parallel: int = MAX_PARALLEL,
    ) -> list[Result]:
        """Make the calls of one answer: reads side by side, the others in order; results in call order."""
        asked = given.read_calls(calls)
        session = await self._session(run_id, principal, purpose, intent, step_id, None, state)
        proposals = [given.propose(session, *one, step_id, ordinal) for ordinal, one in enumerate(asked)]
        try:
            return await run_batch(self.gate, session, proposals, max_parallel) if proposals else []
        except asyncio.CancelledError:
            await asyncio.shield(cut_off(self.store, self.clock, self.gate, session, proposals))
            raise

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
        state: str | None = None,
    ) -> Decision:
        """Say what would happen and why, by what this process knows of the run. Runs and records nothing.

        A call that a layer before policy refuses is denied with that layer's error code as its reason.
        """
        who = principal or LOCAL
        check_place(who, run_id, step_id, None, purpose, intent)
        session = self.session(
            run_id or "dry",
            principal=who,
            purpose=purpose,
            intent=intent,
            state=state,
            memory=self._runs.known(run_id, who),
        )
        return self.gate.decide(session, given.propose(session, tool, arguments, step_id, 0))

    async def dry_run(
        self,
        tool: str,
        arguments: dict[str, Any] | str,
        *,
        principal: Principal | None = None,
        run_id: str | None = None,
        step_id: StepId = 1,
        purpose: str | None = None,
        intent: str | None = None,
        state: str | None = None,
    ) -> DryRun:
        """Say what a call would do: the decision, its error, and what an approver would be shown.

        Unlike `decide` it looks up all that a call would, the run's records too. Runs and records nothing.
        """
        who, name = principal or LOCAL, run_id or "dry"
        check_place(who, run_id, step_id, None, purpose, intent)
        memory = await self._runs.looked_up(run_id, who, self.store, self.catalogue)
        session = self.session(
            name, principal=who, purpose=purpose, intent=intent, state=state, memory=memory
        )
        return await self.gate.dry_run(session, given.propose(session, tool, arguments, step_id, 0))

    def tools(
        self,
        *,
        principal: Principal | None = None,
        intent: str | None = None,
        state: str | None = None,
        purpose: str | None = None,
    ) -> list[Contract]:
        """Return the contracts that such a run may know of. `intent` and `state` are words of the embedding
        program that contracts are exposed by.
        """
        return [entry.contract for entry in self._subset(principal or LOCAL, intent, state)]

    def session(
        self,
        run_id: str,
        *,
        principal: Principal | None = None,
        purpose: str | None = None,
        intent: str | None = None,
        state: str | None = None,
        profile: Profile | None = None,
        lang: str = "en",
        memory: RunMemory | None = None,
        emit: Any = None,
    ) -> RunSession:
        """Return what carries one call, or one agent's run, down the street."""
        session = RunSession(
            run_id=run_id,
            principal=principal or LOCAL,
            catalogue=self._subset(principal or LOCAL, intent, state),
            memory=memory or RunMemory(Budget()),
            profile=profile or profile_named("gateway"),
            lang=lang,
            purpose=purpose,
            intent=intent,
            emit=emit,
        )
        session.token_limits = self._limits.tokens
        return session

    def _subset(self, who: Principal, intent: str | None, state: str | None) -> Catalogue:
        if not (intent is None or type(intent) is str) or not (state is None or type(state) is str):
            raise UsageError("intent and state are words that contracts are exposed by, each a text or None.")
        return self.catalogue.subset(
            intent=intent,
            state=state,
            tenant=who.tenant,
            roles=who.roles,
            scopes=who.scopes,
            max_risk=self._max_risk,
        )

    async def _session(
        self,
        run_id: str | None,
        principal: Principal | None,
        purpose: str | None,
        intent: str | None,
        step_id: StepId,
        key: str | None = None,
        state: str | None = None,
        alone: bool = False,
    ) -> RunSession:
        """Return the session of a call; the first call of a run records its start."""
        _ = self.gate
        who = principal or LOCAL
        check_place(who, run_id, step_id, key, purpose, intent)
        if isinstance(self.clock, StoreTime) and self.clock.is_old:
            await self.clock.ask(self.store)
        name, memory, first = run_id, None, True
        if name is None:
            name = new_run_id()
        else:
            memory, first = await self._runs.memory(name, who, self.store, self.catalogue)
        session = self.session(
            name, principal=who, purpose=purpose, intent=intent, state=state, memory=memory
        )
        alone, now = alone or run_id is None, self.clock.now()
        if first:
            session.memory.row = first_row(session, alone, now)
            session.nameless = run_id is None
        elif alone:
            session.memory.row = await taken_up(self.store, name, now)
        session.closing = session.memory.row if alone else None
        session.key, session.standing = key, None if run_id or key else {}
        if session.memory.row is not None:  # until a commit has written it
            session.carry = Batch(runs=[session.memory.row])
        return session
