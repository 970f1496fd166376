"""The records of one run: its start, its answers, its end, written under its lease."""

from collections.abc import Sequence
from typing import NoReturn

from msgspec.structs import replace

from gerbang.contract.client_tools import ClientTool
from gerbang.ports import Clock, Store
from gerbang.runtime.beginning import AlreadyBegun
from gerbang.runtime.bodies import (
    ModelAnswered,
    RunFinished,
    RunResumed,
    RunStarted,
    committing,
    event,
    step_name,
)
from gerbang.runtime.kept import OPENING, KeptAnswer, KeptCall, KeptEnd, KeptResult, Opening, encoded
from gerbang.runtime.leases import Leases
from gerbang.runtime.reading import Answer
from gerbang.runtime.refusing import cut_off
from gerbang.runtime.resuming import Progress
from gerbang.runtime.session import RunSession
from gerbang.runtime.writing import CalledOff, TakenOver, write
from gerbang.values import CallError, Proposal, Result
from gerbang.values.event import NewEvent
from gerbang.values.message import Message
from gerbang.values.record import AnswerRow, AnswerSaid, Batch, RunRow, RunState


class RunRecord:
    """Writes what belongs to the run itself; what belongs to a call is the gate's."""

    def __init__(self, session: RunSession, store: Store, clock: Clock, leases: Leases, model: str) -> None:
        self._session = session
        self._store = store
        self._clock = clock
        self._leases = leases
        self._model = model
        self._row: RunRow
        self._kept = 0  # messages of the conversation that are in the store

    def begin(
        self, messages: Sequence[Message], prompt: str, client_tools: tuple[ClientTool, ...] = ()
    ) -> None:
        """Have the run's start written with the first commit."""
        session, who, now = self._session, self._session.principal, self._clock.now()
        self._kept = len(messages)
        self._row = RunRow(
            run_id=session.run_id,
            tenant=who.tenant,
            user=who.user,
            state=RunState.RUNNING,
            started_at=now,
            updated_at=now,
            prompt=prompt,
            model=self._model,
            profile=session.profile.name,
            salt=session.memory.salt,
        )
        body = RunStarted(
            session.run_id,
            who.user,
            who.tenant,
            who.agent,
            self._model,
            session.profile.name,
            session.purpose,
            session.intent,
            "",
            now,
        )
        said = prompt.encode("utf-8", "surrogatepass")
        opening = Opening(list(messages), session.purpose, session.intent, client_tools)
        batch = session.batch()
        batch.runs = (*batch.runs, self._row)
        if client_tools:  # their schemas might change, messages cannot
            batch.answers = (*batch.answers, AnswerRow(session.run_id, OPENING, encoded(opening)))
        else:
            batch.answers = (*batch.answers, AnswerSaid(session.run_id, OPENING, opening))
        batch.events.append(
            committing("run.started", session.run_id, body, session.memory.marks, "prompt_hash", said)
        )
        batch.hold = self._leases.hold(session.run_id)
        if self.writes_ahead:
            batch.knows = 0
        if session.beginning is not None:
            session.beginning.claim(batch)
        session.carry = batch

    @property
    def writes_ahead(self) -> bool:
        """True when the start has a commit of its own: others may begin the run too, or look for it."""
        return self._session.beginning is not None or not self._store.immediate

    def begin_again(self, progress: Progress, done: int) -> None:
        """Have it written that the run goes on; `done` of its last answer's calls have their outcome."""
        session, now = self._session, self._clock.now()
        self._kept = len(progress.messages)
        self._row = replace(progress.row, state=RunState.RUNNING, updated_at=now)
        body = RunResumed(session.run_id, session.principal.user, progress.answers, done, now)
        batch = session.batch()
        batch.runs = (*batch.runs, self._row)
        batch.events.append(event("run.resumed", session.run_id, body))
        session.carry = batch

    async def write(self, batch: Batch) -> None:
        """Commit a batch of the run. Raises AlreadyBegun for the start of a run that there is, TakenOver when
        another process drives it by now, CalledOff when it was asked to end: what was to be written goes
        along with its end.
        """
        session, asked = self._session, self._clock.monotonic()
        if batch.hold is None:
            batch.lease = session.lease
        batch.stops = (session.switch,)
        committed = await write(self._store, batch)
        if committed.stopped is not None:
            self._call_off(batch)
        if not committed.written:
            raise AlreadyBegun(session.run_id) if batch.knows == 0 else TakenOver
        self._stands()
        if committed.held is not None:
            self._leases.adopt(session, committed.held, asked)

    def answered(
        self,
        answer: Answer,
        step: int,
        messages: Sequence[Message],
        proposals: Sequence[Proposal],
        text_protocol: bool,
    ) -> None:
        """Have an answer written before anything of it is dispatched. `messages` ends with its message."""
        session = self._session
        names, faults, told = [], 0, not text_protocol  # whether the message tells all of the calls
        for one in proposals:
            names.append(one.name[:128])
            if one.fault is not None:
                faults += 1
                told = False
            elif one.repaired:
                told = False
        body = ModelAnswered(
            session.run_id,
            step_name(step),
            tuple(names),
            faults,
            len(answer.content),
            answer.finish_reason,
            answer.usage.input_tokens,
            answer.usage.output_tokens,
            self._clock.now(),
            answer.asked,
        )
        kept = self._keeping(answer, messages, None if told else proposals)
        batch = session.batch()
        if kept.calls is None:  # messages cannot change any more, arguments might
            batch.answers = (*batch.answers, AnswerSaid(session.run_id, step, kept))
        else:
            batch.answers = (*batch.answers, AnswerRow(session.run_id, step, encoded(kept)))
        batch.events.append(NewEvent(session.run_id, "model.answered", body))
        session.carry = batch

    def _keeping(
        self, answer: Answer, messages: Sequence[Message], proposals: Sequence[Proposal] | None
    ) -> KeptAnswer:
        """Return the answer with what was said before it, and its calls where the message lacks something."""
        message = messages[-1]
        before = tuple(messages[self._kept : -1])
        self._kept = len(messages)
        calls: tuple[KeptCall, ...] | None = None
        if proposals is not None:
            calls = tuple(
                KeptCall(one.call_id, one.name, one.arguments, one.fault, one.repaired) for one in proposals
            )
        final = None if answer.calls or answer.content == message.content else answer.content
        return KeptAnswer("assistant", message.content, message.tool_calls, before, calls, final)

    def handed(self, batch: Batch, step: int, results: Sequence[Result], handed: Sequence[bool]) -> None:
        """Put into `batch` how the run ended, for the run that goes on with what the client made of it."""
        kept = tuple(
            KeptResult(one.call_id, one.tool, "" if clients else one.for_model, clients)
            for one, clients in zip(results, handed, strict=True)
        )
        batch.answers = (*batch.answers, AnswerRow(self._session.run_id, step, encoded(KeptEnd(kept))))

    async def finish(self, state: RunState, text: str, steps: int, calls: int, batch: Batch) -> bool:
        """Write the run's end, with what `batch` brings. False: it is another process's to end.

        Raises CalledOff when it was asked to end before it came to this end; it ends as cancelled then.
        """
        session, now = self._session, self._clock.now()
        self._row = replace(self._row, state=state, updated_at=now, answer=text, steps=steps)
        batch.runs = (*batch.runs, self._row)
        body, said = (
            RunFinished(session.run_id, state, steps, calls, "", now),
            text.encode("utf-8", "replace"),
        )
        batch.events.append(
            committing("run.finished", session.run_id, body, session.memory.marks, "answer_hash", said)
        )
        batch.lease = session.lease
        if session.lease is not None:
            batch.hold = self._leases.giving_back(session.run_id)
        if state == RunState.CANCELLED:
            batch.revives = (session.switch,)
        elif state != RunState.PENDING_APPROVAL:  # that one is ended by whoever asked
            batch.stops = (session.switch,)
        committed = await write(self._store, batch)
        if committed.stopped is not None:
            batch.runs = batch.runs[:-1]
            batch.events.pop()
            self._call_off(batch)
        self._leases.forget(session)
        if committed.written:
            self._stands()
        return committed.written

    def _stands(self) -> None:
        beginning, self._session.beginning = self._session.beginning, None
        if beginning is not None:
            beginning.stands()

    def _call_off(self, batch: Batch) -> NoReturn:
        session = self._session
        batch.stops, batch.hold = (), None
        session.carry = batch
        session.ask_to_end()
        raise CalledOff

    def close_open(self, batch: Batch, proposals: Sequence[Proposal], error: CallError) -> list[Result]:
        """Give every proposal that a run leaves open its record, and return all their results."""
        return close_open(self._session, batch, proposals, error, self._clock.now())


def close_open(
    session: RunSession, batch: Batch, proposals: Sequence[Proposal], error: CallError, at: float
) -> list[Result]:
    """Put the record that ends each proposal which has none into the batch, and return all their results.

    `at` is seconds since the epoch.
    """
    results = []
    for proposal in proposals:
        ended = session.ended.get(proposal.call_id)
        if ended is not None:
            results.append(ended)
            continue
        batch.events.append(cut_off(session.principal, proposal, error, at))
        results.append(
            Result(
                status="error",
                tool=proposal.name,
                run_id=session.run_id,
                step_id=proposal.step_id,
                call_id=proposal.call_id,
                error=error,
                for_model=error.message,
            )
        )
    return results
