"""A llama.cpp server in its own process: `python -m gerbang.adapters.models.gguf_worker`.

Request, one frame on stdin: `{"path", "context", "key"}`. Answer, one frame on stdout: `{"port"}` once the
model is loaded and the server listens, or `{"error"}`. It serves on loopback only, asks for the key, fetches
nothing, and ends when stdin does, so it never outlives the process that started it.
"""

import importlib
import os
import sys
from typing import Any
from urllib.parse import urlsplit

from gerbang.adapters.models.frames import FrameError, read_frame, write_frame


def _start(request: dict[str, Any]) -> Any:
    engine: Any = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = request["path"]
    params.n_ctx = request["context"]
    params.n_parallel = 1  # the window is divided among slots; one slot has it whole
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system picks a free one
    params.api_keys = [request["key"]]
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.use_jinja = True
    params.verbosity = 0
    # The engine's threads wait by spinning: with every core taken, the client that reads slows them all.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 2) - 1)
    return engine.Server(params)


def main() -> int:
    """Serve until stdin ends. Returns the exit code."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the engine prints is no frame
    try:
        request = read_frame(reader)
        server = _start(request)
    except FrameError:
        return 0
    except Exception as error:  # foreign engine: any failure to start is told to the parent
        write_frame(writer, {"error": f"{type(error).__name__}: {error}"})
        return 1
    write_frame(writer, {"port": urlsplit(server.listening_address).port})
    try:
        while True:
            read_frame(reader)
    except FrameError:
        os._exit(0)  # at once: the engine's own shutdown waits for answers nobody reads any more


if __name__ == "__main__":
    sys.exit(main())
