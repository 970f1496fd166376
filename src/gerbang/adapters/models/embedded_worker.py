"""The embedded model's own process: `python -m gerbang.adapters.models.embedded_worker`.

Reads frames from stdin and answers each on stdout. It starts without secrets in its environment, gives up
the network before the model's package is imported, and ends when stdin does.

Request: `{"tools": JSON text of the tools, "turns": [text, ...]}`: the first turn is the person's request,
each later one the results of the calls before it. Answer: `{"calls": [{"name", "arguments"}]}` for the last
turn, or `{"error": text}`. The first frame, sent once the model is loaded, is `{"ready": true,
"sealed": bool}`.
"""

import importlib
import os
import sys
from typing import Any, BinaryIO, Final

from gerbang.adapters.models.frames import FrameError, read_frame, write_frame
from gerbang.adapters.models.lockdown import refuse_network

FLAGS: Final = {"NEEDLE_TELEMETRY": "0", "DO_NOT_TRACK": "1"}
"""What turns the package's telemetry off; set by the parent and again here."""
MAX_NEW_TOKENS: Final = 512


class _Engine:
    """One model in this process. A change of tools loads them anew; the weights stay."""

    def __init__(self) -> None:
        # The package's import name; loaded after the fences, and only in this process.
        self._needle: Any = importlib.import_module("needle")
        self._tools = "[]"
        self._model = self._needle.Needle(tools=self._tools, auto_date=False)

    def answer(self, tools: str, turns: list[str]) -> list[dict[str, Any]]:
        """Play the turns from a clean state and return the calls of the last one."""
        if tools != self._tools:
            self._model.close()
            self._model = self._needle.Needle(tools=tools, auto_date=False)
            self._tools = tools
        self._model.reset()
        response: dict[str, Any] = {}
        for turn in turns:
            response = self._model.complete(turn, MAX_NEW_TOKENS)
        return [
            {"name": call.get("name"), "arguments": call.get("arguments")}
            for call in response.get("function_calls") or []
        ]


def _channel() -> tuple[BinaryIO, BinaryIO]:
    """Take stdin and stdout for frames; whatever the package prints goes to stderr instead."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return reader, writer


def main() -> int:
    """Serve until stdin ends. Returns the exit code."""
    reader, writer = _channel()
    os.environ.update(FLAGS)
    sealed = refuse_network()
    try:
        engine = _Engine()
    except (ImportError, OSError, RuntimeError) as error:
        write_frame(writer, {"error": f"{type(error).__name__}: {error}"})
        return 1
    write_frame(writer, {"ready": True, "sealed": sealed})
    while True:
        try:
            request = read_frame(reader)
        except FrameError:
            return 0
        try:
            reply: dict[str, Any] = {"calls": engine.answer(request["tools"], request["turns"])}
        except Exception as error:  # foreign engine: any failure is told to the parent, which decides
            reply = {"error": f"{type(error).__name__}: {error}"}
        write_frame(writer, reply)


if __name__ == "__main__":
    sys.exit(main())
