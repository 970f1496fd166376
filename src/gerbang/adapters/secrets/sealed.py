"""The form of an encrypted file of secrets: JSON with a head in the clear and one sealed body.

The body is a JSON object of names and values under AES-256-GCM (NIST SP 800-38D) with a fresh 96-bit nonce
for each writing. The key comes from a passphrase by scrypt (RFC 7914) or from a key file by HKDF-SHA256
(RFC 5869). The head is authenticated with the body. Its `check` is derived from the same secret, so that a
wrong passphrase and a changed file are told apart.
"""

import base64
import hmac
import json
import os
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from msgspec import Struct, ValidationError, convert

FORMAT: Final = "gerbang-secrets-1"
SCRYPT_COST: Final = 17
"""Logarithm of scrypt's N: 2**17 with r 8 takes 128 MB of memory and about half a second."""

_MIN_COST: Final = 14
_MAX_COST: Final = 20
_R: Final = 8
_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 12
_KEY_BYTES: Final = 32
_CHECK_BYTES: Final = 16


class WrongKey(Exception):
    """The passphrase or key file is not the one that the file was written with."""


class Damaged(Exception):
    """The file is not in this form, or was changed."""


class _File(Struct, forbid_unknown_fields=True):
    """What stands in the file; byte strings in base64. `cost` is scrypt's, 0 for a key file."""

    format: str
    kdf: str
    cost: int
    salt: bytes
    check: bytes
    nonce: bytes
    data: bytes


class Keys(Struct, frozen=True):
    """What was derived for one salt: the key itself and what the file tells it by. Never shown."""

    kdf: str
    cost: int
    salt: bytes
    key: bytes
    check: bytes

    def __repr__(self) -> str:
        return f"<keys by {self.kdf}>"


def new_keys(material: bytes, kdf: str, cost: int = SCRYPT_COST) -> Keys:
    """Derive keys for a new file. `material` is the passphrase or the content of a key file."""
    return _derive(material, kdf, 0 if kdf == "hkdf-sha256" else cost, os.urandom(_SALT_BYTES))


def seal(values: dict[str, str], keys: Keys) -> bytes:
    """Return the file's bytes."""
    nonce = os.urandom(_NONCE_BYTES)
    head = _head(keys.kdf, keys.cost, keys.salt, keys.check, nonce)
    return _written(head, AESGCM(keys.key).encrypt(nonce, orjson.dumps(values), orjson.dumps(head)))


def unseal(raw: bytes, material: bytes, kdf: str, known: Keys | None) -> tuple[dict[str, str], Keys]:
    """Return the values and the keys. `known` are keys of an earlier reading, used when they still fit.

    Raises WrongKey and Damaged.
    """
    file = _read(raw)
    if file.kdf != kdf:
        raise WrongKey
    fits = known is not None and (known.salt, known.cost, known.kdf) == (file.salt, file.cost, kdf)
    keys = known if known is not None and fits else _derive(material, kdf, file.cost, file.salt)
    if not hmac.compare_digest(keys.check, file.check):
        raise WrongKey
    head = _head(kdf, file.cost, file.salt, file.check, file.nonce)
    try:
        body = AESGCM(keys.key).decrypt(file.nonce, file.data, orjson.dumps(head))
    except InvalidTag:
        raise Damaged from None
    try:
        return convert(orjson.loads(body), dict[str, str]), keys
    except (ValueError, ValidationError):
        raise Damaged from None


def _read(raw: bytes) -> _File:
    try:
        file = convert(json.loads(raw), _File)  # byte strings are read from base64
    except (ValueError, ValidationError, RecursionError):
        raise Damaged from None
    cost_fits = file.cost == 0 if file.kdf == "hkdf-sha256" else _MIN_COST <= file.cost <= _MAX_COST
    sizes = (len(file.salt), len(file.nonce), len(file.check))
    if file.format != FORMAT or file.kdf not in ("scrypt", "hkdf-sha256") or not cost_fits:
        raise Damaged
    head = _head(file.kdf, file.cost, file.salt, file.check, file.nonce)
    if raw != _written(head, file.data):  # base64 and JSON have several writings of one value
        raise Damaged
    if sizes != (_SALT_BYTES, _NONCE_BYTES, _CHECK_BYTES):
        raise Damaged
    return file


def _derive(material: bytes, kdf: str, cost: int, salt: bytes) -> Keys:
    size = _KEY_BYTES + _CHECK_BYTES
    if kdf == "scrypt":
        both = Scrypt(salt=salt, length=size, n=2**cost, r=_R, p=1).derive(material)
    else:
        both = HKDF(algorithm=SHA256(), length=size, salt=salt, info=FORMAT.encode()).derive(material)
    return Keys(kdf, cost, salt, both[:_KEY_BYTES], both[_KEY_BYTES:])


def _head(kdf: str, cost: int, salt: bytes, check: bytes, nonce: bytes) -> dict[str, Any]:
    codes = {"salt": _code(salt), "check": _code(check), "nonce": _code(nonce)}
    return {"format": FORMAT, "kdf": kdf, "cost": cost, **codes}


def _written(head: dict[str, Any], data: bytes) -> bytes:
    return orjson.dumps({**head, "data": _code(data)}, option=orjson.OPT_INDENT_2) + b"\n"


def _code(data: bytes) -> str:
    return base64.b64encode(data).decode()
