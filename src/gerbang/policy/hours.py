"""Windows of time: days and hours in a time zone. Seconds since the epoch come in; no clock is read."""

import re
from collections.abc import Callable
from typing import Any, Final

from gerbang.policy.where import Where, short

OffsetAt = Callable[[float], int]
"""The seconds east of UTC that hold at a time (seconds since the epoch)."""
Zones = Callable[[str], OffsetAt | None]
"""Gives the offsets of an IANA zone, or None when the name is not known."""
Window = Callable[[float], bool]

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FIXED: Final = re.compile(r"([+-])([01][0-9]|2[0-3]):([0-5][0-9])")
_SPAN: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-4]):([0-5][0-9])")
_DAY_S: Final = 86_400
_THURSDAY: Final = 3  # the epoch began on one


def window(want: Any, where: Where, zones: Zones | None) -> Window:
    """Return whether a time lies in the window `{days, hours, zone}`. `days` or `hours` may be left out.

    `hours` is `08:00-17:30`, its end not included; one that ends before it begins goes over midnight and
    belongs to the day on which it begins. `zone` is `UTC`, a fixed offset such as `+07:00`, or an IANA name
    that `zones` knows. Raises MisplacedError.
    """
    if not isinstance(want, dict) or not want.keys() & {"days", "hours"}:
        raise where.error("takes a mapping with 'days' or 'hours', and 'zone'.")
    for key in want:
        if key not in ("days", "hours", "zone"):
            raise where.at(key, "").error(f"unknown field {short(key)}. Known: days, hours, zone.")
    days = _days(want.get("days", list(DAYS)), where.at("days", ".days"))
    begin, end = _span(want.get("hours", "00:00-24:00"), where.at("hours", ".hours"))
    offset = _offset(want.get("zone"), where.at("zone", ".zone"), zones)

    def inside(at: float) -> bool:
        local = at + offset(at)
        day, second = divmod(local, _DAY_S)
        weekday = (int(day) + _THURSDAY) % 7
        if begin < end:
            return begin <= second < end and weekday in days
        if second >= begin:
            return weekday in days
        return second < end and (weekday - 1) % 7 in days

    return inside


def _days(want: Any, where: Where) -> frozenset[int]:
    names = want if isinstance(want, list) else [want]
    if not names or not all(name in DAYS for name in names if isinstance(name, str)):
        raise where.error(f"takes days of: {', '.join(DAYS)}.")
    if not all(isinstance(name, str) for name in names):
        raise where.error(f"takes days of: {', '.join(DAYS)}.")
    return frozenset(DAYS.index(name) for name in names)


def _span(want: Any, where: Where) -> tuple[int, int]:
    match = _SPAN.fullmatch(want) if isinstance(want, str) else None
    if match is None:
        raise where.error("takes a span such as '08:00-17:30', in quotes.")
    begin = int(match[1]) * 3600 + int(match[2]) * 60
    end = int(match[3]) * 3600 + int(match[4]) * 60
    if begin == end or end > _DAY_S:
        raise where.error("takes a span that begins and ends at different times, at most '24:00'.")
    return begin, end


def _offset(want: Any, where: Where, zones: Zones | None) -> OffsetAt:
    if not isinstance(want, str):
        raise where.error(
            "is missing. Write 'UTC', an offset such as '+07:00', or a zone such as Asia/Jakarta."
        )
    fixed = _FIXED.fullmatch(want)
    if want == "UTC" or fixed is not None:
        seconds = 0 if fixed is None else int(fixed[2]) * 3600 + int(fixed[3]) * 60
        east = -seconds if fixed is not None and fixed[1] == "-" else seconds
        return lambda at: east
    found = zones(want) if zones is not None else None
    if found is None:
        raise where.error(
            f"the time zone {short(want)} is not known here. Check its spelling, install the package tzdata, "
            "or write an offset such as '+07:00'."
        )
    return found
