"""The names under which clients ask for the model: its own, `gerbang`, and one for each profile."""

from typing import Final

from msgspec import Struct

from gerbang.compose.agent import Agent
from gerbang.loop.profile import PROFILES
from gerbang.server.openai_errors import unknown_model
from gerbang.server.problems import problem

ALIAS: Final = "gerbang"
_PREFIX: Final = "gerbang-"


class Offered(Struct, frozen=True):
    """A name, and the profile that it stands for; None is the profile of the settings."""

    name: str
    profile: str | None = None


def models_of(agent: Agent | None) -> list[Offered]:
    """Return the names that can be asked for, the model's own first. None without a model."""
    if agent is None:
        return []
    names = dict.fromkeys((short_name(agent.model.name), ALIAS))
    return [*map(Offered, names), *(Offered(_PREFIX + name, name) for name in PROFILES)]


def model_named(name: str, agent: Agent | None) -> Offered:
    """Return what a client asks for. Raises Problem for an unknown name, and when there is no model."""
    if agent is None:
        raise problem(
            503,
            "internal_error",
            "LLM_OFF",
            "The model is switched off here.",
            "Start the server with --model.",
        )
    for found in models_of(agent):
        if found.name == name:
            return found
    raise unknown_model(name)


def short_name(address: str) -> str:
    """Return what the model is called without where it is: an address is nobody's business but ours."""
    kind, _, rest = address.partition(":")
    name = rest.rpartition("@")[0] or rest
    return name.rpartition("/")[2] if kind == "gguf" else name or kind
