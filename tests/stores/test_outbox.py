"""Messages in the outbox of every store: written with what they tell of, only moving on, erased with it."""

import pytest
from msgspec.structs import replace

from gerbang.adapters.stores import open_store
from gerbang.adapters.stores.seal_keys import MARK, new_seal_key
from gerbang.errors import StoreError
from gerbang.values.record import Batch, Erase, Message, MessageState

from .helpers import a_run, approval, event, opened, run

NEW = Message(
    "ap1/0", "webhook:1", "r1", "approval.requested", "waiting", '{"é":"\x00\x1a"}'.encode(), 1.5, 2.5, "ap1"
)
TRIED = replace(NEW, attempts=2, due_at=9.0, status=503, error="HTTP 503")
SENT = replace(NEW, state=MessageState.SENT, body=b"", attempts=1, status=204)

CHANGES: list[tuple[str, list[Message], list[Message]]] = [
    ("put in", [NEW], [NEW]),
    ("put in again by a process that does not know it", [TRIED, NEW], [TRIED]),
    ("tried once more", [NEW, TRIED], [TRIED]),
    ("an older attempt that comes late", [TRIED, replace(TRIED, attempts=1, due_at=3.0)], [TRIED]),
    ("taken", [NEW, SENT], []),
    ("put in again after it was taken", [NEW, SENT, NEW], []),
    ("tried again after it was taken", [SENT, TRIED], []),
    ("given up", [TRIED, replace(TRIED, state=MessageState.GIVEN_UP, body=b"")], []),
    ("dropped without an attempt", [NEW, replace(NEW, state=MessageState.DROPPED, body=b"")], []),
]


@pytest.mark.parametrize("together", [True, False], ids=["in one commit", "one by one"])
@pytest.mark.parametrize(
    ("written", "waiting"), [one[1:] for one in CHANGES], ids=[one[0] for one in CHANGES]
)
def test_a_message_moves_forward_only(
    url: str, together: bool, written: list[Message], waiting: list[Message]
) -> None:
    async def work() -> None:
        async with opened(url) as store:
            if together:
                await store.commit(Batch(messages=written))
            for message in [] if together else written:
                await store.commit(Batch(messages=[message]))
            assert await store.messages() == waiting

    run(work())


def test_messages_come_earliest_due_first_and_of_their_channel(url: str) -> None:
    async def work() -> None:
        many = [
            replace(NEW, message_id=f"m{n}", due_at=float(9 - n), channel=f"webhook:{n % 2}")
            for n in range(6)
        ]
        async with opened(url) as store:
            await store.commit(Batch(messages=many))
            assert [one.message_id for one in await store.messages()] == ["m5", "m4", "m3", "m2", "m1", "m0"]
            assert [one.message_id for one in await store.messages(limit=2)] == ["m5", "m4"]
            assert [one.message_id for one in await store.messages("webhook:0")] == ["m4", "m2", "m0"]
            assert await store.messages("webhook:9") == []
            assert await store.messages(limit=0) == []
            over = [replace(one, state="given_up", attempts=24, body=b"") for one in many[::-1][:3]]
            await store.commit(Batch(messages=over))
            assert len(await store.messages()) == 3
            assert await store.messages(given_up=True) == over
            assert await store.messages(over[0].channel, limit=1, given_up=True) == over[:1]
            assert await store.messages("webhook:9", given_up=True) == []

    run(work())


def test_a_message_is_written_with_its_commit_or_not_at_all(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(approvals=[approval("ap1", "granted")]))
            batch = Batch(approvals=[approval("ap1", "used")], expects={"ap1": "pending"}, messages=[NEW])
            assert (await store.commit(batch)).stale is not None
            lease = await store.lease("outbox", "one", 60)
            assert lease is not None
            fenced = await store.commit(Batch(messages=[NEW], lease=("outbox", lease.fence + 1)))
            assert fenced.fenced
            with pytest.raises(StoreError, match="surrogate"):
                await store.commit(Batch(messages=[replace(NEW, error="\ud800")]))
            assert await store.messages() == []
            done = await store.commit(Batch(messages=[NEW], events=[event()], lease=("outbox", lease.fence)))
            assert (done.written, done.seq) == (True, 1)
            assert await store.messages() == [NEW]

    run(work())


def test_messages_go_with_the_payloads_of_their_run(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            other = replace(NEW, message_id="m2", run_id="r2")
            await store.commit(Batch(runs=[a_run("r1"), a_run("r2")], messages=[NEW, other]))
            await store.commit(Batch(erases=(Erase("r1", b"{}"),)))
            assert await store.messages() == [other]

    run(work())


def test_messages_are_kept_for_the_next_process(shared: str) -> None:
    async def work() -> None:
        async with opened(shared) as store:
            await store.commit(Batch(messages=[NEW]))
        async with opened(shared) as store:
            assert await store.messages() == [NEW]

    run(work())


def test_what_is_sealed_is_sealed_in_the_outbox_too(
    url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    address = f"file:{tmp_path_factory.mktemp('keys') / 'seal.keys'}"
    new_seal_key(address)

    async def work() -> None:
        store = open_store(url, seal=address)
        await store.open()
        try:
            await store.commit(Batch(messages=[NEW]))
            assert await store.messages() == [NEW]
            inner = store._inner  # type: ignore[attr-defined]
            (kept,) = await inner.messages()
            assert kept.body.startswith(MARK)
            assert b"approval" not in kept.body
            await store.commit(Batch(messages=[SENT]))
            assert await store.messages() == []
        finally:
            await store.close()

    run(work())
