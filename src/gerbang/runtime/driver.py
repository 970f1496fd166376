"""Driving one run: the loop machine says what comes next, this does it."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from gerbang import parse
from gerbang.contract.client_tools import ClientTool
from gerbang.errors import CallerError, ModelFault
from gerbang.limits import CHARS_PER_TOKEN
from gerbang.loop.context import Transcript
from gerbang.loop.machine import (
    Answered,
    AskModel,
    CallsDone,
    Finish,
    LoopEvent,
    LoopState,
    ModelFailed,
    Resumed,
    Started,
    Stopped,
    advance,
)
from gerbang.ports import Clock, Model, Store
from gerbang.runtime import refusals
from gerbang.runtime.asking import ask_model
from gerbang.runtime.batching import Finished, run_batch
from gerbang.runtime.closing import CUT_OFF, closing_text
from gerbang.runtime.denying import KILLED, any_ran, killed, refused_for_good
from gerbang.runtime.events import RunResult, ToolCalled, ToolFinished
from gerbang.runtime.gate import Gate
from gerbang.runtime.handing import client_calls, is_handed
from gerbang.runtime.kept import KeptResult
from gerbang.runtime.leases import Leases
from gerbang.runtime.listening import listen
from gerbang.runtime.manners import chosen, one_at_a_time
from gerbang.runtime.offered import offered
from gerbang.runtime.plan import KILL_ALL
from gerbang.runtime.reading import Answer, Asked, insists
from gerbang.runtime.resuming import Progress, is_over
from gerbang.runtime.room import TOO_LONG, effect_of, fitted, within, worst_effect
from gerbang.runtime.run_record import RunRecord
from gerbang.runtime.run_settings import RunSettings
from gerbang.runtime.session import RunSession
from gerbang.runtime.telling import answer_message, told, tool_message
from gerbang.runtime.tokens import over_tokens, spend_tokens
from gerbang.runtime.withdrawing import withdraw_open
from gerbang.runtime.writing import CalledOff, TakenOver
from gerbang.values import Message, Proposal, Result, ToolCall
from gerbang.values.canonical import copied
from gerbang.values.model import ModelRequest
from gerbang.values.record import OPEN_STATES, CallRow, RunState

_RESERVE_TOKENS = 1_024
_NOTHING = parse.Offered(None)
_LEAVES_OPEN: Final = {
    RunState.CANCELLED: refusals.not_sent(),
    RunState.BUDGET: refusals.not_sent(late=True),
    RunState.MAX_STEPS: refusals.no_step_left(),
}
"""Ends of a run at which calls of its last answer may have no result yet, and what these then say."""


class RunDriver:
    """One run of an agent. Use once: `await RunDriver(...).run(messages, prompt)`."""

    def __init__(
        self,
        *,
        gate: Gate,
        model: Model,
        store: Store,
        clock: Clock,
        session: RunSession,
        settings: RunSettings,
        leases: Leases,
        client_tools: tuple[ClientTool, ...] = (),
        brought: Sequence[str] = (),
    ) -> None:
        self._leases = leases
        self._clients = client_tools
        self._brought = brought
        self._gate = gate
        self._model = model
        self._store = store
        self._clock = clock
        self._session = session
        self._settings = settings
        self._specs = session.catalogue.specs_in(session.lang)
        self._offered = offered(session.catalogue)
        self._transcript: Transcript
        self._answer: Answer | None = None
        self._proposals: list[Proposal] = []
        self._results: list[Result] = []
        self._last: list[Result] = []
        self._handed: list[bool] = []
        self._ran = False  # a call that it asked for was let through
        self._pending = 0
        self._ids = 0
        self._used_ids: set[str] = set()
        self._usage = [0, 0]
        self._detail = self._broken_off = ""
        self._content = ""
        self._asked = -1  # the step of the newest answer that this process asked for
        self._record = RunRecord(session, store, clock, leases, model.name)

    async def run(self, messages: list[Message], prompt: str) -> RunResult:
        """Run to the end and return the result. Raises StoreError; CancelledError after recording it."""
        self._transcript = self._conversation(messages)
        self._used_ids = {call.id for message in messages for call in message.tool_calls}
        if self._gate.admission.asks_taint:
            listen(self._session.memory, messages)
        self._record.begin(messages, prompt, self._clients)
        return await self._loop(Started())

    async def resume(self, progress: Progress) -> RunResult:
        """Go on with a run at the call, or the answer, that it had come to. The same as `run` from there."""
        session = self._session
        self._transcript = self._conversation(progress.messages)
        self._proposals = progress.proposals
        self._used_ids = set(progress.used_ids)
        self._content = progress.content
        self._ran = progress.ran
        standing: dict[str, CallRow] = {}
        for proposal in progress.proposals:
            row = progress.rows.get(proposal.ordinal)
            if row is not None and is_over(row, session.catalogue):
                session.ended[proposal.call_id] = self._gate.restored(session, proposal, row)
            elif row is not None and row.state in OPEN_STATES:
                standing[proposal.call_id] = row
        session.closed, session.standing = progress.closed, standing
        self._record.begin_again(progress, len(session.ended))
        calls = len(self._proposals)
        return await self._loop(Resumed(progress.answers, calls, progress.final))

    async def _loop(self, first: LoopEvent) -> RunResult:
        state = LoopState(max_steps=self._settings.max_steps, count=self._session.profile.count)
        state, command = advance(state, first)
        session, stopping = self._session, self._leases.stopping
        try:
            async with asyncio.timeout(None) as limit:
                session.out_of_time = limit.expired
                stopping.drive(session, partial(_end_now, limit), self._settings.deadline_s)
                try:
                    while type(command) is not Finish:
                        if type(command) is AskModel:
                            state, command = advance(state, await self._ask(command, state))
                        else:
                            state, command = advance(state, await self._call(state))
                        if session.stopping and type(command) is not Finish:
                            raise CalledOff
                finally:
                    stopping.leave(session)
        except (TimeoutError, CalledOff):
            ending = RunState.CANCELLED if session.stopping else RunState.BUDGET
            state, command = advance(state, Stopped(ending))
        except TakenOver:
            return self._left(state)
        except asyncio.CancelledError:
            state, command = advance(state, Stopped(RunState.CANCELLED))
            assert isinstance(command, Finish)  # noqa: S101 - Stopped always finishes
            await asyncio.shield(self._finish(command.state, state))
            raise
        assert isinstance(command, Finish)  # noqa: S101 - the loop ends with it
        return await self._finish(command.state, state)

    def _conversation(self, messages: list[Message]) -> Transcript:
        return Transcript(
            messages, window_tokens=self._settings.context_tokens, reserve_tokens=self._reserve()
        )

    def _reserve(self) -> int:
        """Return the tokens to keep free: for the answer, and for the tools' schemas."""
        schemas = self._session.catalogue.spec_bytes // CHARS_PER_TOKEN
        return min(_RESERVE_TOKENS + schemas, self._settings.context_tokens // 2)

    async def _ask(self, command: AskModel, state: LoopState) -> Answered | ModelFailed:
        session, settings = self._session, self._settings
        budget = session.budget
        limited = budget.max_tokens is not None or session.token_limits
        if limited and (budget.out_of_tokens() or await over_tokens(self._store, session)):
            self._detail = "The model's tokens are used up (BUDGET_TOKENS)."
            raise TimeoutError
        if session.carry is not None and self._record.writes_ahead:
            # a run that dies in the model call can be seen, and gone on with
            await self._record.write(session.batch())
        transcript = self._transcript
        if transcript.size > transcript.limit and not fitted(transcript, len(self._last), session):
            self._detail = TOO_LONG
            raise TimeoutError
        sampling = settings.sampling
        choice, specs = chosen(sampling, self._specs, first=state.answers == 0)
        offers = command.tools and choice != "none"
        request = ModelRequest(
            transcript.messages,
            specs if offers and not settings.text_protocol else (),
            choice,
            settings.stream,
            settings.temperature if sampling.temperature is None else sampling.temperature,
            sampling.max_tokens,
            settings.model_timeout_s,
            sampling,
        )
        try:
            tools = self._offered if offers else _NOTHING
            answer = await ask_model(self._model, request, settings.dialect, tools, session.emit)
        except (ModelFault, CallerError) as fault:
            self._detail = str(fault)
            return ModelFailed()
        except Exception as error:  # a foreign adapter may raise anything; its text may hold a secret
            self._detail = f"The model adapter failed inside ({type(error).__name__[:80]})."
            return ModelFailed()
        spent = self._counted(answer)
        if session.token_limits:
            await spend_tokens(self._store, session, spent)
        if not sampling.parallel_calls:
            answer = one_at_a_time(answer)
        if not answer.calls and answer.finish_reason in CUT_OFF:
            self._detail = CUT_OFF[answer.finish_reason]
            if answer.finish_reason == "disconnected":  # half an answer is no answer, and is not lost
                self._broken_off = answer.content
                return ModelFailed()
        if answer.raw and insists(answer, "" if self._answer is None else self._answer.raw):
            answer = replace(answer, calls=())
        self._answer = answer
        self._content = answer.content
        self._take(answer, state.answers + 1)
        if len(self._proposals) > 1:  # a single call takes the answer along in its own commit
            await self._record.write(session.batch())
        if session.watched and command.tools:  # others are answered, and never made
            self._show_calls()
        silent = not (answer.calls or self._ran or answer.content.strip())
        return Answered(len(answer.calls), denied=silent and refused_for_good(self._last))

    def _counted(self, answer: Answer) -> int:
        """Count the tokens of an answer, and return how many they are."""
        usage = answer.usage
        self._usage[0] += usage.input_tokens
        self._usage[1] += usage.output_tokens
        spent = usage.input_tokens + usage.output_tokens
        self._session.budget.tokens += spent
        return spent

    def _take(self, answer: Answer, step: int) -> None:
        """Have the answer written before anything of it is dispatched."""
        session = self._session
        self._asked = step
        self._proposals = []
        for asked in answer.calls:
            self._proposals.append(self._proposal(asked, step, len(self._proposals)))
        session.ended.clear()
        protocol = self._settings.text_protocol
        self._transcript.append(answer_message(answer, self._proposals, session.texts, text=protocol))
        self._record.answered(answer, step, self._transcript.messages, self._proposals, protocol)

    def _show_calls(self) -> None:
        for one in self._proposals:
            self._session.emit(ToolCalled(self._asked, one.call_id, one.name, copied(one.arguments)))

    def _proposal(self, asked: Asked, step: int, index: int) -> Proposal:
        call_id = asked.id
        while call_id is None or call_id in self._used_ids:
            self._ids += 1
            call_id = f"call_{self._ids}"
        self._used_ids.add(call_id)
        return Proposal(
            self._session.run_id,
            step,
            index,
            call_id,
            self._session.catalogue.name_of(asked.name),
            asked.arguments,
            asked.fault,
            asked.repaired,
        )

    async def _call(self, state: LoopState) -> CallsDone:
        session = self._session
        if state.answers == self._asked and self._transcript.tight(len(self._proposals)):
            self._proposals = within(self._transcript, self._proposals, self._settings.text_protocol)
        results = await run_batch(
            self._gate,
            session,
            self._proposals,
            self._settings.max_parallel,
            _tell(session) if session.watched else None,
            known=session.ended if state.answers != self._asked else None,
        )
        self._last = results
        self._results.extend(results)
        self._ran = self._ran or any_ran(results)
        self._proposals = []
        self._say(results, state.answers)
        self._handed = [is_handed(result, session.catalogue) for result in results] if self._clients else []
        states = [result.status for result in results]
        pending = states.count("pending")
        stopped = "error" in states and killed(results) and await self._all_stopped()
        if stopped and not pending:
            self._detail = KILLED
        return CallsDone(pending, self._handed.count(True), stopped)

    async def _all_stopped(self) -> bool:
        """Tell whether a switch is on, in whatever process it was turned, that stops all of the run."""
        stops, names = self._gate.admission.stops, (KILL_ALL, self._session.stop)
        if not stops.of(names):
            await stops.renew()
        return stops.of(names)

    def _say(self, results: Sequence[Result], step: int) -> None:
        """Put the results into the conversation, in the order of the calls."""
        transcript, catalogue = self._transcript, self._session.catalogue
        if self._settings.text_protocol:
            kept = [KeptResult(one.call_id, one.tool, one.for_model) for one in results]
            for message in told(kept, self._settings, step, self._session.lang):
                transcript.append(message, result=True, effect=worst_effect(results, catalogue))
        else:
            for one in results:
                effect = effect_of(one, catalogue) if transcript.half_full else ""
                transcript.append(tool_message(one.call_id, one.tool, one.for_model), effect=effect)

    async def _finish(self, run_state: RunState, state: LoopState) -> RunResult:
        session = self._session
        batch = session.batch()
        if run_state in _LEAVES_OPEN:
            self._results += self._record.close_open(batch, self._proposals, _LEAVES_OPEN[run_state])
            self._proposals = []
        if run_state in (RunState.CANCELLED, RunState.BUDGET):
            await withdraw_open(self._store, self._clock, session, "the run was cancelled")
        calls: tuple[ToolCall, ...] = ()
        if run_state == RunState.CLIENT_CALLS:
            calls = client_calls(session, self._last, self._handed)
            self._record.handed(batch, state.answers + 1, self._last, self._handed)
        text = closing_text(
            run_state,
            session.texts,
            content=self._content,
            last=self._last,
            results=self._results,
            writes_prose=self._model.writes_prose,
            brought=self._brought,
            broken_off=self._broken_off,
            no_room=self._detail == TOO_LONG,
            closes=state.count == "rounds",
        )
        try:
            written = await self._record.finish(run_state, text, state.answers, len(self._results), batch)
        except CalledOff:
            return await self._finish(RunState.CANCELLED, state)
        return self._result(text, run_state, state, calls) if written else self._left(state)

    def _left(self, state: LoopState) -> RunResult:
        """Return the result of a run that another process goes on with: it is not ours to end."""
        self._leases.forget(self._session)
        self._detail = "Another process drives this run now."
        return self._result(self._session.texts.cancelled, RunState.CANCELLED, state)

    def _result(
        self, text: str, run_state: RunState, state: LoopState, calls: tuple[ToolCall, ...] = ()
    ) -> RunResult:
        return RunResult(
            answer=text,
            status=str(run_state),
            steps=state.answers,
            calls=tuple(self._results),
            run_id=self._session.run_id,
            input_tokens=self._usage[0],
            output_tokens=self._usage[1],
            detail=self._detail,
            client_calls=calls,
            finish_reason="stop" if self._answer is None else self._answer.finish_reason,
        )


def _end_now(limit: asyncio.Timeout) -> None:
    """Have what a run waits for cancelled and recorded, by the way that ends it at its deadline."""
    if not limit.expired():
        limit.reschedule(asyncio.get_running_loop().time())


def _tell(session: RunSession) -> Finished:
    def finished(proposal: Proposal, result: Result) -> None:
        session.emit(ToolFinished(proposal.call_id, result.tool, result))

    return finished
