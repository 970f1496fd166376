"""TLS: certificates are checked, and nothing is sent to a server that shows a wrong one."""

import asyncio
import datetime
import ipaddress
import os
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.runtime.street import code, run
from tests.tools.origin import call, definition, write

PROGRAM = """
import asyncio, sys
import gerbang as g
async def main():
    async with g.Gateway(g.load_tools(sys.argv[1])) as gate:
        result = await gate.call("the_tool", {})
        print(result.status, result.value or result.error.error_code)
asyncio.run(main())
"""


def certificate(folder: Path, address: str, days: int = 1) -> tuple[Path, Path]:
    """Write a certificate for an address, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths


@asynccontextmanager
async def secure(folder: Path, address: str, days: int = 1) -> AsyncIterator[tuple[str, list[str]]]:
    seen: list[str] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        seen.append(request.path)
        return web.Response(text="safe")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder, address, days))
    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}/x", seen
    finally:
        await runner.cleanup()
        while len(asyncio.all_tasks()) > 1:  # the server's own task sees the broken handshake a little later
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_certificate_that_nobody_vouches_for(tmp_path: Path, method: str) -> None:
    async def work() -> None:
        async with secure(tmp_path, "127.0.0.1") as (url, seen):
            result = await call(tmp_path, definition(url, method))
            assert result.error is not None
            assert (code(result), result.error.effect, seen) == ("TLS_FAILED", "none", [])

    run(work())


@pytest.mark.parametrize(
    ("address", "days", "said"),
    [
        ("127.0.0.1", 1, "ok safe"),
        ("127.0.0.9", 1, "error TLS_FAILED"),
        ("127.0.0.1", -1, "error TLS_FAILED"),
    ],
)
def test_a_certificate_of_a_known_authority(tmp_path: Path, address: str, days: int, said: str) -> None:
    """The right one passes; one for another host, or past its time, does not."""

    async def work() -> str:
        async with secure(tmp_path, address, days) as (url, _):
            path = write(tmp_path, definition(url))
            env = {"PATH": os.environ["PATH"], "SSL_CERT_FILE": str(tmp_path / "cert.pem")}
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-W", "error", "-c", PROGRAM, str(path)),
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            out, _ = await child.communicate()
            return out.decode().strip()

    assert run(work()) == said
