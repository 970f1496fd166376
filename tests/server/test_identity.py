"""Who may do what: keys, rights, revoking, rates, hosts and origins, binding."""

import asyncio
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gerbang.errors import ConfigError, UsageError
from gerbang.server.keys import KeyFile
from tests.server.running import Client, Server, asking, client, fails_to_start, key, started

NONE = ("--model", "none", "--store", "memory:")
CALL = {"tool": "weather.get_current.v1", "arguments": {"city": "Paris"}}

RIGHTS: list[tuple[str, str, str, Any]] = [
    ("calls", "POST", "/v1/calls", CALL),
    ("calls", "POST", "/v1/decisions", CALL),
    ("calls", "GET", "/v1/tools", None),
    ("runs", "GET", "/v1/runs", None),
    ("approvals", "GET", "/v1/approvals", None),
    ("metrics", "GET", "/metrics", None),
    ("audit", "GET", "/v1/audit/none", None),
]


def test_each_route_asks_for_its_right_and_for_a_key(tmp_path: Path) -> None:
    tokens = {right: key(tmp_path, right) for right in ("calls", "runs", "approvals", "metrics", "audit")}

    async def main() -> None:
        with started(*NONE, folder=tmp_path) as server:
            async with client(server) as http:
                for right, method, path, body in RIGHTS:
                    status, problem = await http.send(method, path, body)
                    assert (status, problem["error"]["error_code"]) == (401, "NOT_AUTHENTICATED"), path
                    for name, token in tokens.items():
                        status, _ = await http.send(method, path, body, Authorization=f"Bearer {token}")
                        assert (status == 403) is (name != right), (path, name)
                    status, _ = await http.send(method, path, body, X_API_Key=tokens[right])
                    assert status in (200, 404)
                for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
                    assert (await http.get(path))[0] == 200
                wrong = [
                    "Bearer nonsense",
                    "Basic eDp5",
                    f"Bearer {tokens['calls'][:-1]}x",
                    "Bearer gbk_000000000000_" + "A" * 43,
                    "Bearer",
                ]
                for value in wrong:
                    assert (await http.post("/v1/calls", CALL, Authorization=value))[0] == 401, value

    asyncio.run(main())


def test_a_revoked_key_opens_nothing_at_once(tmp_path: Path) -> None:
    token = key(tmp_path, "calls")
    keys = KeyFile(tmp_path / "keys.json")

    async def main() -> None:
        with started(*NONE, folder=tmp_path) as server:
            async with client(server, token) as http:
                assert (await http.post("/v1/calls", CALL))[0] == 200
                keys.revoke(keys.all()[0].id)
                assert (await http.post("/v1/calls", CALL))[0] == 401
                fresh = key(tmp_path, "calls")
                assert (await http.post("/v1/calls", CALL, Authorization=f"Bearer {fresh}"))[0] == 200

    asyncio.run(main())


def test_the_first_key_closes_a_server_that_was_open(tmp_path: Path) -> None:
    async def main() -> None:
        with started(*NONE, folder=tmp_path) as server:
            async with client(server) as http:
                assert (await http.post("/v1/calls", CALL))[0] == 200
                token = key(tmp_path, "calls")
                assert (await http.post("/v1/calls", CALL))[0] == 401
                assert (await http.post("/v1/calls", CALL, Authorization=f"Bearer {token}"))[0] == 200
                (tmp_path / "keys.json").unlink()  # a file that is gone lets nobody in
                status, _ = await http.post("/v1/calls", CALL)
                assert status == 400

    asyncio.run(main())


def test_a_key_has_a_rate_of_its_own(tmp_path: Path) -> None:
    token = key(tmp_path, "calls", rate_per_s=0.001)

    async def main() -> None:
        with started(*NONE, "--burst", "3", folder=tmp_path) as server:
            async with client(server, token) as http:
                answers = [await http.post("/v1/calls", CALL) for _ in range(5)]
                assert [status for status, _ in answers] == [200, 200, 200, 429, 429]
                error = answers[-1][1]["error"]
                assert (error["error_type"], error["error_code"]) == ("rate_limited", "RATE_ACTOR")
                assert error["retry_after_ms"] > 0
                async with http.session.get(f"{server.url}/v1/tools", headers=http.headers) as answer:
                    assert int(answer.headers["Retry-After"]) >= 1

    asyncio.run(main())


def test_guessing_keys_is_slowed_down(tmp_path: Path) -> None:
    token = key(tmp_path, "calls")

    async def main() -> None:
        with started(*NONE, folder=tmp_path) as server:
            async with client(server) as http:
                statuses = [
                    (await http.post("/v1/calls", CALL, Authorization="Bearer x"))[0] for _ in range(60)
                ]
                assert statuses[:20] == [401] * 20
                assert statuses[-1] == 429
                assert (await http.post("/v1/calls", CALL, Authorization=f"Bearer {token}"))[0] in (200, 429)

    asyncio.run(main())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_without_keys_only_loopback_is_bound(tmp_path: Path, host: str) -> None:
    code, said = fails_to_start(*NONE, "--host", host, folder=tmp_path)
    assert code == 2
    assert "Without keys the server binds to loopback only" in said
    assert "gerbang keys create" in said
    assert "Traceback" not in said


