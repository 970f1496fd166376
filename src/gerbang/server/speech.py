"""Sound of turns over a WebSocket: for each sentence a message that describes it, then its frame.

    {"type": "audio", "format": "wav", "sentence": "…", "number": 1, "sample_rate": 22050, "bytes": 61038, …}
    (a binary frame: a whole WAVE file)
    {"type": "audio_end", "sentences": 1, …}

A turn's last sentences may come after its `assistant_end`; `audio_end` closes its sound in any case.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct, json

from gerbang.adapters.speech.speech import Speech
from gerbang.adapters.speech.wave import sample_rate
from gerbang.errors import SpeechError
from gerbang.ports import Speaker
from gerbang.server.live import LiveRun, Note

SendPair = Callable[[dict[str, Any], bytes | None], Awaitable[None]]
"""Sends a message and, right behind it, a binary frame if there is one."""


class _Text(Struct, frozen=True):
    text: str


_TEXT = json.Decoder(_Text)


class TurnSpeech:
    """The sound of one run for one client. Give it every note, then `await end()` or `stop()`."""

    def __init__(self, speaker: Speaker, live: LiveRun, send: SendPair) -> None:
        self._speaker = speaker
        self._send = send
        self._place: dict[str, Any] = {"run_id": live.run_id}
        if live.conversation is not None:
            self._place["conversation"] = live.conversation
        self._number = 0
        self._fault: SpeechError | None = None
        self._speech = Speech(self._say, self._fail)

    def take(self, note: Note) -> None:
        """Hear a note of the run: its text is said, and a call is a pause."""
        if note.kind == "assistant_delta":
            self._speech.write(_TEXT.decode(note.text).text)
        elif note.kind == "tool_call":
            self._speech.pause()

    async def end(self, *, cancelled: bool) -> None:
        """Say the rest, or nothing more when the run was cancelled, and tell that this is the end."""
        if cancelled:
            await self._speech.stop()
        else:
            await self._speech.end()
        if self._fault is not None:
            fault = {"type": "error", "code": "SPEECH_FAILED", "message": str(self._fault)}
            await self._send({**fault, **self._place}, None)
        await self._send({"type": "audio_end", "sentences": self._number, **self._place}, None)

    async def stop(self) -> None:
        """Fall silent: the client has gone."""
        await self._speech.stop()

    def _fail(self, error: SpeechError) -> None:
        self._fault = error

    async def _say(self, sentence: str) -> None:
        wave = await self._speaker.say(sentence)
        self._number += 1
        about = {"type": "audio", "format": "wav", "sentence": sentence, "number": self._number}
        sizes = {"sample_rate": sample_rate(wave), "bytes": len(wave)}
        await self._send({**about, **sizes, **self._place}, wave)
