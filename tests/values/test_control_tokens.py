"""Control tokens of chat templates in text that nobody vouches for: none is left, the rest stays."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gerbang.parse import dialects
from gerbang.values.control_tokens import harmless

TOKENS = [
    *("<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<|end|>"),
    *("<|return|>", "<|START_OF_TURN_TOKEN|>", "<|user|>", "<|channel>", "<|tool_response>", "<|turn>"),
    *("<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>", "<turn|>", "<tool_call|>", '<|"|>'),
    *("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<<SYS>>", "<</SYS>>", "<SPECIAL_12>"),
    *("[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[SYSTEM_PROMPT]"),
    *("]~b]", "[e~[", "<start_function_call>"),
    *("</s>", "<seed:eos>", "<seed:bos>", "[|endofturn|]", "[|user|]"),
]
PLAIN = [
    "",
    "a < b || c > d",
    "<div class='x'>|</div>",
    "[1, 2, [3]] [x](y) [INSTALL] [tool]",
    "x <| y",
    "<||>",
    "cmd <file | grep '|>'",
    "<s>old price [|] [a|b] [|x| + |y|]",
    "if (a <b) | (c> d)",
    "😀 <é|ü> ｜",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_taken_apart_by_one_space(token: str) -> None:
    assert harmless(f"a{token}b") == f"a{token[0]} {token[1:]}b"


@pytest.mark.parametrize("token", TOKENS)
def test_in_json_the_value_stays_as_it_is(token: str) -> None:
    text = json.dumps({"text": f"a{token}b{token}"}, ensure_ascii=False)
    made = harmless(text, as_json=True)
    assert json.loads(made) == json.loads(text)
    if '"' not in token:  # a quote is escaped in JSON: the token is none there
        assert token not in made


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text
    assert harmless(text, as_json=True) == text


@example(["]~b", "]~b]"])
@given(st.lists(st.sampled_from([*TOKENS, "<", "|", ">", "[", "]", "~b", "a", " "])))
def test_no_token_is_left_however_they_stand(parts: list[str]) -> None:
    made = harmless("".join(parts))
    assert harmless(made) == made
    assert not [token for token in TOKENS if token in made]


def test_the_marks_of_every_dialect_that_look_like_tokens_are_known() -> None:
    """A mark between `<|` and `|>` that a dialect lists is one that `harmless` takes apart."""
    marks = {mark for one in dialects() for mark in (*one.starts, *one.noise)}
    bars = [mark for mark in marks if mark.startswith(("<|", "<｜")) and mark.endswith(("|>", "｜>"))]
    assert bars
    assert [mark for mark in bars if harmless(mark) == mark] == []
