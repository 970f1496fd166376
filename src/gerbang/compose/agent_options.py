"""The options of an agent: what they may be, and what is meant by them."""

from msgspec.structs import replace

from gerbang import parse
from gerbang.compose.gateway import Gateway
from gerbang.errors import UsageError
from gerbang.loop.profile import Profile, profile_named
from gerbang.ports import Model, Secrets


def profile_of(name: str, max_steps: int | None, result_max_chars: int | None) -> Profile:
    """Return the profile, with the limits that override its own. Raises UsageError."""
    profile = profile_named(name)
    if max_steps is not None:
        positive(max_steps=max_steps)
        profile = replace(profile, max_steps=max_steps)
    if result_max_chars is not None:
        positive(result_max_chars=result_max_chars)
        profile = replace(profile, result_max_chars=result_max_chars)
    return profile


def positive(**values: int) -> None:
    """Raise UsageError for a value that is no whole number above 0."""
    for name, value in values.items():
        if type(value) is not int or value < 1:
            raise UsageError(f"{name} is a whole number above 0, not {value!r}.")


def seconds(**values: float) -> None:
    """Raise UsageError for a value that is no number of seconds above 0."""
    for name, value in values.items():
        if type(value) not in (int, float) or not 0 < value < 1e9:
            raise UsageError(f"{name} is a number of seconds above 0, not {value!r}.")


def whole(**values: int | None) -> None:
    """Raise UsageError for a value that is neither None nor a whole number above 0."""
    positive(**{name: value for name, value in values.items() if value is not None})


def cost(max_cost: float | None) -> None:
    """Raise UsageError for what is no bound of a cost."""
    if max_cost is not None and (type(max_cost) not in (int, float) or not 0 <= max_cost < 1e15):
        raise UsageError(f"max_cost is a number of cost units from 0, or None, not {max_cost!r:.80}.")


def words(profile: str, lang: str, system: str, stream: bool) -> None:
    """Raise UsageError for what is no text where one is taken, or no switch."""
    for name, value in {"profile": profile, "lang": lang, "system": system}.items():
        if not isinstance(value, str):
            raise UsageError(f"{name} takes a text, not {value!r:.80}.")
    if not isinstance(stream, bool):
        raise UsageError(f"stream is True or False, not {stream!r:.80}.")


def dialect_of(asked: str | None, profile: Profile, model: str) -> str:
    """Return the dialect that is asked for, or the best guess. Raises UsageError."""
    if asked is not None and not isinstance(asked, str):
        raise UsageError(f"dialect takes the id of one, or None, not {asked!r:.80}.")
    known = {dialect.id for dialect in parse.dialects()}
    name = asked or profile.dialect
    if asked is None and name == "auto":
        name = parse.dialect_for(model) or "auto"
    if name not in known and name != "auto":
        raise UsageError(f"There is no dialect {name!r}. Known: {', '.join(sorted(known))}.")
    return name


def gateway_of(gateway: Gateway) -> Gateway:
    """Return the gateway. Raises UsageError for what is none."""
    if not _is_gateway(gateway):
        raise UsageError(f"gateway takes a gerbang.Gateway, not {gateway!r:.80}.")
    return gateway


def _is_gateway(gateway: object) -> bool:
    return isinstance(gateway, Gateway)


def model_of(model: "str | Model", secrets: Secrets) -> Model:
    """Return the model of an address, or the one given. Raises ConfigError, and UsageError for neither."""
    if not isinstance(model, str):
        if not _is_model(model):
            raise UsageError(
                "model takes an address, such as 'embedded:' or 'openai:MODEL@URL', or an object with the "
                f"methods of gerbang.ports.Model, not {model!r:.80}."
            )
        return model
    from gerbang.adapters.models import open_model

    return open_model(model, secrets=secrets)


def _is_model(model: object) -> bool:
    return (
        not isinstance(model, type)
        and callable(getattr(model, "answer", None))
        and isinstance(getattr(model, "name", None), str)
    )
