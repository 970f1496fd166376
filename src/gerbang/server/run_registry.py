"""Starting, finding, cancelling and resuming agent runs; draining them at the end."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import Any, Final

from gerbang.compose.agent import Agent
from gerbang.compose.client_tools import Client
from gerbang.compose.events import (
    AnswerDelta,
    ApprovalNeeded,
    Finished,
    Notice,
    ReasoningSeen,
    ToolCalled,
    ToolFinished,
    ToolOpened,
)
from gerbang.compose.streaming import streamed
from gerbang.errors import GerbangError
from gerbang.runtime.beginning import AlreadyBegun, Beginning
from gerbang.runtime.run_settings import new_run_id
from gerbang.server.live import LiveRun
from gerbang.server.problems import problem, wait
from gerbang.server.run_history import MODEL_FAILED, WHERE_WHY
from gerbang.server.settings import ServerSettings
from gerbang.server.toolsets import Toolset
from gerbang.values import Message, Principal

_LOG: Final = logging.getLogger("gerbang.server")


class RunRegistry:
    """The runs that this process drives, and those that it drove a short while ago."""

    def __init__(self, settings: ServerSettings, spent: Callable[[Principal, str], None]) -> None:
        """`spent` hears of each call that ended: for whom it was made, and its id."""
        self._settings = settings
        self._spent = spent
        self._runs: dict[str, LiveRun] = {}
        self._finished: list[str] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.draining = False

    @property
    def active(self) -> int:
        """How many runs are being driven now."""
        return len(self._runs) - len(self._finished)

    def with_keys(self) -> list[LiveRun]:
        """Return the runs that are being driven and were begun with a key."""
        return [live for live in self._runs.values() if live.key_id is not None and not live.over]

    def find(self, run_id: str, tenant: str) -> LiveRun | None:
        """Return a run that this process drives or drove, if the tenant may know of it."""
        found = self._runs.get(run_id)
        return found if found is not None and found.principal.tenant == tenant else None

    def start(
        self,
        toolset: Toolset,
        principal: Principal,
        prompt: str,
        *,
        purpose: str | None = None,
        intent: str | None = None,
        history: Sequence[Message] = (),
        conversation: str | None = None,
        client: Client | None = None,
        profile: str | None = None,
        heard: Callable[[Any], None] | None = None,
        run_id: str | None = None,
        key: str | None = None,
        key_id: str | None = None,
    ) -> LiveRun:
        """Start a run in the background. Raises Problem when there is no model, or no room for it.

        Of all runs under one `key`, in all processes, one begins; `LiveRun.on_record` tells whether this one.
        `key_id` names the API key that asks: the run ends with it.

        With `client` the history ends with what is answered. `heard` gets each event of the run, and what
        the run raises, at the same time as its log does.
        """
        agent = self._ready(toolset)
        if profile is not None:
            agent = agent.like(profile)
        live = self._new(run_id or new_run_id(), principal, prompt, conversation)
        live.key_id = key_id
        toolset.hold()
        events: Any = agent.stream(
            prompt if client is None else None,
            principal=principal,
            purpose=purpose,
            intent=intent,
            history=history,
            run_id=live.run_id,
            client=client,
            beginning=None if key is None else Beginning(key, live.stand),
        )
        if heard is not None:
            events = _heard(events, heard)
        live.task = asyncio.create_task(self._drive(live, toolset, events))
        return live

    def resume(self, toolset: Toolset, run_id: str, principal: Principal, prompt: str) -> LiveRun:
        """Take up a run that waits or was cut off. Raises Problem when it cannot be."""
        agent = self._ready(toolset)
        former = self._runs.get(run_id)
        if former is not None and not former.over:
            raise problem(409, "conflict", "ALREADY_RUNNING", f"Run {run_id} is running already.")
        if former is not None:
            self._forget(run_id)
        live = self._new(run_id, principal, prompt, None)
        toolset.hold()
        events = streamed(lambda emit: agent.resume(run_id, principal=principal, emit=emit))
        live.task = asyncio.create_task(self._drive(live, toolset, events))
        return live

    def can_resume(self, toolset: Toolset) -> bool:
        """Tell whether runs can be resumed: there is an agent, and the server does not stop."""
        return toolset.agent is not None and not self.draining

    def drop(self, live: LiveRun) -> None:
        """Forget a run that ended before its start was on record, so that it can be asked for again."""
        if self._runs.get(live.run_id) is live:
            self._forget(live.run_id)

    async def cancel(self, live: LiveRun) -> None:
        """Cancel a run and wait until that is recorded."""
        task = live.task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait((task,))

    async def drain(self, seconds: float) -> None:
        """Take no new runs, let the running ones end, then cancel what is left; each has its record after."""
        self.draining = True
        tasks = [live.task for live in self._runs.values() if live.task is not None and not live.task.done()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        for timer in self._timers.values():
            timer.cancel()

    def _ready(self, toolset: Toolset) -> Agent:
        if self.draining:
            raise wait(503, "cancelled", "SHUTTING_DOWN", "The server is shutting down.", 5)
        if toolset.agent is None:
            raise problem(
                503,
                "internal_error",
                "LLM_OFF",
                "The model is switched off here.",
                "Start the server with --model.",
            )
        if self.active >= self._settings.max_runs:
            raise wait(503, "rate_limited", "TOO_MANY_RUNS", "Too many runs are going on.", 2)
        return toolset.agent

    def _new(self, run_id: str, principal: Principal, prompt: str, conversation: str | None) -> LiveRun:
        live = LiveRun(run_id, principal, prompt, conversation, self._settings.run_log_bytes)
        self._runs[run_id] = live
        return live

    async def _drive(self, live: LiveRun, toolset: Toolset, events: AsyncGenerator[Any]) -> None:
        """Run to the end; whatever happens, the last message is `assistant_end`."""
        status, answer = "cancelled", ""
        try:
            async with contextlib.aclosing(events):
                status, answer = await _tell(live, events, self._spent)
        except asyncio.CancelledError:
            status = "cancelled"  # the run's record says so already
        except AlreadyBegun as error:  # whoever asked for it is told of the other one
            status, live.fault = "failed", error
        except GerbangError as error:
            status, live.fault = "failed", error
            live.say("error", code="RUN_FAILED", message=str(error))
            _LOG.warning("run failed", extra={"run_id": live.run_id, "error": str(error)})
        except Exception as error:  # whatever it was, the client gets an end, and the log the reason
            status = "failed"
            live.say("error", code="INTERNAL", message=f"Something went wrong inside. {WHERE_WHY}")
            _LOG.error("run broke", exc_info=error, extra={"run_id": live.run_id})
        finally:
            toolset.release()
        live.say("assistant_end", status=status, text=answer)
        live.end(status, answer)
        self._keep(live.run_id)

    def _keep(self, run_id: str) -> None:
        self._finished.append(run_id)
        while len(self._finished) > self._settings.keep_finished:
            self._forget(self._finished[0])
        loop = asyncio.get_running_loop()
        self._timers[run_id] = loop.call_later(self._settings.keep_finished_s, self._forget, run_id)

    def _forget(self, run_id: str) -> None:
        timer = self._timers.pop(run_id, None)
        if timer is not None:
            timer.cancel()
        if run_id in self._finished:
            self._finished.remove(run_id)
            self._runs.pop(run_id, None)


async def _heard(events: AsyncGenerator[Any], heard: Callable[[Any], None]) -> AsyncGenerator[Any]:
    """Pass a run's events on, telling each to `heard`, and an error too."""
    try:
        async with contextlib.aclosing(events):
            async for event in events:
                heard(event)
                yield event
    except GeneratorExit:  # after the last event nobody asks for more
        raise
    except BaseException as error:
        heard(error)
        raise


