"""`POST /v1/chat/completions` and `GET /v1/models`: any client of OpenAI's API, with tools behind the gate.

The tools of the server run here; calls of tools that came with the request are checked, decided and given
back to the client. Each request is one run, and the client's next request goes on with it.
"""

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

from starlette.types import Receive, Scope, Send

from gerbang.compose.events import AnswerDelta, Finished, ReasoningSeen, RunResult, ToolCalled
from gerbang.errors import GerbangError, UsageError
from gerbang.runtime.room import TOO_LONG
from gerbang.server.live import LiveRun
from gerbang.server.openai_answer import BEAT, Completion, Piece, Said, failure
from gerbang.server.openai_errors import error_reply, invalid
from gerbang.server.openai_models import model_named, models_of
from gerbang.server.openai_request import Chat, client_of, messages_of, read_chat, words_of
from gerbang.server.openai_schemas import ANSWERS, EXAMPLES, MODEL_ANSWERS, ModelList, ModelView
from gerbang.server.openai_waited import waited_result
from gerbang.server.operation import Exchange, Operation, RouteGroup
from gerbang.server.problems import Problem, internal, of_error, problem
from gerbang.server.replies import Reply, gone, json_reply
from gerbang.values import Message

if TYPE_CHECKING:
    from gerbang.server.service import Service

_SILENCE_S: Final = 10.0
"""After so long without a word a stream begins, or says that it is still there."""
_SPOKEN: Final = (AnswerDelta, ReasoningSeen, ToolCalled)
_STARTED: Final = int(time.time())


async def complete(exchange: Exchange) -> "ChatReply":
    """Answer a conversation, or tell the answer of a run that waited."""
    asked = read_chat(exchange)
    events: asyncio.Queue[Any] = asyncio.Queue()
    if asked.gerbang is not None and asked.gerbang.run_id is not None:
        result = await waited_result(exchange, asked.gerbang.run_id)
        events.put_nowait(Finished(result))
        return ChatReply(exchange.service, asked, result.run_id, events, None)
    live = _start(exchange, asked, messages_of(asked), events)
    return ChatReply(exchange.service, asked, live.run_id, events, live)


def _start(exchange: Exchange, asked: Chat, messages: list[Message], events: asyncio.Queue[Any]) -> LiveRun:
    service, who = exchange.service, exchange.caller.principal
    toolset = service.toolsets.of(who.tenant)
    profile = model_named(asked.model, toolset.agent).profile
    client, words = client_of(asked), words_of(asked)
    if toolset.agent is not None:
        try:
            toolset.agent.tools_for(client, principal=who, intent=words["intent"])
        except UsageError as error:
            raise invalid(str(error), "tool_choice" if "to choose" in str(error) else "tools") from None
    return service.runs.start(
        toolset,
        who,
        next(message.content for message in reversed(messages) if message.role == "user"),
        history=messages,
        client=client,
        profile=profile,
        heard=events.put_nowait,
        key_id=exchange.caller.key,
        **words,
    )


async def models(exchange: Exchange) -> Reply:
    """List the names that a request can ask for."""
    agent = exchange.service.toolsets.of(exchange.caller.principal.tenant).agent
    return json_reply(ModelList("list", [_view(found.name) for found in models_of(agent)]))


async def model(exchange: Exchange) -> Reply:
    """Show one of them."""
    agent = exchange.service.toolsets.of(exchange.caller.principal.tenant).agent
    return json_reply(_view(model_named(exchange.path[0], agent).name))


def _view(name: str) -> ModelView:
    return ModelView(name, "model", _STARTED, "gerbang")


