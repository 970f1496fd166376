"""Installs the peers that the benchmarks compare with: `python benchmarks/peers/install.py`.

Each gets an environment of its own below `.bench/`; nothing of them touches Gerbang's environment.
"""

import subprocess
import sys
import venv
from pathlib import Path

PLACE = Path(__file__).resolve().parents[2] / ".bench"
PACKAGES = {
    "agent-framework": ("agent-framework-core==1.23.0",),
    "pydantic-ai": ("pydantic-ai-slim==2.68.0",),
    "openai-agents": ("openai-agents==0.24.0",),
    "fastmcp": ("fastmcp==4.2.3",),
}


def main() -> int:
    """Install what is missing and return the exit code."""
    for peer, packages in PACKAGES.items():
        ready = PLACE / peer / ".ready"
        if ready.exists():
            continue
        print(f"bench: installing {peer} below {PLACE.name}/", flush=True)
        venv.create(PLACE / peer, with_pip=True, clear=True)
        pip = [
            str(PLACE / peer / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
        ]
        if subprocess.run([*pip, *packages], check=False).returncode:
            print(f"bench: {peer} could not be installed; the tables will say so", file=sys.stderr)
            return 1
        ready.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
