"""Obligations: the closed list of duties that come with a decision. One that nobody knows is refused."""

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from gerbang.errors import PolicyError

ALONE: Final = frozenset({"dry_run", "two_person", "other_approver", "no_self_approval"})
"""`dry_run`: show what would happen first. `two_person`: two people must agree. `other_approver`: whoever
edits the call may not approve it. `no_self_approval`: the user of the run may not approve."""

LISTS: Final = frozenset({"approvers", "redact", "notify", "expires"})
"""`approvers`: roles of which an approver has one. `redact`: argument names that nobody is shown and no
record keeps. `notify`: who is told afterwards. `expires`: seconds after which a request for approval, or
the grant, is good for nothing; the shortest counts, and the gateway's own time when that is shorter."""

KNOWN: Final = ALONE | LISTS
_SECONDS: Final = re.compile(r"[1-9][0-9]{0,7}")
_WORD: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@/+-]{0,127}")


class Obligation(Struct, frozen=True, gc=False):
    """One duty: its name, and for the names of LISTS what it is about."""

    name: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the form that decisions carry: `two_person`, `approvers:ops,security`."""
        return f"{self.name}:{','.join(self.values)}" if self.values else self.name


def obligation(written: Any) -> Obligation:
    """Return an obligation from how it is written in a policy (`two_person`, `{approvers: [ops]}`) or in a
    decision (`approvers:ops,security`). Raises PolicyError, saying what is known.
    """
    if isinstance(written, str):
        name, colon, said = written.partition(":")
        values: Any = said.split(",") if colon else []
    elif isinstance(written, dict) and len(written) == 1:
        (name, values), *_ = written.items()
        values = [str(values)] if type(values) in (str, int) else values
    else:
        raise PolicyError("an obligation is a name, or one name with a list.")
    if name not in KNOWN:
        raise PolicyError(f"unknown obligation {str(name)[:80]!r}. Known: {', '.join(sorted(KNOWN))}.")
    if name in ALONE:
        if values:
            raise PolicyError(f"the obligation {name!r} stands alone, without a list.")
        return Obligation(name)
    if not isinstance(values, list) or not values:
        raise PolicyError(f"the obligation {name!r} takes a list of names, such as {{{name}: [ops]}}.")
    for value in values:
        if not isinstance(value, str) or not _WORD.fullmatch(value):
            raise PolicyError(
                f"the obligation {name!r} takes names of letters, digits and _ . @ / + -, "
                f"not {str(value)[:80]!r}."
            )
    if name == "expires" and not all(_SECONDS.fullmatch(value) for value in values):
        raise PolicyError("the obligation 'expires' takes whole seconds, such as {expires: ['600']}.")
    return Obligation(name, tuple(values))


def read_obligations(written: Iterable[Any]) -> tuple[Obligation, ...]:
    """Return the obligations of a decision, each once. Raises PolicyError for one that nobody knows."""
    return tuple(dict.fromkeys(map(obligation, written)))
