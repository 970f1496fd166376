"""Store files that are ours by their mark but say nonsense of themselves."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from gerbang.adapters.stores import open_store
from gerbang.errors import StoreUnavailable

HURT = {
    "version is a word": "UPDATE meta SET value = 'abc' WHERE name = 'schema_version'",
    "version is gone": "DELETE FROM meta WHERE name = 'schema_version'",
    "version is zero": "UPDATE meta SET value = 0 WHERE name = 'schema_version'",
    "key is gone": "DELETE FROM meta WHERE name = 'secret_key'",
    "key is empty": "UPDATE meta SET value = x'' WHERE name = 'secret_key'",
    "key is a text": "UPDATE meta SET value = 'k' WHERE name = 'secret_key'",
    "no meta at all": "DROP TABLE meta",
}


@pytest.mark.parametrize("statement", HURT.values(), ids=HURT)
def test_a_damaged_store_is_refused_in_plain_words(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def opened() -> None:
        store = open_store(f"sqlite:{path}")
        try:
            await store.open()
        finally:
            await store.close()

    asyncio.run(opened())
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(StoreUnavailable, match="damaged"):
        asyncio.run(opened())
