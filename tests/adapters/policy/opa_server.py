"""A small HTTP server that speaks OPA's data API and decides by a Rego bundle with an engine of its own.

`POST /v1/data/a/b` with `{"input": ...}` answers `{"result": value of data.a.b}`, or no `result` when it is
undefined; `?provenance=true` adds the bundles. Paths below `/v1/data/trouble/` misbehave in their own ways.
"""

import asyncio
import importlib
import json
import threading
from typing import Any

from aiohttp import web


class OpaServer:
    """Runs in a thread with an event loop of its own until `close`."""

    def __init__(self, policy: str, *, token: str | None = None) -> None:
        self.revision = "r1"
        self.seen: list[tuple[dict[str, str], Any]] = []
        self._policy = policy
        self._token = token
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait()

    def url(self, path: str) -> str:
        """Return the address of a rule such as `gerbang/decision`."""
        return f"http://127.0.0.1:{self.port}/v1/data/{path}"

    def close(self) -> None:
        """Stop the server and wait for its end."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        self._engine = importlib.import_module("regorus").Engine()  # bound to the thread that made it
        self._engine.add_policy("policy.rego", self._policy)
        asyncio.set_event_loop(self._loop)
        app = web.Application()
        app.router.add_post("/v1/data/trouble/{kind}", self._trouble)
        app.router.add_post("/v1/data/{path:.+}", self._data)
        runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0.1)
        self._loop.run_until_complete(self._listen(runner))
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()
        del self._engine

    async def _listen(self, runner: web.AppRunner) -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port: int = runner.addresses[0][1]

    async def _data(self, request: web.Request) -> web.StreamResponse:
        if self._token is not None and request.headers.get("Authorization") != f"Bearer {self._token}":
            return web.json_response({"code": "unauthorized"}, status=401)
        try:
            given = (await request.json())["input"]
        except ValueError:
            return web.json_response({"code": "invalid_parameter"}, status=400)
        self.seen.append((dict(request.headers), given))
        answer: dict[str, Any] = {}
        self._engine.set_input_json(json.dumps(given))
        rule = "data." + request.match_info["path"].replace("/", ".")
        try:
            value = self._engine.eval_rule_as_json(rule)
        except RuntimeError as error:
            if "not a valid rule path" not in str(error):
                return web.json_response({"code": "internal_error"}, status=500)
            value = '"<undefined>"'
        if value != '"<undefined>"':
            answer["result"] = json.loads(value)
        if request.query.get("provenance") == "true":
            bundles = {"main": {"revision": self.revision}}
            answer["provenance"] = {"version": "1.0.0", "build_commit": "", "bundles": bundles}
        return web.json_response(answer)

    async def _trouble(self, request: web.Request) -> web.StreamResponse:
        kind = request.match_info["kind"]
        self.seen.append((dict(request.headers), None))
        if kind == "hang":
            await asyncio.sleep(60)
        if kind == "drip":
            return await self._drip(request)
        if kind == "hangup":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if kind == "redirect":
            raise web.HTTPTemporaryRedirect(self.url("gerbang/decision"))
        return web.Response(**_ANSWERS[kind], content_type="application/json")

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" ")
            await asyncio.sleep(0.02)


_OK = '{"decision": "allow", "reasons": ["OK"]}'
_ANSWERS: dict[str, Any] = {
    "500": {"status": 500, "text": f'{{"result": {_OK}}}'},
    "404": {"status": 404, "text": "{}"},
    "201": {"status": 201, "text": f'{{"result": {_OK}}}'},
    "html": {"text": "<html>hello</html>"},
    "empty": {"text": ""},
    "list": {"text": "[]"},
    "null": {"text": '{"result": null}'},
    "true": {"text": '{"result": true}'},
    "lower": {"text": '{"result": {"decision": "allow", "reasons": ["ok"]}}'},
    "extra": {"text": '{"result": {"decision": "allow", "reasons": ["OK"], "more": 1}}'},
    "cut": {"text": f'{{"result": {_OK}'},
    "huge": {"text": f'{{"result": {_OK}, "more": "' + "x" * 1_000_000 + '"}'},
    "deep": {"text": '{"result": ' + "[" * 100_000},
    "bytes": {"body": b'{"result": {"decision": "allow", "reasons": ["OK"], "rule": "\xff"}}'},
}
