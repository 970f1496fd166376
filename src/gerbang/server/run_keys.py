"""Idempotency keys of requests: the header, and the run that a key began.

A run that is started under a key has its id from the key and from what was asked, so that the same request
finds it again in every process that shares the store, and another request under that key is told apart.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from gerbang.ledger.keys import caller_key
from gerbang.ports import Store
from gerbang.server.operation import Exchange, Parameter
from gerbang.server.problems import bad_request, problem
from gerbang.values import Principal

_KEY: Final = re.compile("[!-~]{1,512}")
_ENCODER: Final = msgspec.json.Encoder()
_SCHEMA: Final = {"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^[!-~]{1,512}$"}


def key_parameter(about: str) -> Parameter:
    """Return the header as the document of the API describes it."""
    return Parameter("Idempotency-Key", "header", about, _SCHEMA)


def key_of(exchange: Exchange) -> str | None:
    """Return the key that a request came with, None for none. Raises Problem."""
    header = exchange.header(b"idempotency-key")
    if header is not None and not _KEY.fullmatch(header):
        raise bad_request("Idempotency-Key is 1 to 512 visible ASCII characters.", "Send another.")
    return header


async def run_under(store: Store, key: str, who: Principal, asked: Any) -> str:
    """Return the id of the run that `asked` begins, or began, under the key.

    Raises Problem when something else was asked under that key, and StoreError.
    """
    beginning = f"run_{caller_key(who.tenant, who.user, key)[:24]}_"
    name = beginning + hashlib.sha256(_ENCODER.encode(asked)).hexdigest()[:16]
    check_key(name, await store.named("run", beginning, 2))
    return name


def check_key(name: str, others: Iterable[str]) -> None:
    """Raise Problem when one of the other runs was begun under the key of the run `name`."""
    beginning = name.rpartition("_")[0] + "_"
    if any(other.startswith(beginning) and other != name for other in others):
        raise problem(
            409, "conflict", "KEY_REUSED", "This key began another run.", "Use a new key for a new run."
        )