def test_with_keys_another_address_is_bound(tmp_path: Path) -> None:
    token = key(tmp_path, "calls")

    async def main() -> None:
        with started(*NONE, "--host", "0.0.0.0", "--allowed-host", "gate.example", folder=tmp_path) as server:
            server.url = f"http://127.0.0.1:{server.port}"
            async with client(server, token) as http:
                assert (await http.post("/v1/calls", CALL))[0] == 200
                assert (await http.post("/v1/calls", CALL, Host="gate.example"))[0] == 200
                assert (await http.post("/v1/calls", CALL, Host="other.example"))[0] == 421

    asyncio.run(main())


def test_a_taken_port_is_said_plainly(plain: Server, tmp_path: Path) -> None:
    code, said = fails_to_start("--model", "none", "--port", str(plain.port), folder=tmp_path)
    assert code == 2
    assert "cannot be bound" in said


FOREIGN: list[tuple[dict[str, str], int]] = [
    ({"Host": "evil.example"}, 421),
    ({"Host": "127.0.0.1.evil.example"}, 421),
    ({"Host": "localhost.:80"}, 421),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost:1"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-origin"}, 200),
    ({"Host": "localhost"}, 200),
    ({"Host": "[::1]:8787"}, 200),
]


@pytest.mark.parametrize(("headers", "status"), FOREIGN)
def test_other_hosts_and_other_sites_are_kept_out(
    plain: Server, headers: dict[str, str], status: int
) -> None:
    async def work(client: Client) -> None:
        client.headers = headers
        assert (await client.post("/v1/calls", CALL))[0] == status

    asking(plain, work)


def test_the_servers_own_pages_and_named_origins_may_call(tmp_path: Path) -> None:
    async def main() -> None:
        with started(*NONE, "--allowed-origin", "https://app.example", folder=tmp_path) as server:
            async with client(server) as http:
                assert (await http.post("/v1/calls", CALL, Origin=server.url))[0] == 200
                assert (await http.post("/v1/calls", CALL, Origin="https://app.example"))[0] == 200
                assert (await http.post("/v1/calls", CALL, Origin="http://app.example"))[0] == 403

    asyncio.run(main())


def test_answers_carry_security_headers(plain: Server) -> None:
    async def work(client: Client) -> None:
        for path in ("/healthz", "/docs", "/nowhere"):
            async with client.session.get(client.url + path) as answer:
                headers = answer.headers
                assert headers["X-Content-Type-Options"] == "nosniff"
                assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
                if path == "/docs":
                    assert headers["X-Frame-Options"] == "DENY"
                    assert headers["Referrer-Policy"] == "no-referrer"
                assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
                assert "Server" not in headers

    asking(plain, work)


def command(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", "import gerbang.cli; gerbang.cli.main()", "keys", *words],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=30,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_keys_are_made_listed_and_revoked_on_the_command_line(tmp_path: Path) -> None:
    words = (
        "create",
        "--user",
        "ana",
        "--tenant",
        "acme",
        "--right",
        "calls",
        "--scope",
        "weather",
        "--json",
    )
    code, out, _ = command(tmp_path, *words)
    made = json.loads(out)
    assert code == 0
    assert made["key"].startswith(f"gbk_{made['id']}_")
    file = tmp_path / ".gerbang" / "keys.json"
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert made["key"].rpartition("_")[2] not in file.read_text()
    code, out, _ = command(tmp_path, "list")
    assert (code, made["id"] in out, made["key"] in out) == (0, True, False)
    code, out, _ = command(tmp_path, "revoke", made["id"])
    assert (code, out) == (0, f"Revoked {made['id']}.\n")
    assert json.loads(command(tmp_path, "list", "--json")[1])[0]["state"] == "revoked"
    code, _, said = command(tmp_path, "revoke", "nothing")
    assert (code, "There is no key" in said) == (2, True)
    code, _, said = command(tmp_path, "create", "--user", "a", "--tenant", "b", "--right", "everything")
    assert (code, "everything" in said) == (2, True)


def test_a_key_file_that_others_can_read_or_that_is_damaged_is_refused(tmp_path: Path) -> None:
    key(tmp_path, "calls")
    file = tmp_path / "keys.json"
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        KeyFile(file).all()
    file.chmod(0o600)
    file.write_bytes(b"{")
    with pytest.raises(ConfigError, match="damaged"):
        KeyFile(file).all()
    with pytest.raises(ConfigError):
        KeyFile(file).revoke("x")


def test_an_expired_key_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = key(tmp_path, "calls", ttl_s=60)
    keys = KeyFile(tmp_path / "keys.json")
    headers = {b"authorization": f"Bearer {token}".encode()}
    assert asyncio.run(keys.authenticate(headers)) is not None
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert asyncio.run(keys.authenticate(headers)) is None
    assert keys.open_to_all is False


@pytest.mark.parametrize(
    "wrong", [{"user": ""}, {"user": "a\n"}, {"tenant": "x" * 201}, {"scopes": ["\x00"]}]
)
def test_names_that_cannot_be_recorded_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        key(tmp_path, "calls", **wrong)
