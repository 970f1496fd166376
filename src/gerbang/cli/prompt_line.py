"""The line where a person types, with editing and a history that outlives the session."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Final

_MAX_ENTRIES: Final = 1_000


class PromptLine:
    """Reads lines with the editing keys of the shell, where the platform has them.

    The history file is readable only by its owner: people type secrets. Without a writable place for it
    the history lasts for the session.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        home = Path(environ.get("HOME") or "~").expanduser()
        state = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")
        self._file = state / "gerbang" / "history"
        self._readline = _readline()
        if self._readline is not None:
            self._readline.set_history_length(_MAX_ENTRIES)
            with contextlib.suppress(OSError):
                self._readline.read_history_file(self._file)

    def ask(self, prompt: str) -> str:
        """Return the next line. Raises EOFError at the end, KeyboardInterrupt on Ctrl-C."""
        return input(prompt)

    def close(self) -> None:
        """Keep the history for next time."""
        if self._readline is None:
            return
        with contextlib.suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self._file, os.O_CREAT | os.O_WRONLY, 0o600))  # private before it is filled
            self._file.chmod(0o600)
            self._readline.write_history_file(self._file)
            self._file.chmod(0o600)


def _readline() -> ModuleType | None:
    try:
        import readline  # takes over the keyboard when imported: only when a person types
    except ImportError:
        return None
    return readline
