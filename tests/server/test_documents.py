"""The OpenAPI document, Swagger UI, figures, health, logs."""

import asyncio
import json
import re
import socket
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gerbang.server.groups import default_groups
from gerbang.server.openapi import document
from tests.server.running import Client, Server, asking, client, key, started

NONE = ("--model", "none", "--store", "memory:")


def schema_of(whole: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "components": whole["components"]}


def test_every_example_fits_its_schema() -> None:
    whole = document(default_groups())
    count = 0
    for path, methods in whole["paths"].items():
        for method, operation in methods.items():
            media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            cases = [(media, example["value"]) for example in media.get("examples", {}).values()]
            for status, answer in operation["responses"].items():
                for item in answer.get("content", {}).values():
                    told = [{"value": item["example"]}] if "example" in item else [*item["examples"].values()]
                    assert told, (path, method, status)  # every answer has one
                    for example in told:
                        name = example.get("$ref", "").rpartition("/")[2]
                        example = whole["components"]["examples"][name] if name else example
                        cases.append((item, example["value"]))
                        if int(status) >= 400 and "status" in example["value"]:
                            assert example["value"]["status"] == int(status)
            for item, example in cases:
                count += 1
                jsonschema_rs.validate(schema_of(whole, item["schema"]), example)
            if method == "post" and not path.endswith(("/cancel", "/resume")):
                assert media["examples"], path
    assert count > 250


def test_every_operation_is_described() -> None:
    whole = document(default_groups())
    names = [
        operation["operationId"] for methods in whole["paths"].values() for operation in methods.values()
    ]
    assert len(names) == len(set(names)) >= 22
    tags = {tag["name"] for tag in whole["tags"]}
    for path, methods in whole["paths"].items():
        for operation in methods.values():
            assert operation["summary"], path
            assert operation["responses"], path
            for placed in re.findall(r"\{(\w+)\}", path):
                assert placed in [item["name"] for item in operation["parameters"]]
    assert {"calls", "runs", "approvals", "audit", "tools"} <= tags
    assert [item["tags"] for item in whole["paths"]["/api/tools"].values()] == [["tools"], ["tools"]]


def test_results_and_problems_fit_the_document(plain: Server) -> None:
    async def work(client: Client) -> None:
        _, whole = await client.get("/openapi.json")
        assert whole == json.loads(json.dumps(document(default_groups())))
        result = {"$ref": "#/components/schemas/ResultView"}
        problem = {"$ref": "#/components/schemas/ProblemView"}
        for tool, arguments, schema in (
            ("weather.get_current.v1", {"city": "Paris"}, result),
            ("mail.send.v1", {"to": "a@example.org", "text": "x"}, result),
            ("mail.send.v1", {"to": "spam@example.org", "text": "x"}, problem),
            ("no.such.v1", {}, problem),
            ("weather.get_current.v1", {}, problem),
        ):
            _, body = await client.call(tool, arguments)
            jsonschema_rs.validate(schema_of(whole, schema), body)

    asking(plain, work)


def test_swagger_ui_is_served_from_shipped_files(plain: Server) -> None:
    async def work(client: Client) -> None:
        status, page = await client.get("/docs")
        assert status == 200
        assert "http://" not in page
        assert "https://" not in page
        for path in re.findall(r'(?:src|href)="([^"]+)"', page):
            for encoding in ("gzip", "identity"):
                headers = {"Accept-Encoding": encoding}
                async with client.session.get(client.url + path, headers=headers) as answer:
                    assert answer.status == 200, path
                    assert len(await answer.read()) > 100

    asking(plain, work)


