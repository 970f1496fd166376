"""Names of runs that callers choose: each tenant has names of its own, so that none can learn of another's.

Inside, the name of a caller with a key is `NAME~TENANT`, where TENANT is short for the tenant. Two tenants
that both say `r1` have two runs, and neither is told anything. Answers carry the name that was given. The
person at the machine, who is there alone, keeps names as they are; so do agent runs, which the server names.
"""

import hashlib
from functools import lru_cache
from typing import Any, Final

from gerbang.server.identity import Caller

MAX_GIVEN: Final = 480
"""The longest name that may be given: the tenant's part comes behind it."""


@lru_cache(1_024)
def _mark(tenant: str) -> str:
    return "~" + hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def inner_name(caller: Caller, given: str | None) -> str | None:
    """Return the name under which a run that a caller named is kept; None for none."""
    if given is None or not caller.authenticated:
        return given
    return given + _mark(caller.principal.tenant)


def marked(run_id: str, tenant: str) -> str:
    """Return the name under which a tenant's run of that name would be kept, if a caller named it."""
    return run_id + _mark(tenant)


def given_name(run_id: str, tenant: str) -> str:
    """Return the name that a run was given."""
    return run_id.removesuffix(_mark(tenant))


def result_as_given(result: dict[str, Any], tenant: str) -> dict[str, Any]:
    """Put the given name into a result's JSON form, and return it."""
    inner = result["run_id"]
    given = result["run_id"] = given_name(inner, tenant)
    if given != inner and (result.get("event_id") or "").startswith(inner):
        result["event_id"] = given + result["event_id"][len(inner) :]
    return result
