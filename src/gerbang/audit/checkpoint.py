"""Checkpoints: the heads of all runs of a store at a time, signed, to be kept outside of the store.

A checkpoint is JSON lines: a head, one line a run, a foot. The foot signs the SHA-256 of all lines before it,
so that one can be written and read with one line in memory.
"""

import hashlib
import hmac
from typing import Final

import msgspec
from msgspec import Struct

from gerbang.values.record import HeadRow

VERSION: Final = 1
MAX_LINE: Final = 65_536
"""A line longer than this is refused, in bytes."""
_CONTEXT: Final = b"gerbang.checkpoint.1\x00"
_ENCODE: Final = msgspec.json.Encoder().encode


class BadCheckpoint(Exception):
    """The file is no checkpoint, or was changed. `str(error)` says what is wrong."""


class Head(Struct, frozen=True, tag_field="is", tag="checkpoint", forbid_unknown_fields=True):
    """What a checkpoint is of. `store` names the store, `at` is in seconds since the epoch."""

    version: int
    store: str
    at: float


class Run(Struct, frozen=True, tag_field="is", tag="run", forbid_unknown_fields=True):
    """The last event of a run: its number and digest (hex)."""

    run: str
    seq: int
    digest: str


class Foot(Struct, frozen=True, tag_field="is", tag="end", forbid_unknown_fields=True):
    """The end. `digest` is over all lines before; `key` is `ed25519:` and the public key, or `hmac-sha256:`
    and a name of the key; `signature` is hex.
    """

    runs: int
    events: int
    digest: str
    key: str
    signature: str


Line = Head | Run | Foot
_DECODE: Final = msgspec.json.Decoder(Line).decode


def store_name(store_key: bytes) -> str:
    """Return the name of a store, which tells nothing of its key."""
    return hmac.digest(store_key, b"gerbang.store.name", "sha256").hex()[:16]


def signed_text(digest: str) -> bytes:
    """Return the bytes that a checkpoint's signature is over."""
    return _CONTEXT + digest.encode()


class Writing:
    """Gives the lines of a checkpoint, one after the other."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self.runs = 0
        self.events = 0

    def head(self, store: str, at: float) -> bytes:
        """Return the first line."""
        return self._add(Head(VERSION, store, at))

    def run(self, row: HeadRow) -> bytes:
        """Return the line of a run."""
        self.runs += 1
        self.events += row.seq
        return self._add(Run(row.run_id, row.seq, row.digest.hex()))

    @property
    def digest(self) -> str:
        """The digest of the lines so far."""
        return self._hash.hexdigest()

    def foot(self, key: str, signature: bytes) -> bytes:
        """Return the last line."""
        return _ENCODE(Foot(self.runs, self.events, self.digest, key, signature.hex())) + b"\n"

    def _add(self, line: Head | Run) -> bytes:
        data = _ENCODE(line) + b"\n"
        self._hash.update(data)
        return data


class Reading:
    """Reads a checkpoint: `line(data)` gives what a line says, `end()` wants the whole to be there."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._runs = 0
        self._events = 0
        self.first: Head | None = None
        self.last: Foot | None = None

    def line(self, data: bytes) -> Line:
        """Return what a line says. Raises BadCheckpoint."""
        try:
            found = _DECODE(data) if len(data) <= MAX_LINE else None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found = None
        number = self._runs + 2
        if found is None or self.last is not None or (self.first is None) != isinstance(found, Head):
            raise BadCheckpoint(f"line {1 if self.first is None else number} does not belong there")
        if isinstance(found, Head):
            if found.version != VERSION:
                raise BadCheckpoint(f"it has version {found.version}; this program knows {VERSION}")
            self.first = found
        elif isinstance(found, Run):
            self._runs += 1
            self._events += found.seq
        else:
            counted = (self._runs, self._events, self._hash.hexdigest())
            if (found.runs, found.events, found.digest) != counted:
                raise BadCheckpoint("its lines are not those that its last line was made over")
            self.last = found
        self._hash.update(data)
        return found

    def end(self) -> tuple[Head, Foot]:
        """Return the first and the last line. Raises BadCheckpoint for a checkpoint that is cut off."""
        if self.first is None or self.last is None:
            raise BadCheckpoint("its end is missing")
        return self.first, self.last
