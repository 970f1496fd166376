"""The terminal, or what stands in its place: text, colours where they are wanted, one moving status line."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, TextIO

import orjson

from gerbang.cli.safe_text import json_safe
from gerbang.runtime.background import end

STYLES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "title": "1;36",
}
_FRAMES: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_CLEAR: Final = "\r\x1b[K"
_TICK_S: Final = 0.1


class Screen:
    """Writes answers to standard output, and everything about them to standard error.

    `interactive` means that a person sits at both ends: they can be asked. `moving` means that a status line
    can be drawn. Text is printed as it is:
    the caller makes foreign text safe first (`gerbang.cli.safe_text`).
    """

    def __init__(self, out: TextIO, err: TextIO, *, colour: bool, moving: bool, interactive: bool) -> None:
        self._out = out
        self._err = err
        self._colour = colour
        self.moving = moving
        self.interactive = interactive
        self._status = ""
        self._drawn = False
        self._mid_line = False

    @classmethod
    def standard(cls, environ: Mapping[str, str] = os.environ) -> "Screen":
        """Return the screen of this process. `NO_COLOR` and `TERM=dumb` are honoured."""
        plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
        for name in ("stdin", "stdout", "stderr"):
            if getattr(sys, name) is None:  # closed by whoever started us, as cron does
                setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
        out_tty, err_tty = sys.stdout.isatty(), sys.stderr.isatty()
        return cls(
            sys.stdout,
            sys.stderr,
            colour=out_tty and not plain,
            moving=err_tty and environ.get("TERM") != "dumb",
            interactive=sys.stdin.isatty() and (out_tty or err_tty),
        )

    def styled(self, text: str, style: str) -> str:
        """Return `text` in a style of STYLES, or as it is where colours are off."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self._colour and text else text

    def write(self, text: str) -> None:
        """Print a piece of an answer at once, without a line break."""
        if text:
            self._erase()
            self._out.write(text)
            self._out.flush()
            self._mid_line = not text.endswith("\n")

    def line(self, text: str = "", style: str | None = None) -> None:
        """Print a line, on a new line."""
        self.write(("\n" if self._mid_line else "") + (self.styled(text, style) if style else text) + "\n")

    def end_line(self) -> None:
        """Break the line, if something stands on it."""
        if self._mid_line:
            self.write("\n")

    def document(self, value: Any) -> None:
        """Print a JSON document on one line. What a terminal would obey or hide stands as its escape."""
        text = orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        self.write(json_safe(text) + "\n")

    def note(self, text: str) -> None:
        """Print a line to standard error."""
        self._erase()
        if self._mid_line and self.moving:
            self._out.write("\n")
            self._out.flush()
            self._mid_line = False
        self._err.write(text + "\n")
        self._err.flush()

    def prompt(self, text: str) -> None:
        """Print a question to standard error, without a line break."""
        self._erase()
        self._err.write(text)
        self._err.flush()

    def status(self, text: str) -> None:
        """Say what is going on now; empty text says nothing. Shown only while `spinning`."""
        self._status = text
        if not text:
            self._erase()

    @contextlib.asynccontextmanager
    async def spinning(self) -> AsyncIterator[None]:
        """Draw the status line while the block runs."""
        if not self.moving:
            yield
            return
        task = asyncio.create_task(self._spin())
        try:
            yield
        finally:
            await end(task)
            self.status("")

    async def _spin(self) -> None:
        frame = 0
        while True:
            if self._status and not self._mid_line:
                self._err.write(f"{_CLEAR}{_FRAMES[frame % len(_FRAMES)]} {self._status}")
                self._err.flush()
                self._drawn = True
            frame += 1
            await asyncio.sleep(_TICK_S)

    def _erase(self) -> None:
        if self._drawn:
            self._err.write(_CLEAR)
            self._err.flush()
            self._drawn = False
