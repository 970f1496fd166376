"""Names of calls. Parts are never joined with a separator: a key is a digest of a canonical JSON array.

The plain JSON of texts and small integers, of which a call's place consists, is canonical already.
"""

import hashlib
from typing import Any, Final

import orjson

from gerbang.limits import MAX_ARGUMENT_DEPTH
from gerbang.values import Contract, StepId
from gerbang.values.canonical import canonical

_DEPTH: Final = MAX_ARGUMENT_DEPTH + 4  # arguments as deep as they may be stand inside the key's own lists

_BLOCK: Final = 64  # bytes that SHA-256 takes at a time


def runtime_key(tenant: str, run: str, step: StepId, ordinal: int) -> str:
    """Return the key of a call by its place: run, step and position in the answer."""
    return hashlib.sha256(orjson.dumps(["run", tenant, run, step, ordinal])).hexdigest()


def denied_key(tenant: str, run: str, step: StepId, ordinal: int, call_id: str, commitment: str) -> str:
    """Return the key of a call that was denied: by its place and the commitment to its arguments."""
    parts = ["denied", tenant, run, step, ordinal, call_id, commitment]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()


def caller_key(tenant: str, user: str, key: str) -> str:
    """Return the key that a caller chose, inside the caller's own namespace."""
    return _key(["caller", tenant, user, key])


def natural_key(
    tenant: str, tool: str, fields: tuple[str, ...], arguments: dict[str, Any], namespace: str = ""
) -> str:
    """Return the key by what the effect is about: the namespace, and the named fields. An empty `namespace`
    is the tool without its version.
    """
    bare, dot, version = tool.rpartition(".")
    name = namespace or (bare if dot and version[:1] == "v" and version[1:].isdigit() else tool)
    return _key(["natural", tenant, name, [[field, _exact(arguments.get(field))] for field in fields]])


def effect_key(tenant: str, contract: Contract, arguments: dict[str, Any]) -> str:
    """Return the natural key of a call by its contract."""
    return natural_key(tenant, contract.name, contract.natural_key, arguments, contract.key_namespace)


class Fingerprints:
    """HMAC-SHA-256 under the store's key (RFC 2104), its two inner states prepared once."""

    def __init__(self, store_key: bytes) -> None:
        key = (hashlib.sha256(store_key).digest() if len(store_key) > _BLOCK else store_key).ljust(
            _BLOCK, b"\0"
        )
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key))

    def of(self, tool: str, arguments: bytes) -> str:
        """Return the hex HMAC of the tool's name and its canonical arguments."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(tool.encode() + b"\x00" + arguments)
        outer.update(inner.digest())
        return outer.hexdigest()


def _exact(value: Any) -> Any:
    """Return the value with each whole number as an integer: `1e21` is the same amount as its 22 digits, but
    canonical JSON writes a double of that size with an exponent.
    """
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is dict:
        return {name: _exact(item) for name, item in value.items()}
    if kind is list:
        return [_exact(item) for item in value]
    return value


def _key(parts: list[Any]) -> str:
    return hashlib.sha256(canonical(parts, max_depth=_DEPTH)).hexdigest()
