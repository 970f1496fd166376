"""Profiles: named bundles of settings, nothing else."""

from typing import Final, Literal

from msgspec import Struct

from gerbang.errors import UsageError
from gerbang.limits import MAX_REPEATS, MAX_STEPS, RESULT_MAX_CHARS
from gerbang.loop.texts import TEXTS, Texts

Protocol = Literal["native", "text"]
Framing = Literal["plain", "framed", "envelope"]
Renderer = Literal["exact", "structured"]


class Profile(Struct, frozen=True, gc=False):
    """How a run speaks with its model.

    `protocol` `native` sends tools and results by the model API; `text` describes tools in the system
    prompt and reads calls from text in `dialect` (which also reads text calls of a native model; `auto`
    goes by what the text shows). `max_steps` counts what `count` says. `framing` is how a result is put
    to the model, `renderer` how an error is. `result_max_chars` bounds one result, in characters.
    `max_repeats` is how often one call may be proposed in a run; None: as often as there are rounds for it.
    """

    name: str
    protocol: Protocol
    dialect: str
    max_steps: int
    count: Literal["answers", "rounds"]
    framing: Framing
    renderer: Renderer
    result_max_chars: int
    temperature: float | None = None
    max_repeats: int | None = MAX_REPEATS

    def texts(self, lang: str) -> Texts:
        """Return the profile's texts. Raises UsageError for a language it does not have."""
        found = TEXTS.get((self.name, lang))
        if found is None:
            raise UsageError(f"Language {lang!r} is not known. Use 'en' or 'id'.")
        return found


PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("terminal", "text", "tool_use", 12, "answers", "envelope", "exact", 2000),
        Profile("gateway", "native", "auto", MAX_STEPS, "answers", "framed", "structured", RESULT_MAX_CHARS),
        Profile("voice", "native", "auto", 4, "rounds", "plain", "exact", 2000, max_repeats=None),
        Profile("minimal", "text", "router", 6, "answers", "plain", "exact", RESULT_MAX_CHARS),
        Profile("local", "native", "auto", 5, "answers", "plain", "exact", 8000, 0.1),
    )
}


def profile_named(name: str) -> Profile:
    """Return a profile. Raises UsageError with the known names."""
    found = PROFILES.get(name)
    if found is None:
        raise UsageError(f"There is no profile {name!r}. Use one of: {', '.join(sorted(PROFILES))}.")
    return found
