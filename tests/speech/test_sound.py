"""Speech that is listened to: real espeak-ng, its WAVE files, and what it does when something goes wrong."""

import array
import asyncio
import io
import math
import os
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from gerbang.adapters.speech import open_speaker
from gerbang.adapters.speech.espeak import EspeakSpeaker
from gerbang.adapters.speech.speech import Speech
from gerbang.adapters.speech.wave import joined
from gerbang.errors import ConfigError, SpeechError
from gerbang.loop.spoken_sentences import SpokenSentences
from tests.server.model import serving

CALL = (
    "<tool_call>\n<function=weather.get>\n<parameter=city>\nParis. Rome. Berlin.\n"
    "</parameter>\n</function>\n</tool_call>"
)


def heard(sound: bytes) -> tuple[int, float, float]:
    """Return sample rate, seconds, and the loudness (root mean square, 0 to 1) of a WAVE file."""
    with wave.open(io.BytesIO(sound)) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        frames = file.getnframes()
        samples = array.array("h", file.readframes(frames))
        assert len(samples) == frames, "the header tells the true length"
        loudness = math.sqrt(sum(sample * sample for sample in samples) / max(1, frames)) / 32768
        return file.getframerate(), frames / file.getframerate(), loudness


def phonemes(sentence: str) -> str:
    done = subprocess.run(
        ["espeak-ng", "-x", "-q", "-v", "en", "--stdin"],
        input=sentence, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def said(text: str) -> list[str]:
    sentences = SpokenSentences()
    return sentences.feed(text) + sentences.finish()


@pytest.mark.parametrize(
    ("voice", "text"), [("en", "The weather is fine today."), ("id", "Cuaca hari ini cerah.")]
)
def test_a_sentence_becomes_sound(voice: str, text: str) -> None:
    rate, seconds, loudness = heard(asyncio.run(open_speaker("espeak:", voice).say(text)))
    assert rate == 22_050
    assert 0.8 < seconds < 6
    assert loudness > 0.02, "silence is below 0.001"


def test_markup_makes_no_sound() -> None:
    plain, marked = "It is warm. Take a hat.", f"It is warm. {CALL}Take a **hat**. `f(x)` https://x.org/y"
    assert said(plain) == said(marked)
    assert [phonemes(item) for item in said(plain)] == [phonemes(item) for item in said(marked)]
    speaker = open_speaker("espeak:en", "id")

    async def sound(text: str) -> bytes:
        return joined([await speaker.say(sentence) for sentence in said(text)])

    assert asyncio.run(sound(plain)) == asyncio.run(sound(marked))
    raw = heard(asyncio.run(speaker.say(marked)))[1]
    assert raw > 2 * heard(asyncio.run(sound(marked)))[1], "markup that is spoken can be heard"


def test_phonemes_cannot_be_smuggled_in() -> None:
    speaker = open_speaker("espeak:", "en")
    smuggled = asyncio.run(speaker.say("[[" + "h@l'oU " * 30 + "]]"))
    assert smuggled != asyncio.run(speaker.say("hello " * 30))
    assert said("[[h@l'oU]]") == ["h@l'oU"]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("", "no voice"),
        ("festival:", "no voice"),
        ("espeak", "no voice"),
        ("espeak:nosuchvoice", "has no voice 'nosuchvoice'"),
        ("espeak:-w/tmp/x", "no name of a voice"),
        ("espeak:en;ls", "no name of a voice"),
        ("espeak:../../etc", "no name of a voice"),
    ],
)
def test_what_is_no_voice_is_said_at_the_start(address: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        open_speaker(address, "en")


def test_a_missing_program_is_said_with_the_way_to_get_it() -> None:
    with pytest.raises(ConfigError, match="apt-get install espeak-ng"):
        EspeakSpeaker("en", program="espeak-ng-that-is-not-there")


def program(folder: Path, body: str) -> str:
    """Make a program that passes the check at the start and then does something else."""
    path = folder / "espeak-ng"
    path.write_text(f'#!/bin/sh\ncase "$*" in *-q*) exit 0;; esac\n{body}\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("cat >/dev/null; echo 'out of memory' >&2; exit 3", r"exit code 3\): out of memory"),
        ("cat >/dev/null; exit 0", "made no sound"),
        (
            "cat >/dev/null; printf 'not a wave file, but long enough to be one if nobody looks at it'",
            "made no sound",
        ),
    ],
)
def test_a_program_that_fails_is_a_speech_error(tmp_path: Path, body: str, told: str) -> None:
    speaker = EspeakSpeaker("en", program(tmp_path, body))
    with pytest.raises(SpeechError, match=told):
        asyncio.run(speaker.say("Hello."))


def test_cancelling_ends_the_program(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    speaker = EspeakSpeaker("en", program(tmp_path, f"echo $$ > {mark}; exec sleep 600"))

    async def main() -> None:
        speech = Speech(lambda sentence: _drop(speaker, sentence), lambda _: None)
        speech.write("Hello there. And more")
        while not (mark.exists() and mark.read_text().strip()):
            await asyncio.sleep(0.01)
        await speech.stop()

    asyncio.run(main())
    pid = int(mark.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def _drop(speaker: EspeakSpeaker, sentence: str) -> None:
    await speaker.say(sentence)


def test_speech_goes_sentence_by_sentence_and_a_fault_ends_it_once() -> None:
    heard_sentences: list[str] = []
    faults: list[str] = []

    async def sink(sentence: str) -> None:
        heard_sentences.append(sentence)
        if len(heard_sentences) == 3:
            raise SpeechError("gone")

    async def main() -> None:
        speech = Speech(sink, lambda error: faults.append(str(error)))
        for character in "One. Two":
            speech.write(character)
        speech.pause()
        speech.write("Three. Four. Five.")
        await speech.end()

    asyncio.run(main())
    assert heard_sentences == ["One.", "Two", "Three."]
    assert faults == ["gone"]


def test_chat_writes_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "said.wav"

    async def main() -> str:
        model, runner = await serving({"Hello?": ["Good **morning**. " + CALL, "It is warm."]})
        command = ["-c", "import gerbang.cli; gerbang.cli.main()", "chat", "--store", "memory:", "Hello?"]
        command += ["--model", model.address, "--profile", "voice", "--speak-file", str(file)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        out, _ = await process.communicate()
        await runner.cleanup()
        assert process.returncode == 0
        return out.decode()

    assert "warm" in asyncio.run(main())
    rate, _, loudness = heard(file.read_bytes())
    assert (rate, loudness > 0.02) == (22_050, True)
    speaker = open_speaker("espeak:", "en")

    async def alone() -> bytes:
        return joined([await speaker.say("Good morning."), await speaker.say("It is warm.")])

    assert file.read_bytes() == asyncio.run(alone()), "the call between the sentences made no sound"


def test_chat_without_the_program_says_how_to_get_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", "chat", "--speak", "Hello"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60, env=environment
    )
    assert (done.returncode, "apt-get install espeak-ng" in done.stderr) == (2, True)
