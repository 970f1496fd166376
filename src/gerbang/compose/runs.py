"""The runs that callers with their own loop drive: whose they are, and what they carry from call to call."""

from typing import Final

from msgspec.structs import replace

from gerbang.contract.catalogue import Catalogue
from gerbang.errors import UsageError
from gerbang.loop.budget import Budget
from gerbang.ports import Store
from gerbang.runtime.resuming import remember_calls, remember_refusals
from gerbang.runtime.session import RunMemory, RunSession
from gerbang.values import Principal, StepId
from gerbang.values.principal import MAX_NAME, is_name, unfit
from gerbang.values.record import RunRow, RunState

_MAX_RUNS: Final = 4_096
_MAX_STEP: Final = 2**63
_MADE_AGAIN: Final = frozenset(
    {RunState.RUNNING, RunState.PENDING_APPROVAL, RunState.DENIED, RunState.BUDGET, RunState.FAILED}
)


class CallerRuns:
    """Remembers the newest runs of this process; older ones are looked up in the store again."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[tuple[str, str], RunMemory]] = {}

    async def memory(
        self, run_id: str, who: Principal, store: Store, catalogue: Catalogue
    ) -> tuple[RunMemory, bool]:
        """Return what the run carries, and whether this is its first call ever.

        What a run has done before this process began, or before it was forgotten here, is looked up in its
        records. Raises UsageError when the run belongs to somebody else.
        """
        owner = (who.tenant, who.user)
        known = self._runs.get(run_id)
        if known is not None:
            return self._owned(run_id, known, owner), False
        memory, row = await _remembered(run_id, owner, store, catalogue)
        known = self._runs.get(run_id)  # somebody was faster meanwhile
        if known is not None:
            return self._owned(run_id, known, owner), False
        memory.adopt(b"" if row is None else row.salt)
        while len(self._runs) >= _MAX_RUNS:
            self._runs.pop(next(iter(self._runs)))
        self._runs[run_id] = (owner, memory)
        return memory, row is None

    async def looked_up(
        self, run_id: str | None, who: Principal, store: Store, catalogue: Catalogue
    ) -> RunMemory | None:
        """Return what the run carries, as `memory` does, for a look at it: nothing of it is kept here."""
        if run_id is None:
            return None
        owner = (who.tenant, who.user)
        known = self._runs.get(run_id)
        if known is not None:
            return self._owned(run_id, known, owner)
        return (await _remembered(run_id, owner, store, catalogue))[0]

    def known(self, run_id: str | None, who: Principal) -> RunMemory | None:
        """Return what a run carries that this process knows and that belongs to `who`."""
        known = self._runs.get(run_id or "")
        return known[1] if known is not None and known[0] == (who.tenant, who.user) else None

    @staticmethod
    def _owned(run_id: str, known: tuple[tuple[str, str], RunMemory], owner: tuple[str, str]) -> RunMemory:
        if known[0] != owner:
            raise _foreign(run_id)
        return known[1]


async def _remembered(
    run_id: str, owner: tuple[str, str], store: Store, catalogue: Catalogue
) -> tuple[RunMemory, RunRow | None]:
    """Return what a run carries by its records, and its row where it has one."""
    row = await store.run(run_id)
    if row is not None and (row.tenant, row.user) != owner:
        raise _foreign(run_id)
    memory = RunMemory(Budget())  # whoever has an own loop has own budgets
    memory.knows = 0  # others may drive the run as well
    if row is not None:
        if row.prompt:
            memory.known.say(row.prompt)
        await remember_calls(store, run_id, catalogue, memory)
        await remember_refusals(store, run_id, memory)
    return memory, row


def first_row(session: RunSession, alone: bool, now: float) -> RunRow:
    """Return the row of a run that its first call begins. `alone`: it consists of that call."""
    who, state = session.principal, RunState.RUNNING if alone else RunState.OPEN
    salt = session.memory.salt
    return RunRow(session.run_id, who.tenant, who.user, state, now, now, profile="gateway", salt=salt)


async def taken_up(store: Store, run_id: str, now: float) -> RunRow | None:
    """Return the row of a run of one call that is made again; None when it has its result, or is of another
    kind.
    """
    row = await store.run(run_id)
    if row is None or row.model or row.state not in _MADE_AGAIN:
        return None
    return replace(row, state=RunState.RUNNING, updated_at=now)


def check_place(
    who: Principal,
    run_id: str | None,
    step_id: StepId,
    key: str | None,
    purpose: str | None,
    intent: str | None,
) -> None:
    """Raise UsageError unless everything that names a call can be recorded."""
    check_person(who, "principal")
    names: dict[str, object] = {"run_id": run_id, "key": key, "purpose": purpose, "intent": intent}
    if type(step_id) is int:
        if not -_MAX_STEP <= step_id < _MAX_STEP:
            raise UsageError("step_id is too large a number.")
    elif not is_name(step_id):  # whatever it is, it must be a text
        raise _unnamable("step_id")
    for label, value in names.items():
        if value is not None and not is_name(value):
            raise _unnamable(label)


def check_person(who: object, label: str = "by") -> None:
    """Raise UsageError unless somebody is a Principal that can be recorded."""
    if not isinstance(who, Principal):
        raise UsageError(f"{label} takes a gerbang.Principal.")
    field = unfit(who)
    if field:
        raise _unnamable(f"{label}.{field}")


def _unnamable(label: str) -> UsageError:
    kind = "a whole number or a text" if label == "step_id" else "a text"
    return UsageError(f"{label} must be {kind} of 1 to {MAX_NAME} characters that can be recorded.")


def _foreign(run_id: str) -> UsageError:
    return UsageError(f"Run {run_id!r} belongs to somebody else. Use another run_id.")
