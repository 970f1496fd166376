"""The two fences round foreign code, tried from inside, by Python and by plain C."""

import subprocess
import sys
import textwrap

import pytest

TRIES = {
    "socket": "import socket; socket.socket()",
    "connect": "import socket; socket.create_connection(('127.0.0.1', 9))",
    "url": "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/')",
    "system": "import os; assert os.system('true') != 0; raise PermissionError",
    "popen": "import subprocess; subprocess.run(['true'])",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "fork": "import os; os.fork()",
    "c socket": "call('socket', 2, 1, 0)",
    "c unix socket": "call('socket', 1, 1, 0)",
    "c netlink": "call('socket', 16, 3, 0)",
    "c connect": "call('connect', 0, 0, 0)",
    "c execve": "call('execv', b'/bin/true', 0)",
    "c io_uring": "call('syscall', 425, 1, 0)",
    "c ptrace": "call('ptrace', 0, 0, 0)",
    "thread": "in_thread('socket', 2, 1, 0)",
}  # fmt: skip

SCRIPT = """
import ctypes, threading
from gerbang.adapters.models.lockdown import refuse_network
assert refuse_network(), "the system does not hold native code"
refused = []
def call(name, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    result, number = getattr(libc, name)(*arguments), ctypes.get_errno()
    assert (result, number) == (-1, 1), (result, number)
    refused.append(PermissionError(name))
    raise refused[0]
def in_thread(*arguments):
    def quiet():
        try:
            call(*arguments)
        except PermissionError:
            pass
    thread = threading.Thread(target=quiet)
    thread.start()
    thread.join()
    raise refused[0]
try:
    {body}
except PermissionError:
    print("refused")
except Exception as error:
    print("refused" if isinstance(getattr(error, "reason", None), PermissionError) else repr(error))
"""


@pytest.mark.parametrize("name", TRIES)
def test_refused(name: str) -> None:
    program = SCRIPT.format(body=TRIES[name])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "refused\n", done.stderr


def test_ordinary_work_goes_on() -> None:
    body = textwrap.dedent(
        """
        from gerbang.adapters.models.lockdown import refuse_network
        import threading, tempfile, os, ctypes
        refuse_network()
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
        thread = threading.Thread(target=print, args=("fine",))
        thread.start()
        thread.join()
        """
    )
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("fine\n", "")
