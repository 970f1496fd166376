"""`/ws`: turns over a WebSocket. In: `user_text`, `cancel`, `resume`, `ping`. Out: what a run says.

Turns of one conversation go one after the other and know what was said before; turns of different
conversations (`conversation` in the message) go at the same time. Every message of a run carries `run_id`
and `seq`, so that a client that lost its connection can ask for what it missed.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from gerbang.compose.carrying import answer_of
from gerbang.server.app_scope import caller_of, service_of
from gerbang.server.cancelling import cancel_run
from gerbang.server.identity import Caller
from gerbang.server.live import Behind, LiveRun, Note
from gerbang.server.operation import RouteGroup
from gerbang.server.problems import Problem
from gerbang.server.repeated_keys import has_repeated_keys
from gerbang.server.run_history import stored_notes
from gerbang.server.service import Service
from gerbang.server.speech import TurnSpeech
from gerbang.values import Message

_LOG: Final = logging.getLogger("gerbang.server")
_ENCODER: Final = msgspec.json.Encoder()
_ALWAYS: Final = frozenset({"tool_call", "assistant_delta", "assistant_end", "error", "approval_needed"})
_QUERY: Final = {"events": "all", "audio": "wav"}
_MAX_CONVERSATIONS: Final = 64
_MAX_HISTORY: Final = 200
_MAX_LOOKS: Final = 32
"""So many `resume` and `cancel` of one connection are worked on at once: each reads the store."""
TOO_SLOW: Final = 1013
"""Close code for a client that takes its messages too slowly: come back with `resume`."""
KEY_ENDED: Final = 1008
"""Close code when the key of the connection has been revoked, or has run out."""
STOPPING: Final = 1012
"""Close code when the server restarts."""


Prompt = Annotated[str, Meta(max_length=100_000)]
Name = Annotated[str, Meta(max_length=512)]


class UserText(Struct, frozen=True, tag="user_text", tag_field="type"):
    """A turn of the user."""

    text: Prompt
    conversation: Name | None = None
    intent: Name | None = None
    purpose: Name | None = None
    audio: Literal["wav"] | None = None


class Cancel(Struct, frozen=True, tag="cancel", tag_field="type"):
    """End a run; without `run_id`, all that this connection started, those that wait too."""

    run_id: str | None = None


class Resume(Struct, frozen=True, tag="resume", tag_field="type"):
    """Tell what a run said after a number."""

    run_id: str
    after: int = 0


class Ping(Struct, frozen=True, tag="ping", tag_field="type"):
    """Ask for a pong."""

    id: str | int | None = None


_READABLE: Final = "Send a JSON object whose type is user_text, cancel, resume or ping."
_INCOMING: Final = msgspec.json.Decoder(UserText | Cancel | Resume | Ping)


class _Conversation:
    """What was said in one conversation, and the turns that wait in it."""

    def __init__(self) -> None:
        self.history: list[Message] = []
        self.waiting: deque[UserText] = deque()
        self.task: asyncio.Task[None] | None = None


class Connection:
    """One WebSocket: its conversations, and the tasks that send to it."""

    def __init__(self, socket: WebSocket, service: Service, caller: Caller) -> None:
        self._socket = socket
        self._service = service
        self._caller = caller
        self._conversations: dict[str | None, _Conversation] = {}
        self._own: dict[str, LiveRun] = {}
        self._ending: set[str] = set()  # those of them that are being cancelled
        self._tasks: set[asyncio.Task[Any]] = set()
        asked = {name: socket.query_params.get(name) for name in _QUERY}
        self._all, self._audio = asked["events"] == "all", asked["audio"] == "wav"
        self._unknown = [name for name, value in asked.items() if value not in (None, _QUERY[name])]
        self._sending = asyncio.Lock()
        self._turns = 0
        self._looks = 0
        self._closing = False

    async def serve(self) -> None:
        """Take messages until the client leaves. Runs that it started go on: it may come back."""
        stopping = self._spawn(self._say_goodbye())
        try:
            for name in self._unknown:
                await self._error("BAD_QUERY", f"The query's {name} can only be {_QUERY[name]!r}.")
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                if not await self._admitted():
                    return
                data = message.get("text")
                await self._take(message.get("bytes") or b"" if data is None else data.encode())
        except WebSocketDisconnect:
            return
        finally:
            stopping.cancel()
            for task in list(self._tasks):
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _admitted(self) -> bool:
        """Tell whether the key still opens this; if not, close. A connection outlives what let it in."""
        caller = self._service.still(self._caller, "runs")
        if caller is not None:
            self._caller = caller
            return True
        await self._close(KEY_ENDED, "the key is not valid any more")
        return False

    async def _take(self, data: bytes) -> None:
        try:
            message = _INCOMING.decode(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            await self._error("BAD_MESSAGE", f"The message cannot be read: {error}. {_READABLE}")
            return
        if has_repeated_keys(data):
            await self._error("BAD_MESSAGE", "The message can be read in two ways: a key stands twice.")
            return
        kind = type(message)
        if kind is Ping:
            await self._send(_ENCODER.encode({"type": "pong", "id": message.id}))
        elif kind is UserText:
            await self._turn(message)
        elif kind is Cancel and message.run_id is None:
            self._cancel_own()
        elif await self._is_too_often():
            return
        elif self._looks >= _MAX_LOOKS:
            await self._error("TOO_MANY_TURNS", "Too many messages are in work. Let some end first.")
        else:
            self._looks += 1
            work = self._cancel_one(message.run_id) if kind is Cancel else self._resume(message)
            self._spawn(work).add_done_callback(self._looked)

    def _looked(self, _: object) -> None:
        self._looks -= 1

    async def _is_too_often(self, conversation: str | None = None) -> bool:
        """Tell whether the key's rate is used up, having said so."""
        caller = self._caller
        if not caller.authenticated:
            return False
        waiting = self._service.limiter.take(caller.key_id, caller.rate_per_s)
        if waiting:
            await self._error("RATE_ACTOR", f"Too many requests. Wait {waiting:.1f} s.", conversation)
        return bool(waiting)

    async def _turn(self, message: UserText) -> None:
        if await self._is_too_often(message.conversation):
            return
        if not message.text.strip():
            await self._error("EMPTY_TEXT", "The text is empty.", message.conversation)
            return
        if self._turns >= self._service.settings.max_turns:
            await self._error(
                "TOO_MANY_TURNS", "Too many turns wait. Let some end first.", message.conversation
            )
            return
        conversation = self._conversations.get(message.conversation)
        if conversation is None:
            if len(self._conversations) >= _MAX_CONVERSATIONS:
                await self._error("TOO_MANY_CONVERSATIONS", "Use fewer conversations.", message.conversation)
                return
            conversation = self._conversations[message.conversation] = _Conversation()
        self._turns += 1
        conversation.waiting.append(message)
        if conversation.task is None or conversation.task.done():
            conversation.task = self._spawn(self._converse(conversation))

    async def _converse(self, conversation: _Conversation) -> None:
        """Take the turns of one conversation, one after the other."""
        while conversation.waiting:
            message = conversation.waiting.popleft()
            try:
                await self._one_turn(conversation, message)
            finally:
                self._turns -= 1

    async def _one_turn(self, conversation: _Conversation, message: UserText) -> None:
        if not await self._admitted():
            return
        who = self._caller.principal
        try:
            live = self._service.runs.start(
                self._service.toolsets.of(who.tenant),
                who,
                message.text,
                purpose=message.purpose,
                intent=message.intent,
                history=list(conversation.history),
                conversation=message.conversation,
                key_id=self._caller.key,
            )
        except Problem as found:
            await self._error(found.error.error_code, found.error.message, message.conversation)
            await self._send(_end_of_nothing(message.conversation))
            return
        self._own[live.run_id] = live
        try:
            if self._audio or message.audio is not None:
                await self._speak(live)
            else:
                await self._follow(live, 0)
        except Behind:
            await self._close(TOO_SLOW, "too slow: come back with resume")
            return
        finally:
            self._own.pop(live.run_id, None)
            self._ending.discard(live.run_id)
        if live.answer:
            gateway = self._service.toolsets.of(who.tenant).gateway
            answer = await answer_of(gateway.store, live.run_id, gateway.catalogue, live.answer)
            conversation.history += [Message("user", message.text), answer]
            del conversation.history[:-_MAX_HISTORY]

    def _cancel_own(self) -> None:
        """End all that this connection has started, and what waits to be."""
        for conversation in self._conversations.values():
            self._turns -= len(conversation.waiting)
            conversation.waiting.clear()
        for run_id in [run_id for run_id in self._own if run_id not in self._ending]:
            self._ending.add(run_id)
            self._spawn(self._service.runs.cancel(self._own[run_id]))

    async def _cancel_one(self, run_id: str) -> None:
        who = self._caller.principal
        known = self._service.runs.find(run_id, who.tenant) is not None
        if await cancel_run(self._service, run_id, who) is None and not known:
            await self._error("NOT_FOUND", "There is no such run.")

    async def _resume(self, message: Resume) -> None:
        tenant = self._caller.principal.tenant
        live = self._service.runs.find(message.run_id, tenant)
        try:
            if live is not None:
                await self._follow(live, max(0, message.after))
                return
        except Behind:
            _LOG.debug("the log does not reach back", extra={"run_id": message.run_id})
        notes = await stored_notes(self._service.store, message.run_id, tenant)
        if notes is None:
            await self._error("NOT_FOUND", "There is no such run.")
            return
        for note in notes:
            await self._send(note.text)

    async def _follow(self, live: LiveRun, after: int, heard: Callable[[Note], None] | None = None) -> None:
        async for note in live.follow(after):
            if not await self._admitted():
                return
            if heard is not None:
                heard(note)
            if self._all or note.kind in _ALWAYS:
                await self._send(note.text)

    async def _speak(self, live: LiveRun) -> None:
        """Follow a run and send its sound too: the text never waits for it, the next turn does."""
        speaker = self._service.speaker
        if speaker is None:
            await self._error(
                "NO_SPEECH", "This server has no voice: start it with --speech.", live.conversation
            )
            await self._follow(live, 0)
            return
        speech = TurnSpeech(speaker, live, self._send_pair)
        try:
            await self._follow(live, 0, speech.take)
            await speech.end(cancelled=live.status == "cancelled")
        finally:
            await speech.stop()

    async def _send_pair(self, message: dict[str, Any], frame: bytes | None) -> None:
        await self._send(_ENCODER.encode(message), frame)

    async def _send(self, text: bytes, frame: bytes | None = None) -> None:
        """Send one message, and a frame right behind it. A client that takes nothing is cut off."""
        try:
            async with asyncio.timeout(self._service.settings.send_timeout_s), self._sending:
                await self._socket.send_text(text.decode())
                if frame is not None:
                    await self._socket.send_bytes(frame)
        except TimeoutError:
            await self._close(TOO_SLOW, "too slow: come back with resume")
            raise WebSocketDisconnect(TOO_SLOW) from None
        except RuntimeError:  # it is closed already
            raise WebSocketDisconnect(1006) from None

    async def _error(self, code: str, message: str, conversation: str | None = None) -> None:
        body = {"type": "error", "code": code, "message": message}
        if conversation is not None:
            body["conversation"] = conversation
        await self._send(_ENCODER.encode(body))

    async def _say_goodbye(self) -> None:
        """When the server stops: let the runs end and be told, then close."""
        await self._service.stopping.wait()
        busy = [conversation.task for conversation in self._conversations.values() if conversation.task]
        if busy:
            await asyncio.wait(busy, timeout=self._service.settings.drain_s + 1)
        await self._close(STOPPING, "the server stops: come back with resume")

    async def _close(self, code: int, reason: str) -> None:
        if self._closing:
            return
        self._closing = True
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await self._socket.close(code, reason)

    def _spawn(self, work: Any) -> "asyncio.Task[None]":
        task: asyncio.Task[None] = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _quietly(work: Any) -> None:
    """Run a connection's work; that the client has gone is no error."""
    with contextlib.suppress(WebSocketDisconnect):
        await work


def _end_of_nothing(conversation: str | None) -> bytes:
    """Return the end of a turn that could not begin."""
    body: dict[str, Any] = {"type": "assistant_end", "status": "failed", "text": ""}
    if conversation is not None:
        body["conversation"] = conversation
    return _ENCODER.encode(body)


async def endpoint(socket: WebSocket) -> None:
    """Serve one WebSocket whose sender is known and may start runs."""
    service, caller = service_of(socket.scope), caller_of(socket.scope)
    assert caller is not None  # noqa: S101 - the application lets nobody else through
    offered = socket.scope.get("subprotocols", [])
    if service.followers >= service.settings.max_followers:
        await socket.close(TOO_SLOW, "too many connections")
        return
    service.followers += 1
    try:
        await socket.accept("gerbang" if "gerbang" in offered else None)
        await Connection(socket, service, caller).serve()
    finally:
        service.followers -= 1


Kind = Literal["tool_call", "assistant_delta", "assistant_end"]
GROUP: Final = RouteGroup("ws", "Turns over a WebSocket.", routes=(WebSocketRoute("/ws", endpoint),))
