"""Speaking an answer while it is written: complete sentences go to a sink, one after the other."""

import asyncio
from collections.abc import Awaitable, Callable

from gerbang.errors import SpeechError
from gerbang.loop.spoken_sentences import SpokenSentences

SentenceSink = Callable[[str], Awaitable[None]]
"""Takes one complete sentence: plain words, no markup. It is awaited before the next one comes."""


class Speech:
    """The speech of one answer. `failed` hears, once, why it ended early; the text is not touched by that.

    Needs a running event loop. Use `write` for text that a person sees, `pause` where a tool comes between,
    and `await end()` or `stop()` at the end.
    """

    def __init__(self, sink: SentenceSink, failed: Callable[[SpeechError], None]) -> None:
        self._sink = sink
        self._failed = failed
        self._sentences = SpokenSentences()
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._speak())

    def write(self, text: str) -> None:
        """Take more of the text."""
        for sentence in self._sentences.feed(text):
            self._waiting.put_nowait(sentence)

    def pause(self) -> None:
        """Say what has been written, complete or not: something else comes before the text goes on."""
        for sentence in self._sentences.finish():
            self._waiting.put_nowait(sentence)

    async def end(self) -> None:
        """Say the rest, and return when all has been said."""
        self.pause()
        self._waiting.put_nowait(None)
        try:
            await asyncio.shield(self._task)
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Fall silent at once: what is being made or said is ended."""
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _speak(self) -> None:
        while (sentence := await self._waiting.get()) is not None:
            try:
                await self._sink(sentence)
            except SpeechError as error:
                self._failed(error)
                return
