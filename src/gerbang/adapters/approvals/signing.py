"""Signatures of what a webhook sends and of the answers that come back: HMAC-SHA256 over time and body."""

import hashlib
import hmac
import json
import math
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import UsageError

HEADER: Final = "Gerbang-Signature"
"""The header that carries a signature: `t=SECONDS,v1=HEX`, several `v1` while a secret is being changed."""
SIGNING: Final = "webhook_secret"
"""Name of the secret, unless another is given."""
TOLERANCE_S: Final = 300.0
_MOST_BYTES: Final = 1_048_576
_VERDICTS: Final = ("approve", "refuse")


class Reply(Struct, frozen=True):
    """An answer that came back from a channel. `arguments` is set when the person changed the call."""

    approval_id: str
    verdict: str
    user: str
    tenant: str
    roles: tuple[str, ...] = ()
    reason: str = ""
    arguments: dict[str, Any] | None = None


def sign(body: bytes, secret: str, at: float) -> str:
    """Return the signature of a body that is sent at that time (seconds since the epoch)."""
    stamp = str(math.floor(at))
    return f"t={stamp},v1={_mac(stamp, body, secret)}"


def verify_reply(
    body: bytes, signature: str, secret: str, *, now: float, tolerance_s: float = TOLERANCE_S
) -> Reply:
    """Return the answer in a body that somebody with the secret signed, not longer than that ago.

    The body is a JSON object with `approval_id`, `verdict` (`approve`, `refuse`), `user`, and if need be
    `tenant`, `roles`, `reason`, `arguments`. Whoever holds the secret is believed who they say answered:
    have the channel check it. A reply that is sent twice decides nothing twice. Raises UsageError.
    """
    stamp, marks = _read(signature)
    if not math.isfinite(now) or not secret or abs(now - float(stamp)) > tolerance_s:
        raise UsageError("The reply is signed too long ago, or its clock is wrong. Sign and send it again.")
    if len(body) > _MOST_BYTES:
        raise UsageError(f"The reply is larger than {_MOST_BYTES} bytes. Send less.")
    wanted = _mac(stamp, body, secret)
    if not any([hmac.compare_digest(wanted, mark) for mark in marks]):  # noqa: C419 - all are compared
        raise UsageError("The reply's signature is wrong. Sign the exact bytes with the shared secret.")
    return _reply(body)


def claimed(body: bytes) -> str:
    """Return the id that a reply names, for the record of one that is not taken; it is not to be believed."""
    try:
        said: Any = json.loads(body) if len(body) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        return ""
    named = said.get("approval_id") if isinstance(said, dict) else None
    return named if isinstance(named, str) else ""


def _reply(body: bytes) -> Reply:
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise UsageError("The reply is not JSON.") from None
    if not isinstance(said, dict):
        raise UsageError("The reply is a JSON object.")
    roles, arguments = said.get("roles", []), said.get("arguments")
    texts = {name: said.get(name, "") for name in ("approval_id", "verdict", "user", "reason")}
    texts["tenant"] = said.get("tenant", "local")
    good = (
        all(isinstance(value, str) for value in texts.values())
        and texts["approval_id"]
        and texts["user"]
        and texts["verdict"] in _VERDICTS
        and isinstance(roles, list)
        and all(isinstance(role, str) for role in roles)
        and (arguments is None or isinstance(arguments, dict))
    )
    if not good:
        raise UsageError(
            "The reply names approval_id, verdict (approve or refuse) and user as texts; roles is a list "
            "of texts, arguments an object."
        )
    return Reply(
        texts["approval_id"],
        texts["verdict"],
        texts["user"],
        texts["tenant"],
        tuple(roles),
        texts["reason"],
        arguments,
    )


def _read(signature: str) -> tuple[str, list[str]]:
    parts = [part.strip().partition("=") for part in str(signature)[:2_000].split(",")]
    stamps = [value for name, _, value in parts if name == "t"]
    marks = [value for name, _, value in parts if name == "v1" and value.isascii()]
    if (
        len(stamps) != 1
        or not stamps[0].isascii()
        or not stamps[0].isdigit()
        or len(stamps[0]) > 15
        or not marks
    ):
        raise UsageError(f"The header {HEADER} is t=SECONDS,v1=HEX.")
    return stamps[0], marks


def _mac(stamp: str, body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
