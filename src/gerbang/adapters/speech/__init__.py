"""Voices. Each makes sound of sentences that are complete.

`open_speaker` takes an address::

    espeak:          the program espeak-ng with the voice of the language
    espeak:VOICE     the same with another voice, such as `en-us` or `id+f3`
"""

from typing import Final

from gerbang.adapters.speech.espeak import EspeakSpeaker
from gerbang.errors import ConfigError
from gerbang.ports import Speaker

KINDS: Final = ("espeak:", "espeak:VOICE")


def open_speaker(address: str, lang: str) -> Speaker:
    """Return the voice at an address; `lang` is the language of texts, `en` or `id`.

    Raises ConfigError for an address that names nothing, a program that is not installed, or a voice that
    it does not have.
    """
    kind, found, voice = address.partition(":")
    if kind != "espeak" or not found:
        raise ConfigError(f"{address[:200]!r} is no voice. Write one of: {', '.join(KINDS)}.")
    return EspeakSpeaker(voice or lang)
