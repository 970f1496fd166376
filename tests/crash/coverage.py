"""Which transitions of the three machines had a process killed right before and right after them."""

from collections import Counter
from typing import Final

from gerbang.approval.machine import TRANSITIONS as APPROVALS
from gerbang.ledger.machine import TRANSITIONS as LEDGER

LOOP: Final = (
    "idle Started",
    "idle Resumed",
    "asking Answered",
    "asking ModelFailed",
    "asking Stopped",
    "calling CallsDone",
    "calling Stopped",
    "closing Answered",
    "closing ModelFailed",
    "closing Stopped",
)
"""Every pair of phase and event that a driver can bring about: it stops nothing that has not begun, and no
model fails while calls run."""

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
