"""Stands between a store and its server, and cuts the connection at the worst moment."""

import asyncio
import threading
from pathlib import Path
from typing import Literal

Cut = Literal["before COMMIT arrives", "before its answer arrives"]


class Proxy:
    """Listens on a socket in `folder` and passes on to the server's; runs in a thread of its own."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.folder = folder
        self._here = folder / ".s.PGSQL.5432"
        self._there = server / ".s.PGSQL.5432"
        self.cut: Cut | None = None
        self.cuts = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))
        self._thread.start()
        self._ready.wait()

    def close(self) -> None:
        """Cut all and stop. May be called twice."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        listening = await asyncio.start_unix_server(self._accept, self._here)
        self._ready.set()
        await self._over.wait()
        listening.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.01)  # the loop closes the sockets in its next turns

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._pass_on(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._there)
        except BaseException:
            writer.transport.abort()
            raise
        deaf = asyncio.Event()

        async def answers() -> None:
            while data := await from_server.read(65536):
                if deaf.is_set():
                    return
                writer.write(data)
                await writer.drain()

        async def questions() -> None:
            while data := await reader.read(65536):
                if self.cut and b"COMMIT\x00" in data:
                    cut, self.cut = self.cut, None
                    self.cuts += 1
                    if cut == "before its answer arrives":
                        deaf.set()
                        to_server.write(data)
                        await to_server.drain()
                        await answering
                    return
                to_server.write(data)
                await to_server.drain()

        answering = self._loop.create_task(answers())
        asking = self._loop.create_task(questions())
        try:
            await asyncio.wait((asking, answering), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (asking, answering):
                task.cancel()
            for side in (writer, to_server):
                side.transport.abort()
            await asyncio.gather(asking, answering, return_exceptions=True)
