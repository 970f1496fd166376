"""Every example runs, prints what its page says, and stays short."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
MAX_LINES = 60

PRINTS = {
    "approvals_two_person.py": [
        "ana did not count: ana may not approve this call",
        "bo agreed: pending",
        "(SECOND_PERSON)",
        "cy agreed: granted",
        "Note: bo changed the call before it ran: amount: 500 → 50",
        "paid 50 to eve",
    ],
    "approve_later.py": [
        "pending - This call waits for a person's approval. It has not run.",
        "ok sent to ana@example.org: hello",
        "APPROVER_REFUSED - boss refused this call: one is enough",
    ],
    "audit_export.py": [
        'r1/1 gerbang.call.dispatched "{\\"order\\":\\"A-17\\"}"',
        "whole: True events: 2",
        "after erasing: {} whole: True events: 3",
    ],
    "contract_files.py": [
        "anybody: calendar.cancel_event.v1 calendar.create_event.v1 mail.send.v1 repository.read_file.v1",
        "ana, to refund: payments.find_refund.v1 payments.refund.v1",
        "TOOL_UNKNOWN",
        "TOOL_RETIRED Use weather.get_current.v2 instead.",
        "asked about payments.refund.v1",
        "ok {'refund': 'refund-",
        "replayed",
    ],
    "gateway_calls.py": [
        "RUNTIME_OWNED_FIELD - These fields are filled by the runtime and cannot be sent: tenant.",
        "tainted: external - forbidden: credential_request policy_override tool_authorization",
        "replayed: True",
        "1 call.refused refused REFUSED",
        "2 call.dispatched approved_by_policy DISPATCHED",
        "4 call.replayed approved_by_policy SUCCEEDED",
    ],
    "http_tools.py": [
        "GET /weather/Rio%2FRJ",
        "GET /weather/Atlantis",
        '{"celsius":21}',
        "Error: HTTP 404 — no city",
        "It is 21 degrees.",
    ],
    "local.py": [
        "> Hitung 25 * 4 + 10",
        "hitung {'ekspresi': '25 * 4 + 10'}",
        "110",
        "> Baca berkas catatan.txt",
        "baca_berkas {'jalur': 'catatan.txt'}",
        "> Baca berkas ../rahasia.txt",
        "DITOLAK: jalur di luar ruang kerja.",
    ],
    "minimal.py": [
        "knowledge_search:",
        "10:00 to 18:00",
        "calculator: 8",
        "It is open for 8 hours a day.",
    ],
    "openai_client.py": [
        "110",
        "get_weather {'city': 'Paris'}",
        "21 degrees",
    ],
    "own_loop.py": [
        "asked about mail.send.v1 because of CLASS_EXTERNAL_COMMUNICATION",
        "ok sent to ana@example.org",
        "asked about mail.send.v1",
        "error APPROVER_REFUSED",
        "error MISSING_FIELD",
        "ok replayed",
    ],
    "rego_policy.py": [
        "ok paid 20 for A1",
        "asked about 900 because of BIG_REFUND",
        "error APPROVER_REFUSED",
        "error NOT_A_REFUND",
    ],
    "resume_after_approval.py": [
        "pending_approval - Waiting for approval.",
        "asked: mail.send.v1",
        "completed - Ana knows. - sent to ana@example.org",
    ],
    "semantic_checks.py": [
        "error  /ticket: NOT_FOUND /ticket: NOT_FOUND",
        "error  /version: STALE_SNAPSHOT /note: NOT_POLITE",
        "ok closed T-1",
    ],
    "terminal_loop.py": [
        "asked: git status (CLASS_CODE_EXECUTION)",
        "ok | nothing to commit",
        "error | Error: Argumennya tidak cocok dengan run_in_terminal: cmd, command, risk.",
        "5 answers: The service is active again.",
    ],
    "weather.py": ["celsius", "weather.get_current.v1 allow CLASS_READ_EXTERNAL"],
}
"""Parts of what each example prints, in order."""


SHOWN = dict(
    pair
    for page in [EXAMPLES.parent / "README.md", *sorted((EXAMPLES.parent / "docs").rglob("*.md"))]
    for pair in re.findall(
        r"^<!-- file: examples/(\S+\.py) -->\n+```python\n.*?^```\n\nIt prints[^\n]*:\n\n```text\n(.*?)^```$",
        page.read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
"""What pages say that an example prints, all of it."""


def test_pages_say_what_examples_print() -> None:
    assert {"weather.py", "semantic_checks.py", "terminal_loop.py", "gateway_calls.py"} <= set(SHOWN)


def test_the_table_names_every_example() -> None:
    assert sorted(PRINTS) == sorted(path.name for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", sorted(PRINTS))
def test_example(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / name
    assert len(path.read_text().splitlines()) < MAX_LINES
    env = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        cwd=tmp_path,
        env={**env, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert SHOWN.get(name, done.stdout) == done.stdout
    rest = done.stdout
    for part in PRINTS[name]:
        before, found, rest = rest.partition(part)
        assert found, f"{part!r} is not in what follows {before!r}"
