"""Kill switches: which are on, turning one on, turning it off again, each with a reason."""

from collections.abc import Iterable
from typing import Final

from gerbang.errors import UsageError
from gerbang.server.console import pages
from gerbang.server.console.tools import offered
from gerbang.server.console.visit import Page, Visit
from gerbang.server.problems import problem
from gerbang.server.replies import Reply
from gerbang.values.record import Kill

KINDS: Final = ("tool", "group", "tenant", "all")
_MAX_REASON: Final = 500
_DONE: Final = ("killed", "revived")


async def listed(visit: Visit) -> Reply:
    """Show the switches that concern the person's tenant; to who looks after the server, all of them."""
    asked = visit.query(done=_done)
    kills = await visit.gateway.kills()
    contracts = offered(visit)
    seen = {f"tool:{contract.name}" for contract in contracts}
    seen |= {f"group:{contract.group}" for contract in contracts if contract.group}
    return visit.page(
        "switches.html",
        kills=kills if visit.rules_all else list(_theirs(kills, visit.tenant, seen)),
        own=f"tenant:{visit.tenant}",
        all=visit.rules_all,
        kinds=KINDS if visit.rules_all else ("tenant",),
        names=sorted({contract.name for contract in contracts} | {one.group for one in contracts} - {""}),
        done=asked.get("done"),
    )


async def kill(visit: Visit) -> Reply:
    """Turn a switch on."""
    kind = visit.form.get("kind", "")
    name = visit.form.get("name", "").strip()
    target = "all" if kind == "all" else f"{kind}:{name}" if visit.rules_all else f"tenant:{visit.tenant}"
    reason = _allowed(visit, target)
    try:
        await visit.gateway.kill(target, by=visit.who, reason=reason)
    except UsageError as error:
        raise problem(422, "validation_error", "TARGET", str(error)) from None
    return pages.moved("/console/switches?done=killed")


async def revive(visit: Visit) -> Reply:
    """Turn a switch off again."""
    target = visit.form.get("target", "")
    reason = _allowed(visit, target)
    try:
        await visit.gateway.revive(target, by=visit.who, reason=reason)
    except UsageError as error:
        raise problem(422, "validation_error", "TARGET", str(error)) from None
    return pages.moved("/console/switches?done=revived")


def _allowed(visit: Visit, target: str) -> str:
    """Return the reason that was given. Raises Problem without one, and for a switch of others."""
    if not visit.rules_all and target != f"tenant:{visit.tenant}":
        raise problem(403, "permission_denied", "RIGHT_MISSING", visit.said("right_missing", right="admin"))
    reason = visit.form.get("reason", "").strip()
    if not 0 < len(reason) <= _MAX_REASON:
        raise problem(422, "validation_error", "REASON", visit.said("reason_needed", limit=_MAX_REASON))
    return reason


def _theirs(kills: Iterable[Kill], tenant: str, seen: set[str]) -> Iterable[Kill]:
    """Yield the switches that stop the tenant's calls. Why others turned one is theirs to know."""
    for one in kills:
        if one.target == f"tenant:{tenant}":
            yield one
        elif one.target == "all" or one.target in seen:
            yield Kill(one.target, "", "", one.at)


def _done(value: str) -> str:
    if value not in _DONE:
        raise ValueError("it is not known")
    return value


PAGES: Final = (
    Page("GET", "/console/switches", "approvals", listed),
    Page("POST", "/console/switches/kill", "approvals", kill),
    Page("POST", "/console/switches/revive", "approvals", revive),
)
