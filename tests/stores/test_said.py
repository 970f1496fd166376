"""Events whose bodies are written when they are needed: to whoever reads them they are like all others."""

from gerbang.audit.chain import core, detailed, verify
from gerbang.values.event import NewEvent, Said
from gerbang.values.record import Batch, Erase

from .helpers import all_events, event, opened, run
from .test_erase import MARKS, WORD, a_body


class Later(Said, frozen=True, gc=False):
    """Written by the number that it holds."""

    number: int

    def written(self) -> bytes:
        return a_body(self.number)


def test_what_is_written_later_is_the_same(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            mixed = [NewEvent("r1", "a", Later(1)), event(), NewEvent("r1", "a", Later(2))]
            assert (await store.commit(Batch(events=mixed))).seq == 3
            assert (await store.commit(Batch(events=[NewEvent("r1", "b", Later(3))]))).seq == 4
            rows = await store.events("r1", after=2)
            assert [row.body for row in rows] == [a_body(2), a_body(3)]
            rows = await all_events(store, "r1")
            assert [row.body for row in rows] == [a_body(1), b"{}", a_body(2), a_body(3)]
            assert [row.kind for row in rows] == ["a", "call.planned", "a", "b"]
            assert verify(rows, None, MARKS) is None
            assert (await store.heads())[0].digest == rows[-1].digest

    run(work())


def test_erasure_reaches_what_nobody_has_read(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(events=[NewEvent("r1", "a", Later(1)), NewEvent("r1", "a", Later(2))]))
            await store.commit(Batch(events=[event()], erases=(Erase("r1", b"!"),)))
            rows = await all_events(store, "r1")
            assert [row.body for row in rows] == [core(a_body(1)), core(a_body(2)), b"{}"]
            assert WORD not in b"".join(row.body for row in rows)
            assert verify(rows) is None

    run(work())


def test_the_body_of_an_event_is_what_it_says() -> None:
    early, late = NewEvent("r1", "a", b"{}"), NewEvent("r1", "a", Later(1))
    assert (early.body, early.settled()) == (b"{}", early)
    assert (late.body, late.settled()) == (a_body(1), NewEvent("r1", "a", a_body(1)))
    assert detailed(late.body, MARKS) == late.body
