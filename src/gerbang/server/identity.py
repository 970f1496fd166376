"""Who calls: what an authenticator gives, and the rights that routes ask for."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct

from gerbang.values import LOCAL, Principal

RIGHTS: Final = ("calls", "runs", "approvals", "audit", "tools", "metrics", "admin")
"""What a key may do on the server: make calls; start and see runs; decide approvals; read the audit chain;
replace tool definitions; read metrics; name secrets in definitions. What *tools* it may use is said by the
scopes and roles of its principal, which policies see."""

_ALL_BUT_ADMIN: Final = frozenset(RIGHTS) - {"admin"}


class Caller(Struct, frozen=True, gc=False):
    """Who sent a request. `key_id` is public; `authenticated` is False for the person at this machine.

    `rate_per_s` is the key's own rate, None for the server's.
    """

    principal: Principal
    rights: frozenset[str]
    key_id: str
    authenticated: bool
    rate_per_s: float | None = None

    @property
    def key(self) -> str | None:
        """The id of the key that was shown; None for the person at this machine."""
        return self.key_id if self.authenticated else None

    def may(self, right: str) -> bool:
        """Tell whether the caller has a right."""
        return right in self.rights


class Authenticator(Protocol):
    """Finds out who calls. Keys implement it; OIDC or a console's sessions can."""

    @property
    def open_to_all(self) -> bool:
        """True when nobody has to say who they are: then only loopback may be bound."""
        ...

    async def authenticate(self, headers: Mapping[bytes, bytes]) -> Caller | None:
        """Return the caller that the headers (names in small letters) prove, or None.

        Never raises for what a client sends. A ConfigError means that nobody can be authenticated now.
        """
        ...

    def returning(self, key_id: str) -> Caller | None:
        """Return the caller that was authenticated under a `key_id`, None when they may no longer be here."""
        ...

    def principals(self, user: str, tenant: str) -> Sequence[Principal]:
        """Return what the user may have now, newest first, for work that goes on without a request of theirs.

        One for each way in that they have: a user's agent may have less than the user.
        """
        ...


NOBODY: Final = Caller(Principal("nobody", "nobody"), frozenset(), "none", False)
"""Who calls a route that asks for no right: it may be anybody, so it is nobody."""

LOCAL_CALLER: Final = Caller(LOCAL, _ALL_BUT_ADMIN, "local", False)
"""The person at this machine, when no keys are configured: all rights but `admin`."""
