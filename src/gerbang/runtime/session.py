"""What one run carries from call to call."""

from collections.abc import Callable
from typing import Any

from gerbang.contract.catalogue import Catalogue
from gerbang.loop.budget import Budget
from gerbang.loop.profile import Profile
from gerbang.loop.texts import Texts
from gerbang.values import Principal, Proposal
from gerbang.values.record import Batch, RunRow


def _nowhere(_: Any) -> None:
    """Swallow an event that nobody asked for."""


class RunMemory:
    """What all calls of a run share: its budget, and whether it has read something from outside."""

    __slots__ = ("budget", "tainted")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tainted = False


class RunSession:
    """Identity, exposure and budget of a run, and the rows that wait for the next commit.

    `memory` is shared by the sessions of one run. `carry` holds rows that must be
    durable before the next effect; they travel in the same commit. `closing` is the row of a run that
    consists of one call and ends with it. `open` are the proposals of the answer, by call id, that have no
    record of their end yet. `emit` receives agent events.
    """

    __slots__ = (
        "budget",
        "carry",
        "catalogue",
        "closing",
        "emit",
        "intent",
        "lang",
        "memory",
        "open",
        "principal",
        "profile",
        "purpose",
        "run_id",
        "texts",
        "watched",
    )

    def __init__(
        self,
        *,
        run_id: str,
        principal: Principal,
        catalogue: Catalogue,
        memory: RunMemory,
        profile: Profile,
        lang: str,
        purpose: str | None = None,
        intent: str | None = None,
        emit: Callable[[Any], None] | None = None,
    ) -> None:
        self.run_id = run_id
        self.principal = principal
        self.catalogue = catalogue
        self.memory = memory
        self.budget = memory.budget
        self.profile = profile
        self.lang = lang
        self.texts: Texts = profile.texts(lang)
        self.purpose = purpose
        self.intent = intent
        self.emit = emit or _nowhere
        self.watched = emit is not None
        self.carry: Batch | None = None
        self.closing: RunRow | None = None
        self.open: dict[str, Proposal] = {}

    def batch(self) -> Batch:
        """Return the batch that waits for the next commit, or a new one. The caller must commit it."""
        carried, self.carry = self.carry, None
        if carried is not None:
            return carried
        return Batch()
