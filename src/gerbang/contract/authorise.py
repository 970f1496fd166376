"""Layer 3 of validation: may this actor make this call? Scopes, classes of data, tenants."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gerbang.values import CallError, Contract, Principal
from gerbang.values.pointer import pointer
from gerbang.values.sentences import field, said

CLEARANCE: Final[Mapping[str, frozenset[str]]] = {
    "confidential": frozenset({"data:confidential", "data:restricted"}),
    "restricted": frozenset({"data:restricted"}),
}
"""Scopes of which an actor needs one for a tool that hands out data of the class."""
_PARTS: Final = frozenset("/:#|\\")
_DECODINGS: Final = 4
_ENCODED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")


def named_resources(contract: Contract, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield argument, kind and name of each thing of a tenant's that the arguments name."""
    for argument, ref in contract.resources.items():
        value = arguments.get(argument)
        for name in value if isinstance(value, list) else (value,):
            if name is not None:
                yield argument, ref.kind, str(name)


def owner_of(contract: Contract, argument: str, name: str, principal: Principal) -> str | None:
    """Return the tenant whose the thing is, by its prefix; None when that cannot be told from the name."""
    prefix = contract.resources[argument].tenant_prefix
    if prefix is None:
        return None
    own = prefix.replace("{tenant}", principal.tenant)
    if name.startswith(own) and _ends(own, name) and not _climbs(name):
        return principal.tenant
    return "another"


def authorised(
    contract: Contract,
    arguments: Mapping[str, Any],
    principal: Principal,
    owners: Mapping[tuple[str, str], str],
) -> CallError | None:
    """Return what the actor lacks, all of it, or None.

    `owners` tells for a kind and a name whose the thing is, as resolvers found it. A thing that has neither a
    prefix in the contract nor an owner found is nobody's to use: None of the rules let it pass.
    """
    missing = sorted(contract.scopes.difference(principal.scopes))
    cleared = CLEARANCE.get(contract.data_class or "")
    if cleared is not None and cleared.isdisjoint(principal.scopes):
        missing.append(f"data:{contract.data_class}")
    if missing:
        return said(
            "permission_denied",
            "SCOPE_MISSING",
            {"scopes": ", ".join(missing)},
        )
    foreign = []
    for argument, kind, name in named_resources(contract, arguments):
        found = owners.get((kind, name))
        owner = owner_of(contract, argument, name, principal) if found is None else found
        if owner != principal.tenant:
            foreign.append(field(pointer([argument]), "TENANT_MISMATCH", "foreign", kind=kind))
    if foreign:
        return said("permission_denied", "TENANT_MISMATCH", invalid_fields=tuple(foreign[:20]))
    return None


def _decoded(match: re.Match[bytes]) -> bytes:
    return bytes((int(match[1], 16),))


def _ends(own: str, name: str) -> bool:
    """Tell whether the prefix ends where it seems to: `acme` is no prefix of what `acme2` has."""
    return len(own) == len(name) or not own[-1:].isalnum() or name[len(own)] in _PARTS


def _climbs(name: str) -> bool:
    """Tell whether a name could lead out of its prefix once something resolves it as a path.

    That something may decode it first, more than once, or take letters that look like dots for dots.
    """
    for _ in range(_DECODINGS):
        plain = unicodedata.normalize("NFKC", name).replace("\\", "/")
        if "\0" in plain or any(part.partition(";")[0].strip() == ".." for part in plain.split("/")):
            return True
        decoded = _ENCODED.sub(_decoded, name.encode("utf-8", "replace")).decode("utf-8", "replace")
        if decoded == name:
            return False
        name = decoded
    return True
