"""Driving one run: the loop machine says what comes next, this does it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gerbang import parse
from gerbang.errors import ModelFault
from gerbang.limits import CHARS_PER_TOKEN
from gerbang.loop.context import Transcript
from gerbang.loop.machine import (
    Answered,
    AskModel,
    CallsDone,
    Finish,
    LoopState,
    ModelFailed,
    Started,
    Stopped,
    advance,
)
from gerbang.ports import Clock, Model, Store
from gerbang.runtime import refusals
from gerbang.runtime.asking import ask_model
from gerbang.runtime.batching import Finished, run_batch
from gerbang.runtime.bodies import (
    ModelAnswered,
    RunFinished,
    RunStarted,
    event,
    refused_body,
    sha256,
    step_name,
)
from gerbang.runtime.events import Notice, RunResult, ToolCalled, ToolFinished
from gerbang.runtime.gate import Gate
from gerbang.runtime.offered import offered
from gerbang.runtime.reading import Answer, Asked
from gerbang.runtime.run_settings import RunSettings
from gerbang.runtime.session import RunSession
from gerbang.runtime.writing import write
from gerbang.values import Message, Proposal, Result, ToolCall
from gerbang.values.canonical import copied
from gerbang.values.model import ModelRequest
from gerbang.values.record import AnswerRow, Batch, CallState, RunRow, RunState

_ENCODER = msgspec.json.Encoder()
_RESERVE_TOKENS = 1_024
_NOTHING = parse.Offered(None)


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
    ) -> None:
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
        self._pending = 0
        self._ids = 0
        self._used_ids: set[str] = set()
        self._usage = [0, 0]
        self._detail = ""
        self._row: RunRow

    async def run(self, messages: list[Message], prompt: str) -> RunResult:
        """Run to the end and return the result. Raises StoreError; CancelledError after recording it."""
        self._begin(messages, prompt)
        state = LoopState(max_steps=self._settings.max_steps, count=self._session.profile.count)
        state, command = advance(state, Started())
        try:
            async with asyncio.timeout(self._settings.deadline_s):
                while type(command) is not Finish:
                    if type(command) is AskModel:
                        state, command = advance(state, await self._ask(command, state))
                    else:
                        state, command = advance(state, await self._call(state))
        except TimeoutError:
            state, command = advance(state, Stopped(RunState.BUDGET))
        except asyncio.CancelledError:
            state, command = advance(state, Stopped(RunState.CANCELLED))
            assert isinstance(command, Finish)  # noqa: S101 - Stopped always finishes
            await asyncio.shield(self._finish(command.state, state))
            raise
        assert isinstance(command, Finish)  # noqa: S101 - the loop ends with it
        return await self._finish(command.state, state)

    def _begin(self, messages: list[Message], prompt: str) -> None:
        session, settings, now = self._session, self._settings, self._clock.now()
        self._transcript = Transcript(
            messages, window_tokens=settings.context_tokens, reserve_tokens=self._reserve()
        )
        self._row = RunRow(
            run_id=session.run_id,
            tenant=session.principal.tenant,
            user=session.principal.user,
            state=RunState.RUNNING,
            started_at=now,
            updated_at=now,
            prompt=prompt,
            model=self._model.name,
            profile=session.profile.name,
        )
        body = RunStarted(
            session.run_id,
            session.principal.user,
            session.principal.tenant,
            session.principal.agent,
            self._model.name,
            session.profile.name,
            session.purpose,
            session.intent,
            sha256(prompt.encode("utf-8", "surrogatepass")),
            now,
        )
        batch = session.batch()
        batch.runs.append(self._row)
        batch.events.append(event("run.started", session.run_id, body))
        session.carry = batch

    def _reserve(self) -> int:
        """Return the tokens to keep free: for the answer, and for the tools' schemas."""
        schemas = self._session.catalogue.spec_bytes // CHARS_PER_TOKEN
        return min(_RESERVE_TOKENS + schemas, self._settings.context_tokens // 2)

    async def _ask(self, command: AskModel, state: LoopState) -> Answered | ModelFailed:
        session, settings = self._session, self._settings
        if session.carry is not None and not self._store.immediate:
            await write(self._store, session.batch())  # a run that dies in the model call can be seen
        before = self._transcript.shortened
        fits = self._transcript.fit(keep_last=max(1, len(self._last)))
        if self._transcript.shortened != before:
            session.emit(Notice("CONTEXT_SHORTENED", "Older tool results were shortened to fit the context."))
        if not fits:
            self._detail = "The conversation is larger than the model's context window."
            return ModelFailed()
        request = ModelRequest(
            messages=self._transcript.messages,
            tools=self._specs if command.tools and not settings.text_protocol else (),
            stream=settings.stream,
            temperature=settings.temperature,
            timeout_s=settings.model_timeout_s,
        )
        try:
            tools = self._offered if command.tools else _NOTHING
            answer = await ask_model(self._model, request, settings.dialect, tools, session.emit)
        except ModelFault as fault:
            self._detail = str(fault)
            return ModelFailed()
        except Exception as error:  # a foreign adapter may raise anything; its text may hold a secret
            self._detail = f"The model adapter failed inside ({type(error).__name__[:80]})."
            return ModelFailed()
        self._usage[0] += answer.usage.input_tokens
        self._usage[1] += answer.usage.output_tokens
        self._answer = answer
        await self._commit_answer(answer, state.answers + 1)
        return Answered(len(answer.calls))

    async def _commit_answer(self, answer: Answer, step: int) -> None:
        """Make the answer durable before anything of it is dispatched."""
        session = self._session
        self._proposals = [self._proposal(asked, step, index) for index, asked in enumerate(answer.calls)]
        session.ended.clear()
        message = self._assistant(answer)
        self._transcript.append(message)
        body = ModelAnswered(
            session.run_id,
            step_name(step),
            tuple(proposal.name[:128] for proposal in self._proposals),
            len([asked for asked in answer.calls if asked.fault is not None]),
            len(answer.content),
            answer.finish_reason,
            answer.usage.input_tokens,
            answer.usage.output_tokens,
            self._clock.now(),
            answer.asked,
        )
        batch = session.batch()
        batch.answers.append(AnswerRow(session.run_id, step, _ENCODER.encode(message)))
        batch.events.append(event("model.answered", session.run_id, body))
        session.carry = batch
        if len(self._proposals) > 1:  # a single call takes the answer along in its own commit
            await write(self._store, session.batch())
        for proposal in self._proposals if session.watched else ():
            session.emit(
                ToolCalled(step, proposal.call_id, self._name(proposal.name), copied(proposal.arguments))
            )

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
            asked.name,
            asked.arguments,
            asked.fault,
            asked.repaired,
        )

    def _name(self, name: str) -> str:
        entry = self._session.catalogue.find(name)
        return name if entry is None else entry.contract.name

    def _assistant(self, answer: Answer) -> Message:
        if not answer.calls:
            return Message("assistant", answer.content)
        if self._settings.text_protocol:
            calling = self._session.texts.calling
            if calling:
                names = ", ".join(proposal.name for proposal in self._proposals)
                return Message("assistant", calling.format(name=names))
            return Message("assistant", answer.raw)
        calls = tuple(
            ToolCall(
                proposal.call_id,
                self._name(proposal.name) or "unreadable",
                _arguments(asked),
            )
            for proposal, asked in zip(self._proposals, answer.calls, strict=True)
        )
        return Message("assistant", answer.content, calls)

    async def _call(self, state: LoopState) -> CallsDone:
        session = self._session
        results = await run_batch(
            self._gate,
            session,
            self._proposals,
            self._settings.max_parallel,
            _tell(session) if session.watched else None,
        )
        self._last = results
        self._results.extend(results)
        self._proposals = []
        self._say(results, state.answers)
        return CallsDone(sum(1 for result in results if result.status == "pending"))

    def _say(self, results: Sequence[Result], step: int) -> None:
        """Put the results into the conversation, in the order of the calls."""
        if not self._settings.text_protocol:
            for result in results:
                self._transcript.append(
                    Message("tool", result.for_model, (), result.call_id, result.tool or "unreadable")
                )
            return
        texts = [
            parse.render_result(
                result.tool or "call",
                result.for_model,
                self._settings.dialect,
                step=step,
                max_steps=self._settings.max_steps,
                lang=self._session.lang,
                call_id=result.call_id,
                max_chars=max(1, len(result.for_model)),  # the gate has bounded it already
            )
            for result in results
        ]
        self._transcript.append(Message("user", "\n\n".join(texts)), result=True)

    async def _finish(self, run_state: RunState, state: LoopState) -> RunResult:
        session, now = self._session, self._clock.now()
        text = self._closing(run_state)
        batch = session.batch()
        self._close_open(batch, run_state, now)
        self._row = replace(self._row, state=run_state, updated_at=now, answer=text, steps=state.answers)
        batch.runs.append(self._row)
        body = RunFinished(
            session.run_id,
            run_state,
            state.answers,
            len(self._results),
            sha256(text.encode("utf-8", "replace")),
            now,
        )
        batch.events.append(event("run.finished", session.run_id, body))
        await write(self._store, batch)
        return RunResult(
            answer=text,
            status=str(run_state),
            steps=state.answers,
            calls=tuple(self._results),
            run_id=session.run_id,
            input_tokens=self._usage[0],
            output_tokens=self._usage[1],
            detail=self._detail,
        )

    def _close_open(self, batch: Batch, run_state: RunState, now: float) -> None:
        """Give every proposal that a cancelled or timed-out run leaves open its record and its result."""
        session = self._session
        if run_state not in (RunState.CANCELLED, RunState.BUDGET):
            return
        error = refusals.not_sent()
        for proposal in self._proposals:
            ended = session.ended.get(proposal.call_id)
            if ended is not None:
                self._results.append(ended)
                continue
            body = refused_body(
                session.principal,
                proposal,
                state=CallState.CANCELLED,
                status="error",
                error_code=error.error_code,
                effect="none",
                finished_at=now,
            )
            batch.events.append(event("call.refused", session.run_id, body))
            self._results.append(
                Result(
                    status="error",
                    tool=self._name(proposal.name),
                    run_id=session.run_id,
                    step_id=proposal.step_id,
                    call_id=proposal.call_id,
                    error=error,
                    for_model=error.message,
                )
            )

    def _closing(self, run_state: RunState) -> str:
        """Return the text that the user gets at the end, in the profile's words."""
        texts = self._session.texts
        if run_state == RunState.COMPLETED:
            assert self._answer is not None  # noqa: S101 - a run completes by an answer
            return self._answer.content or self._composed() or texts.empty
        if run_state == RunState.MAX_STEPS:
            names = ", ".join(dict.fromkeys(result.tool for result in self._last)) or "nothing"
            return texts.limit.format(names=names)
        closing = {
            RunState.BUDGET: texts.over_budget,
            RunState.PENDING_APPROVAL: texts.pending,
            RunState.CANCELLED: texts.cancelled,
            RunState.MODEL_ERROR: texts.model_error,
            RunState.DENIED: texts.denied,
        }
        return closing[run_state]

    def _composed(self) -> str:
        """Return an answer made of the results, for a model that picks tools but writes no prose."""
        if self._model.writes_prose or not self._results:
            return ""
        texts = [_plain(result) for result in self._results]
        if len(texts) == 1:
            return texts[0]
        names = [result.tool for result in self._results]
        return "\n".join(f"{name}: {text}" for name, text in zip(names, texts, strict=True))


def _tell(session: RunSession) -> Finished:
    def finished(proposal: Proposal, result: Result) -> None:
        session.emit(ToolFinished(proposal.call_id, result.tool, result))

    return finished


def _arguments(asked: Asked) -> str:
    """Return JSON text that any server accepts in a history: what could not be read becomes `{}`."""
    if asked.arguments is None:
        return "{}"
    return asked.text or _ENCODER.encode(asked.arguments).decode()


def _plain(result: Result) -> str:
    if result.error is not None:
        return result.error.message
    value: Any = result.value
    return value if isinstance(value, str) else _ENCODER.encode(value).decode()
