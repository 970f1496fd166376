"""Known secrets in base64 or hexadecimal that was put into either of these once more."""

import base64
from collections.abc import Callable
from urllib.parse import quote

import pytest

from gerbang.audit.redact import MASK, redact, redact_exact

SECRETS = ["kanarie-gelb/31415+26535=89793", "sk_0123456789abcdef", "日本語" * 4 + "é"]
Encoder = Callable[[bytes], bytes]
ENCODERS: dict[str, Encoder] = {
    "base64": base64.b64encode,
    "base64url": base64.urlsafe_b64encode,
    "hex": lambda data: data.hex().encode(),
    "HEX": lambda data: data.hex().upper().encode(),
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("outer", ENCODERS)
@pytest.mark.parametrize("inner", ENCODERS)
def test_one_in_the_other(inner: str, outer: str, secret: str) -> None:
    for before in (b"", b"x", b"xy", b"key="):
        for after in (b"", b"z", b"zz"):
            for around in (b"", b"1", b"12", b"token: "):
                first = ENCODERS[inner](before + secret.encode() + after)
                text = ENCODERS[outer](around + first + around).decode()
                for ahead, behind in (("", ""), ("İ日 ", "\n"), ('{"a":"', '"}'), ("\ud800", " é")):
                    said = redact_exact(f"{ahead}{text}{behind}", [secret])
                    assert said.count(MASK) == 1, (before, after, around, text)
                    assert said.startswith(ahead)
                    assert said.endswith(behind)


@pytest.mark.parametrize("secret", SECRETS)
def test_percent_of_percent(secret: str) -> None:
    text = secret
    for _ in range(4):
        text = quote(text, safe="")
        assert redact(f"<{text}>", [secret]) == f"<{MASK}>"


@pytest.mark.parametrize(
    "text",
    [
        "7f3b9a52-6e1c-4b0e-9d0a-2f5f3c1e8a77 and 9d0a2f5f3c1e8a777f3b9a526e1c4b0e",
        "src/gerbang/audit/a_name_that_is_long_enough/to_be_looked_into",
        base64.b64encode(base64.b64encode(b"nothing of the kind " * 9)).decode(),
    ],
)
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert redact_exact(text, SECRETS) == text


@pytest.mark.parametrize("piece", ["a" * 24 + " ", "a", "a" * 23 + " ", "YTJGdVlYSnBaUzFuWld4aUx6", "é"])
def test_five_megabytes_of_runs(piece: str) -> None:
    """Linear: a search that grows with the square of this would not end before the suite is killed."""
    text = piece * (5_000_000 // len(piece))
    assert redact_exact(text, SECRETS) == text
