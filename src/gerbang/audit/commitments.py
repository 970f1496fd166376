"""Commitments to what a run's payloads are: HMACs under the run's own salt, which erasure takes away.

Written `sha256:` and 64 hex digits: HMAC-SHA-256 (RFC 2104), not the plain digest of the payload. Whoever has
the payload and the salt can check one; without the salt a payload cannot be found by guessing, however short
it is. Salts have one length, so that one commitment cannot be opened in two ways.
"""

import hashlib
from typing import Any, Final

from msgspec import Struct

SALT_BYTES: Final = 32
_BLOCK: Final = 64  # bytes that SHA-256 takes at a time


class Commitments(Struct, gc=False):
    """Makes the commitments of one run. The two inner states of the HMAC are prepared once, for the first."""

    salt: bytes
    _states: tuple[Any, Any] | None = None
    _name: str = ""

    def __post_init__(self) -> None:
        if len(self.salt) != SALT_BYTES:
            raise ValueError(f"a salt has {SALT_BYTES} bytes")

    def __repr__(self) -> str:
        return "<Commitments>"  # the salt is nobody's to see

    @property
    def name(self) -> str:
        """What tells salts apart, and nothing else of them."""
        if not self._name:
            self._name = self.of(_NAME)[7:23]
        return self._name

    def of(self, payload: bytes) -> str:
        """Return the commitment to a payload."""
        if self._states is None:
            key = int.from_bytes(self.salt.ljust(_BLOCK, b"\0"), "big")
            self._states = (
                hashlib.sha256((key ^ _INNER).to_bytes(_BLOCK, "big")),
                hashlib.sha256((key ^ _OUTER).to_bytes(_BLOCK, "big")),
            )
        inner, outer = self._states[0].copy(), self._states[1].copy()
        inner.update(payload)
        outer.update(inner.digest())
        return "sha256:" + outer.hexdigest()


_NAME: Final = b"gerbang.salt.name"
_INNER: Final = int.from_bytes(b"\x36" * _BLOCK, "big")
_OUTER: Final = int.from_bytes(b"\x5c" * _BLOCK, "big")
