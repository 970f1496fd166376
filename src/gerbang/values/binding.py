"""What a secret is bound to: who it is used for, by which tools, and where it may be sent."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, ValidationError, convert

from gerbang.errors import ConfigError
from gerbang.values.secret import NAME_RULE, is_secret_name

_ORIGIN: Final = re.compile(r"https?://[^/?#@\s]+")
_PORTS: Final = {"http": ":80", "https": ":443"}


class Binding(Struct, frozen=True, forbid_unknown_fields=True):
    """A secret is given only where all that is set here fits. What is left empty is not asked.

    `tenants` and `users` are those of the call's principal. `tools` are canonical names, or `mail.*` for all
    that begin so. `origins` are `https://HOST` or `https://HOST:PORT`: a tool whose own definition does not
    send to one of them, such as any function, does not get the secret.
    """

    tenants: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    def fits(self, *, tenant: str, user: str, tool: str, origin: str | None) -> bool:
        """Tell whether a call may have the secret. `origin` is where its tool sends to, None: not known."""
        if self.tenants and tenant not in self.tenants:
            return False
        if self.users and user not in self.users:
            return False
        if self.tools and not any(_named(tool, pattern) for pattern in self.tools):
            return False
        return not self.origins or (origin is not None and _plain(origin) in map(_plain, self.origins))


Bindings = Mapping[str, Binding]


def read_bindings(given: Mapping[str, Any] | None) -> Bindings | None:
    """Return the bindings of a table: name of a secret to its binding. Raises ConfigError."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"secret_bindings takes a table of secrets and what each is for, not {given!r:.80}."
        )
    found: dict[str, Binding] = {}
    for name, value in given.items():
        if not is_secret_name(name):
            raise ConfigError(f"secret_bindings: {str(name)[:80]!r} cannot name a secret: {NAME_RULE}")
        try:
            binding = value if isinstance(value, Binding) else convert(value, Binding)
        except ValidationError as error:
            raise ConfigError(
                f"secret_bindings.{name}: {error}. Give lists of texts: tenants, users, tools, origins."
            ) from None
        for origin in binding.origins:
            if not _ORIGIN.fullmatch(origin):
                raise ConfigError(
                    f"secret_bindings.{name}.origins: {origin[:80]!r} is no origin. Write https://HOST or "
                    "https://HOST:PORT, without a path."
                )
        found[name] = binding
    return found


def _named(tool: str, pattern: str) -> bool:
    return tool.startswith(pattern[:-1]) if pattern.endswith(".*") else tool == pattern


def _plain(origin: str) -> str:
    """Return an origin in one writing: small letters, no port that is the usual one."""
    scheme, _, rest = origin.lower().partition("://")
    return f"{scheme}://{rest.removesuffix(_PORTS.get(scheme, ':'))}"