class ChatReply:
    """One run, told to its client while it goes on. A client that goes away cancels it."""

    def __init__(
        self, service: "Service", asked: Chat, run_id: str, events: asyncio.Queue[Any], live: LiveRun | None
    ) -> None:
        self._service = service
        self._streams = asked.stream is True
        self._run_id = run_id
        self._events = events
        self._live = live
        usage = asked.stream_options is not None and asked.stream_options.include_usage is True
        self._completion = Completion(run_id, asked.model, usage=usage)
        self._said = Said(last_only=asked.wants_shape)
        self._over = False
        self._id = (b"x-request-id", run_id.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer. Raises Problem for a run that fails before anything of it was sent."""
        work = self._stream(send) if self._streams else self._whole(scope, receive, send)
        answering = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(gone(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            answering.cancel()
            await asyncio.wait((answering, leaving))
            if self._live is not None and not self._over:
                await self._service.runs.cancel(self._live)
        if not answering.cancelled() and not isinstance(answering.exception(), TimeoutError):
            answering.result()

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        pieces: list[Piece] = []
        while self._said.result is None:
            for event in await self._batch():
                self._check(event)
                pieces += self._said.take(event)
        self._over = True
        body = self._completion.whole(pieces, self._said.result)
        await json_reply(body, 200, (self._id,))(scope, receive, send)

    async def _stream(self, send: Send) -> None:
        batch = await self._batch()
        for event in batch:
            if isinstance(event, _SPOKEN):
                break
            self._check(event)  # nothing was said yet: the client can still get a status
        kind = (b"content-type", b"text/event-stream; charset=utf-8")
        headers = [kind, (b"x-accel-buffering", b"no"), self._id]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        frames = [self._completion.opening()]
        while True:
            for event in batch:
                frames += self._frames(event)
            data = b"".join(frames) or BEAT
            async with asyncio.timeout(self._service.settings.send_timeout_s):
                await send({"type": "http.response.body", "body": data, "more_body": not self._over})
            if self._over:
                return
            frames = []
            batch = await self._batch()

    def _frames(self, event: Any) -> list[bytes]:
        try:
            self._check(event)
        except Problem as found:
            return [failure(found)]
        frames = [self._completion.piece(piece) for piece in self._said.take(event)]
        result = self._said.result
        if result is not None:
            self._over = True
            frames.append(self._completion.end(result))
        return frames

    async def _batch(self) -> list[Any]:
        """Wait for the run to say something, and return that; nothing after a silence."""
        try:
            async with asyncio.timeout(_SILENCE_S):
                found = [await self._events.get()]
        except TimeoutError:
            return []
        while not self._events.empty():
            found.append(self._events.get_nowait())
        return found

    def _check(self, event: Any) -> None:
        """Raise Problem when the run has failed."""
        if isinstance(event, BaseException):
            self._over = True
            raise self._problem(event)
        if type(event) is Finished:
            self._check_end(event.result)

    def _check_end(self, result: RunResult) -> None:
        no_room = result.detail == TOO_LONG
        if not no_room and result.status not in ("model_error", "cancelled"):
            return
        self._over = True
        if no_room:
            raise self._ours(invalid(f"{TOO_LONG} Send less of it.", "messages", "CONTEXT_LENGTH_EXCEEDED"))
        if result.status == "cancelled":
            raise self._ours(_cancelled())
        raise self._ours(problem(502, "upstream_error", "MODEL_FAILED", result.answer))

    def _problem(self, error: BaseException) -> Problem:
        if isinstance(error, Problem):
            return self._ours(error)
        if isinstance(error, GerbangError):
            return self._ours(of_error(error))
        if isinstance(error, asyncio.CancelledError):
            return self._ours(_cancelled())
        return self._ours(internal(self._run_id))  # the registry has logged what it was

    def _ours(self, found: Problem) -> Problem:
        found.extra["run_id"] = self._run_id
        return found


def _cancelled() -> Problem:
    return problem(503, "cancelled", "CANCELLED", "The run was cancelled.", "Send the request again.")


GROUP: Final = RouteGroup(
    "openai",
    "The API of OpenAI's chat completions, for its clients.",
    (
        Operation(
            "POST",
            "/v1/chat/completions",
            complete,
            "openai",
            "Answer a conversation, with tools behind the gate",
            right="runs",
            about="Tools of the server are called here. Calls of the request's own `tools` that fit their "
            "schema and that policy allows come back as `tool_calls`; the next request brings the results. "
            "`gerbang` in the answer names the run, how it ended, and the approvals that it waits for.",
            body=Chat,
            examples=EXAMPLES,
            answers=ANSWERS,
            failed=error_reply,
        ),
        Operation(
            "GET",
            "/v1/models",
            models,
            "openai",
            "List the names of the model",
            right="runs",
            answers=MODEL_ANSWERS[0],
            failed=error_reply,
        ),
        Operation(
            "GET",
            "/v1/models/{name}",
            model,
            "openai",
            "Show one name of the model",
            right="runs",
            answers=MODEL_ANSWERS[1],
            failed=error_reply,
        ),
    ),
)
