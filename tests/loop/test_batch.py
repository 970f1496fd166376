"""The order of one answer's calls: reads side by side, barriers alone, nothing lost."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gerbang.loop.batch import BatchPlan

R, W = True, False


@pytest.mark.parametrize(
    ("reads", "bound", "waves"),
    [
        ([], 4, []),
        ([R], 4, [[0]]),
        ([W], 4, [[0]]),
        ([R, R, R], 4, [[0, 1, 2]]),
        ([R, R, R], 2, [[0, 1], [2]]),
        ([R, R, R], 1, [[0], [1], [2]]),
        ([R, R, R], 0, [[0], [1], [2]]),
        ([W, W], 4, [[0], [1]]),
        ([R, W, R], 4, [[0], [1], [2]]),
        ([R, R, W, R, R], 4, [[0, 1], [2], [3, 4]]),
        ([W, R, R, W], 4, [[0], [1, 2], [3]]),
    ],
)
def test_waves(reads: list[bool], bound: int, waves: list[list[int]]) -> None:
    plan = BatchPlan(reads, bound)
    launched, seen = plan.start(), []
    while launched:
        seen.append(launched)
        following: list[int] = []
        for index in launched:
            following += plan.finished(index)
        launched = following
    assert [sorted(wave) for wave in _waves(reads, bound)] == waves
    assert [index for wave in seen for index in wave] == list(range(len(reads)))
    assert plan.done


def _waves(reads: list[bool], bound: int) -> list[list[int]]:
    """Finish all that runs before looking at what was launched meanwhile."""
    plan = BatchPlan(reads, bound)
    waves: list[list[int]] = []
    running = plan.start()
    while running:
        waves.append(running)
        running = [later for index in running for later in plan.finished(index)]
    return waves


def test_a_free_place_is_taken_at_once() -> None:
    plan = BatchPlan([R, R, R, R], 2)
    assert plan.start() == [0, 1]
    assert plan.finished(1) == [2]
    assert plan.finished(2) == [3]
    assert plan.finished(3) == []
    assert plan.finished(0) == []
    assert plan.done


def test_a_barrier_that_waits_holds_up_later_barriers_only() -> None:
    plan = BatchPlan([W, R, W, R], 4)
    assert plan.start() == [0]
    assert plan.waiting(0) == [1, 3]
    assert plan.finished(3) == []
    assert plan.finished(1) == []
    assert not plan.done
    assert plan.finished(0) == [2]
    assert plan.finished(2) == []
    assert (plan.done, plan.held) == (True, [])


def test_a_barrier_that_stays_pending_holds_later_barriers_for_good() -> None:
    plan = BatchPlan([R, W, R, W, W, R], 4)
    assert plan.start() == [0]
    assert plan.finished(0) == [1]
    assert plan.waiting(1) == [2, 5]
    assert plan.finished(1, pending=True) == []
    assert plan.finished(5) == []
    assert plan.finished(2) == []
    assert (plan.done, plan.held) == (True, [3, 4])


def test_a_barrier_that_is_pending_at_once() -> None:
    plan = BatchPlan([W, W, R], 4)
    assert plan.start() == [0]
    assert plan.finished(0, pending=True) == [2]
    assert plan.finished(2) == []
    assert (plan.done, plan.held) == (True, [1])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.booleans(), max_size=12),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
    st.floats(0, 1),
)
def test_any_batch_in_any_order_of_events(
    reads: list[bool], bound: int, random: "object", waits: float
) -> None:
    choose: Callable[[list[int]], int] = random.choice  # type: ignore[attr-defined]
    chance: Callable[[], float] = random.random  # type: ignore[attr-defined]
    plan = BatchPlan(reads, bound)
    done: set[int] = set()
    pending: set[int] = set()
    waiting: set[int] = set()
    running: set[int] = set()
    order: list[int] = []

    def launch(indexes: list[int]) -> None:
        for index in indexes:
            assert index not in order, "started twice"
            order.append(index)
            if reads[index]:
                # a barrier before it is done, waits for a person, or stands behind one that does
                for before in (i for i in range(index) if not reads[i] and i not in done | waiting):
                    assert any(i < before for i in waiting | pending)
            else:
                assert not running, "a barrier runs alone"
                assert all(i in done for i in range(index)), "a barrier starts when all before it are done"
                assert not pending - set(range(index, len(reads)))
            running.add(index)
        assert len(running) <= bound or not all(reads[i] for i in running)

    launch(plan.start())
    while running or waiting:
        if bound > len(running) and not waiting and not pending:
            queued = [i for i in range(len(reads)) if i not in order]
            if queued and reads[queued[0]] and all(reads[i] for i in running):
                raise AssertionError("a read waits although there is room for it")
        index = choose(sorted(running | waiting))
        if index in running and chance() < waits:
            running.discard(index)
            waiting.add(index)
            launch(plan.waiting(index))
            continue
        stays = chance() < waits / 2
        running.discard(index)
        waiting.discard(index)
        done.add(index)
        if stays:
            pending.add(index)
        launch(plan.finished(index, pending=stays))
    assert plan.done
    held = plan.held
    assert sorted([*done, *held]) == list(range(len(reads)))
    assert all(not reads[index] and any(p < index for p in pending) for index in held)
    if not pending:
        assert held == []
    barriers = [index for index in order if not reads[index]]
    assert barriers == sorted(barriers)
