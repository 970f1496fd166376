"""Logs of the server: one JSON object a line on standard error, secrets masked."""

import datetime
import logging
import sys
from typing import Any, Final

import msgspec

from gerbang.audit.redact import redact

_ENCODER: Final = msgspec.json.Encoder(enc_hook=str)
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_MAX_TEXT: Final = 8_000


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON. Its text and its fields go through the redaction first."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        body: dict[str, Any] = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _clean(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in _OWN and not name.startswith("_"):
                body[name] = _clean(value) if isinstance(value, str) else value
        if record.exc_info and record.exc_info[0] is not None:
            body["trace"] = _clean(self.formatException(record.exc_info))
        return _ENCODER.encode(body).decode("utf-8", "replace")


def configure(level: str) -> None:
    """Send the logs of Gerbang and its HTTP server to standard error, from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("gerbang", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.getLogger("gerbang").level))
    logging.getLogger("gerbang.access").setLevel(logging.INFO)


def _clean(text: str) -> str:
    return redact(text[:_MAX_TEXT])
