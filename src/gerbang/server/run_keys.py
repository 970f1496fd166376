"""Idempotency keys of requests: the header, and the run that a key began.

A run that is started under a key has its id from the key and from what was asked, so that the same request
finds it again in every process that shares the store, and another request under that key is told apart.
"""

import hashlib
import re
from typing import Any, Final

import msgspec

from gerbang.ledger.keys import caller_key
from gerbang.ports import Store
from gerbang.runtime.beginning import is_begun
from gerbang.server.operation import Exchange, Parameter
from gerbang.server.problems import bad_request, problem
from gerbang.values import Principal
from gerbang.values.record import RunRow

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


def run_under(key: str, who: Principal, asked: Any) -> str:
    """Return the id of the run that `asked` begins under the key."""
    beginning = f"run_{caller_key(who.tenant, who.user, key)[:24]}_"
    return beginning + hashlib.sha256(_ENCODER.encode(asked)).hexdigest()[:16]


async def begun_under(store: Store, name: str, tenant: str) -> RunRow | None:
    """Return the run of that id (`run_under`) if it was begun, None when none was begun under its key.

    Raises Problem when the key began another run, and StoreError.
    """
    begun = await is_begun(store, key_part(name))  # before the run is looked for: both are in one commit
    row = await store.run(name)
    if row is not None and row.tenant == tenant:
        return row
    if begun:
        raise problem(
            409, "conflict", "KEY_REUSED", "This key began another run.", "Use a new key for a new run."
        )
    return None


def key_part(name: str) -> str:
    """Return the part of a run's id (`run_under`) that is the key's: one run begins under it."""
    return name.rpartition("_")[0]
