"""From when on a probe's "no" counts: by what is on record of the attempt, and of who made it."""

import subprocess
import sys
from typing import Any

import pytest

import gerbang as g
from gerbang.runtime.process import process_name
from gerbang.runtime.settling import Sending, sending_of, settles_at
from gerbang.runtime.stored import stored_error
from gerbang.values import CallError
from gerbang.values.contract_parts import Condition, Probe
from gerbang.values.record import CallRow
from tests.runtime.street import ALLOW_ALL, run

ELSEWHERE = "0123456789ab.7.1"
TIMEOUT_S, GRACE_S = 10.0, 1.0
SLOW = CallError("timeout", "TOOL_TIMEOUT", "Too slow.", effect="unknown")
STOPPED = CallError("cancelled", "RUN_CANCELLED", "Stopped.", effect="unknown")
LATE = CallError("cancelled", "DEADLINE", "Stopped.", effect="unknown")
RESET = CallError("transient_network_error", "CONNECTION_RESET", "Gone.", effect="unknown")
LOST = CallError("uncertain_effect", "EFFECT_UNKNOWN", "Lost.", effect="unknown")


def answered(status: int) -> CallError:
    return CallError("upstream_error", "HTTP_5XX", f"HTTP {status} — broken", effect="unknown")


CASES: list[tuple[str, CallError, float | None, float | None, float | None]] = [
    # how it ended, when its own process recorded that, what the contract says, from when on a "no" counts
    ("slow, time-out again", SLOW, 110.0, None, 120.0),
    ("slow, a target that takes a minute", SLOW, 110.0, 60.0, 170.0),
    ("slow, a target that stops when nobody listens", SLOW, 110.0, 0.0, 110.0),
    ("cancelled", STOPPED, 103.0, None, 113.0),
    ("the run's time was up", LATE, 103.0, None, 113.0),
    ("hung up", RESET, 101.0, None, 111.0),
    ("the target has answered", answered(500), 101.0, None, 101.0),
    ("and says nothing of what it does later", answered(500), 101.0, 60.0, 161.0),
    ("a proxy has answered", answered(502), 101.0, None, 111.0),
    ("a proxy has no target", answered(503), 101.0, None, 111.0),
    ("a proxy did not wait", answered(504), 101.0, None, 111.0),
    ("its process died", LOST, None, None, 121.0),
    ("its process died, a target that takes a minute", LOST, None, 60.0, 171.0),
    ("its process died, a target that stops", LOST, None, 0.0, 111.0),
]
THREADS: list[tuple[str, str, CallError, float | None, float | None, float | None]] = [
    # whose thread it was, how the call ended, when that was recorded, what the contract says, what counts
    ("lives", "own", SLOW, 110.0, None, None),
    ("lives, whatever the contract says", "own", SLOW, 110.0, 0.0, None),
    ("lives, cancelled", "own", STOPPED, 103.0, None, None),
    ("lives, the run's time was up", "own", LATE, 103.0, None, None),
    ("lives, given up by another process", "own", LOST, None, None, None),
    ("has returned", "own", RESET, 101.0, None, 111.0),
    ("has been answered", "own", answered(500), 101.0, None, 101.0),
    ("gone", "gone", SLOW, 110.0, None, 120.0),
    ("gone, nothing recorded", "gone", LOST, None, None, 121.0),
    ("on another machine", "elsewhere", SLOW, 110.0, None, None),
    ("on another machine, nothing recorded", "elsewhere", LOST, None, None, None),
    ("on another machine, the contract vouches for it", "elsewhere", LOST, None, 60.0, 171.0),
    ("on another machine, has returned", "elsewhere", RESET, 101.0, None, 111.0),
]


def row(error: CallError) -> CallRow:
    return CallRow("k", "r", "1", 0, "c", "act.do.v1", "UNCERTAIN", "f", result=stored_error(error))


def contract(settles_s: float | None) -> g.Contract:
    probe = Probe("act.look.v1", Condition("exists"), Condition("absent"), settles_s=settles_s)

    @g.tool(name="act.do.v1", risk="write_internal", timeout_s=TIMEOUT_S, probe=probe)
    async def act() -> str:
        """Do it."""
        return "done"

    made: g.Contract = act.contract
    return made


@pytest.mark.parametrize(
    ("error", "over", "own", "counts"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
@pytest.mark.parametrize("whose", ["own", "elsewhere"])
def test_a_coroutine_or_a_request(
    whose: str, error: CallError, over: float | None, own: float | None, counts: float | None
) -> None:
    sending = Sending(ELSEWHERE if whose == "elsewhere" else process_name(), 100.0, 110.0, over)
    assert settles_at(row(error), contract(own), sending, blocks=False) == counts


@pytest.fixture(scope="module")
def gone() -> str:
    """The name of a process of this machine that has ended."""
    code = "from gerbang.runtime.process import process_name; print(process_name())"
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("whose", "error", "over", "own", "counts"), [case[1:] for case in THREADS], ids=[c[0] for c in THREADS]
)
def test_a_thread_that_nobody_can_end(
    gone: str, whose: str, error: CallError, over: float | None, own: float | None, counts: float | None
) -> None:
    process = {"own": process_name(), "gone": gone, "elsewhere": ELSEWHERE}[whose]
    sending = Sending(process, 100.0, 110.0, over)
    assert settles_at(row(error), contract(own), sending, blocks=True) == counts


def test_records_of_an_earlier_version_have_no_deadline() -> None:
    assert settles_at(row(LOST), contract(None), Sending(ELSEWHERE, 100.0), blocks=False) == 121.0


def test_what_is_on_record_of_an_attempt(durable: str) -> None:
    attempts: list[int] = []

    @g.tool(name="act.do.v1", risk="write_internal", timeout_s=TIMEOUT_S, retry={"base_ms": 1, "max_ms": 1})
    async def act() -> str:
        """Fail before it is sent, then lose its connection."""
        attempts.append(1)
        kind: dict[str, Any] = {"effect": "none"} if len(attempts) == 1 else {}
        raise g.ToolError("Gone.", error_type="transient_network_error", code="CONNECT_FAILED", **kind)

    async def work() -> None:
        async with g.Gateway(tools=[act], policy=ALLOW_ALL, store=durable) as gate:
            before = await gate.store.time()
            await gate.call("act.do.v1", {}, run_id="r")
            (made,) = await gate.store.calls("r")
            sending = await sending_of(gate.store, made)
            assert (made.state, made.attempt) == ("UNCERTAIN", 2)
            assert sending.process.startswith(process_name())
            assert before <= sending.began <= sending.over <= await gate.store.time()  # type: ignore[operator]
            assert sending.until == pytest.approx(sending.began + TIMEOUT_S)

    run(work())