async def _tell(
    live: LiveRun, events: AsyncIterator[Any], spent: Callable[[Principal, str], None]
) -> tuple[str, str]:
    """Write a run's events into its log and return how it ended, and the answer."""
    streamed = False
    async for event in events:
        kind = type(event)
        if kind is AnswerDelta:
            streamed = streamed or bool(event.text.strip())
            live.say_text("assistant_delta", event.text)
        elif kind is ToolOpened:
            live.say("tool_opened", name=event.tool)
        elif kind is ToolCalled:
            streamed = False
            live.say(
                "tool_call",
                name=event.tool,
                arguments={} if event.arguments is None else event.arguments,
                call_id=event.call_id,
                step=event.step,
            )
        elif kind is ToolFinished:
            error = event.result.error
            spent(live.principal, event.call_id)
            live.say(
                "tool_result",
                name=event.tool,
                call_id=event.call_id,
                status=event.result.status,
                error_code=None if error is None else error.error_code,
            )
        elif kind is ApprovalNeeded:
            live.say(
                "approval_needed",
                name=event.tool,
                call_id=event.call_id,
                approval_id=event.approval_id,
                preview=event.preview,
            )
        elif kind is Notice:
            live.say("notice", code=event.code, message=event.text)
        elif kind is ReasoningSeen:
            live.say_text("reasoning_delta", event.text)
        elif kind is Finished:
            if event.result.status == "cancelled":  # whoever asked for that needs no words about it
                return "cancelled", ""
            if event.result.status == "model_error":  # the reason names addresses: it is the operator's
                _LOG.warning("model failed", extra={"run_id": live.run_id, "error": event.result.detail})
                live.say("error", **MODEL_FAILED)
            if not streamed and event.result.answer.strip():  # a closing text that the runtime wrote itself
                live.say("assistant_delta", text=event.result.answer)
            return event.result.status, event.result.answer
    return "failed", ""
