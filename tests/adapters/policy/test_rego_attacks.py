"""Policies that hang, crash or eat memory, and killed workers: denials with a code, nothing left over."""

import asyncio
import os
import resource
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from gerbang.adapters.policy.rego import RegoPolicy
from gerbang.policy.input import PolicyInput
from gerbang.values import Decision

from .bundles import ALLOW, HARD, call, rego

TIMED_OUT = ("POLICY_TIMEOUT",)
CRASHED = ("POLICY_ERROR", "POLICY_CRASHED")
OK = ("OK",)
ENDS_BADLY: dict[str, set[tuple[str, ...]]] = {
    "hang": {TIMED_OUT},
    "crash": {CRASHED},
    "eat": {CRASHED, TIMED_OUT},  # which comes first depends on the speed of the machine
    "conflict": {("POLICY_ERROR", "POLICY_EVALUATION")},
}


@pytest.fixture
def hard(tmp_path: Path) -> RegoPolicy:
    """The policy that does its worst, with little patience."""
    return RegoPolicy.open(rego(tmp_path, HARD), timeout_s=0.5)


_OF_OTHERS: set[int] = set()


@pytest.fixture(autouse=True)
def _leave_others_alone() -> None:
    """Other tests of this process may have servers running: they are not ours to kill, or to count."""
    _OF_OTHERS.clear()
    _OF_OTHERS.update(children())


def children(*, ended: bool = True) -> set[int]:
    """Return the processes that the test started and has not collected; without `ended`, those that live."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                state, parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[:2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(parent) == os.getpid() and (ended or state != "Z"):
                found.add(int(name))
    return found - _OF_OTHERS


def busy(worker: int) -> bool:
    """Tell whether a worker has used more CPU time than it takes to start."""
    fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) > 30  # user time, in hundredths of a second


@pytest.mark.parametrize("kind", ENDS_BADLY)
def test_the_worst_is_a_denial_and_the_next_call_is_decided(hard: RegoPolicy, kind: str) -> None:
    async def both() -> tuple[Decision, Decision]:
        return await hard.decide_async(call(kind)), await hard.decide_async(call())

    try:
        for first, second in (asyncio.run(both()), (hard.decide(call(kind)), hard.decide(call()))):
            assert first.decision == "deny"
            assert first.reasons in ENDS_BADLY[kind]
            assert (second.decision, second.reasons) == ("allow", OK)
    finally:
        hard.close()


@pytest.mark.parametrize("kind", ["hang", "crash"])
def test_only_the_call_that_is_to_blame_is_denied(hard: RegoPolicy, kind: str) -> None:
    async def many() -> list[Decision]:
        calls = [call(kind) if number in (40, 120) else call() for number in range(200)]
        return await asyncio.gather(*map(hard.decide_async, calls))

    try:
        found = asyncio.run(many())
    finally:
        hard.close()
    assert [number for number, one in enumerate(found) if one.decision != "allow"] == [40, 120]
    assert {found[40].reasons, found[120].reasons} <= ENDS_BADLY[kind]


def test_the_event_loop_goes_on_while_a_policy_hangs(hard: RegoPolicy) -> None:
    async def turns() -> tuple[Decision, int]:
        asked = asyncio.ensure_future(hard.decide_async(call("hang")))
        count = 0
        while not asked.done():
            await asyncio.sleep(0)
            count += 1
        return await asked, count

    try:
        decision, count = asyncio.run(turns())
    finally:
        hard.close()
    assert decision.reasons == TIMED_OUT
    assert count > 100


def test_kill_9_of_the_worker_in_the_middle(tmp_path: Path) -> None:
    policy = RegoPolicy.open(rego(tmp_path, HARD), timeout_s=30)

    async def killed(kind: str) -> list[Decision]:
        await policy.decide_async(call())
        asked = [asyncio.ensure_future(policy.decide_async(call())) for _ in range(100)]
        asked.append(asyncio.ensure_future(policy.decide_async(call(kind))))
        asked += [asyncio.ensure_future(policy.decide_async(call())) for _ in range(100)]
        await asyncio.gather(*asked[:100])  # now it is busy with the one of `kind`
        for _ in range(2 if kind == "hang" else 1):
            while kind == "hang" and not any(map(busy, children(ended=False))):
                await asyncio.sleep(0.01)
            for worker in children(ended=False):
                os.kill(worker, signal.SIGKILL)
            while children(ended=False) == {worker}:
                await asyncio.sleep(0.01)
        return await asyncio.gather(*asked)

    try:
        assert {one.reasons for one in asyncio.run(killed("plain"))} == {OK}  # the second try goes well
        found = Counter(one.reasons for one in asyncio.run(killed("hang")))
        assert found == {OK: 200, CRASHED: 1}
    finally:
        policy.close()


def test_a_worker_that_is_killed_while_idle_costs_no_denial(hard: RegoPolicy) -> None:
    async def idle() -> list[Decision]:
        found = []
        for _ in range(3):
            found.append(await hard.decide_async(call()))
            (worker,) = children(ended=False)
            os.kill(worker, signal.SIGKILL)
        return [*found, await hard.decide_async(call())]

    try:
        assert {one.reasons for one in asyncio.run(idle())} == {OK}
        hard.decide(call())
        for worker in children(ended=False):
            os.kill(worker, signal.SIGKILL)
        assert hard.decide(call()).reasons == OK
    finally:
        hard.close()


def test_restarts_are_bounded(hard: RegoPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tries for each call that crashes; when the restarts are used up, calls are denied in time."""
    monkeypatch.setattr("gerbang.adapters.policy.rego_limits.WAIT_S", 0.6)
    monkeypatch.setattr("gerbang.adapters.policy.rego_line.RESTARTS_PER_S", 0.001)
    started = set()

    async def many() -> list[Decision]:
        asked = [asyncio.ensure_future(hard.decide_async(call("crash"))) for _ in range(20)]
        while not all(one.done() for one in asked):
            started.update(children())
            await asyncio.sleep(0.002)
        return await asyncio.gather(*asked)

    try:
        found = asyncio.run(many())
    finally:
        hard.close()
    assert {one.reasons for one in found} <= {CRASHED, TIMED_OUT}
    assert {one.decision for one in found} == {"deny"}
    assert len(started) <= 12


