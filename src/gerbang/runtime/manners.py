"""How a client wants answers made: which tools may be called, and how many at a time."""

from typing import Final

from msgspec.structs import replace

from gerbang.runtime.reading import Answer, Asked
from gerbang.values.model import Sampling, ToolSpec
from gerbang.values.sentences import said

WORDS: Final = ("auto", "none", "required")
"""Choices of tools that are no names."""


def chosen(
    sampling: Sampling, specs: tuple[ToolSpec, ...], *, first: bool
) -> tuple[str, tuple[ToolSpec, ...]]:
    """Return the choice for the next answer, and the tools that are offered with it.

    A tool that has to be called is the only one offered. After the first answer the model is free again.
    """
    choice = sampling.tool_choice
    if choice == "none" or (first and choice in WORDS):
        return choice, specs
    if not first:
        return "auto", specs
    return choice, tuple(spec for spec in specs if choice in (spec.name, spec.wire_name))


def one_at_a_time(answer: Answer) -> Answer:
    """Return the answer with every call after the first one refused."""
    fault = said("parse_error", "TOO_MANY_CALLS", {"limit": 1}, recoverable=True)
    further = tuple(Asked(call.id, call.name, None, fault) for call in answer.calls[1:])
    return replace(answer, calls=answer.calls[:1] + further)
