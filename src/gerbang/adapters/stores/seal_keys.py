"""Keys that working state is sealed with: AES-256-GCM (NIST SP 800-38D), a fresh 96-bit nonce for each value.

A key file has mode 0600 and one key a line, `ID HEX`: the last one seals, all of them open. Rotating adds a
line; what was sealed before stays readable for as long as its key is in the file.
"""

import base64
import binascii
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gerbang.adapters.extras import install_line
from gerbang.adapters.secrets.private_file import mark_of, only_writer, read_private, replace_private
from gerbang.errors import ConfigError, StoreUnavailable

MARK: Final = b"gs1:"
"""Begins a sealed value."""
MARK_TEXT: Final = MARK.decode()
_ID: Final = 4
_NONCE: Final = 12
_KEY: Final = 32
_LINE: Final = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{64})")


class Sealer:
    """Seals and opens values. `place` is what a value belongs to: elsewhere it does not open."""

    def __init__(self, keys: dict[bytes, bytes], where: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._newest = next(reversed(keys))
        self._where = where

    def __repr__(self) -> str:
        return f"<sealer with {len(self._ciphers)} keys>"

    @property
    def key_id(self) -> str:
        """The id of the key that seals."""
        return self._newest.hex()

    def holds(self, key_id: str) -> bool:
        """Tell whether a key is there."""
        return bytes.fromhex(key_id) in self._ciphers

    def seal(self, data: bytes, place: str) -> bytes:
        """Return the data sealed."""
        nonce = os.urandom(_NONCE)
        made = self._ciphers[self._newest].encrypt(nonce, data, place.encode())
        return b"".join((MARK, self._newest, nonce, made))

    def open(self, data: bytes, place: str) -> bytes:
        """Return what was sealed. Raises StoreUnavailable."""
        from cryptography.exceptions import InvalidTag

        head = len(MARK)
        key, nonce = data[head : head + _ID], data[head + _ID : head + _ID + _NONCE]
        cipher = self._ciphers.get(key)
        if cipher is None:
            raise StoreUnavailable(
                f"A record is sealed with the key {key.hex()}, which {self._where} does not hold. Give the "
                "key file that it was written with."
            )
        try:
            return cipher.decrypt(nonce, data[head + _ID + _NONCE :], place.encode())
        except (InvalidTag, ValueError):
            raise StoreUnavailable(
                "A sealed record was changed, or put in the place of another. Nothing of it is used. Restore "
                "it from a backup, or erase its run."
            ) from None

    def seal_text(self, text: str, place: str) -> str:
        """Return a text sealed, as text."""
        made = self.seal(text.encode("utf-8", "surrogatepass"), place)[len(MARK) :]
        return MARK_TEXT + base64.b64encode(made).decode()

    def open_text(self, text: str, place: str) -> str:
        """Return the text that was sealed. Raises StoreUnavailable."""
        try:
            data = base64.b64decode(text[len(MARK_TEXT) :], validate=True)
        except (binascii.Error, ValueError):
            data = b""
        return self.open(MARK + data, place).decode("utf-8", "surrogatepass")


def open_sealer(address: str) -> Sealer:
    """Return the sealer of an address, `file:PATH`. Raises ConfigError."""
    path = _path(address)
    _need()
    return Sealer(_read(path), str(path))


def new_seal_key(address: str) -> str:
    """Make a key file, or add a key to one, and return the new key's id. Raises ConfigError."""
    path = _path(address)
    with only_writer(path):
        keys = {} if mark_of(path) is None else _read(path)
        name = os.urandom(_ID)
        keys[name] = os.urandom(_KEY)
        lines = [f"{key.hex()} {value.hex()}\n" for key, value in keys.items()]
        replace_private(path, "".join(lines).encode())
    return name.hex()


def _path(address: str) -> Path:
    kind, _, rest = address.partition(":")
    if kind != "file" or not rest:
        raise ConfigError(f"A seal key is in a file: write file:PATH, not {address[:80]!r}.")
    return Path(rest).expanduser()


def _read(path: Path) -> dict[bytes, bytes]:
    keys: dict[bytes, bytes] = {}
    for number, line in enumerate(read_private(path, "file of seal keys").splitlines(), 1):
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise ConfigError(
                f"Line {number} of {path} is no seal key. Make one with: gerbang audit seal-key"
            )
        keys[bytes.fromhex(found[1].decode())] = bytes.fromhex(found[2].decode())
    if not keys:
        raise ConfigError(f"{path} holds no seal key. Make one with: gerbang audit seal-key")
    return keys


def _need() -> None:
    if find_spec("cryptography") is None:
        raise ConfigError(
            f"Sealing needs the library cryptography. Install it with: {install_line('secrets')}"
        )
