"""Speaking what `gerbang chat` answers: on the sound device, or into a file."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import typer

from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.errors import ConfigError, SpeechError
from gerbang.runtime.events import AgentEvent, AnswerDelta, Finished, ToolCalled

Speak = Annotated[
    bool, typer.Option("--speak", help="Say the answers, sentence by sentence; needs espeak-ng.")
]
SpeakFile = Annotated[
    Path | None, typer.Option("--speak-file", metavar="FILE", help="Write what is said as a WAVE file.")
]


class Voice:
    """The voice of one command: it speaks turn by turn, and writes its file at the end."""

    def __init__(self, speaker: Any, screen: Screen, file: Path | None) -> None:
        self._speaker = speaker
        self._screen = screen
        self._file = file
        self._waves: list[bytes] = []
        self._speech: Any = None
        self._silent = True

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator["Voice"]:
        """Speak within the block; leaving it waits for the last sentence, breaking it off falls silent."""
        from gerbang.adapters.speech.speech import Speech

        self._speech, self._silent = Speech(self._say, self._fail), True
        try:
            yield self
            await self._speech.end()
        finally:
            await self._speech.stop()

    def on(self, event: AgentEvent) -> None:
        """Hear one event of the run."""
        if isinstance(event, AnswerDelta):
            self._silent = self._silent and not event.text.strip()
            self._speech.write(event.text)
        elif isinstance(event, ToolCalled):
            self._silent = True
            self._speech.pause()
        elif isinstance(event, Finished) and self._silent:
            self._speech.write(event.result.answer)  # a text of the runtime's own, such as a limit's

    def write_file(self) -> None:
        """Write the file, if one is wanted. Raises ConfigError when it cannot be."""
        from gerbang.adapters.speech.wave import joined

        if self._file is None or not self._waves:
            return
        try:
            self._file.write_bytes(joined(self._waves))
        except OSError as error:
            raise ConfigError(f"{self._file} cannot be written: {error.strerror}.") from None

    async def _say(self, sentence: str) -> None:
        if self._file is None:
            await self._speaker.play(sentence)
        else:
            self._waves.append(await self._speaker.say(sentence))

    def _fail(self, error: SpeechError) -> None:
        self._screen.note(one_line(str(error), 400))


def voice(speak: bool, file: Path | None, lang: str, screen: Screen) -> Voice | None:
    """Return the voice that was asked for. Raises ConfigError when it is not there."""
    if not speak and file is None:
        return None
    from gerbang.adapters.speech import open_speaker

    return Voice(open_speaker("espeak:", lang), screen, file)
