"""`/openapi.json`, and `/docs` with Swagger UI from shipped files: nothing is fetched from elsewhere."""

import gzip
from functools import lru_cache
from importlib.resources import files
from typing import Final

import msgspec

from gerbang.server.openapi import document
from gerbang.server.operation import Answer, Exchange, Operation, RouteGroup
from gerbang.server.problems import not_found
from gerbang.server.replies import Reply

_ASSETS: Final = {
    "swagger-ui-bundle.js": b"text/javascript; charset=utf-8",
    "swagger-ui.css": b"text/css; charset=utf-8",
    "start.js": b"text/javascript; charset=utf-8",
    "favicon-32x32.png": b"image/png",
}
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    b"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_KEPT: Final = (b"cache-control", b"public, max-age=3600")
_PAGE: Final = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gerbang: the API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<main id="swagger-ui"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
_START: Final = b"""window.ui = SwaggerUIBundle({
  url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis], layout: "BaseLayout", tryItOutEnabled: true
});
"""


async def page(_: Exchange) -> Reply:
    """Give the page."""
    return Reply(_PAGE, 200, b"text/html; charset=utf-8", ((b"content-security-policy", _POLICY),))


async def asset(exchange: Exchange) -> Reply:
    """Give a file of the page, compressed where the client takes that."""
    name = exchange.path[0]
    kind = _ASSETS.get(name)
    if kind is None:
        raise not_found("such file")
    if name == "start.js":
        return Reply(_START, 200, kind, (_KEPT,))
    packed = _packed(name)
    if packed is None:
        return Reply(_plain(name), 200, kind, (_KEPT,))
    vary = (b"vary", b"accept-encoding")
    if "gzip" in (exchange.header(b"accept-encoding") or ""):
        return Reply(packed, 200, kind, (_KEPT, vary, (b"content-encoding", b"gzip")))
    return Reply(gzip.decompress(packed), 200, kind, (_KEPT, vary))


def group(others: list[RouteGroup]) -> RouteGroup:
    """Return the group of the documents of these groups."""

    async def openapi(_: Exchange) -> Reply:
        """Give the document of the API."""
        return Reply(text())

    @lru_cache(maxsize=1)
    def text() -> bytes:
        return msgspec.json.encode(document([*others, made]))

    made = RouteGroup(
        "documents",
        "This document.",
        (
            Operation(
                "GET",
                "/openapi.json",
                openapi,
                "documents",
                "The OpenAPI document",
                answers=(Answer(200, "The document", dict, {"openapi": "3.1.0"}),),
            ),
            Operation("GET", "/docs", page, "documents", "Swagger UI", hidden=True),
            Operation("GET", "/docs/{name}", asset, "documents", "Files of Swagger UI", hidden=True),
        ),
    )
    return made


@lru_cache(maxsize=8)
def _packed(name: str) -> bytes | None:
    found = files("gerbang.server").joinpath("assets", "swagger", f"{name}.gz")
    return found.read_bytes() if found.is_file() else None


def _plain(name: str) -> bytes:
    return files("gerbang.server").joinpath("assets", "swagger", name).read_bytes()
