"""What a program with its own loop tells the gate of its conversation: the user's own words."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gerbang.compose.runs import CallerRuns, check_place
from gerbang.contract.catalogue import Catalogue
from gerbang.errors import UsageError
from gerbang.ports import Clock, Store
from gerbang.runtime.bodies import event
from gerbang.runtime.gate import Gate
from gerbang.runtime.writing import write
from gerbang.values import LOCAL, Principal
from gerbang.values.record import Batch, RunRow, RunState
from gerbang.values.text import clean_text

_KEPT_CHARS: Final = 64_000
"""So much of what a user wrote in a run is kept, the newest of it."""


class RunSaid(Struct, frozen=True, gc=False):
    """The user of a run wrote something: so many characters. The words are the run's prompt."""

    run_id: str
    user: str
    tenant: str
    text_chars: int
    at: float


class Hearing:
    """The part of `Gateway` that hears the user. Not used by itself."""

    store: Store
    clock: Clock
    _runs: CallerRuns

    @property
    def gate(self) -> Gate:
        """The open gate."""
        raise NotImplementedError

    @property
    def catalogue(self) -> Catalogue:
        """All tools that may be called."""
        raise NotImplementedError

    async def said(self, text: str, *, run_id: str, principal: Principal | None = None) -> None:
        """Tell the gate what the user of a run wrote, before the calls that follow from it.

        Rules about `taint` then know a value that the user named from one that a tool brought. Give it the
        user's words only: nothing of a model's, and no results. It is on record, and holds after a restart.
        An `Agent` knows its prompt by itself. Raises UsageError for a run of somebody else, and StoreError.
        """
        _ = self.gate
        who = principal or LOCAL
        check_place(who, run_id, 1, None, None, None)
        if type(text) is not str or run_id is None:
            raise UsageError("said takes the user's words, a text, and the run_id of the calls that follow.")
        memory, _first = await self._runs.memory(run_id, who, self.store, self.catalogue)
        words, now = clean_text(text[-_KEPT_CHARS:]), self.clock.now()
        row = await self.store.run(run_id) or RunRow(
            run_id, who.tenant, who.user, RunState.OPEN, now, now, profile="gateway", salt=memory.salt
        )
        if row.state != RunState.OPEN:
            raise UsageError(
                f"Run {run_id!r} is {row.state}: what its user wrote is said when it is started."
            )
        prompt = f"{row.prompt}\n{words}"[-_KEPT_CHARS:] if row.prompt else words
        said = RunSaid(run_id, who.user, who.tenant, len(text), now)
        batch = Batch(
            runs=[replace(row, prompt=prompt, updated_at=now)],
            events=[event("run.said", run_id, said)],
            writer=memory.writer,
        )
        await write(self.store, batch)
        memory.known.say(words)
