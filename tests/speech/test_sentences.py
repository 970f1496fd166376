"""Sentences for speech: where they end, what of a text is said, and that no cut of the text matters."""

import itertools
import random

import pytest

from gerbang.loop.spoken_sentences import SpokenSentences


def spoken(pieces: list[str]) -> list[str]:
    sentences = SpokenSentences()
    found = [sentence for piece in pieces for sentence in sentences.feed(piece)]
    return found + sentences.finish()


CASES: list[tuple[str, str, list[str]]] = [
    ("nothing", "", []),
    ("white space", " \n\t\n ", []),
    ("marks only", "... !!! --- ***", []),
    ("one", "Hello there", ["Hello there"]),
    ("three", "Hello there. How are you? Fine!", ["Hello there.", "How are you?", "Fine!"]),
    ("title and number", "Dr. Smith paid 3.14 dollars. He left at 10.30. Then no. 5 came.",
     ["Dr. Smith paid 3.14 dollars.", "He left at 10.30.", "Then no. 5 came."]),
    ("no is a word too", "No. I do not. No. 5 is.", ["No.", "I do not.", "No. 5 is."]),
    ("initials", "J. K. Rowling wrote. I am I. Yes.", ["J. K. Rowling wrote.", "I am I.", "Yes."]),
    ("letters with stops", "In the U.S. Army, e.g. Fort X. Then home.",
     ["In the U.S. Army, e.g. Fort X. Then home."]),
    ("short form at the end", "Cats, dogs, etc. They run.", ["Cats, dogs, etc.", "They run."]),
    ("Indonesian", "Bpk. Budi tinggal di Jl. Merdeka No. 5. Harganya Rp. 5.000,00 dll. Terima kasih.",
     ["Bpk. Budi tinggal di Jl. Merdeka No. 5.", "Harganya Rp. 5.000,00 dll.", "Terima kasih."]),
    ("Indonesian names", "Yth. Ibu Ani, a.n. PT. Maju s.d. tgl. 17 Agustus. Hormat kami.",
     ["Yth. Ibu Ani, a.n. PT. Maju s.d. tgl. 17 Agustus.", "Hormat kami."]),
    ("ellipsis goes on", "Wait... what? So… yes.", ["Wait... what?", "So… yes."]),
    ("ellipsis ends", "I wonder... Maybe.", ["I wonder...", "Maybe."]),
    ("quotes", "\"Really?\" he asked. “Yes.” She left.", ["\"Really?\" he asked.", "“Yes.”", "She left."]),
    ("brackets", "It works (mostly.) Good. It is (as said. Often) fine.",
     ["It works (mostly.)", "Good.", "It is (as said.", "Often) fine."]),
    ("Chinese", "今天天气很好。你好吗？「好。」他说。", ["今天天气很好。", "你好吗？", "「好。」", "他说。"]),
    ("Japanese", "はい！行きます。", ["はい！", "行きます。"]),
    ("version and file", "Use 2.0.1 of main.py now. Good.", ["Use 2.0.1 of main.py now.", "Good."]),
    ("decimal comma", "Rp1.250.000,50 saja.", ["Rp1.250.000,50 saja."]),
    ("soft lines", "soft wrapped\nline of text. Next\nline", ["soft wrapped line of text.", "Next line"]),
    ("paragraphs", "One\n\nTwo\n\n\nThree", ["One", "Two", "Three"]),
    ("heading and list", "# Title\n\n- one **bold** thing\n* two\n1. First. More.\n2. Second",
     ["Title", "one bold thing", "two", "1. First.", "More.", "2. Second"]),
    ("quote and task", "> said so\n- [x] done", ["said so", "done"]),
    ("table", "| a | b |\n|---|:-:|\n| 1 | 2 |\n", ["a, b", "1, 2"]),
    ("rule", "Up\n\n---\n\nDown", ["Up", "Down"]),
    ("emphasis", "It is *very* __good__, ~~not~~ snake_case.", ["It is very good, not snake_case."]),
    ("escaped", r"Two \* three is six.", ["Two * three is six."]),
    ("code block", "Run:\n```sh\nrm -rf /. Now\n```\nDone.", ["Run:", "Done."]),
    ("longer fence", "A.\n````\n```\nx. Y\n```\n````\nB.", ["A.", "B."]),
    ("tilde fence", "A.\n~~~\nx. Y\n~~~\nB.", ["A.", "B."]),
    ("open fence", "A.\n```python\nprint('a. B')", ["A."]),
    ("code of words", "Call `run tests` and `f(x. Y)` now.", ["Call run tests and now."]),
    ("fence in a line", "Say ```inline``` code. Ok.", ["Say inline code.", "Ok."]),
    ("link", "See [the docs](https://x.org/a.b?c=1. D) now. Go.", ["See the docs now.", "Go."]),
    ("picture", "Look: ![a cat. Cute](cat.png) here.", ["Look: here."]),
    ("address", "Go to https://a.com/a_b?x=1, or www.example.org. Then go.", ["Go to, or.", "Then go."]),
    ("address in brackets", "It is there (https://example.com/x). Good.", ["It is there.", "Good."]),
    ("tags", "<b>Bold</b> text. <br/> Next <a href=\"x. Y\">link</a>.", ["Bold text.", "Next link."]),
    ("less than", "If 1 < 2 and 3 > 2. Then yes.", ["If 1 2 and 3 > 2.", "Then yes."]),
    ("call", 'Before <tool_call>{"name": "x. Y"}</tool_call> after.', ["Before", "after."]),
    ("call over lines", "A.\n<tool_call>\n<function=get. X>\n<parameter=city>\nParis. Rome\n</parameter>\n"
     "</function>\n</tool_call>\nB.", ["A.", "B."]),
    ("open call", "Before. <tool_use>{\"name\": \"x", ["Before."]),
    ("thoughts", "<think>Hm. What?</think>Yes.", ["Yes."]),
    ("pictures", "Hi 🎉🎉! It is 21 °C 👩‍🚀.", ["Hi!", "It is 21 °C."]),
    ("phonemes", "Say [[h@l'oU]] now.", ["Say h@l'oU now."]),
    ("control characters", "A\x1b[31mB\x00C.", ["A 31mBC."]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_said(text: str, said: list[str]) -> None:
    assert spoken([text]) == said
    assert spoken(list(text)) == said, "one character at a time"
    chance = random.Random(text)
    for _ in range(20):
        places = sorted({0, len(text), *(chance.randint(0, len(text)) for _ in range(5))})
        pieces = [text[low:high] for low, high in itertools.pairwise(places)]
        assert spoken(pieces) == said, pieces


def test_a_sentence_comes_as_soon_as_the_next_begins() -> None:
    sentences = SpokenSentences()
    assert sentences.feed("It is warm. ") == []
    assert sentences.feed("T") == ["It is warm."]
    assert sentences.feed("omorrow") == []
    assert sentences.finish() == ["Tomorrow"]
    assert sentences.finish() == []
    assert sentences.feed("Again. A") == ["Again."]


def test_a_long_sentence_is_cut_at_a_pause_and_nothing_is_lost() -> None:
    text = ", ".join(f"word{number} and more" for number in range(500)) + "."
    said = spoken([text[start : start + 7] for start in range(0, len(text), 7)])
    assert max(map(len, said)) <= 600
    assert " ".join(said) == text
    assert all(piece.endswith(",") for piece in said[:-1])
    assert "".join(spoken(["字" * 5_000])) == "字" * 5_000


@pytest.mark.parametrize("piece", ["[", "(", "<a", "`", "[a](", "<tool_call", "```"])
def test_what_is_opened_and_never_closed_silences_no_more_than_a_part(piece: str) -> None:
    words = "These are words. " * 400
    said = spoken(list(f"{piece} {words}"))
    assert " ".join(said).count("These are words") >= 300
