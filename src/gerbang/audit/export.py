"""Events in the forms in which other programs take them: plain JSON, and CloudEvents 1.0 in JSON."""

from typing import Any, Final

import msgspec

from gerbang.values.record import EventRow

_TIMES: Final = ("at", "finished_at", "started_at")
_END: Final = 253_402_300_800.0  # the year 10000
_EPOCH: Final = "1970-01-01T00:00:00.000Z"


def moment(seconds: float) -> str:
    """Return a time as RFC 3339 in UTC, to the millisecond. What is no time becomes the epoch."""
    if not 0 <= seconds < _END:
        return _EPOCH
    millis = int(seconds * 1000)
    days, rest = divmod(millis, 86_400_000)
    # The civil calendar counted in eras of 400 years that begin on the first of March.
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month += 3 if month < 10 else -9
    year += era * 400 + (month <= 2)
    hour, minute, second = rest // 3_600_000, rest // 60_000 % 60, rest // 1000 % 60
    return f"{year:04}-{month:02}-{day + 1:02}T{hour:02}:{minute:02}:{second:02}.{rest % 1000:03}Z"


def body_of(event: EventRow) -> dict[str, Any]:
    """Return the body of an event; what cannot be read as a JSON object stands under `unreadable`."""
    try:
        body = msgspec.json.decode(event.body)
    except msgspec.MsgspecError:
        body = None
    return body if isinstance(body, dict) else {"unreadable": event.body.decode("utf-8", "backslashreplace")}


def time_of(body: dict[str, Any]) -> float:
    """Return when an event happened, in seconds since the epoch; 0.0 when it does not say."""
    return next((value for name in _TIMES if isinstance(value := body.get(name), int | float) and value), 0.0)


def plain(event: EventRow) -> dict[str, Any]:
    """Return an event with its place in the chain."""
    return {
        "run_id": event.run_id,
        "seq": event.seq,
        "kind": event.kind,
        "digest": event.digest.hex(),
        "body": body_of(event),
    }


def cloud_event(event: EventRow, store: str) -> dict[str, Any]:
    """Return an event as a CloudEvent (specification 1.0.2, JSON format). `store` is the name of the store.

    `source` and `id` together are unique. The extensions `gerbangseq` and `gerbangdigest` give the event's
    place in the chain of its run, which `subject` names.
    """
    body = body_of(event)
    return {
        "specversion": "1.0",
        "id": f"{event.run_id}/{event.seq}",
        "source": f"urn:gerbang:store:{store}",
        "type": f"gerbang.{event.kind}",
        "subject": event.run_id,
        "time": moment(time_of(body)),
        "datacontenttype": "application/json",
        "gerbangseq": str(event.seq),
        "gerbangdigest": event.digest.hex(),
        "data": body,
    }
