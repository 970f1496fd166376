"""How long a Rego decision may take, and how many may wait."""

from typing import Final

DECISION_S: Final = 1.0
"""Time for one evaluation; then the worker is killed and the decision is a denial."""
WAIT_S: Final = 5.0
"""Time for one decision altogether, waiting for a worker and for others included; see `waiting_s`."""
START_S: Final = 20.0
"""Time for a worker to start and read its bundle."""
WINDOW: Final = 128
"""Decisions that a worker has in hand at once. Further ones wait here, where they can still be withdrawn."""
MAX_WAITING: Final = 10_000
"""Decisions that wait in one event loop; more are denied at once."""
MAX_INPUT_BYTES: Final = 1_048_576
"""A longer document is denied: it would cost more than the call is worth."""
RESTARTS: Final = 10
"""Restarts of a worker that are allowed at once; after that RESTARTS_PER_S."""
RESTARTS_PER_S: Final = 2.0


def waiting_s(decision_s: float) -> float:
    """Return the time for one decision altogether, when one evaluation may take `decision_s`."""
    return max(WAIT_S, 2 * decision_s)
