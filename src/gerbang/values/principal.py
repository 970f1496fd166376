"""Who a call is made for. Always given by the runtime, never by the model."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import force_setattr


class Principal(Struct, frozen=True, gc=False):
    """The actor on whose behalf calls are made.

    `user` and `tenant` are identifiers of the embedding system. `scopes` are permissions such as
    `weather` or `repo:write`; `roles` are names that policies match. `agent` names the delegate that
    acts for the user, when there is one; `team` is whose budget the user's calls count against;
    `delegated_by` is the chain of those who passed the authority on, the first giver first. Sets, lists and
    tuples are accepted for scopes and roles.
    """

    user: str
    tenant: str = "local"
    scopes: Iterable[str] = ()
    roles: Iterable[str] = ()
    agent: str | None = None
    team: str | None = None
    delegated_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("scopes", "roles"):
            value = getattr(self, name)
            if isinstance(value, str):
                raise TypeError(
                    f"Principal.{name} takes a set of strings, not one string: write {{{value!r}}}"
                )
            force_setattr(self, name, frozenset(value))


LOCAL = Principal(user="local")
"""The person at this machine: who calls are made for when no principal is given."""
