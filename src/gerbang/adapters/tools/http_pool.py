"""The connections that the tools of one file share; nothing is loaded or opened before the first call."""

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gerbang.adapters.tools.http_client import HttpClient


class HttpPool:
    """Holds a client for each event loop that calls come from: usually one."""

    def __init__(self) -> None:
        self._clients: dict[asyncio.AbstractEventLoop, HttpClient] = {}

    def client(self) -> "HttpClient":
        """Return the client of the running event loop; the first time this loads the HTTP library."""
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            from gerbang.adapters.tools.http_client import HttpClient

            for other in [other for other in self._clients if other.is_closed()]:
                del self._clients[other]
            found = self._clients[loop] = HttpClient()
        return found

    async def aclose(self) -> None:
        """Close this event loop's connections once no call uses them. The next call opens new ones."""
        found = self._clients.get(asyncio.get_running_loop())
        if found is not None:
            await found.aclose()
