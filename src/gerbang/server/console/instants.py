"""Times as people read them."""

import datetime


def when(seconds: float | None) -> str:
    """Return a time (seconds since the epoch) in UTC; empty when it is none."""
    if seconds is None or not 0 < seconds < 4e9:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")
