"""Every phase and every event of a run, both ways of counting, and the closing answer."""

import itertools
from typing import Any

import pytest

from gerbang.loop.machine import (
    Answered,
    AskModel,
    CallsDone,
    Finish,
    IllegalEvent,
    LoopEvent,
    LoopState,
    ModelFailed,
    RunCalls,
    Started,
    Stopped,
    advance,
)
from gerbang.values.record import RunState

ASK, CLOSE, CALL = AskModel(), AskModel(tools=False), RunCalls()


def done(state: RunState) -> Finish:
    return Finish(state)


EVENTS: dict[str, LoopEvent] = {
    "started": Started(),
    "answered": Answered(0),
    "answered with calls": Answered(2),
    "silent after refusals": Answered(0, denied=True),
    "calls done": CallsDone(),
    "calls wait": CallsDone(pending=1),
    "calls wait, all is stopped": CallsDone(pending=1, stopped=True),
    "all is stopped": CallsDone(stopped=True),
    "model failed": ModelFailed(),
    "stopped": Stopped(RunState.CANCELLED),
    "over budget": Stopped(RunState.BUDGET),
}
COMMON = {
    "model failed": ("done", done(RunState.MODEL_ERROR)),
    "stopped": ("done", done(RunState.CANCELLED)),
    "over budget": ("done", done(RunState.BUDGET)),
}
TABLE: dict[str, dict[str, tuple[str, Any]]] = {
    "idle": {"started": ("asking", ASK), **COMMON},
    "asking": {
        "answered": ("done", done(RunState.COMPLETED)),
        "answered with calls": ("calling", CALL),
        "silent after refusals": ("done", done(RunState.DENIED)),
        **COMMON,
    },
    "calling": {
        "calls done": ("asking", ASK),
        "calls wait": ("done", done(RunState.PENDING_APPROVAL)),
        "calls wait, all is stopped": ("done", done(RunState.PENDING_APPROVAL)),
        "all is stopped": ("done", done(RunState.DENIED)),
        **COMMON,
    },
    "closing": {
        "answered": ("done", done(RunState.COMPLETED)),
        "answered with calls": ("done", done(RunState.MAX_STEPS)),
        "silent after refusals": ("done", done(RunState.DENIED)),
        **COMMON,
    },
    "done": {},
}


@pytest.mark.parametrize(("phase", "event"), list(itertools.product(TABLE, EVENTS)))
def test_every_phase_and_event(phase: Any, event: str) -> None:
    state = LoopState(phase=phase)
    wanted = TABLE[phase].get(event)
    if wanted is None:
        with pytest.raises(IllegalEvent):
            advance(state, EVENTS[event])
        return
    after, command = advance(state, EVENTS[event])
    assert (after.phase, command) == wanted
    assert state == LoopState(phase=phase), "a state is a value"


def drive(state: LoopState, answers: list[int]) -> tuple[LoopState, list[Any]]:
    """Run the machine with a model whose n-th answer has so many calls; it repeats its last one."""
    commands: list[Any] = []
    state, command = advance(state, Started())
    while True:
        commands.append(command)
        if isinstance(command, Finish):
            return state, commands
        if isinstance(command, RunCalls):
            state, command = advance(state, CallsDone())
        else:
            state, command = advance(state, Answered(answers[min(state.answers, len(answers) - 1)]))


@pytest.mark.parametrize("limit", [1, 2, 6, 12])
def test_counting_answers(limit: int) -> None:
    state, commands = drive(LoopState(max_steps=limit, count="answers"), [1])
    assert commands == [ASK, CALL] * limit + [done(RunState.MAX_STEPS)]
    assert (state.answers, state.rounds) == (limit, limit)


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_counting_rounds_ends_with_an_answer_without_tools(limit: int) -> None:
    state, commands = drive(LoopState(max_steps=limit, count="rounds"), [1] * limit + [0])
    assert commands == [ASK, CALL] * limit + [CLOSE, done(RunState.COMPLETED)]
    assert (state.answers, state.rounds) == (limit + 1, limit)


def test_a_model_that_still_calls_in_its_closing_answer_is_not_asked_again() -> None:
    _, commands = drive(LoopState(max_steps=2, count="rounds"), [1])
    assert commands == [ASK, CALL] * 2 + [CLOSE, done(RunState.MAX_STEPS)]


@pytest.mark.parametrize("count", ["answers", "rounds"])
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_a_run_that_ends_before_its_limit(count: Any, calls: int) -> None:
    state, commands = drive(LoopState(max_steps=5, count=count), [2] * calls + [0])
    assert commands == [ASK, CALL] * calls + [ASK, done(RunState.COMPLETED)]
    assert (state.answers, state.rounds) == (calls + 1, calls)


def test_waiting_for_a_person_beats_the_limit() -> None:
    state = LoopState(phase="calling", answers=1, max_steps=1)
    assert advance(state, CallsDone(pending=1))[1] == done(RunState.PENDING_APPROVAL)
