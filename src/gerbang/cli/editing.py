"""Letting a person change arguments: in their editor, or on one line."""

import asyncio
import contextlib
import json
import shlex
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from gerbang.cli.texts import say
from gerbang.errors import UsageError


def editor_of(environ: Mapping[str, str]) -> str | None:
    """Return the command of the person's editor; None when there is none."""
    return environ.get("VISUAL") or environ.get("EDITOR") or None


async def edited_text(editor: str, arguments: dict[str, Any]) -> str:
    """Return what the person made of the arguments in the editor. Raises UsageError and OSError."""
    text = json.dumps(arguments, indent=2, ensure_ascii=False)
    async with _draft(text) as path:
        await _run_editor(editor, path)
        return path.read_text("utf-8")


@contextlib.asynccontextmanager
async def _draft(text: str) -> AsyncIterator[Path]:
    """Keep the text in a file that only this user can read, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="gerbang-") as folder:  # made with mode 0700
        path = Path(folder) / "arguments.json"
        path.write_text(text, "utf-8")
        yield path


async def _run_editor(editor: str, path: Path) -> None:
    process = await asyncio.create_subprocess_exec(*shlex.split(editor), str(path))
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    if code:
        raise UsageError(say("editor_ended", editor=editor, code=code))
