"""The run as a machine: `advance(state, event)` gives the next state and one command. Pure.

::

    START ──▶ ask the model ──▶ ANSWER with calls ──▶ run them ──▶ RESULTS ──▶ ask the model …
                                ANSWER without calls ──▶ finish

Every way out is a `Finish`. Limits count model answers, or tool rounds after which the model is asked
once more without tools, as the profile says.
"""

from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from gerbang.values.record import RunState

Phase = Literal["idle", "asking", "calling", "closing", "done"]


class LoopState(Struct, frozen=True, gc=False):
    """Where a run stands. `answers` counts model answers, `rounds` rounds of calls."""

    phase: Phase = "idle"
    answers: int = 0
    rounds: int = 0
    max_steps: int = 25
    count: Literal["answers", "rounds"] = "answers"


class Started(Struct, frozen=True):
    """The run begins, or goes on after its calls are resolved."""


class Resumed(Struct, frozen=True):
    """The run goes on after a crash or a person's decision.

    `answers` counts the committed ones, `calls` the proposals of the last one when some have no result yet;
    `final` says that it had none and ended the run.
    """

    answers: int
    calls: int = 0
    final: bool = False


class Answered(Struct, frozen=True, gc=False):
    """The model answered. `calls` counts proposals, broken ones included.

    `denied` tells that it said nothing, and that all it has asked for was refused for good.
    """

    calls: int
    denied: bool = False


class CallsDone(Struct, frozen=True, gc=False):
    """Every call of the answer has its result, or waits for a person (`pending` of them).

    `handed` of them are for the client to run. `stopped` tells that a switch is on that stops all of the run.
    """

    pending: int = 0
    handed: int = 0
    stopped: bool = False


class ModelFailed(Struct, frozen=True):
    """The model gave no answer."""


class Stopped(Struct, frozen=True):
    """The run was cancelled, or a budget of the whole run is used up."""

    state: RunState


LoopEvent = Started | Resumed | Answered | CallsDone | ModelFailed | Stopped


class AskModel(Struct, frozen=True):
    """Ask for an answer; `tools` False for the closing one."""

    tools: bool = True


class RunCalls(Struct, frozen=True):
    """Run the answer's calls."""


class Finish(Struct, frozen=True):
    """The run is over."""

    state: RunState


Command = AskModel | RunCalls | Finish

_ASK: Final = AskModel()
_RUN: Final = RunCalls()


class IllegalEvent(RuntimeError):
    """The event is not possible in this state: a defect of the driver."""


def advance(state: LoopState, event: LoopEvent) -> tuple[LoopState, Command]:
    """Return the next state and what to do. Raises IllegalEvent."""
    if state.phase == "done":
        raise IllegalEvent(f"the run is over; {type(event).__name__} came after it")
    if type(event) is Answered and state.phase in ("asking", "closing"):  # these two come at every step
        return _answered(state, event)
    if type(event) is CallsDone and state.phase == "calling":
        return _called(state, event)
    if type(event) is Stopped:
        return _done(state, event.state)
    if type(event) is ModelFailed:
        return _done(state, RunState.MODEL_ERROR)
    if type(event) is Started and state.phase == "idle":
        return replace(state, phase="asking"), _ASK
    if type(event) is Resumed and state.phase == "idle":
        return _resumed(state, event)
    raise IllegalEvent(f"{type(event).__name__} in phase {state.phase}")


def _answered(state: LoopState, event: Answered) -> tuple[LoopState, Command]:
    answers = state.answers + 1
    if event.calls and state.phase == "asking":
        return replace(state, phase="calling", answers=answers), _RUN
    state = replace(state, answers=answers)
    if event.calls:  # it was told that there are no tools
        return _done(state, RunState.MAX_STEPS)
    return _done(state, RunState.DENIED if event.denied else RunState.COMPLETED)


def _resumed(state: LoopState, event: Resumed) -> tuple[LoopState, Command]:
    done = event.answers - (1 if event.calls or event.final else 0)
    state = replace(state, answers=event.answers, rounds=done)
    if event.final:
        return _done(state, RunState.COMPLETED)
    if event.calls and state.count == "rounds" and done >= state.max_steps:
        return _done(state, RunState.MAX_STEPS)  # it was told that there are no tools
    if event.calls:
        return replace(state, phase="calling"), _RUN
    if not event.answers:
        return replace(state, phase="asking"), _ASK
    return _called(replace(state, rounds=done - 1), CallsDone())


def _called(state: LoopState, event: CallsDone) -> tuple[LoopState, Command]:
    rounds = state.rounds + 1
    used = state.answers if state.count == "answers" else rounds
    if used < state.max_steps and not (event.pending or event.handed or event.stopped):
        return replace(state, phase="asking", rounds=rounds), _ASK
    state = replace(state, rounds=rounds)
    if event.pending:
        return _done(state, RunState.PENDING_APPROVAL)
    if event.handed:
        return _done(state, RunState.CLIENT_CALLS)
    if event.stopped:
        return _done(state, RunState.DENIED)
    if state.count == "rounds":
        return replace(state, phase="closing"), AskModel(tools=False)
    return _done(state, RunState.MAX_STEPS)


def _done(state: LoopState, run_state: RunState) -> tuple[LoopState, Command]:
    return replace(state, phase="done"), Finish(run_state)
