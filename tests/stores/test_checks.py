"""The rules of limits as a table: exact to the microsecond."""

import pytest

from gerbang.adapters.stores.checks import gcra, window
from gerbang.adapters.stores.store_clock import StoreClock
from gerbang.testing import ManualClock
from gerbang.values.record import Take

NOW = 1_700_000_000_000_000
S = 1_000_000


@pytest.mark.parametrize(
    ("take", "full_at", "later", "over"),
    [
        pytest.param(Take("k", 6, 5), NOW, NOW + 6 * S, 0, id="full"),
        pytest.param(Take("k", 6, 5), NOW - 99 * S, NOW + 6 * S, 0, id="full for long"),
        pytest.param(Take("k", 6, 5), NOW + 24 * S, NOW + 30 * S, 0, id="the last of the burst"),
        pytest.param(Take("k", 6, 5), NOW + 24 * S + 1, NOW + 30 * S + 1, 1, id="a microsecond too early"),
        pytest.param(Take("k", 6, 5), NOW + 30 * S, NOW + 36 * S, 6 * S, id="empty"),
        pytest.param(Take("k", 6, 5, 5), NOW, NOW + 30 * S, 0, id="the whole burst at once"),
        pytest.param(Take("k", 6, 5, 6), NOW, NOW + 36 * S, 6 * S, id="more than the burst"),
        pytest.param(Take("k", 6, 5, 0.5), NOW, NOW + 3 * S, 0, id="half a unit"),
        pytest.param(Take("k", 6, 5, 0), NOW + 30 * S, NOW + 30 * S, 0, id="nothing, of an empty one"),
        pytest.param(Take("k", 6, 5), NOW + 9999 * S, NOW + 36 * S, 6 * S, id="a clock that was ahead"),
        pytest.param(Take("k", 60 / 7, 1), NOW, NOW + 8_571_429, 0, id="a period that is no whole number"),
    ],
)
def test_gcra(take: Take, full_at: int, later: int, over: int) -> None:
    assert gcra(take, full_at, NOW) == (later, over)


def test_a_burst_and_then_one_each_period() -> None:
    take, full_at, now, admitted = Take("k", 0.1, 10), 0, NOW, 0
    for _ in range(10_000):  # ten seconds, a try each millisecond
        later, over = gcra(take, full_at, now)
        if not over:
            full_at, admitted = later, admitted + 1
        now += 1000
    assert admitted == 10 + 99


@pytest.mark.parametrize(
    ("standing", "span", "expected"),
    [
        (None, 0, (0, 0.0)),
        ((0, 7.0), 0, (0, 7.0)),
        (None, 60 * S, (NOW - NOW % (60 * S), 0.0)),
        ((NOW - NOW % (60 * S), 7.0), 60 * S, (NOW - NOW % (60 * S), 7.0)),
        ((NOW - 61 * S, 7.0), 60 * S, (NOW - NOW % (60 * S), 0.0)),
        ((NOW + 61 * S, 7.0), 60 * S, (NOW + 61 * S, 7.0)),
    ],
)
def test_windows_are_counted_from_the_epoch(
    standing: tuple[int, float] | None, span: int, expected: tuple[int, float]
) -> None:
    assert window(standing, span, NOW) == expected


def test_the_clock_of_a_store_goes_on_when_the_machine_s_is_set_back() -> None:
    machine = ManualClock(1000.0)
    clock = StoreClock(machine)
    assert clock.now() == 1000 * S
    machine.set_back(500)
    assert clock.now() == 1000 * S
    machine.advance(2)
    assert clock.now() == 1002 * S
    assert clock.now(floor=1005 * S) == 1005 * S
    machine.advance(1)
    assert clock.now() == 1006 * S
    machine.advance(600)
    assert clock.now() == 1606 * S
