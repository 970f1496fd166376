"""Who a call is made for. Always given by the runtime, never by the model."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import force_setattr

MAX_NAME: Final = 512
"""Longest name of a person, a run, a key that can be recorded, in characters."""


class Principal(Struct, frozen=True, gc=False):
    """The actor on whose behalf calls are made.

    `user` and `tenant` are identifiers of the embedding system. `scopes` are permissions such as
    `weather` or `repo:write`; `roles` are names that policies match. `agent` names the delegate that
    acts for the user, when there is one; `team` is whose budget the user's calls count against;
    `delegated_by` is the chain of those who passed the authority on, the first giver first. Sets, lists and
    tuples of names are accepted for these three. Raises TypeError for anything else there.
    """

    user: str
    tenant: str = "local"
    scopes: Iterable[str] = ()
    roles: Iterable[str] = ()
    agent: str | None = None
    team: str | None = None
    delegated_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "scopes", frozenset(_names("scopes", self.scopes)))
        force_setattr(self, "roles", frozenset(_names("roles", self.roles)))
        force_setattr(self, "delegated_by", _names("delegated_by", self.delegated_by))


def is_name(value: object) -> bool:
    """Tell whether a value is a text that can stand in a record as a name: neither empty nor endless."""
    if type(value) is not str or not value or len(value) > MAX_NAME:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def unfit(who: Principal) -> str:
    """Return which of the names of a principal cannot be recorded, such as `user`; empty when all can."""
    if not is_name(who.user):
        return "user"
    if not is_name(who.tenant):
        return "tenant"
    if who.agent is not None and not is_name(who.agent):
        return "agent"
    return "team" if who.team is not None and not is_name(who.team) else ""


def _names(field: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError(f"Principal.{field} takes a set of strings, not one string: write {{{value!r}}}")
    names = tuple(value) if isinstance(value, Iterable) else (None,)
    if not all(is_name(name) for name in names):
        raise TypeError(
            f"Principal.{field} takes names: texts of 1 to {MAX_NAME} characters that can be recorded."
        )
    return names


LOCAL = Principal(user="local")
"""The person at this machine: who calls are made for when no principal is given."""
