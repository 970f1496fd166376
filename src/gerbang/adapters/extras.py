"""How an extra of this package is installed, for errors that miss one."""

import shlex
import sys


def install_line(extra: str) -> str:
    """Return the shell command that installs the extra named `extra` into the Python that runs this.

    It names that interpreter: a bare `pip` may be another environment's, where Gerbang is not installed and
    its name would be looked up on a package index.
    """
    return f"{shlex.quote(sys.executable or 'python')} -m pip install 'gerbang[{extra}]'"
