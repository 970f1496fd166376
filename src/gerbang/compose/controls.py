"""What people do to a gateway that is open: decide requests, approve tools, turn kill switches."""

import asyncio
import logging
from typing import Any

from gerbang.compose.cancelling import Cancelling
from gerbang.compose.doubts import Doubt, Doubts
from gerbang.compose.erasure import Pruned, erase_run, prune
from gerbang.compose.hearing import Hearing
from gerbang.compose.people import People
from gerbang.compose.recovery import Recovered, Recovery
from gerbang.compose.rights import Known
from gerbang.compose.runs import check_person
from gerbang.compose.toolbox import Toolbox
from gerbang.compose.undriven import Undriven
from gerbang.errors import UsageError
from gerbang.ports import Clock, Policy, Secrets, Store
from gerbang.runtime.gate import Gate
from gerbang.runtime.leases import Leases
from gerbang.runtime.switches import Switches, is_switch
from gerbang.values import LOCAL, Principal
from gerbang.values.record import ApprovalRow, CallRow, Kill, RunRow

_LOG = logging.getLogger("gerbang.gateway")


class Controls(Hearing):
    """The part of `Gateway` that is for people. Not used by itself."""

    store: Store
    clock: Clock
    policy: Policy
    _toolbox: Toolbox
    _people: People
    _switches: Switches
    _undriven: Undriven
    secrets: Secrets
    _approver: Any
    leases: Leases

    @property
    def gate(self) -> Gate:
        """The open gate."""
        raise NotImplementedError

    async def approve_tool(self, name: str, *, by: Principal) -> None:
        """Approve the definition of a tool from a pinned source (a file read with `pin=True`, a server) as it
        is now; runs that begin from here on may call it. Raises UsageError for a tool that needs none.
        """
        _ = self.gate
        check_person(by)
        await self._toolbox.approve(self.store, name, by.user, self.clock.now())
        self._people = People(self.store, self.clock, self._toolbox.catalogue)

    async def approve(
        self,
        approval_id: str,
        *,
        by: Principal,
        arguments: dict[str, Any] | None = None,
        reason: str = "",
        seen: str | None = None,
    ) -> ApprovalRow:
        """Agree to a pending request; the call runs when it is made again, or its run is resumed.

        `arguments` replaces the call's arguments; they pass the whole gate again. `seen` is the mark of the
        request that the person was shown (`gerbang.approval.seal.shown_mark`): if it has changed since,
        nothing is decided. Where the policy wants two people the request stays `pending` until a second one
        has agreed. Raises UsageError for an unknown id, a request of another tenant, one that was decided
        before, and for a person whom the policy does not let approve it.
        """
        _ = self.gate
        return await self._people.approve(approval_id, by, arguments, str(reason), seen)

    async def refuse(
        self, approval_id: str, *, by: Principal, reason: str = "", seen: str | None = None
    ) -> ApprovalRow:
        """Refuse a pending request; the model is told. Raises UsageError like `approve`."""
        _ = self.gate
        return await self._people.refuse(approval_id, by, str(reason), seen)

    async def cancel(self, approval_id: str, *, by: Principal, reason: str = "") -> ApprovalRow:
        """Withdraw a pending request; the call may be proposed anew. Raises UsageError like `approve`."""
        _ = self.gate
        return await self._people.cancel(approval_id, by, str(reason))

    async def reply(self, body: bytes, signature: str, *, secret: str | None = None) -> ApprovalRow:
        """Take an answer that came back from a webhook: its exact bytes, and the header `Gerbang-Signature`.

        `secret` names the secret that both sides hold; without it, that of the gateway's own webhook, else
        `webhook_secret`. Whoever has it is believed who they say decides.
        Raises UsageError for a reply that is not signed with it, is older than five minutes, or cannot be
        carried out; it is on record that it came.
        """
        from gerbang.adapters.approvals.signing import SIGNING, claimed, verify_reply

        _ = self.gate
        own = getattr(self._approver, "signing_key", None)
        value = own() if secret is None and own is not None else self.secrets.get(secret or SIGNING)
        if not value:
            raise UsageError(f"The secret {secret or SIGNING!r} that replies are signed with is not there.")
        try:
            said = verify_reply(body, signature, value, now=self.clock.now())
        except UsageError:
            await self._people.not_taken(claimed(body))
            raise
        by = Principal(said.user, said.tenant, roles=said.roles)
        if said.verdict == "refuse":
            return await self._people.refuse(said.approval_id, by, said.reason)
        return await self._people.approve(said.approval_id, by, said.arguments, said.reason)

    async def recover(self, *, limit: int = 1_000, known: Known | None = None) -> list[Recovered]:
        """See to runs that were cut off when their process died.

        A run of a single call ends as `cancelled`: a call of it that was sent is made out by its probe, or
        left UNCERTAIN for a person, and one that waits for an approval goes on waiting. The run of an agent
        is left as it is and named `running` in the answer: `Agent.resume` goes on with it. In runs that a
        caller drives, or that are over, calls that were sent by a process that died are made out in the same
        way, and so are calls in doubt whose probe can tell by now; the run stays as it is. What somebody
        still works on is left alone, and not in the answer; so is, for an hour, a call that would be sent
        again if its caller made it again. Nothing is sent again.

        Probes are asked for whoever sent the call, with the roles and scopes that they had then. `known`
        (user, tenant) gives what a user may do now, a Principal for each way in that they have: then only
        with what one of these gives still.
        """
        return await self._recovery(known).all(limit)

    async def cancel_run(
        self,
        run_id: str,
        *,
        by: Principal,
        reason: str = "",
        wait_s: float = 10.0,
        known: Known | None = None,
    ) -> RunRow:
        """End a run, whichever process drives it, and return it as it is then.

        The process that drives it hears of the request within a second, and sends no call and keeps no
        answer after it is on record; the run ends as `cancelled`, each of its calls with a record. A run that
        nobody drives ends at once. A call that has been sent ends as it ends: one of a run that consists of
        it alone is not interrupted. Of a run that a caller drives call by call every further call is refused.
        Probes of what a dead process sent are asked as by `recover`.

        The run that is returned is still `running` when that took longer than `wait_s` seconds; the request
        stands. One that is over is returned as it is. Raises UsageError when there is no such run of
        `by.tenant`, and StoreError.
        """
        cancelling = Cancelling(self.store, self.clock, self.leases, self._recovery(known))
        return await cancelling.cancel(run_id, by, str(reason)[:500], wait_s)

    async def uncertain(self, *, tenant: str | None = None, limit: int = 100) -> list[Doubt]:
        """Return the calls of which nobody knows what became of them, oldest first, with the facts.

        Those that have a probe are made out by `recover`. Raises StoreError.
        """
        return await Doubts(self.store, self.clock, self.gate, self._recovery()).all(tenant, limit)

    async def resolve(
        self, run_id: str, call_id: str | None = None, *, happened: bool, by: Principal, reason: str = ""
    ) -> CallRow:
        """Say what became of a call that is UNCERTAIN, having found out. It is on record who said it and why.

        `happened`: the call counts as done, and gets this as its result when it is made again. Otherwise its
        key is free again. `call_id` may be left out when only one call of the run is in doubt.
        Raises UsageError when there is no such call in doubt, in the run of another tenant, by an agent, and
        for "not happened" while the call may still be at work; and StoreError.
        """
        doubts = Doubts(self.store, self.clock, self.gate, self._recovery())
        return await doubts.resolve(run_id, call_id, happened, by, str(reason))

    def _recovery(self, known: Known | None = None) -> Recovery:
        return Recovery(self.gate, self.store, self.clock, self.leases, self._toolbox, self._undriven, known)

    def kill(self, target: str, *, by: Principal | None = None, reason: str = "") -> "asyncio.Future[None]":
        """Turn a kill switch on: `all`, `tool:NAME`, `group:NAME` or `tenant:NAME`. It beats every policy.
        A name that no tool of this gateway has is logged.

        In this process it holds from the return on; in every process that shares the store from the moment
        that the returned future is done, which may be awaited. Raises UsageError, and StoreError by the
        future: the switch then holds in this process only.
        """
        _ = self.gate
        check_person(by or LOCAL)
        return self._switches.kill(self._meant(target), by or LOCAL, reason)

    def revive(self, target: str, *, by: Principal | None = None, reason: str = "") -> "asyncio.Future[None]":
        """Turn a kill switch off again; the returned future is done when that is on record.

        Calls of this process that begin after the return wait for that; they need not be held back.
        """
        _ = self.gate
        check_person(by or LOCAL)
        return self._switches.revive(self._meant(target), by or LOCAL, reason)

    def _meant(self, target: str) -> str:
        """Return the switch that is meant: a tool may be named as it is on the wire.

        A tool that this gateway does not know may be another process's; that is logged, for it may be a
        slip of the pen as well, and a switch that stops nothing looks like one that does. A gateway without
        tools, such as the one that the command line opens on a store, cannot tell.
        """
        kind, _, name = str(target).partition(":")
        if kind != "tool" or not is_switch(target):
            return target  # an ill-formed name is refused where it would be turned
        entry = self._toolbox.catalogue.find(name)
        if entry is not None:
            return f"tool:{entry.contract.name}"
        if len(self._toolbox.catalogue):
            _LOG.warning(
                "No tool of this gateway is called %r; the switch is turned all the same.", name[:200]
            )
        return target

    async def erase(self, run_id: str, *, by: Principal, reason: str = "") -> str:
        """Erase the payloads of a run that is over: prompt, answers, arguments, results. Its audit chain
        stays and stays whole. Return the id of the record of it. Raises UsageError and StoreError.
        """
        _ = self.gate
        check_person(by)
        return await erase_run(self.store, self.clock, run_id, by, reason)

    async def prune(self, older_than_s: float, *, by: Principal) -> Pruned:
        """Erase the payloads of all runs, of every tenant, in which nothing happened for so many seconds."""
        _ = self.gate
        check_person(by)
        return await prune(self.store, self.clock, older_than_s, by)

    async def kills(self) -> list[Kill]:
        """Return the kill switches that are on."""
        _ = self.gate
        return await self._switches.refresh()
