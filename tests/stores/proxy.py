"""Stands between a store and its server, and cuts the connection at the worst moment."""

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

Cut = Literal["before COMMIT arrives", "before its answer arrives"]
_SOCKET = ".s.PGSQL.5432"


class Proxy:
    """Listens on a socket in `folder` and passes on to the server's."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self.cut: Cut | None = None
        self.cuts = 0
        self.last = False  # True: after a cut nobody is let in any more
        self._there = str(server / _SOCKET)
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._over = False
        self._lock = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / _SOCKET))
        self._listening.listen()
        self._start(self._accept)

    def close(self) -> None:
        """Cut all and stop. May be called twice."""
        with self._lock:
            self._over = True
            for one in (*self._open, self._listening):
                _end(one)
        for thread in self._threads:
            thread.join()
        self._listening.close()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                if self._over:
                    client.close()
                    return
                server = socket.socket(socket.AF_UNIX)
                self._open |= {client, server}
            self._start(self._pass_on, client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        deaf = threading.Event()
        answered = threading.Event()

        def answers() -> None:
            with contextlib.suppress(OSError):
                while data := server.recv(65536):
                    if deaf.is_set():
                        answered.set()
                        return
                    client.sendall(data)
            answered.set()
            _end(client)

        with contextlib.suppress(OSError):
            server.connect(self._there)
            answering = threading.Thread(target=answers)
            answering.start()
            with contextlib.suppress(OSError):
                while data := client.recv(65536):
                    if self.cut and b"COMMIT\x00" in data:
                        cut, self.cut = self.cut, None
                        if self.last:
                            self._over = True
                            _end(self._listening)
                        if cut == "before its answer arrives":
                            deaf.set()
                            server.sendall(data)
                            answered.wait()
                        self.cuts += 1
                        break
                    server.sendall(data)
            _end(server)
            _end(client)
            answering.join()
        with self._lock:
            self._open -= {client, server}
        client.close()
        server.close()


def _end(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
