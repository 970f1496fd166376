"""Store files that are ours by their mark but say nonsense of themselves."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

import gerbang as g
from gerbang.adapters.stores import open_store
from gerbang.compose.auditing import check_run
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


TAMPERED = {
    "a body that is a text": "UPDATE events SET body = replace(CAST(body AS TEXT), 'notes', 'other')",
    "a kind that is bytes": "UPDATE events SET kind = CAST('call.other' AS BLOB)",
    "a digest that is a text": "UPDATE events SET digest = 'x'",
    "a result that is a text": "UPDATE calls SET result = '\"other\"'",
    "arguments that are a text": "UPDATE calls SET arguments = '{\"x\": 1}'",
}


@pytest.mark.parametrize("statement", TAMPERED.values(), ids=TAMPERED)
def test_a_value_of_another_type_is_no_way_round_the_check(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    @g.tool(name="notes.read.v1", risk="read_internal")
    async def read(name: str) -> str:
        """Read a note."""
        return "milk"

    async def checked() -> tuple[str, bool]:
        async with g.Gateway([read], store=f"sqlite:{path}") as gate:
            await gate.call("notes.read.v1", {"name": "a"}, run_id="r")
            found = await check_run(gate.store, "r")
            return found.what, await gate.store.calls("r") != []

    assert asyncio.run(checked()) == ("", True)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()

    async def again() -> str:
        store = open_store(f"sqlite:{path}")
        await store.open()
        try:
            return (await check_run(store, "r")).what
        finally:
            await store.close()

    assert asyncio.run(again()) in ("chain", "payload")
