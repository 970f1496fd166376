"""A foreign model server on loopback: answers chat completions from a list, over a real socket."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = str | list[tuple[str, dict[str, Any]]] | float
"""Text, structured calls, or a number: seconds of silence before the connection is closed."""


class ModelServer:
    """Gives its answers in order, the last one again and again. `requests` are the bodies it got."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = list(answers)
        self.stopped = threading.Event()
        self.address = ""

    def next(self, body: dict[str, Any]) -> Answer:
        """Take one request."""
        self.requests.append(body)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@contextmanager
def serving(*answers: Answer) -> Iterator[ModelServer]:
    """Serve the answers; `address` is the model address for `--model`."""
    state = ModelServer(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = state.next(body)
            if isinstance(answer, float):
                state.stopped.wait(answer)
                self.close_connection = True
                return
            if body.get("stream"):
                self._send("text/event-stream", b"".join(_chunks(answer)))
            else:
                self._send("application/json", json.dumps(_whole(answer)).encode())

        def _send(self, kind: str, data: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            """Be silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    state.address = f"openai:scripted@http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield state
    finally:
        state.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _message(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    assert isinstance(answer, list)
    calls = [
        {
            "index": index,
            "id": f"call_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(answer)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _whole(answer: Answer) -> dict[str, Any]:
    message = _message(answer)
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": "c1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }


def _chunks(answer: Answer) -> Iterator[bytes]:
    message = _message(answer)
    reason = "tool_calls" if "tool_calls" in message else "stop"
    pieces = [message]
    if isinstance(answer, str):
        pieces = [{"content": answer[start : start + 4]} for start in range(0, len(answer), 4)]
    for piece in pieces:
        yield _event({"index": 0, "delta": piece, "finish_reason": None})
    yield _event({"index": 0, "delta": {}, "finish_reason": reason})
    yield b"data: [DONE]\n\n"


def _event(choice: dict[str, Any]) -> bytes:
    body = {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"
