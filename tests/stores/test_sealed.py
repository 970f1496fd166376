"""Stores whose working state is sealed: the same rows come back, and without the key nothing of them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gerbang.adapters.stores import open_store
from gerbang.adapters.stores.memory import MemoryStore
from gerbang.adapters.stores.seal_keys import MARK, new_seal_key, open_sealer
from gerbang.adapters.stores.sealed import SealedStore
from gerbang.audit.chain import PENDING, detailed, verify
from gerbang.audit.commitments import Commitments
from gerbang.errors import ConfigError, StoreUnavailable
from gerbang.values.event import NewEvent
from gerbang.values.record import ERASED, AnswerRow, ApprovalRow, Batch, CallRow, Erase, Pin, RunRow

from .helpers import a_run, opened, run

SALT = bytes(range(32))
MARKS = Commitments(SALT)
RUN = RunRow("r1", "acme", "ana", "completed", 1.0, 2.0, "pelangi?", "pelangi!", salt=SALT, events=1)
CALL = CallRow(
    "k1",
    "r1",
    "1",
    0,
    "c1",
    "a.b.v1",
    "PLANNED",
    "f1",
    b'{"x":"pelangi"}',
    1,
    b'"pelangi"',
    "pelangi \ud83d\ude00",
)
APPROVAL = ApprovalRow(
    "a1",
    "r1",
    "k1",
    "a.b.v1",
    "acme",
    "pending",
    "b",
    "pelangi",
    b'{"x":"pelangi"}',
    "R",
    1.0,
    9.0,
    note="pelangi",
)
BODY = detailed(b'{"run_id":"r1","detail_hash":"%s","input_redacted":"pelangi"}' % PENDING.encode(), MARKS)
ALL = Batch(
    [RUN],
    [AnswerRow("r1", 0, b'"pelangi"')],
    [CALL],
    [],
    [APPROVAL],
    [NewEvent("r1", "call.dispatched", BODY)],
)


def test_rows_come_back_and_lie_sealed(url: str, tmp_path: Path) -> None:
    key = f"file:{tmp_path / 'key'}"
    new_seal_key(key)

    async def work() -> None:
        inner = open_store(url)
        store = SealedStore(inner, open_sealer(key))
        await store.open()
        assert (await store.commit(ALL)).written
        assert await store.run("r1") == RUN
        assert await store.runs() == [RUN]
        assert await store.calls("r1") == [CALL]
        assert await store.call("k1") == CALL
        assert await store.open_calls("r1") == [CALL]
        assert await store.approvals() == [APPROVAL]
        assert await store.answers("r1") == [AnswerRow("r1", 0, b'"pelangi"')]
        (event,) = await store.events("r1")
        assert event.body == BODY
        assert verify([event], None, MARKS) is None
        taken = await store.commit(Batch(claims=[replace(CALL, fingerprint="f2")]))
        assert taken.taken == CALL
        stale = await store.commit(Batch(expects={"a1": "granted"}))
        assert stale.stale == APPROVAL
        raw = repr((await inner.runs(), await inner.calls("r1"), await inner.approvals()))
        raw += repr((await inner.answers("r1"), await inner.events("r1")))
        assert "pelangi" not in raw
        assert SALT not in [row.salt for row in await inner.runs()]
        assert verify(await inner.events("r1")) is None  # the chain needs no key
        await store.commit(Batch(erases=(Erase("r1", b"!{}"),)))
        erased = await store.run("r1")
        assert erased is not None
        assert (erased.prompt, erased.salt) == ("", ERASED)
        (call,) = await store.calls("r1")
        assert (call.arguments, call.result) == (b"{}", b"!{}")
        await store.close()

    run(work())
    if url.startswith("sqlite:"):
        assert b"pelangi" not in Path(url.removeprefix("sqlite:")).read_bytes()


def test_a_sealed_store_is_not_opened_without_its_key(shared: str, tmp_path: Path) -> None:
    key, other = f"file:{tmp_path / 'key'}", f"file:{tmp_path / 'other'}"
    new_seal_key(key)
    new_seal_key(other)

    async def work() -> None:
        store = open_store(shared, seal=key)
        await store.open()
        await store.commit(ALL)
        await store.close()
        with pytest.raises(StoreUnavailable, match="sealed, and no key was given"):
            await open_store(shared).open()
        with pytest.raises(StoreUnavailable, match="first sealed with is not in the file"):
            await open_store(shared, seal=other).open()
        newer = new_seal_key(key)
        again = open_store(shared, seal=key)
        await again.open()
        assert await again.run("r1") == RUN  # the former key still opens
        await again.commit(Batch([replace(RUN, run_id="r2")]))
        assert open_sealer(key).key_id == newer
        assert (await again.run("r2")) == replace(RUN, run_id="r2", events=0)
        assert await again.pins() == []
        await again.close()

    run(work())


def test_a_store_that_is_sealed_later_keeps_what_it_had(shared: str, tmp_path: Path) -> None:
    key = f"file:{tmp_path / 'key'}"
    new_seal_key(key)

    async def work() -> None:
        async with opened(shared) as plain:
            await plain.commit(Batch([RUN]))
        store = open_store(shared, seal=key)
        await store.open()
        assert await store.run("r1") == replace(RUN, events=0)
        await store.close()

    run(work())


def test_what_was_put_there_by_others_is_not_used(tmp_path: Path) -> None:
    key = f"file:{tmp_path / 'key'}"
    new_seal_key(key)

    async def work() -> None:
        inner = MemoryStore()
        store = SealedStore(inner, open_sealer(key))
        await store.open()
        await store.commit(ALL)
        (sealed,) = await inner.calls("r1")
        assert sealed.result.startswith(MARK)
        flipped = sealed.result[:-1] + bytes([sealed.result[-1] ^ 1])
        for forged in (
            replace(sealed, key="k2", result=flipped),
            replace(sealed, key="k2"),  # a value of another call
            replace(sealed, key="k2", arguments=b'{"x":"mine"}', result=b"", for_model=""),  # in the clear
            replace(sealed, key="k2", arguments=b"gs1:zz", result=b"", for_model=""),
            replace(sealed, key="k2", arguments=b"", result=b"", for_model="gs1:!!"),
        ):
            await inner.commit(Batch(calls=[replace(forged, state="FAILED")]))
            await inner.commit(Batch(claims=[forged]))
            with pytest.raises(StoreUnavailable):
                await store.call("k2")
            inner._calls.pop("k2")
            inner._calls_of["r1"].pop("k2")
        await store.close()

    run(work())


@pytest.mark.parametrize(
    ("address", "text", "words"),
    [
        ("key", None, "file:PATH"),
        ("file:", None, "file:PATH"),
        ("file:{}", None, "no file of seal keys"),
        ("file:{}", "", "no seal key"),
        ("file:{}", "0011 22\n", "Line 1"),
    ],
)
def test_key_files_that_cannot_be_used(tmp_path: Path, address: str, text: str | None, words: str) -> None:
    path = tmp_path / "key"
    if text is not None:
        path.write_text(text)
        path.chmod(0o600)
    with pytest.raises(ConfigError, match=words):
        open_sealer(address.format(path))


def test_a_mark_of_a_memory_store_holds_too(tmp_path: Path) -> None:
    async def work() -> None:
        store = MemoryStore()
        await store.open()
        await store.commit(Batch([a_run()], pins=(Pin("gerbang:seal", "all:00", "x", 1.0),)))
        await store.close()
        with pytest.raises(StoreUnavailable):
            await store.open()

    run(work())
