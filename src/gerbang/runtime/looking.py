"""Looking at what a call would do: nothing is run and nothing recorded."""

from gerbang.errors import PolicyError
from gerbang.runtime import refusals
from gerbang.runtime.admission import Admission
from gerbang.runtime.catching_up import CatchingUp
from gerbang.runtime.dispatch import Dispatch
from gerbang.runtime.duties import duties_of, not_honoured, redacted
from gerbang.runtime.events import DryRun
from gerbang.runtime.preview import preview, visible
from gerbang.runtime.session import RunSession
from gerbang.runtime.ticket import Refusal, Ticket
from gerbang.values import Decision, Proposal


class Looking:
    """Dry runs and previews of a gate's calls."""

    def __init__(self, admission: Admission, dispatch: Dispatch, catching_up: CatchingUp) -> None:
        self._catching_up = catching_up
        self._admission = admission
        self._dispatch = dispatch

    async def dry_run(self, session: RunSession, proposal: Proposal) -> DryRun:
        """Say what would happen to the proposal, with all looked up that a call would look up."""
        if session.memory.knows >= 0:
            await self._catching_up.learn(session)
        admitted = await self._admission.admit(session, proposal, None)
        if isinstance(admitted, Refusal):
            decision = admitted.decision or Decision(
                "deny", (admitted.error.error_code,), None, self._admission.version
            )
            return DryRun(decision, admitted.error)
        try:
            redacted(admitted, duties_of(admitted.decision.obligations))
        except PolicyError:
            unknown = not_honoured(admitted.decision)
            return DryRun(unknown, refusals.denied(unknown))
        return DryRun(admitted.decision, None, await self.preview(admitted))

    async def preview(self, ticket: Ticket) -> str:
        """Return what an approver would be shown of a call, and what its tool says of it."""
        hidden = duties_of(ticket.decision.obligations).redact  # a tool's own words may hold what is hidden
        own = None if hidden else await self._dispatch.preview(ticket.call)
        text = preview(ticket.call.contract, ticket.call.arguments, ticket.decision)
        return text if own is None else f"{text}\nIt would: {visible(own)}"
