"""Keys that sign checkpoints: Ed25519 (RFC 8032), or HMAC-SHA-256 where `cryptography` is not installed.

A key is a file of mode 0600 with one line: `ed25519 HEX` (the private seed) or `hmac-sha256 HEX`. A public
key is a line `ed25519-public HEX`, in any file, or the text `ed25519:HEX` that a checkpoint names.
"""

import hmac
import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gerbang.adapters.extras import install_line
from gerbang.adapters.secrets.private_file import mark_of, only_writer, read_private, replace_private
from gerbang.errors import ConfigError

_LINE: Final = re.compile(rb"(ed25519|hmac-sha256|ed25519-public) ([0-9a-f]{64})\s*")
_NAME_HEX: Final = 16


class SigningKey:
    """Signs, and checks what was signed with it. Never shows itself."""

    def __init__(self, kind: str, material: bytes) -> None:
        self._kind = kind
        self._material = material
        if kind == "ed25519":
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

            self._private = Ed25519PrivateKey.from_private_bytes(material)
            self.name = f"ed25519:{self._private.public_key().public_bytes_raw().hex()}"
        else:
            self.name = (
                f"hmac-sha256:{hmac.digest(material, b'gerbang.key.name', 'sha256').hex()[:_NAME_HEX]}"
            )

    def __repr__(self) -> str:
        return f"<key {self.name}>"

    def sign(self, text: bytes) -> bytes:
        """Return the signature of a text."""
        if self._kind == "ed25519":
            return self._private.sign(text)
        return hmac.digest(self._material, text, "sha256")

    def signed(self, name: str, text: bytes, signature: bytes) -> bool:
        """Tell whether the text was signed with the key of that name, and that is this one."""
        if name != self.name:
            return False
        if self._kind == "ed25519":
            return public_signed(name, text, signature)
        return hmac.compare_digest(self.sign(text), signature)


def public_signed(name: str, text: bytes, signature: bytes) -> bool:
    """Tell whether a text was signed with the private half of a public key, named `ed25519:HEX`.

    Raises ConfigError when the library for it is not installed.
    """
    kind, _, code = name.partition(":")
    if kind != "ed25519" or not re.fullmatch(r"[0-9a-f]{64}", code):
        return False
    _need()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(code)).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def open_key(path: Path, *, make: bool) -> SigningKey:
    """Return the key of a file. With `make`, one that is missing is made. Raises ConfigError."""
    if make and mark_of(path) is None:
        with only_writer(path):
            if mark_of(path) is None:
                kind = "ed25519" if find_spec("cryptography") is not None else "hmac-sha256"
                replace_private(path, f"{kind} {os.urandom(32).hex()}\n".encode())
    found = _LINE.fullmatch(read_private(path, "key of checkpoints"))
    if found is None or found[1] == b"ed25519-public":
        raise ConfigError(f"{path} is no private key of checkpoints. Name another, or a file to be made.")
    if found[1] == b"ed25519":
        _need()
    return SigningKey(found[1].decode(), bytes.fromhex(found[2].decode()))


def trusted(given: str) -> tuple[str, SigningKey | None]:
    """Return the name of a key that is trusted, and the key itself where it is not a public one.

    `given` is `ed25519:HEX`, or the path of a public or private key. Raises ConfigError.
    """
    if re.fullmatch(r"ed25519:[0-9a-f]{64}", given):
        return given, None
    path = Path(given).expanduser()
    try:
        with path.open("rb") as file:
            found = _LINE.fullmatch(file.read(200))
    except OSError:
        found = None
    if found is not None and found[1] == b"ed25519-public":
        return f"ed25519:{found[2].decode()}", None
    key = open_key(path, make=False)
    return key.name, key


def _need() -> None:
    if find_spec("cryptography") is None:
        raise ConfigError(
            f"Ed25519 keys need the library cryptography. Install it with: {install_line('secrets')}"
        )
