"""Credentials in every shape are masked, ordinary text never is, and no text takes long."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from gerbang.audit.redact import MASK, longest_writing, redact, redact_exact

BODY = "MIIEpAIBAAKCAQEAtoken+/abc" * 30
DIGITS = "0123456789abcdefABCDEF"


def pem(kind: str, headers: str = "", newline: str = "\n") -> str:
    lines = newline.join(BODY[at : at + 64] for at in range(0, len(BODY), 64))
    return f"-----BEGIN {kind}-----{newline}{headers}{lines}{newline}-----END {kind}-----"


# Put together here, so that no scanner takes the table for a leak.
SHAPES = {
    "openai": "sk-" + "proj-" + DIGITS * 2,
    "openai short": "sk-" + "very-secret-0123456789",
    "anthropic": "sk-" + "ant-api03-" + DIGITS,
    "stripe": "sk" + "_live_" + DIGITS,
    "stripe test": "rk" + "_test_" + DIGITS,
    "stripe hook": "whsec" + "_" + DIGITS,
    "github": "ghp" + "_" + DIGITS + "abcdefghijkl",
    "github fine": "github" + "_pat_" + DIGITS + "_" + DIGITS,
    "gitlab": "glpat" + "-" + DIGITS,
    "npm": "npm" + "_" + DIGITS + DIGITS,
    "pypi": "pypi" + "-" + DIGITS * 3,
    "hugging face": "hf" + "_" + "A1b2" * 9,
    "digital ocean": "dop" + "_v1_" + "0123456789abcdef" * 4,
    "slack": "xoxb" + "-123456789012-abcdefABCDEF",
    "slack app": "xapp" + "-1-A0123-456-abcdef",
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws session": "ASIA" + "IOSFODNN7EXAMPLE",
    "google": "AIza" + "SyA-0123456789abcdefABCDEF012345678",
    "google oauth": "GOCSPX" + "-" + DIGITS,
    "sendgrid": "SG." + DIGITS + "." + DIGITS * 2,
    "telegram": "123456789:" + "AA" + "h_0123456789abcdefABCDEF012345678",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1g",
    "rsa": pem("RSA PRIVATE KEY"),
    "rsa, one line in JSON": pem("PRIVATE KEY", newline="\\n"),
    "encrypted": pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1-B2\n\n"),
    "openssh": pem("OPENSSH PRIVATE KEY"),
    "pgp": pem("PGP PRIVATE KEY BLOCK"),
}


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize(
    "around",
    ["{}", "the value is {} and more", '"{}"', "x={}", "({})", "{}\nnext", "\u200b{}", "İİ{}", "[{},{}]"],
)
def test_credentials_that_show_by_their_shape(name: str, around: str) -> None:
    secret = SHAPES[name]
    shown = redact(around.replace("{}", secret))
    assert shown == around.replace("{}", MASK)


@pytest.mark.parametrize("text", [json.dumps({"log": value, "n": 1}) for value in SHAPES.values()])
def test_masked_json_is_still_json(text: str) -> None:
    assert json.loads(redact(text)) == {"log": MASK, "n": 1}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password: hunter2", "password: *"),
        ("Password = hunter2!", "Password = *"),
        ("PASSWD=x9z", "PASSWD=*"),
        ("passphrase: 'four words in here'", "passphrase: '*'"),
        ('secret="a, b; c"', 'secret="*"'),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=*"),
        ("export AWS_SECRET_ACCESS_KEY=wJalr/K7+MD", "export AWS_SECRET_ACCESS_KEY=*"),
        ("OPENAI_API_KEY=abc-def", "OPENAI_API_KEY=*"),
        ("dbPassword: hunter2", "dbPassword: *"),
        ("clientSecret=abc", "clientSecret=*"),
        ("apiKey: abc", "apiKey: *"),
        ("x-api-key: abcdef", "x-api-key: *"),
        ("access_token=abc&next=1", "access_token=*&next=1"),
        ("?api_key=abc&city=Paris", "?api_key=*&city=Paris"),
        ("refreshToken: abc", "refreshToken: *"),
        ("bot_token = 12:34", "bot_token = *"),
        ("privateKey=0xdeadbeef", "privateKey=*"),
        ("AccountKey=abc==;Endpoint=x", "AccountKey=*;Endpoint=x"),
        ('mnemonic: "apple banana cherry"', 'mnemonic: "*"'),
        ("seed_phrase='a b c'", "seed_phrase='*'"),
        ("kata sandi kata_sandi: rahasia1", "kata sandi kata_sandi: *"),
        ('{"password":"hunter2","n":1}', '{"password":"*","n":1}'),
        ('{"password" : "a\'b"}', '{"password" : "*"}'),
        ("{'secret': 'a\"b'}", "{'secret': '*'}"),
        ('{\\"password\\": \\"hunter2\\", \\"n\\": 1}', '{\\"password\\": \\"*\\", \\"n\\": 1}'),
        ("password: hunter2\nuser: ana", "password: *\nuser: ana"),
        ("İ password: hunter2", "İ password: *"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer *"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic *"),
        ('"Authorization": "token abcdef"', '"Authorization": "token *"'),
        ("Proxy-Authorization: abcdef", "Proxy-Authorization: *"),
        ("curl -H 'Bearer 0123456789abcdef0'", "curl -H 'Bearer *'"),
        ("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "basic *"),
        ("postgres://ana:hunter2@db:5432/x", "postgres://ana:*@db:5432/x"),
        ("redis://:hunter2@db", "redis://:*@db"),
        ("https://u:p@ss@host/path", "https://u:*@host/path"),
        ("see amqp://a:b@c and amqp://d:e@f", "see amqp://a:*@c and amqp://d:*@f"),
    ],
)
def test_credentials_that_show_by_their_name(text: str, shown: str) -> None:
    assert redact(text) == shown.replace("*", MASK)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The weather in Paris is 21 degrees.",
        "reset your password now",
        "the password is on the desk",
        "Secretary: Bob",
        "secretary=Bob",
        "keyboard: qwerty",
        "primary key: id",
        "monkey: banana",
        "key=value",
        "pk_customers_orders_2024",
        "sk-learn-something-with-a-long-name",
        "SK-2024-000123456789/KEP",
        "Basic understanding of instructions",
        "basic instructions",
        "bearer of bad news",
        "a bearer instrument",
        "tokens: 4096",
        "max_tokens=4096",
        "nextPageToken: CAUQAA",
        "token count: 12",
        '{"password": null, "secret": true, "n": false}',
        '{"api_key": ""}',
        '"password": {"type": "string"}',
        "http://localhost:8080/a@b",
        "mail ana@example.org: hi",
        "https://example.org/a:b",
        "12:30:45",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\nabc",
        "eyJhbGciOiJIUzI1NiJ9",
        "AKIA is a prefix",
        "ghp_short",
        "risk-0123456789abcdef",
        "task_live_0123456789",
        "1234567890:ABC",
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        "550e8400-e29b-41d4-a716-446655440000",
        "kata sandi harus panjang",
        "def authorization(self): pass",
    ],
)
def test_ordinary_text_is_never_masked(text: str) -> None:
    assert redact(text) == text


def test_masking_twice_is_masking_once() -> None:
    text = " ".join([*SHAPES.values(), "password: hunter2", "Authorization: Bearer abc123"])
    assert redact(redact(text)) == redact(text)


KNOWN = 'p@ss "wörd"/+'


@pytest.mark.parametrize(
    "written",
    [
        KNOWN,
        json.dumps(KNOWN)[1:-1],
        json.dumps(KNOWN, ensure_ascii=False)[1:-1],
        "p%40ss%20%22w%C3%B6rd%22%2F%2B",
        "p%40ss%20%22w%c3%b6rd%22%2f%2b",
        "p%40ss+%22w%C3%B6rd%22%2F%2B",
        "%70%40%73%73%20%22%77%C3%B6%72%64%22%2F%2B",
        "p%2540ss%2520%2522w%25C3%25B6rd%2522%252F%252B",
        "p%252540ss%252520%252522w%2525C3%2525B6rd%252522%25252F%25252B",
        json.dumps(KNOWN)[1:-1].replace("/", "\\/"),
        json.dumps(json.dumps(KNOWN))[3:-3],
        json.dumps(json.dumps(KNOWN, ensure_ascii=False), ensure_ascii=False)[3:-3],
        json.dumps(json.dumps(json.dumps(KNOWN)))[7:-7],
    ],
)
def test_a_known_secret_in_every_writing(written: str) -> None:
    assert redact(f"<{written}>", [KNOWN]) == f"<{MASK}>"


MARKED = "p&a<b>\"c\"'d'+e/f\\g\n-日😀"


@pytest.mark.parametrize(
    "written",
    [
        # JSON as Go, .NET and PHP write it
        "p\\u0026a\\u003cb\\u003e\\\"c\\\"'d'+e/f\\\\g\\n-日😀",
        "p\\u0026a\\u003Cb\\u003E\\u0022c\\u0022\\u0027d\\u0027\\u002Be/f\\\\g\\n-\\u65E5\\uD83D\\uDE00",
        "p&a<b>\\\"c\\\"'d'+e\\/f\\\\g\\n-\\u65e5\\ud83d\\ude00",
        # HTML and XML
        "p&amp;a&lt;b&gt;&#34;c&#34;&#39;d&#39;+e/f\\g\n-日😀",
        "p&amp;a&lt;b&gt;&#34;c&#34;&#39;d&#39;&#43;e/f\\g\n-日😀",
        "p&amp;a&lt;b&gt;&quot;c&quot;&apos;d&apos;+e/f\\g&#10;-&#26085;&#x1F600;",
        "p&#x26;a&#x3C;b&#x3e;&#x22;c&#x22;&#x27;d&#x27;&#x2B;e&#x2F;f&#x5C;g&#xA;&#x2D;日😀",
        # one in the other
        json.dumps(json.dumps(MARKED))[3:-3],
        json.dumps(html.escape(MARKED))[1:-1],
        html.escape(html.escape(MARKED)),
        html.escape(json.dumps(MARKED))[6:-6],
        quote_plus(json.dumps(MARKED)[1:-1]),
        quote(html.escape(MARKED)),
        repr(MARKED)[1:-1],
        repr(MARKED.encode())[2:-1],
    ],
)
def test_a_known_secret_in_the_writings_of_many_encoders(written: str) -> None:
    assert redact(f"<{written}>", [MARKED]) == f"<{MASK}>"


@pytest.mark.parametrize("secret", [MARKED, "\\" * 6 + "abc" + "\\" * 3, "a&amp;b%25c"])
@pytest.mark.parametrize("piece", ["\\", "&amp;", "%25", "p&amp;a", "a&", "\\\\&amp;%255C", "p%26"])
def test_known_secrets_in_five_megabytes_of_escapes(secret: str, piece: str) -> None:
    """Linear, as above; a secret's own backslashes cannot be shared out among those of a text."""
    text = piece * (5_000_000 // len(piece))
    assert redact_exact(text, [secret]) == text


@pytest.mark.parametrize(
    "encode", [str, quote_plus, json.dumps, html.escape, lambda text: quote(quote(quote(text)))]
)
@pytest.mark.parametrize("secret", [KNOWN, MARKED, "日本語" * 4, "\"'" * 6])
def test_no_writing_is_longer_than_is_said(encode: Callable[[str], str], secret: str) -> None:
    assert len(encode(secret)) <= longest_writing([secret])


@pytest.mark.parametrize("before", ["", "a", "ab", "user:", "abcde"])
@pytest.mark.parametrize("after", ["", "z", "zz", "zzz"])
def test_a_known_secret_inside_base64(before: str, after: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(f"{before}{KNOWN}{after}".encode()).decode()
        assert MASK in redact(text, [KNOWN])
        assert len(redact(text, [KNOWN]).replace(MASK, "")) <= len(encode(f"{before}{after}".encode())) + 4


@pytest.mark.parametrize("secret", [KNOWN, MARKED, 'p"q\\w/é-x', "日本語" * 4, "line one\nline two"])
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", ["k", "ke", "key"])
def test_a_known_secret_in_json_inside_base64_or_hex(secret: str, plain: bool, name: str) -> None:
    document = json.dumps({name: secret}, ensure_ascii=plain).encode()
    for text in (base64.b64encode(document).decode(), base64.urlsafe_b64encode(document).decode()):
        assert MASK in redact_exact(text, [secret])
        assert len(redact_exact(text, [secret]).replace(MASK, "")) <= 4 * len(f'{{"{name}": ""}}') / 3 + 8
        assert len(text) - 4 * len(f'{{"{name}": ""}}') / 3 <= longest_writing([secret])
    assert MASK in redact_exact(document.hex(), [secret])


def test_overlapping_secrets_leave_nothing() -> None:
    assert redact("abcdef-abc", ["abc", "abcdef"]) == f"{MASK}-{MASK}"
    assert redact("x redacted x", ["redacted", "x"]) == f"{MASK} {MASK} {MASK}"
    assert redact("nothing", ["", "other"]) == "nothing"
    assert redact("a.c abc", ["a.c"]) == f"{MASK} abc"


HOSTILE = [
    "-eyJ",
    "eyJaaaaaaaa.",
    "sk-",
    "sk-a ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY----- x",
    "a://",
    "http://a:",
    "password=",
    'password="',
    "secret_",
    "basic ",
    "bearer a",
    "authorization: ",
    "1234567890:AA",
    "ghp_",
    "key key ",
    "\\",
    '\\"password',
    "xoxb-",
    "%",
    "İpass",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_five_megabytes_of_beginnings(piece: str) -> None:
    """Linear: a search that grows with the square of this would not end before the suite is killed."""
    text = piece * (5_000_000 // len(piece.encode()))
    assert redact(text)