def figure(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} ([0-9.e+-]+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


WAYS_IN = [
    ("/", 303, "/console"),
    ("/console/", 308, "/console"),
    ("/console/?lang=id", 308, "/console?lang=id"),
    ("/console//", 308, "/console"),
    ("/docs/", 308, "/docs"),
    ("/healthz/", 308, "/healthz"),
    ("/v1/runs/a%0d%0ab%2F/", 308, "/v1/runs/a%0d%0ab%2F"),
    ("//example.org/", 404, None),
    ("//example.org/console/", 404, None),
    ("//", 404, None),
    ("/no/such/page/", 404, None),
]
"""A path, and where it leads."""


@pytest.mark.parametrize(("path", "status", "where"), WAYS_IN)
def test_an_address_that_is_nearly_right_leads_on(
    plain: Server, path: str, status: int, where: str | None
) -> None:
    """As a browser sends it, not tidied by a client; from another host or another site it leads nowhere."""
    own = f"127.0.0.1:{plain.port}"
    for host, origin, wanted in (
        (own, "", status),
        ("evil.example", "", 421),
        (own, "http://evil.example", 403),
    ):
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
        head += f"Origin: {origin}\r\n" if origin else ""
        with socket.create_connection(("127.0.0.1", plain.port), 20) as connection:
            connection.sendall(f"{head}\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        lines = answer.partition(b"\r\n\r\n")[0].decode().split("\r\n")
        assert int(lines[0].split()[1]) == wanted, (path, host, origin)
        told = [line[10:] for line in lines if line.lower().startswith("location: ")]
        assert told == ([where] if where is not None and wanted == status else [])


def test_figures_count_what_the_record_holds() -> None:
    async def main() -> None:
        with started(*NONE) as server:
            async with client(server) as http:
                for _ in range(3):
                    await http.call("weather.get_current.v1", {"city": "Paris"})
                await http.call("weather.get_current.v1", {"city": "Paris"}, run_id="r", step_id=1)
                await http.call("weather.get_current.v1", {"city": "Paris"}, run_id="r", step_id=1)
                await http.call("mail.send.v1", {"to": "a@example.org", "text": "x"})
                await http.call("mail.send.v1", {"to": "spam@example.org", "text": "x"})
                for name in ("no.such.v1", "another.such.v1"):
                    await http.call(name)
                await http.call("broken.raise.v1")
                _, text = await http.get("/metrics")
        weather = 'tool="weather.get_current.v1"'
        assert figure(text, f'gerbang_tool_calls_total{{error_code="",status="success",{weather}}}') == 4
        assert figure(text, f"gerbang_tool_dispatches_total{{{weather}}}") == 4
        assert figure(text, f"gerbang_tool_replays_total{{{weather}}}") == 1
        assert figure(text, f"gerbang_tool_latency_seconds_count{{{weather}}}") == 4
        assert figure(text, 'gerbang_approvals_total{state="requested",tool="mail.send.v1"}') == 1
        assert figure(text, "gerbang_hallucinated_tool_calls_total") == 2
        assert "no.such" not in text  # a model's words never become a label
        denied = [line for line in text.splitlines() if line.startswith("gerbang_policy_denials_total{")]
        assert len(denied) == 1
        assert "NO_SPAM" in denied[0]
        failed = 'gerbang_tool_calls_total{error_code="INTERNAL",status="error",tool="broken.raise.v1"}'
        assert figure(text, failed) == 1
        assert figure(text, 'gerbang_http_requests_total{method="POST",route="/v1/calls",status="404"}') == 2

    asyncio.run(main())


def test_logs_are_json_lines_without_secrets(tmp_path: Path) -> None:
    async def main() -> None:
        token = key(tmp_path, "calls")
        with started(*NONE, "--access-log", folder=tmp_path) as server:
            async with client(server, token) as http:
                await http.call("weather.get_current.v1", {"city": "sk-abcdefghijklmnop1234"})
                await http.get("/nowhere?token=hunter2")
        lines = [json.loads(line) for line in server.log().splitlines()]
        requests = [line for line in lines if line["message"] == "request"]
        assert [(line["route"], line["status"]) for line in requests] == [
            ("/v1/calls", 200),
            ("(other)", 404),
        ]
        assert requests[0]["tenant"] == "acme"
        assert {"time", "level", "logger", "ms"} <= set(requests[0])
        for secret in (token, token.rpartition("_")[2], "hunter2", "sk-abc"):
            assert secret not in server.log()
        assert [line["message"] for line in lines][-2:] == ["draining", "stopped"]

    asyncio.run(main())


def test_a_contract_is_written_in_one_order(plain: Server) -> None:
    async def work(client: Client) -> None:
        _, view = await client.get("/v1/tools/mail.send.v1")
        for name in ("retry_on", "never_retry_on"):
            words = view["contract"]["retry"][name]
            assert len(words) > 2
            assert words == sorted(words)

    asking(plain, work)


def test_health_and_readiness(plain: Server) -> None:
    async def work(client: Client) -> None:
        for path in ("/healthz", "/readyz"):
            assert await client.get(path) == (200, {"status": "ok"})
            async with client.session.head(client.url + path) as answer:
                assert (answer.status, await answer.read()) == (200, b"")

    asking(plain, work)
