"""`gerbang audit checkpoint`: sign the heads of all runs, to be kept outside of the store."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from gerbang.adapters.clock import SystemClock
from gerbang.adapters.secrets.signing import SigningKey, open_key
from gerbang.audit.checkpoint import Writing, signed_text
from gerbang.cli import options
from gerbang.cli.exits import Exit
from gerbang.cli.recorded_store import with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.compose.auditing import checkpoint_lines
from gerbang.errors import ConfigError
from gerbang.ports import Store
from gerbang.runtime.store_time import following
from gerbang.values.counting import counted

DEFAULT_KEY: Final = ".gerbang/checkpoint.key"


def add(group: typer.Typer) -> None:
    """Add the command to its group."""
    group.command("checkpoint")(checkpoint)


def checkpoint(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it to a file, not to standard output.")
    ] = None,
    key: Annotated[
        str, typer.Option("--key", metavar="FILE", help="Private key that signs; made when it is missing.")
    ] = DEFAULT_KEY,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Sign the last event of every run. Keep the result where nobody can write who can write the store."""
    settings = options.settings(config, store=store)
    signer = open_key(Path(key).expanduser(), make=True)
    writing = Writing()

    async def work(opened: Store) -> None:
        with _output(out) as file:
            async for line in checkpoint_lines(opened, await following(SystemClock(), opened), writing):
                file.write(line)
            file.write(_foot(writing, signer))

    with_store(settings, work)
    screen = Screen.standard()
    if out is not None and json:
        screen.document(
            {"file": str(out), "runs": writing.runs, "events": writing.events, "key": signer.name}
        )
    else:
        where = "" if out is None else f" in {one_line(str(out))}"
        screen.note(
            f"{counted(writing.runs, 'run')}, {counted(writing.events, 'event')}, "
            f"signed by {signer.name}{where}."
        )
    return Exit.DONE


def _foot(writing: Writing, signer: SigningKey) -> bytes:
    return writing.foot(signer.name, signer.sign(signed_text(writing.digest)))


@contextlib.contextmanager
def _output(out: Path | None) -> Iterator[BinaryIO]:
    if out is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(out)
    except OSError as error:
        hint = "" if out.parent.is_dir() else f", or make the folder {out.parent} first"
        raise ConfigError(f"{out} cannot be written: {error.strerror}. Name another file{hint}.") from None
    finally:
        draft.unlink(missing_ok=True)
