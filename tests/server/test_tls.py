"""TLS with the certificate that the operator names."""

import asyncio
import datetime
import ssl
from pathlib import Path

import aiohttp
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.server.running import fails_to_start, started

NONE = ("--model", "none", "--store", "memory:")


def certificate(folder: Path) -> tuple[str, str]:
    """Make a certificate for localhost and return the paths of it and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_calls_and_sockets_over_tls(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    trust = ssl.create_default_context(cafile=cert)

    async def main() -> None:
        with started(*NONE, "--tls-certificate", cert, "--tls-key", key, folder=tmp_path) as server:
            assert server.url.startswith("https://")
            url = f"https://localhost:{server.port}"
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
                call = {"tool": "weather.get_current.v1", "arguments": {"city": "Paris"}}
                async with session.post(f"{url}/v1/calls", json=call, headers={"Origin": url}) as answer:
                    assert (await answer.json())["value"] == {"city": "Paris", "celsius": 21}
                async with session.ws_connect(f"{url}/ws", origin=url) as ws:
                    await ws.send_json({"type": "ping"})
                    assert (await ws.receive_json())["type"] == "pong"
                async with session.get(f"{url}/docs/swagger-ui-bundle.js") as answer:
                    assert len(await answer.read()) > 1_000_000

    asyncio.run(main())


def test_a_certificate_without_its_key_is_refused(tmp_path: Path) -> None:
    cert, _ = certificate(tmp_path)
    code, said = fails_to_start(*NONE, "--tls-certificate", cert, folder=tmp_path)
    assert (code, "TLS needs both" in said) == (2, True)
    code, said = fails_to_start(
        *NONE, "--tls-certificate", cert, "--tls-key", str(tmp_path / "no.pem"), folder=tmp_path
    )
    assert code == 2
    assert "Traceback" not in said
