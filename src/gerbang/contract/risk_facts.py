"""Layer 4 of validation: what makes this call riskier than its class says. Facts only tighten."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gerbang.values import RiskClass

_DAY: Final = 86_400
_NONE: Final[Mapping[str, Any]] = {}
_CLAIMS: Final = frozenset({"medium", "high"})
_CLAIM_CHARS: Final = 20


class WorkingHours(Struct, frozen=True, gc=False):
    """When people are there to notice: `from_hour` to `to_hour` (24-hour clock) on `days` (0 is Monday).

    `utc_offset_min` is the local time's distance from UTC in minutes.
    """

    from_hour: int = 8
    to_hour: int = 18
    days: frozenset[int] = frozenset(range(5))
    utc_offset_min: int = 0

    def covers(self, now: float) -> bool:
        """Tell whether `now` (seconds since the epoch) lies within them."""
        local = now + self.utc_offset_min * 60
        day = int(local // _DAY) + 3  # the epoch began on a Thursday
        return day % 7 in self.days and self.from_hour <= (local % _DAY) / 3600 < self.to_hour


def risk_facts(
    declared: Sequence[str],
    risk: RiskClass,
    arguments: Mapping[str, Any],
    now: float,
    hours: WorkingHours | None,
    repaired: bool,
    known_origin: bool = True,
) -> Mapping[str, Any]:
    """Return the facts that hold, by the names of `gerbang.policy.input.RISK_FACTS`.

    `declared` is what the contract says of every call. `model_claim` is a `risk` argument in which the
    model itself calls the command medium or high: a claim can only raise.
    """
    if not (declared or repaired or hours) and known_origin and "risk" not in arguments:
        return _NONE
    facts: dict[str, Any] = dict.fromkeys(declared, True)
    if repaired:
        facts["repaired_arguments"] = True
    claim = arguments.get("risk")
    if type(claim) is str and (said := claim[:_CLAIM_CHARS].strip().lower()) in _CLAIMS:
        facts["model_claim"] = said
    if hours is not None and not risk.is_read and not hours.covers(now):
        facts["outside_hours"] = True
    if not known_origin:
        facts["unknown_origin"] = True
    return facts
