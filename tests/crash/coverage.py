"""Which transitions of the three machines had a process killed right before and right after them."""

from collections import Counter
from typing import Final

from gerbang.approval.machine import TRANSITIONS as APPROVALS
from gerbang.ledger.machine import TRANSITIONS as LEDGER

LOOP: Final = (
    "idle Started > asking",
    "idle Resumed > asking",
    "idle Resumed > calling",
    "idle Resumed > max_steps",
    "asking Answered > calling",
    "asking Answered > completed",
    "asking Answered > denied",
    "asking ModelFailed > model_error",
    "asking Stopped > cancelled",
    "calling CallsDone > asking",
    "calling CallsDone > closing",
    "calling CallsDone > pending_approval",
    "calling CallsDone > client_calls",
    "calling CallsDone > max_steps",
    "calling Stopped > cancelled",
    "closing Answered > completed",
    "closing Answered > max_steps",
    "closing ModelFailed > model_error",
    "closing Stopped > cancelled",
)
"""What a driver can bring about, by phase, event and what follows. Not here: a run that is stopped before it
began, a model that fails while calls run, which no driver does; that a budget or a switch ends it, which
takes the same ways as a cancellation; a resumed run whose last answer had no calls: such an answer is on
record in one commit with the end of its run.
"""

TRANSITIONS: Final = (
    *(f"ledger {state} {event}" for state, event in LEDGER),
    *(f"approval {state} {event}" for state, event in APPROVALS),
    *(f"loop {step}" for step in LOOP),
)


def uncovered(steps: Counter[str]) -> list[str]:
    """Return what no process was killed before, or after."""
    wanted = [f"{when} {step}" for step in TRANSITIONS for when in ("before", "after")]
    return [one for one in wanted if not steps[one]]


def table(steps: Counter[str]) -> str:
    """Return the table of all transitions."""
    lines = ["| transition | killed before | killed after |", "|---|---|---|"]
    lines += [f"| {one} | {steps[f'before {one}']} | {steps[f'after {one}']} |" for one in TRANSITIONS]
    return "\n".join(lines)
