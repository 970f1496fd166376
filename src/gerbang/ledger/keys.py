"""Names of calls. Parts are never joined with a separator: a key is a digest of a canonical JSON array."""

import hashlib
import hmac
from typing import Any

import orjson

from gerbang.values import StepId
from gerbang.values.canonical import canonical


def runtime_key(tenant: str, run: str, step: StepId, ordinal: int) -> str:
    """Return the key of a call by its place: run, step and position in the answer."""
    return _place(["run", tenant, run, step, ordinal])


def caller_key(tenant: str, user: str, key: str) -> str:
    """Return the key that a caller chose, inside the caller's own namespace."""
    return _key(["caller", tenant, user, key])


def natural_key(tenant: str, tool: str, fields: tuple[str, ...], arguments: dict[str, Any]) -> str:
    """Return the key by what the effect is about: the tool without its version, and the named fields."""
    namespace, dot, version = tool.rpartition(".")
    name = namespace if dot and version[:1] == "v" and version[1:].isdigit() else tool
    return _key(["natural", tenant, name, [[field, arguments.get(field)] for field in fields]])


def fingerprint(store_key: bytes, tool: str, arguments: bytes) -> str:
    """Return the HMAC-SHA-256 of the tool's name and canonical arguments, as hex."""
    return hmac.digest(store_key, tool.encode() + b"\x00" + arguments, "sha256").hex()


def _key(parts: list[Any]) -> str:
    return hashlib.sha256(canonical(parts)).hexdigest()


def _place(parts: list[str | int]) -> str:
    """Return the key of texts and small integers only: their plain JSON is canonical already."""
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()
