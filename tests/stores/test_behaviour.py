"""What every store does, run on each of them."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from gerbang.audit.chain import verify
from gerbang.errors import StoreError
from gerbang.values.event import NewEvent
from gerbang.values.record import (
    FREE_STATES,
    AnswerRow,
    ApprovalRow,
    Batch,
    CallRow,
    CallState,
    Committed,
    RunRow,
    RunState,
)

from .helpers import a_run, all_events, approval, call, event, opened, run
from .server import Server

FULL_RUN = RunRow(
    "r1", "acme", "ana", "running", 1.5, 2.5, "Tanya «apa»?", "Jawab", "embedded:", "local", 3, 0
)
FULL_CALL = CallRow(
    "k1",
    "r1",
    "step_007",
    2,
    "call-9",
    "a.b.v1",
    "PLANNED",
    "f1",
    b'{"a":1}',
    4,
    b'"\xc3\xa9"',
    "é\n",
    "ap1",
    7.25,
)
FULL_APPROVAL = ApprovalRow(
    "ap1",
    "r1",
    "k1",
    "a.b.v1",
    "acme",
    "approved",
    "sha256:2",
    "Kirim?",
    b"{}",
    '["R"]',
    1.0,
    2.0,
    "budi",
    1.5,
    "ok",
    '{"t":1}',
    '["v"]',
    "seal:1",
)


def test_every_field_comes_back_as_it_went_in(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            batch = Batch(
                [FULL_RUN], [AnswerRow("r1", 1, b"{}")], [FULL_CALL], [], [FULL_APPROVAL], [event()]
            )
            assert await store.commit(batch) == Committed(1)
            assert await store.run("r1") == replace(FULL_RUN, events=1)
            assert await store.runs() == [replace(FULL_RUN, events=1)]
            assert await store.call("k1") == FULL_CALL
            assert await store.calls("r1") == [FULL_CALL]
            assert await store.approval("ap1") == FULL_APPROVAL
            assert await store.approvals() == [FULL_APPROVAL]
            assert await store.answers("r1") == [AnswerRow("r1", 1, b"{}")]
            (only,) = await store.events("r1")
            assert (only.run_id, only.seq, only.kind, only.body) == ("r1", 1, "call.planned", b"{}")

    run(work())


def test_nothing_is_found_in_a_new_store(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            assert (await store.run("x"), await store.call("x"), await store.approval("x")) == (
                None,
                None,
                None,
            )
            assert await store.runs() == []
            assert await store.calls("x") == []
            assert await store.answers("x") == []
            assert await store.events("x") == []
            assert await store.approvals() == []
            assert await store.commit(Batch()) == Committed()

    run(work())


@pytest.mark.parametrize("state", list(CallState))
def test_a_key_is_taken_unless_its_effect_is_known_not_to_have_happened(url: str, state: CallState) -> None:
    async def work() -> None:
        async with opened(url) as store:
            first = call("k", state, ordinal=1)
            await store.commit(Batch(claims=[first]))
            second = call("k", run_id="r2", ordinal=2)
            others = Batch(
                [a_run("r2")], [AnswerRow("r2", 1, b"1")], [second], [], [approval("a")], [event("r2")]
            )
            outcome = await store.commit(others)
            if state in FREE_STATES:
                assert outcome == Committed(1)
                assert await store.call("k") == second
                assert (await store.calls("r1"), await store.calls("r2")) == ([], [second])
            else:
                assert outcome == Committed(0, first)
                assert await store.call("k") == first
                assert (await store.calls("r1"), await store.calls("r2")) == ([first], [])
                assert (await store.run("r2"), await store.approval("a")) == (None, None)
                assert (await store.answers("r2"), await store.events("r2")) == ([], [])

    run(work())


def test_one_taken_key_refuses_all_claims_of_its_batch(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(claims=[call("b"), call("free", "FAILED", ordinal=7)]))
            outcome = await store.commit(
                Batch(claims=[call("a"), call("free"), call("b", ordinal=9)], events=[event()])
            )
            assert outcome.taken == call("b")
            assert await store.call("a") is None
            assert await store.call("free") == call("free", "FAILED", ordinal=7)
            assert await store.events("r1") == []

    run(work())


def test_the_same_key_twice_in_a_batch_is_taken_by_the_first(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            outcome = await store.commit(Batch(claims=[call("a"), call("a", ordinal=2)]))
            assert outcome.taken == call("a")
            assert await store.call("a") is None

    run(work())


def test_one_of_many_claims_at_once_wins(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            rows = [call("k", ordinal=number) for number in range(50)]
            outcomes = await asyncio.gather(
                *(store.commit(Batch(claims=[r], events=[event()])) for r in rows)
            )
            winner = await store.call("k")
            assert winner is not None
            assert [outcome.taken for outcome in outcomes].count(None) == 1
            assert outcomes[winner.ordinal] == Committed(1)
            assert all(outcome.taken == winner for outcome in outcomes if outcome.taken)
            assert len(await store.events("r1")) == 1

    run(work())


def test_freeing_and_claiming_a_key_in_one_breath(url: str) -> None:
    """Batches that wait together see each other in the order in which they were handed in."""

    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(claims=[call("k", "DISPATCHED")]))
            outcomes = await asyncio.gather(
                store.commit(Batch(claims=[call("k", ordinal=1)])),
                store.commit(Batch(calls=[call("k", "FAILED")])),
                store.commit(Batch(claims=[call("k", ordinal=2)])),
                store.commit(Batch(claims=[call("k", ordinal=3)])),
            )
            assert [outcome.taken for outcome in outcomes] == [
                call("k", "DISPATCHED"),
                None,
                None,
                call("k", ordinal=2),
            ]
            assert await store.call("k") == call("k", ordinal=2)

    run(work())


def test_later_rows_overwrite_and_calls_keep_their_order(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(
                Batch([a_run()], [AnswerRow("r1", 2, b"two")], [call("c"), call("a"), call("b")])
            )
            await store.commit(Batch(calls=[call("c", "DISPATCHED"), call("new", "REFUSED")]))
            done = call("c", "SUCCEEDED", result=b"1")
            answers = [AnswerRow("r1", 1, b"one"), AnswerRow("r1", 2, b"2")]
            await store.commit(Batch([a_run(state="completed")], answers, [], [done], [approval("a")]))
            await store.commit(Batch(approvals=[approval("a", "refused")]))
            assert await store.calls("r1") == [done, call("a"), call("b"), call("new", "REFUSED")]
            assert await store.answers("r1") == answers
            assert await store.run("r1") == a_run(state="completed")
            assert await store.approval("a") == approval("a", "refused")

    run(work())


def test_a_freed_key_takes_its_new_place_in_the_order(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(claims=[call("a", "FAILED"), call("b")]))
            await store.commit(Batch(claims=[call("a")]))
            assert [row.key for row in await store.calls("r1")] == ["b", "a"]

    run(work())


def test_whose_run_it_is_and_where_a_call_belongs_never_change(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch([a_run()], [], [call("k", "DISPATCHED")]))
            moved = replace(a_run(state="denied", started_at=50.0), tenant="evil", user="eve")
            await store.commit(Batch([moved], calls=[call("k", "FAILED", run_id="r2")]))
            assert await store.run("r1") == replace(a_run(state="denied"), updated_at=51.0)
            assert await store.calls("r1") == [call("k", "FAILED")]
            assert await store.calls("r2") == []

    run(work())


def test_states_may_be_given_as_enumerations(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(
                Batch([a_run(state=RunState.COMPLETED)], claims=[call("k", CallState.DISPATCHED)])
            )
            row, found = await store.run("r1"), await store.call("k")
            assert row is not None
            assert found is not None
            assert (row.state, found.state) == ("completed", "DISPATCHED")

    run(work())


def test_an_approval_is_expected_by_its_state_or_its_seal(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            sealed = replace(approval("a"), seal="seal:1")
            await store.commit(Batch(approvals=[sealed]))
            later = replace(sealed, votes='["v"]', seal="seal:2")
            for expected, fits in (("used", False), ("seal:0", False), ("pending", True), ("seal:1", True)):
                outcome = await store.commit(Batch(events=[event()], expects={"a": expected}))
                assert outcome.stale == (None if fits else sealed), expected
            outcomes = await asyncio.gather(
                *(store.commit(Batch(approvals=[later], expects={"a": "seal:1"})) for _ in range(3))
            )
            assert [outcome.stale for outcome in outcomes] == [None, later, later]
            assert await store.approval("a") == later

    run(work())


def test_events_of_a_run_form_one_chain_whoever_appends(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:

            async def producer(number: int) -> None:
                for turn in range(10):
                    body = b'{"who":%d,"turn":%d}' % (number, turn)
                    outcome = await store.commit(
                        Batch(events=[event("r1", body), event(f"own{number}", body)])
                    )
                    assert outcome.seq == turn + 1  # of the batch's last event, in its run

            await asyncio.gather(*(producer(number) for number in range(10)))
            events = await store.events("r1")
            assert [e.seq for e in events] == list(range(1, 101))
            assert verify(events) is None
            assert len({e.body for e in events}) == 100
            for number in range(10):
                assert verify(own := await store.events(f"own{number}")) is None
                assert len(own) == 10

    run(work())


def test_events_may_come_before_their_run(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            assert (await store.commit(Batch(events=[event(), event()]))).seq == 2
            assert await store.run("r1") is None
            await store.commit(Batch(runs=[a_run()], events=[event()]))
            row = await store.run("r1")
            assert row is not None
            assert row.events == 3
            assert verify(await store.events("r1")) is None

    run(work())


def test_events_are_read_in_pages(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(events=[event(body=b"%d" % n) for n in range(1, 26)]))
            cases = [
                (0, 10, 1, 10),
                (10, 10, 11, 10),
                (20, 10, 21, 5),
                (25, 10, 0, 0),
                (0, 0, 0, 0),
                (-5, 2, 1, 2),
            ]
            for after, limit, first, count in cases:
                page = await store.events("r1", after=after, limit=limit)
                assert [e.seq for e in page] == list(range(first, first + count)), (after, limit)
                assert all(e.body == b"%d" % e.seq for e in page)
            assert verify(await all_events(store, "r1")) is None

    run(work())


def test_runs_newest_first(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            rows = [
                a_run("a", started_at=1.0),
                a_run("b", started_at=3.0, tenant="other"),
                a_run("c", started_at=2.0),
                a_run("d", started_at=3.0),
            ]
            await store.commit(Batch(runs=rows))
            await store.commit(Batch(runs=[replace(rows[0], state="completed", updated_at=99.0)]))

            async def names(limit: int = 50, tenant: str | None = None) -> str:
                return "".join(row.run_id for row in await store.runs(limit=limit, tenant=tenant))

            assert await names() == "dbca"
            assert await names(limit=2) == "db"
            assert await names(tenant="acme") == "dca"
            assert await names(tenant="nobody") == ""
            assert await names(limit=0) == ""

    run(work())


def test_approvals_newest_first_by_run_and_state(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            rows = [
                approval("a", "approved", created_at=1.0),
                approval("b", created_at=3.0, run_id="r2"),
                approval("c", created_at=2.0),
                approval("d", created_at=3.0),
            ]
            await store.commit(Batch(approvals=rows))

            async def names(**wanted: str | int) -> str:
                return "".join(row.approval_id for row in await store.approvals(**wanted))  # type: ignore[arg-type]

            assert await names() == "dbca"
            assert await names(limit=1) == "d"
            assert await names(run_id="r1") == "dca"
            assert await names(state="pending") == "dbc"
            assert await names(run_id="r1", state="pending") == "dc"
            assert await names(run_id="r3") == ""

    run(work())


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(Batch(runs=[replace(FULL_RUN, prompt="half \ud83d")]), id="prompt"),
        pytest.param(Batch(runs=[replace(FULL_RUN, run_id="\udc00")]), id="run id"),
        pytest.param(Batch(claims=[replace(FULL_CALL, call_id="\ud83d")]), id="call id"),
        pytest.param(Batch(claims=[replace(FULL_CALL, tool="\ud83d")]), id="tool"),
        pytest.param(Batch(calls=[replace(FULL_CALL, for_model="\ud83d")]), id="result text"),
        pytest.param(Batch(approvals=[replace(FULL_APPROVAL, preview="\ud83d")]), id="preview"),
        pytest.param(Batch(approvals=[replace(FULL_APPROVAL, decided_by="\ud83d")]), id="approver"),
        pytest.param(Batch(answers=[AnswerRow("\ud83d", 1, b"")]), id="answer"),
        pytest.param(Batch(events=[NewEvent("r1", "\ud83d", b"")]), id="event kind"),
        pytest.param(Batch(events=[NewEvent("\ud83d", "a", b"")]), id="event run"),
    ],
)
def test_text_without_utf8_form_is_refused_and_the_others_are_written(url: str, batch: Batch) -> None:
    async def work() -> None:
        async with opened(url) as store:
            batch.events.insert(0, event("r9"))
            outcomes = await asyncio.gather(
                store.commit(Batch(events=[event("r1")])),
                store.commit(batch),
                store.commit(Batch(events=[event("r1")])),
                return_exceptions=True,
            )
            assert isinstance(outcomes[1], StoreError)
            assert "surrogate" in str(outcomes[1])
            assert [outcomes[0], outcomes[2]] == [Committed(1), Committed(2)]
            assert await store.events("r9") == []

    run(work())


def test_any_text_and_bytes_that_are_sound_are_stored(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            odd = "nul \x00, quote ' \" ; --, 😀, \u2028, %s ? {}"
            everything = bytes(range(256))
            row = replace(FULL_CALL, key=odd, run_id=odd, result=everything, arguments=b"", for_model=odd)
            await store.commit(
                Batch([replace(FULL_RUN, run_id=odd)], claims=[row], events=[event(odd, everything)])
            )
            assert await store.call(odd) == row
            assert await store.calls(odd) == [row]
            (only,) = await store.events(odd)
            assert only.body == everything
            assert verify([only]) is None

    run(work())


def test_a_cancelled_caller_leaves_a_whole_batch(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:

            async def record(number: int) -> None:
                await store.commit(Batch(claims=[call(f"k{number}")], events=[event(), event()]))

            tasks = [asyncio.create_task(record(n)) for n in range(40)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await store.commit(Batch(claims=[call("last")], events=[event()]))
            events = await store.events("r1")
            assert verify(events) is None
            assert len(await store.calls("r1")) == 41
            assert len(events) == 81

    run(work())


def test_a_cancelled_caller_is_let_go_when_its_batch_is_written(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:

            async def record(number: int) -> None:
                await store.commit(Batch(claims=[call(f"k{number}")], events=[event()]))

            for number in range(20):
                task = asyncio.create_task(record(number))
                await asyncio.sleep(0)
                task.cancel()
                task.cancel()
                await asyncio.wait((task,))
                assert task.cancelled() == (not store.immediate)
                assert len(await store.calls("r1")) == number + 1

    run(work())


def test_changing_a_batch_after_handing_it_in_changes_nothing(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            claims = [call("a")]
            batch = Batch(claims=claims, events=[event()])
            waiting = asyncio.ensure_future(store.commit(batch))
            await asyncio.sleep(0)
            claims.append(call("b"))
            batch.events.clear()
            assert (await waiting).seq == 1
            assert await store.call("b") is None

    run(work())


def test_a_closed_store_refuses_and_can_be_opened_again(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(claims=[call("a")]))
            key = await store.secret_key()
            await store.close()
            await store.close()
            with pytest.raises(StoreError, match="closed"):
                await store.commit(Batch(claims=[call("b")]))
            await store.open()
            await store.open()
            assert await store.secret_key() == key
            assert len(key) == 32
            assert await store.calls("r1") == [call("a")]

    run(work())


def test_secret_keys_differ_between_stores(url: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async def key_of(address: str) -> bytes:
        async with opened(address) as store:
            return await store.secret_key()

    other = {"memory": "memory:", "sqlite": f"sqlite:{tmp_path / 'other.db'}"}
    address = other.get(url.partition(":")[0])
    if address is None:
        server: Server = request.getfixturevalue("server")
        address = server.address(server.new_database())
    assert run(key_of(url)) != run(key_of(address))


LATE = [
    ("SUCCEEDED", "REFUSED"),
    ("SUCCEEDED", "FAILED"),
    ("SUCCEEDED", "DISPATCHED"),
    ("UNCERTAIN", "FAILED"),
    ("UNCERTAIN", "CANCELLED"),
    ("DISPATCHED", "REFUSED"),
    ("DISPATCHED", "PLANNED"),
    ("PLANNED", "SUCCEEDED"),
    ("RESOLVED_SUCCEEDED", "RESOLVED_FAILED"),
]


@pytest.mark.parametrize(("stands", "comes"), LATE)
def test_a_state_that_cannot_follow_changes_nothing(stands: str, comes: str, url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            await store.commit(Batch(claims=[call("k", stands)]))
            await store.commit(Batch(calls=[replace(call("k", comes), result=b"late")]))
            assert await store.call("k") == call("k", stands)

    run(work())


def test_ids_are_found_by_their_beginning(url: str) -> None:
    async def work() -> None:
        async with opened(url) as store:
            for name in ("a_1", "ab", "a%2", "A", "é1", "éa", "b\x00c"):
                await store.commit(Batch(runs=[a_run(name)], approvals=[approval(f"x{name}")]))
            for beginning, found in (
                ("a", ["a%2", "a_1", "ab"]),
                ("a_", ["a_1"]),
                ("a%", ["a%2"]),
                ("é", ["é1", "éa"]),
                ("b\x00", ["b\x00c"]),
                ("zz", []),
            ):
                assert await store.named("run", beginning) == found, beginning
                assert await store.named("approval", f"x{beginning}") == [f"x{name}" for name in found]
            assert await store.named("run", "", limit=2) == ["A", "a%2"]
            assert await store.named("run", "a", limit=0) == []

    run(work())
