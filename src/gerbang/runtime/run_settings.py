"""Limits and manners of one run, and its name."""

import os

from msgspec import Struct

from gerbang.values.model import Sampling


class RunSettings(Struct, frozen=True, gc=False):
    """Limits and manners of a run. Times in seconds."""

    max_steps: int
    max_parallel: int
    stream: bool
    model_timeout_s: float
    context_tokens: int
    dialect: str
    text_protocol: bool
    deadline_s: float | None = None
    temperature: float | None = None
    sampling: Sampling = Sampling()


def new_run_id() -> str:
    """Return a new run id, hard to guess."""
    return f"run_{os.urandom(10).hex()}"
