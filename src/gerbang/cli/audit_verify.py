"""`gerbang audit verify`: where a chain breaks, and up to which outside checkpoint that can be told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from msgspec import Struct

from gerbang.adapters.secrets.signing import public_signed, trusted
from gerbang.audit.check import Checked
from gerbang.audit.checkpoint import MAX_LINE, BadCheckpoint, Foot, Head, Reading, signed_text
from gerbang.audit.export import moment
from gerbang.cli import options
from gerbang.cli.audit_checkpoint import DEFAULT_KEY
from gerbang.cli.exits import Exit
from gerbang.cli.recorded_store import known_run, with_store
from gerbang.cli.safe_text import one_line
from gerbang.cli.screen import Screen
from gerbang.compose.auditing import check_against, check_run, every_head, is_of, read_lines
from gerbang.errors import ConfigError
from gerbang.ports import Store
from gerbang.values.counting import counted

_SHOWN: Final = 100
_SAID: Final = {
    "chain": "event {at} was changed, or one was removed, reordered or inserted there",
    "detail": "the detail of event {at} was changed",
    "payload": "the arguments or the result in the store are not those that event {at} commits to",
    "checkpoint": "event {at} is not the one that the checkpoint names: the chain was rewritten",
    "missing": "event {at}, which the checkpoint names, is missing",
}


def add(group: typer.Typer) -> None:
    """Add the command to its group."""
    group.command("verify")(verify)


class Found(Struct):
    """What a check found. `broken` holds the first ones only; `damaged` counts all."""

    runs: int = 0
    events: int = 0
    vouched: int = 0
    damaged: int = 0
    broken: list[Checked] = []

    def note(self, checked: Checked) -> None:
        """Take in a run that is broken."""
        if not checked.whole:
            self.damaged += 1
            if len(self.broken) < _SHOWN:
                self.broken.append(checked)


def verify(
    run_id: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Check this run only, by its id or its beginning.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="FILE", help="A checkpoint kept outside.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Who must have signed it: a key file, or ed25519:HEX."),
    ] = None,
    store: options.Store = None,
    config: options.Config = None,
    json: options.Json = False,
) -> int:
    """Detect a changed, removed, reordered or inserted event up to the last checkpoint kept outside."""
    settings = options.settings(config, store=store)
    outside = None if checkpoint is None else _checked_file(checkpoint, key)

    async def work(opened: Store) -> Found:
        found = Found()
        one = None if run_id is None else await known_run(opened, run_id)
        if checkpoint is not None and outside is not None:
            if not await is_of(opened, outside[0]):
                raise ConfigError(f"{checkpoint} is a checkpoint of another store. Give one of this store.")
            for line in read_lines(_lines(checkpoint), Reading()):
                if one in (None, line.run):
                    found.note(against := await check_against(opened, line))
                    found.vouched += line.seq if against.whole else 0
        if one is not None:
            await _one(opened, one, found)
        else:
            async for head in every_head(opened):
                await _one(opened, head.run_id, found)
        return found

    found = with_store(settings, work)
    screen = Screen.standard()
    if json:
        screen.document(_document(found, outside))
    else:
        _print(screen, found, outside)
    return Exit.FAILED if found.damaged else Exit.DONE


async def _one(store: Store, run_id: str, found: Found) -> None:
    checked = await check_run(store, run_id)
    found.runs += 1
    found.events += checked.events
    found.note(checked)


def _checked_file(path: Path, key: str | None) -> tuple[Head, Foot]:
    """Read a checkpoint through, and check its signature. Raises ConfigError."""
    reading = Reading()
    try:
        for _ in read_lines(_lines(path), reading):
            pass
        head, foot = reading.end()
    except BadCheckpoint as error:
        raise ConfigError(f"{path} is no whole checkpoint: {error}. Give it as it was made.") from None
    name, signer = (foot.key, None) if key is None else trusted(key)
    if name != foot.key:
        raise ConfigError(f"{path} was signed by {foot.key}, not by {name}. It proves nothing here.")
    if key is None and not foot.key.startswith("ed25519:"):
        raise ConfigError(
            f"{path} was signed by {foot.key}, a key without a public half. Name its file to check it, the "
            f"one that `gerbang audit checkpoint` made: --key {DEFAULT_KEY}, unless another was named there."
        )
    text, signature = signed_text(foot.digest), _hex(foot.signature)
    if not (signer.signed(name, text, signature) if signer else public_signed(name, text, signature)):
        raise ConfigError(f"The signature of {path} is wrong: it was changed. It proves nothing.")
    return head, foot


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while line := file.readline(MAX_LINE + 1):
                yield line
    except OSError as error:
        raise ConfigError(
            f"The checkpoint {path} cannot be read: {error.strerror}. Check the path."
        ) from None


def _document(found: Found, outside: tuple[Head, Foot] | None) -> dict[str, Any]:
    checkpoint = None
    if outside is not None:
        head, foot = outside
        checkpoint = {"at": head.at, "runs": foot.runs, "events": foot.events, "key": foot.key}
    return {
        "whole": not found.damaged,
        "runs": found.runs,
        "events": found.events,
        "damaged": found.damaged,
        "broken": [
            {"run_id": one.run_id, "broken_at": one.broken_at, "what": one.what} for one in found.broken
        ],
        "vouched_events": found.vouched,
        "checkpoint": checkpoint,
    }


def _print(screen: Screen, found: Found, outside: tuple[Head, Foot] | None) -> None:
    for one in found.broken:
        screen.line(f"{one_line(one.run_id)}: {_SAID[one.what].format(at=one.broken_at)}.")
    if found.damaged > len(found.broken):
        screen.line(f"... and {found.damaged - len(found.broken)} more.")
    told = "No event was" if not found.damaged else "Apart from these, no event was"
    if outside is None:
        screen.line(
            f"{counted(found.runs, 'run')}, {counted(found.events, 'event')}. {told} found changed, removed, "
            "reordered or inserted."
        )
        screen.line(
            "No checkpoint was given: a chain that somebody made anew, or cut at its end, cannot be told "
            "from the first one. Make checkpoints and keep them outside: gerbang audit checkpoint"
        )
        return
    head, foot = outside
    screen.line(
        f"{told} changed, removed, reordered or inserted up to the checkpoint of {moment(head.at)} "
        f"({counted(found.vouched, 'event')} of {counted(found.runs, 'run')}, signed by {foot.key})."
    )
    screen.line(
        f"In the store: {counted(found.events, 'event')}; those after the checkpoint are chained, "
        "not vouched for."
    )
