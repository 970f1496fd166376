"""The seal on a request: what only a holder of the store's key can have written."""

import hashlib
import hmac

import msgspec
from msgspec.structs import replace

from gerbang.values.canonical import digest
from gerbang.values.record import ApprovalRow


def sealed(row: ApprovalRow, key: bytes) -> ApprovalRow:
    """Return the request with its seal. It covers every field, and differs after each change."""
    return replace(row, seal=_seal(row, key))


def is_genuine(row: ApprovalRow, key: bytes) -> bool:
    """Tell whether nothing of the request was changed by anybody without the store's key."""
    given = row.seal.encode("utf-8", "backslashreplace")  # whatever somebody wrote there
    return hmac.compare_digest(given, _seal(row, key).encode())


def shown_mark(row: ApprovalRow) -> str:
    """Return what names a request as it is now: who decides says by it what they were shown."""
    return digest(["shown", row.approval_id, row.state, row.seal])


def _seal(row: ApprovalRow, key: bytes) -> str:
    values: list[str | float | None] = []
    for name in row.__struct_fields__:
        value = getattr(row, name)
        if name == "seal":
            continue
        if isinstance(value, bytes):
            value = value.decode("utf-8", "backslashreplace")
        elif isinstance(value, int | float):  # a store gives back 5.0 for 5
            value = float(value)
        values.append(value if value is None or isinstance(value, float) else str(value))
    return hmac.new(key, msgspec.json.encode(["approval", *values]), hashlib.sha256).hexdigest()
