"""What a request for approval was made under. Kept with it, so that each change since has its own name."""

from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gerbang.approval.machine import binding
from gerbang.values import Principal
from gerbang.values.canonical import digest


class Asker(Struct, frozen=True, gc=False, omit_defaults=True):
    """Who a call is made for, and what for."""

    user: str
    tenant: str
    agent: str | None = None
    delegated_by: tuple[str, ...] = ()
    purpose: str | None = None


class Terms(Struct, frozen=True, gc=False, omit_defaults=True):
    """The circumstances of a request.

    `run` is empty for a call that was made without a run of its caller's own. `fingerprint` is that of the
    arguments that were asked for. `files` maps the paths that the call names to digests of their content.
    `duties` are the obligations of the decision, `masked` the arguments that nobody is shown. `step_id` and
    `call_id` are those of the call in the record.
    """

    asker: Asker
    run: str
    contract: str
    policy_version: str
    tainted: bool = False
    files: dict[str, str] = {}
    duties: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    fingerprint: str = ""
    risk: str = ""
    step_id: str = ""
    call_id: str = ""

    def bind(self, key: str, arguments: bytes) -> str:
        """Return the binding of a call under these terms."""
        who = self.asker
        return binding(
            key=key,
            arguments=arguments,
            contract=self.contract,
            policy_version=self.policy_version,
            asker=digest(["asker", who.user, who.tenant, who.agent, who.purpose]),
            run=self.run,
            taint="tainted" if self.tainted else "clean",
            files=self.files,
        )


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Terms)


def asker(principal: Principal, purpose: str | None) -> Asker:
    """Return who asks."""
    return Asker(principal.user, principal.tenant, principal.agent, tuple(principal.delegated_by), purpose)


def is_theirs(terms: Terms, who: Asker, run: str) -> bool:
    """Tell whether what was asked for was asked for by `who`, in that run: then it is theirs to use or lose.

    `run` is empty for a call without a run of its caller's own.
    """
    return terms.run == run and is_same(terms.asker, who)


def is_same(one: Asker, other: Asker) -> bool:
    """Tell whether two askers are one, whoever passed the authority on."""
    return replace(one, delegated_by=()) == replace(other, delegated_by=())


def written(terms: Terms) -> str:
    """Return the terms as they are kept."""
    return _ENCODER.encode(terms).decode()


def read_terms(text: str) -> Terms | None:
    """Return the terms that were kept; None for those of a version of this program that kept none."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return None


def difference(then: Terms, now: Terms) -> tuple[str, str] | None:
    """Return what has changed since a request was made, and of a file its name; None when nothing has.

    One of `asker`, `run`, `contract`, `policy`, `taint`, `file`.
    """
    a, b = then.asker, now.asker
    if (a.user, a.tenant, a.agent, a.purpose) != (b.user, b.tenant, b.agent, b.purpose):
        return "asker", ""
    if then.run != now.run:
        return "run", ""
    if then.contract != now.contract:
        return "contract", ""
    if then.policy_version != now.policy_version:
        return "policy", ""
    if then.tainted != now.tainted:
        return "taint", ""
    if then.files != now.files:
        names = {**then.files, **now.files}
        return "file", next(name for name in sorted(names) if then.files.get(name) != now.files.get(name))
    return None