def test_closing_while_deciding_leaves_no_child_and_no_task(tmp_path: Path) -> None:
    policy = RegoPolicy.open(rego(tmp_path, HARD), timeout_s=30)

    async def close() -> tuple[list[Decision], set[str]]:
        asked = [asyncio.ensure_future(policy.decide_async(call("hang"))) for _ in range(5)]
        await asyncio.sleep(0.05)
        policy.close()
        found = await asyncio.gather(*asked, policy.decide_async(call()))
        return found, {repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()}

    before = children()
    found, tasks = asyncio.run(close())
    assert {one.reasons for one in found} == {("POLICY_ERROR", "POLICY_CLOSED")}
    assert tasks == set()
    assert children() <= before
    assert policy.decide(call()).reasons == ("POLICY_ERROR", "POLICY_CLOSED")
    policy.close()


def test_whoever_stops_waiting_disturbs_nobody(hard: RegoPolicy) -> None:
    async def cancel() -> list[Decision]:
        asked = [asyncio.ensure_future(hard.decide_async(call())) for _ in range(50)]
        await asyncio.sleep(0)
        for task in asked[::2]:
            task.cancel()
        return await asyncio.gather(*asked[1::2])

    try:
        assert {one.reasons for one in asyncio.run(cancel())} == {OK}
    finally:
        hard.close()


def test_a_policy_that_is_forgotten_takes_its_workers_along(tmp_path: Path) -> None:
    before = children()
    policy = RegoPolicy.open(rego(tmp_path, HARD))
    asyncio.run(policy.decide_async(call()))
    policy.decide(call())
    assert len(children() - before) == 2
    del policy
    assert children() <= before


