"""The connections that the tools of one file share; nothing is loaded or opened before the first call."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gerbang.adapters.tools.http_client import HttpClient


class HttpPool:
    """Holds the client of some tools."""

    def __init__(self) -> None:
        self._client: HttpClient | None = None

    def client(self) -> "HttpClient":
        """Return the client; the first time this loads the HTTP library."""
        if self._client is None:
            from gerbang.adapters.tools.http_client import HttpClient

            self._client = HttpClient()
        return self._client

    async def aclose(self) -> None:
        """Close the connections once no call uses them. The next call opens new ones."""
        if self._client is not None:
            await self._client.aclose()
