"""`gerbang serve` with other bounds than a deployment has, so that tests need not wait for minutes.

Usage: `python bounded_server.py '{"head_timeout_s": 0.2}' serve ...`
"""

import functools
import json
import sys

from gerbang import cli
from gerbang.server import settings

if __name__ == "__main__":
    bounds = json.loads(sys.argv.pop(1))
    settings.ServerSettings = functools.partial(settings.ServerSettings, **bounds)  # type: ignore[assignment,misc]
    cli.main()