def test_several_event_loops_and_threads_at_once(tmp_path: Path) -> None:
    before = children()
    policy = RegoPolicy.open(rego(tmp_path, HARD))
    found: list[Decision] = []

    async def some() -> None:
        found.extend(await asyncio.gather(*(policy.decide_async(call()) for _ in range(30))))

    def blocking() -> None:
        found.extend(policy.decide(call()) for _ in range(30))

    threads = [threading.Thread(target=asyncio.run, args=(some(),)) for _ in range(2)]
    threads += [threading.Thread(target=blocking) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    policy.close()
    assert Counter(one.reasons for one in found) == {OK: 120}
    assert children() <= before


def test_the_worker_is_fenced_in(hard: RegoPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look() -> tuple[str, str, str]:
        await hard.decide_async(call())
        (worker,) = children(ended=False)
        files = [Path(f"/proc/{worker}/{name}") for name in ("environ", "limits", "status")]
        environ, limits, status = (file.read_text() for file in files)
        return environ, limits, status

    monkeypatch.setenv("GERBANG_CANARY", "canary-value")
    hard.close()
    fresh = RegoPolicy.open(hard.bundle.origin)
    try:
        hard = fresh
        environ, limits, status = asyncio.run(look())
    finally:
        fresh.close()
    assert "canary" not in environ
    rows = {line[:26].strip(): line[26:].split() for line in limits.splitlines()}
    assert rows["Max address space"][:2] == [str(512 * 1_048_576)] * 2
    assert rows["Max file size"][:2] == ["0", "0"]
    assert rows["Max open files"][:2] == ["0", "0"]
    assert rows["Max core file size"][0] == "0"
    assert int(rows["Max cpu time"][0]) <= 20
    assert "Seccomp:\t2" in status


def test_a_big_bundle_and_big_documents_go_through_the_pipe(tmp_path: Path) -> None:
    padding = "".join(f"# line {number} of a long policy\n" for number in range(15_000))
    policy = RegoPolicy.open(rego(tmp_path, HARD + padding))
    given: list[PolicyInput] = [call(text="x" * 20_000, number=number) for number in range(100)]

    async def many() -> set[tuple[str, ...]]:
        return {one.reasons for one in await asyncio.gather(*map(policy.decide_async, given))}

    try:
        assert asyncio.run(many()) == {OK}
    finally:
        policy.close()


def test_more_than_may_wait_is_denied_at_once(hard: RegoPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gerbang.adapters.policy.rego_line.WINDOW", 4)
    monkeypatch.setattr("gerbang.adapters.policy.rego_line.MAX_WAITING", 10)

    async def many() -> Counter[tuple[str, ...]]:
        return Counter(
            one.reasons for one in await asyncio.gather(*(hard.decide_async(call()) for _ in range(100)))
        )

    try:
        found = asyncio.run(many())
    finally:
        hard.close()
    assert set(found) == {OK, ("POLICY_ERROR", "POLICY_OVERLOADED")}
    assert found[OK] >= 10


def test_result_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    text = f'package gerbang\n\ndecision := object.union({ALLOW}, {{"rule": concat("", many)}})\n'
    policy = RegoPolicy.open(
        rego(tmp_path, text + 'many := [sprintf("%d", [n]) | some n in numbers.range(1, 90000)]\n')
    )
    try:
        assert policy.decide(call()).reasons == ("POLICY_ERROR", "POLICY_RESULT")
    finally:
        policy.close()


def test_closing_from_elsewhere_while_a_thread_and_another_loop_wait(tmp_path: Path) -> None:
    before = children()
    policy = RegoPolicy.open(rego(tmp_path, HARD), timeout_s=30)
    found: list[Decision] = []

    async def wait() -> None:
        found.append(await policy.decide_async(call("hang")))

    threads = [
        threading.Thread(target=lambda: found.append(policy.decide(call("hang")))),
        threading.Thread(target=lambda: asyncio.run(wait())),
    ]
    for thread in threads:
        thread.start()
    while sum(map(busy, children(ended=False))) < 2:
        time.sleep(0.01)
    policy.close()
    for thread in threads:
        thread.join()
    assert {one.decision for one in found} == {"deny"}
    assert len(found) == 2
    assert children() <= before


def test_descriptors_above_1023(tmp_path: Path) -> None:
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 1200), most), most))
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1030)]
    try:
        policy = RegoPolicy.open(rego(tmp_path, HARD))
        assert policy.decide(call()).reasons == OK
        assert asyncio.run(policy.decide_async(call())).reasons == OK
        policy.close()
    finally:
        for number in opened:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
