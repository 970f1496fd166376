"""Addresses, and the texts that are carried past the embedded model."""

import pytest

from gerbang.adapters.models import open_model
from gerbang.adapters.models.embedded_paths import mend
from gerbang.adapters.models.embedded_sums import Sums
from gerbang.errors import ConfigError
from tests.models.answers import spec

CALCULATE = spec("calculate", expression={"type": "string"})


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("openai:qwen3@http://127.0.0.1:8080/v1/", "openai:qwen3@http://127.0.0.1:8080/v1"),
        ("openai:a/b:7b@https://h.example/x/v1", "openai:a/b:7b@https://h.example/x/v1"),
        ("openai:m@home@http://[::1]:8080/v1", "openai:m@home@http://[::1]:8080/v1"),
        ("ollama:qwen2.5:7b", "ollama:qwen2.5:7b@http://127.0.0.1:11434"),
        ("ollama:q@http://h:1", "ollama:q@http://h:1"),
    ],
)
def test_good(address: str, name: str) -> None:
    assert open_model(address).name == name


@pytest.mark.parametrize(
    "address",
    ["", "x", "gpt:x", "openai:", "openai:m", "openai:@http://h/v1", "openai:m@ftp://h", "openai:m@http://",
     "openai:m@http://h:99999/v1", "openai:m@http://u:hunter2@h/v1", "openai:m@http://h/v1?key=hunter2",
     "ollama:", "ollama:m@", "ollama:m@ftp://h", "ollama:m@127.0.0.1:11434", "ollama:m@ftp://u:hunter2@h",
     "embedded:big", "gguf:"],
)  # fmt: skip
def test_bad(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(address)
    assert len(str(caught.value)) > 20
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("request_", "reads", "sums"),
    [
        ("What is (3 + 4) * 2?", "What is 47+16?", ["(3 + 4) * 2"]),
        ("12% of 340", "47+16", ["12 / 100 * 340"]),
        ("5 times 6, and 1,250 * 3", "47+16, and 53+29", ["5 * 6", "1250 * 3"]),
        ("2 ^ 10", "47+16", ["2**10"]),
        ("Berapa 25 * 4 + 10?", "Hitung 47+16?", ["25 * 4 + 10"]),
        ("berapakah hasil dari 12 kali 7?", "Hitung 47+16?", ["12 * 7"]),
        ("Berapa jumlah 25% dari 80", "Hitung 47+16", ["25 / 100 * 80"]),
        ("Berapa 3 orang?", "Berapa 3 orang?", []),
        ("Berapa banyak berkas? 1 + 2", "Berapa banyak berkas? 47+16", ["1 + 2"]),
        ("47 + 1", "53+29", ["47 + 1"]),
        ("On 2026-11-30 call 555-1234", "On 2026-11-30 call 555-1234", []),
        ("Read a/1/2.txt, pages 3-5", "Read a/1/2.txt, pages 3-5", []),
        ("(1 + 2", "(1 + 2", []),
    ],
)
def test_sums(request_: str, reads: str, sums: list[str]) -> None:
    found = Sums(request_, (CALCULATE,))
    assert found.text == reads
    back = [found.restore({"e": standin})["e"] for standin in vars(found)["_sums"]]
    assert [text.replace(" ", "") for text in back] == [text.replace(" ", "") for text in sums]


def test_sums_without_a_calculator_are_left_alone() -> None:
    assert Sums("What is 3 + 4?", (spec("a"),)).text == "What is 3 + 4?"


def test_mangled_sums() -> None:
    found = Sums("What is (3 + 4) * 2?", (CALCULATE,))
    assert found.restore({"e": "47"}) == {"e": "(3 + 4) * 2"}
    assert found.restore({"n": 47}) is None
    assert found.restore({"q": "about 47 things"}) is None
    assert found.restore({"q": "nothing", "b": True}) == {"q": "nothing", "b": True}


@pytest.mark.parametrize(
    ("request_", "given", "meant"),
    [
        ("Read knowledge/refunds.md", "refunds.md", "knowledge/refunds.md"),
        ("Read prices.csv", "price.csv", "prices.csv"),
        ("cat notes.txt", "cat notes.txt", "notes.txt"),
        ("Read notes.txt", "other.csv", "other.csv"),
        ("Read it", "notes.txt", "notes.txt"),
    ],
)
def test_file_names(request_: str, given: str, meant: str) -> None:
    assert mend({"path": given, "query": given}, request_) == {"path": meant, "query": given}
