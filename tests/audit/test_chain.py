"""Every way of tampering with a run's events is seen, and said where."""

import hashlib
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from gerbang.audit.chain import extend, start, verify
from gerbang.values.record import EventRow


def chain(run_id: str, length: int) -> list[EventRow]:
    events: list[EventRow] = []
    head = start(run_id)
    for seq in range(1, length + 1):
        body = b'{"n":%d}' % seq
        head = extend(head, "tool.finished", body)
        events.append(EventRow(run_id, seq, "tool.finished", body, head))
    return events


def swapped(events: list[EventRow], a: int, b: int) -> list[EventRow]:
    events[a], events[b] = events[b], events[a]
    return events


def rebuilt_from(events: list[EventRow], index: int) -> list[EventRow]:
    """A forger who changes one event and recomputes only that event's digest."""
    event = events[index]
    former = events[index - 1].digest
    events[index] = replace(event, body=b"{}", digest=extend(former, event.kind, b"{}"))
    return events


def test_an_event_digest_covers_the_former_one_the_kind_and_the_body() -> None:
    head = hashlib.sha256(b"gerbang.run.1\x00r1").digest()
    assert start("r1") == head
    assert extend(head, "a.b", b"{}") == hashlib.sha256(head + b"3:a.b{}").digest()
    assert extend(head, "a", b"bc") != extend(head, "ab", b"c")
    assert extend(head, "é", b"") == hashlib.sha256(head + b"2:" + "é".encode()).digest()


@pytest.mark.parametrize(
    ("tamper", "bad"),
    [
        pytest.param(lambda e: e, None, id="untouched"),
        pytest.param(lambda e: [], None, id="no events"),
        pytest.param(lambda e: [*e[:2], replace(e[2], body=b"{}"), *e[3:]], 3, id="body changed"),
        pytest.param(lambda e: [*e[:2], replace(e[2], kind="x"), *e[3:]], 3, id="kind changed"),
        pytest.param(lambda e: [*e[:2], replace(e[2], digest=b"0" * 32), *e[3:]], 3, id="digest changed"),
        pytest.param(lambda e: rebuilt_from(e, 2), 4, id="changed with its digest"),
        pytest.param(lambda e: e[1:], 1, id="first removed"),
        pytest.param(lambda e: [*e[:2], *e[3:]], 3, id="one removed"),
        pytest.param(lambda e: swapped(e, 1, 2), 2, id="two swapped"),
        pytest.param(lambda e: [*e[:3], *e[2:]], 4, id="one twice"),
        pytest.param(
            lambda e: [*e[:2], replace(e[3], seq=3), *(replace(x, seq=x.seq + 1) for x in e[2:])],
            3,
            id="one inserted and the rest renumbered",
        ),
        pytest.param(
            lambda e: [*e[:2], *(replace(x, seq=x.seq - 1) for x in e[3:])], 3, id="removed and renumbered"
        ),
        pytest.param(lambda e: [replace(x, run_id="r2") for x in e], 1, id="passed off as another run"),
        pytest.param(lambda e: [*e[:3], replace(e[3], run_id="r2"), e[4]], 4, id="one from another run"),
        pytest.param(lambda e: e[:3], None, id="cut tail: sound, only a head kept elsewhere shows it"),
    ],
)
def test_tampering(tamper: Callable[[list[EventRow]], list[EventRow]], bad: int | None) -> None:
    assert verify(tamper(chain("r1", 5))) == bad


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_long_run_is_verified_page_by_page(cut: int) -> None:
    events = chain("r1", 6)
    assert verify(events[:cut]) is None
    assert verify(events[cut:], events[cut - 1]) is None
    assert verify(events[cut:], replace(events[cut - 1], digest=b"0" * 32)) == cut + 1
    assert verify(events[cut:], events[cut - 2] if cut > 1 else replace(events[0], seq=9)) is not None
