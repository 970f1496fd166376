"""Speech by `espeak-ng`: one child process a sentence, the text on its standard input, no shell.

Options used (manual page of espeak-ng 1.51): `-v` the voice, `-b 1` the text is UTF-8, `--stdin` all of
standard input is the text, `--stdout` a WAVE file goes to standard output. That file's header is written
before the sound, so its lengths say nothing; they are put right here.
"""

import asyncio
import os
import re
import shutil
import subprocess
from typing import Final

from gerbang.adapters.speech.wave import whole_wave
from gerbang.errors import ConfigError, SpeechError

PROGRAM: Final = "espeak-ng"
_VOICE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}(?:\+[A-Za-z0-9_]{1,20})?")
_CHECK_S: Final = 10.0
_SOUND_S: Final = 20.0
"""Making the sound of one sentence takes some milliseconds; one that takes so long has hung."""
_PLAY_S: Final = 180.0
"""Saying it takes as long as it is; sentences are cut at about 600 characters."""
_MAX_TEXT: Final = 4_000
_AT_ONCE: Final = 4
_NO_SHELL_ENVIRONMENT: Final = ("PATH", "HOME", "XDG_RUNTIME_DIR", "PULSE_SERVER", "DBUS_SESSION_BUS_ADDRESS")


class EspeakSpeaker:
    """A voice of espeak-ng. Up to four sentences are made at the same time."""

    def __init__(self, voice: str, program: str = PROGRAM) -> None:
        """Look for the program and the voice. Raises ConfigError when one of them is not there."""
        found = shutil.which(program)
        if found is None:
            raise ConfigError(
                f"Speech needs the program {program}, which is not installed. "
                "Install it with: apt-get install espeak-ng"
            )
        if not _VOICE.fullmatch(voice):
            raise ConfigError(f"{voice[:40]!r} is no name of a voice. List them with: {PROGRAM} --voices")
        self._command = [found, "-v", voice, "-b", "1", "--stdin"]
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._playing = asyncio.Lock()
        _check(self._command, voice)

    async def say(self, sentence: str) -> bytes:
        """Return a sentence as a whole WAVE file (16 bits, one channel). Raises SpeechError."""
        async with self._free:
            sound, complaint = await _run([*self._command, "--stdout"], sentence, _SOUND_S)
        wave = whole_wave(sound)
        if wave is None:
            raise SpeechError(f"{PROGRAM} made no sound{_because(complaint)}.")
        return wave

    async def play(self, sentence: str) -> None:
        """Say a sentence on this machine's sound device; one at a time. Raises SpeechError."""
        async with self._playing:
            _, complaint = await _run(self._command, sentence, _PLAY_S)
        if b"error" in complaint:  # the exit code is 0 without a sound device too
            raise SpeechError("There is no sound device to speak on. Write a file instead: --speak-file FILE")


def _check(command: list[str], voice: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, the voice has been looked at
            [*command, "-q"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_S,
            check=False,
            env=_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{command[0]} cannot be started: {type(error).__name__}.") from None
    if done.returncode:
        raise ConfigError(f"{PROGRAM} has no voice {voice!r}. List them with: {PROGRAM} --voices")


async def _run(command: list[str], sentence: str, seconds: float) -> tuple[bytes, bytes]:
    """Return what the program wrote: the sound, and its complaints. It is ended when it takes too long."""
    # `[[` would begin phonemes, so that a text could make any sound
    text = sentence[:_MAX_TEXT].replace("[[", "[ [").replace("\x00", " ")
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_environment(),
        )
    except OSError as error:
        raise SpeechError(f"{PROGRAM} cannot be started: {error.strerror}.") from None
    try:
        async with asyncio.timeout(seconds):
            sound, complaint = await process.communicate(text.encode("utf-8", "replace"))
    except TimeoutError:
        raise SpeechError(f"{PROGRAM} took more than {seconds:g} s for one sentence.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise SpeechError(f"{PROGRAM} failed (exit code {process.returncode}){_because(complaint)}.")
    return sound, complaint


def _environment() -> dict[str, str]:
    """Return what the program sees of ours: no secrets."""
    return {name: os.environ[name] for name in _NO_SHELL_ENVIRONMENT if name in os.environ}


def _because(complaint: bytes) -> str:
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:200].rstrip('.')}" if lines else ""
