"""Time zones by name, from the system's or the tzdata package's data. Read once, when a policy is loaded."""

from gerbang.policy.hours import OffsetAt


def zone(name: str) -> OffsetAt | None:
    """Return the offsets of an IANA zone, or None when it is not known on this machine."""
    import datetime  # only for policies that name a zone
    import zoneinfo

    try:
        found = zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):  # the last two: names that are no names
        return None

    def offset(at: float) -> int:
        east = datetime.datetime.fromtimestamp(at, found).utcoffset()
        return 0 if east is None else int(east.total_seconds())

    return offset
