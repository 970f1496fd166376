"""Known secrets in base64 and hexadecimal that is broken into lines, wherever the line ends."""

import base64
import json
import textwrap

import pytest

from gerbang.audit.redact import MASK, longest_writing, redact, redact_exact

SECRET = "kanarie-gelb/31415+26535=89793"
BREAKS = ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n", "\n    ", "\r\n\t", "\\n  "]
"""As it is, in JSON, in JSON in JSON, and indented as in YAML or a folded header."""


def lines(code: str, width: int, newline: str) -> str:
    return newline.join(code[at : at + width] for at in range(0, len(code), width))


def left_of(text: str) -> str:
    """Return what is left of the code around the masks, without its breaks."""
    for newline in sorted(BREAKS, key=len, reverse=True):
        text = text.replace(newline, "")
    return text


@pytest.mark.parametrize("newline", BREAKS)
@pytest.mark.parametrize("width", [16, 40, 64, 76])
def test_base64_in_lines(newline: str, width: int) -> None:
    for before in range(width):  # every place of a line that a secret can begin at
        document = b"x" * before + SECRET.encode() + b"y" * 40
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = lines(encode(document).decode(), width, newline)
            said = redact_exact(f"cert:{newline}{text}{newline}end.", [SECRET])
            assert said.count(MASK) == 1, (before, text, said)
            rest = said.replace(MASK, "")
            assert len(left_of(rest)) <= len(encode(b"x" * before + b"y" * 40)) + len("cert:end.") + 4
            assert said.startswith("cert:")
            assert said.endswith("end.")


def test_as_the_library_writes_mail_and_pem() -> None:
    document = b"-" * 50 + SECRET.encode() + b"-" * 50
    mail = base64.encodebytes(document).decode()
    pem = "\n".join(textwrap.wrap(base64.b64encode(document).decode(), 64))
    for text in (mail, pem, json.dumps({"a": mail}), json.dumps(json.dumps({"a": pem})), document.hex()):
        assert MASK in redact(text, [SECRET])
    assert MASK in redact(lines(SECRET.encode().hex() * 3, 32, "\n"), [SECRET])


def test_json_stays_json_and_each_secret_is_found() -> None:
    others = [SECRET, "another-secret-0815", "third/secret+4711"]
    document = b"....".join(other.encode() for other in others)
    text = json.dumps({"body": base64.encodebytes(document * 2).decode(), "n": 1})
    said = json.loads(redact_exact(text, others))
    assert (said["n"], said["body"].count(MASK)) == (1, 6)


@pytest.mark.parametrize(
    "text",
    [
        "An ordinary line that ends\nand goes on.",
        "a_name_of_a_function_that_is_long\nanother_name",
        base64.encodebytes(b"nothing of the kind " * 20).decode(),
        "kanarie-gelb\n",
        "-" * 40 + "\nkanarie\n" + "-" * 40,
        "C:\\temp\\new\\readme\\name",
    ],
)
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert redact_exact(text, [SECRET]) == text


def test_a_writing_in_lines_is_not_longer_than_is_said() -> None:
    for newline in BREAKS:
        for width in (16, 64, 76):
            text = lines(base64.b64encode(SECRET.encode()).decode(), width, newline)
            assert len(text) <= longest_writing([SECRET])


LINE = base64.b64encode(b"x" * 57).decode()


@pytest.mark.parametrize(
    "piece",
    [LINE + "\n", LINE + "\\n", LINE, "\n", "\\n", "\\", "a" * 16 + "\n", "a" * 16 + "\\n ", "abcdefgh\n"],
)
def test_five_megabytes_of_lines(piece: str) -> None:
    """Linear: a search that grows with the square of this would not end before the suite is killed."""
    text = piece * (5_000_000 // len(piece))
    assert redact_exact(text, [SECRET]) == text
