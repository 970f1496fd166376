"""Points in time as texts: RFC 3339, read without a clock or a calendar of the machine's."""

import re
from typing import Final

_TEXT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?"
)
_DAYS_IN: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def seconds_of(text: str) -> float | None:
    """Return seconds since the epoch of `2026-01-31` or an RFC 3339 time (UTC when no offset is given).

    None for anything else, a thirtieth of February included.
    """
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    year, month, day = (int(part) for part in found.group(1, 2, 3))
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month) or year < 1:
        return None
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    if hour > 23 or minute > 59 or second > 60:
        return None
    seconds = _days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    return seconds + float(found.group(7) or 0) - _offset(found.group(8))


def _offset(zone: str | None) -> int:
    if zone is None or zone in "Zz":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[4:6])
    return 60 * (minutes if zone[0] == "+" else -minutes)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    return 29 if month == 2 and _leap(year) else _DAYS_IN[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719_162
    return days + sum(_days_in(year, earlier) for earlier in range(1, month)) + day - 1
