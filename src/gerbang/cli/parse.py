"""`gerbang parse`: read a model's answer from stdin and print what the reader of a dialect makes of it."""

import codecs
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import typer

from gerbang.cli.exits import Exit
from gerbang.cli.options import Json
from gerbang.cli.screen import Screen
from gerbang.errors import UsageError
from gerbang.limits import MAX_ANSWER_CHARS

MAX_TOOLS_BYTES: Final = 8_388_608
"""Largest file of tools that is read, in bytes."""
_CHUNK: Final = 65_536


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("parse")(parse_command)


def parse_command(
    dialect: Annotated[
        str,
        typer.Option("--dialect", "-d", metavar="ID", help="The model's dialect; auto decides by the text."),
    ] = "auto",
    tools: Annotated[
        Path | None,
        typer.Option("--tools", metavar="FILE", help="JSON list of tools with name and parameters."),
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print events while the input arrives.")] = False,
    truncated: Annotated[
        bool, typer.Option("--truncated", help="The answer was cut off by the token limit.")
    ] = False,
    reasoning_open: Annotated[
        bool, typer.Option("--reasoning-open", help="The prompt had opened the reasoning block.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print for a person, not as JSON lines.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read a model's answer from stdin and print its events, one JSON object a line.

    Ends with 0; with 1 when a call in the answer could not be trusted; with 2 on wrong usage.
    """
    from gerbang import parse  # the readers are loaded only by the command that uses them
    from gerbang.cli.parse_view import explain_events, print_events

    if explain and as_json:
        raise UsageError("--explain and --json exclude each other. Leave one of them out.")
    reader = parse.reader(dialect, tools=_tools(tools), reasoning_open=reasoning_open)
    if sys.stdin.isatty():
        sys.stderr.write("Reading the model's answer from the keyboard; end it with Ctrl-D.\n")
    events = _events(reader, _text(sys.stdin.buffer), whole=not stream, truncated=truncated)
    faults = explain_events(events, Screen.standard()) if explain else print_events(events, flush=stream)
    if faults:
        raise typer.Exit(Exit.FAILED)


def _tools(path: Path | None) -> list[dict[str, Any]] | None:
    """Read the tools; a list, or an object with the list under `tools`. Raises UsageError."""
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_TOOLS_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"Cannot read the tools file {str(path)!r}: {error.strerror}. Check the path."
        ) from None
    if len(raw) > MAX_TOOLS_BYTES:
        raise UsageError(
            f"The tools file {str(path)!r} is larger than {MAX_TOOLS_BYTES} bytes. Give fewer tools."
        )
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The tools file {str(path)!r} is not JSON: {error}. Write a list of tools."
        ) from None
    if isinstance(found, dict):
        found = found.get("tools")
    if not isinstance(found, list) or not all(isinstance(tool, dict) for tool in found):
        raise UsageError(
            f"The tools file {str(path)!r} holds no list of tools. "
            'Write [{"name": ..., "parameters": {...}}, ...].'
        )
    return found


def _events(reader: Any, pieces: Iterator[str], *, whole: bool, truncated: bool) -> Iterator[Any]:
    """Yield the events of all pieces; with `whole`, of the text in one delta."""
    if whole:
        pieces = iter(("".join(pieces),))
    for piece in pieces:
        yield from reader.feed(piece)
    yield from reader.finish(truncated=truncated)


def _text(source: BinaryIO) -> Iterator[str]:
    """Yield the input as text, as it arrives. Raises UsageError when it is not UTF-8 or too long."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    read = getattr(source, "read1", source.read)  # read1 returns what is there, read waits for more
    done = chars = 0
    while True:
        chunk = read(_CHUNK)
        held = len(decoder.getstate()[0])
        try:
            piece = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            at = done - held + error.start
            raise UsageError(
                f"The input is not UTF-8 (byte {at + 1} is 0x{error.object[error.start]:02x}). Convert it, "
                "for example with: iconv -f LATIN1 -t UTF-8"
            ) from None
        done += len(chunk)
        chars += len(piece)
        if chars > MAX_ANSWER_CHARS:
            raise UsageError(f"The input is longer than one answer may be ({MAX_ANSWER_CHARS} characters).")
        if piece:
            yield piece
        if not chunk:
            return
