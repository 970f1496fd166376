"""Requests that people make of the basic tools, and the calls that they mean.

A call's argument is compared without spaces; a search only has to contain the word.
"""

from typing import Any

Want = list[tuple[str, str]]


def _read(path: str) -> tuple[str, str]:
    return ("read_file", path)


def _sum(expression: str) -> tuple[str, str]:
    return ("calculate", expression.replace(" ", ""))


def _search(word: str) -> tuple[str, str]:
    return ("knowledge_search", word)


LIST, TIME = ("list_files", ""), ("current_time", "")
NOTES = _read("notes.txt")
SHARE = _sum("12/100*340")

DEMO: list[tuple[str, Want]] = [
    ("What is 25 * 4 + 10?", [_sum("25*4+10")]),
    ("Read notes.txt", [NOTES]),
    ("Read notes.txt and then work out 12% of 340", [NOTES, SHARE]),
    ("List the files and read notes.txt", [LIST, NOTES]),
]
"""What `make run` shows; these must always work."""

ONE: list[tuple[str, Want]] = [
    ("What is 25 * 4 + 10?", [_sum("25*4+10")]),
    ("what's 25*4+10", [_sum("25*4+10")]),
    ("Calculate 25 * 4 + 10", [_sum("25*4+10")]),
    ("25 * 4 + 10", [_sum("25*4+10")]),
    ("How much is 25 times 4 plus 10?", [_sum("25*4+10")]),
    ("What is (3 + 4) * 2?", [_sum("(3+4)*2")]),
    ("Work out 2 ** 10", [_sum("2**10")]),
    ("compute 1,250 * 3", [_sum("1250*3")]),
    ("What is 12% of 340?", [SHARE]),
    ("what is 15 percent of 80", [_sum("15/100*80")]),
    ("12.5 / 5", [_sum("12.5/5")]),
    ("Please work out 7 - 12", [_sum("7-12")]),
    ("What is 100 divided by 8?", [_sum("100/8")]),
    ("I need 18 * 23", [_sum("18*23")]),
    ("(1 + 2) * (3 + 4)", [_sum("(1+2)*(3+4)")]),
    ("Can you tell me what 99 * 99 is?", [_sum("99*99")]),
    ("Read notes.txt", [NOTES]),
    ("read notes.txt please", [NOTES]),
    ("Open notes.txt", [NOTES]),
    ("Show me notes.txt", [NOTES]),
    ("What does notes.txt say?", [NOTES]),
    ("What is in notes.txt?", [NOTES]),
    ("Display the content of todo.md", [_read("todo.md")]),
    ("cat notes.txt", [NOTES]),
    ("Print prices.csv", [_read("prices.csv")]),
    ("Can you read the file notes.txt for me?", [NOTES]),
    ("Read docs/plan.md", [_read("docs/plan.md")]),
    ("I want to see what's written in todo.md", [_read("todo.md")]),
    ("List the files", [LIST]),
    ("list files", [LIST]),
    ("Which files are there?", [LIST]),
    ("What files do I have?", [LIST]),
    ("Show me the files in the workspace", [LIST]),
    ("ls", [LIST]),
    ("show me what is in the folder", [LIST]),
    ("What time is it?", [TIME]),
    ("what is the date today", [TIME]),
    ("Tell me the current time", [TIME]),
    ("What does the knowledge base say about refunds?", [_search("refund")]),
    ("Search the knowledge base for opening hours", [_search("opening")]),
    ("Look up the refund period", [_search("refund")]),
    ("How long do I have for a refund?", [_search("refund")]),
]

TWO: list[tuple[str, Want]] = [
    ("Read notes.txt and then work out 12% of 340", [NOTES, SHARE]),
    ("Read notes.txt, then work out 12% of 340", [NOTES, SHARE]),
    ("Read notes.txt and calculate 25 * 4", [NOTES, _sum("25*4")]),
    ("List the files and read notes.txt", [LIST, NOTES]),
    ("List the files, then read notes.txt", [LIST, NOTES]),
    ("Show me the files and open todo.md", [LIST, _read("todo.md")]),
    ("Read notes.txt and todo.md", [NOTES, _read("todo.md")]),
    ("What time is it and what is 18 * 23?", [TIME, _sum("18*23")]),
    ("Work out (3 + 4) * 2 and 2 ** 10", [_sum("(3+4)*2"), _sum("2**10")]),
    ("Tell me the time and list the files", [TIME, LIST]),
    ("What is 5 * 6? Also read notes.txt.", [_sum("5*6"), NOTES]),
    ("List files, read prices.csv and work out 3 * 19", [LIST, _read("prices.csv"), _sum("3*19")]),
    ("Compute 15% of 80, then list the files", [_sum("15/100*80"), LIST]),
    ("Open notes.txt and search the knowledge base for refunds", [NOTES, _search("refund")]),
]

NOTHING: list[str] = [
    "Hello, how are you?",
    "Thank you!",
    "Write a poem about the sea",
    "Delete notes.txt",
    "Who are you?",
    "Good morning",
    "Send an email to Ana",
    "Tell me a joke",
    "Goodbye",
    "Turn on the lights",
    "Translate hello to French",
    "ok",
    "Rename notes.txt to old.txt",
    "Book a flight to Paris",
    "What can you do?",
]
"""Requests that no basic tool can serve."""


def matches(calls: list[tuple[str, dict[str, Any]]], want: Want) -> bool:
    """Tell whether the calls are the wanted ones, in order."""
    if len(calls) != len(want):
        return False
    for (name, arguments), (wanted, argument) in zip(calls, want, strict=True):
        given = "".join(str(value) for value in arguments.values())
        same = (
            argument in given.lower() if wanted == "knowledge_search" else given.replace(" ", "") == argument
        )
        if name != wanted or not same:
            return False
    return True
