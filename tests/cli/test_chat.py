"""`gerbang chat`: one request, and talking at a terminal."""

import json
from pathlib import Path

import pytest

from tests.cli.model_server import serving
from tests.cli.terminal import Terminal, gerbang

MINE = ("--python", "mytools:tools")
ASK_MAIL = [("mail__send__v1", {"to": "ana@example.org", "text": "hello"})]


def test_the_embedded_model_answers(place: Path) -> None:
    ran = gerbang("chat", "What is 25 * 4 + 10?", cwd=place)
    assert ran.code == 0
    assert ("110" in ran.out, "only picks tools" in ran.err) == (True, False)


def test_the_embedded_model_says_that_it_does_not_talk(place: Path) -> None:
    ran = gerbang("chat", "hi", cwd=place)
    assert (ran.code, "only picks tools" in ran.err) == (0, True)


def test_prompt_from_standard_input(place: Path) -> None:
    with serving("Hi.") as server:
        ran = gerbang("chat", "--model", server.address, cwd=place, text="Hello\nthere")
    assert (ran.code, ran.out) == (0, "Hi.\n")
    assert server.requests[0]["messages"][-1] == {"role": "user", "content": "Hello\nthere"}


@pytest.mark.parametrize("more", [(), ("-",)])
def test_each_line_of_standard_input_is_a_request(place: Path, more: tuple[str, ...]) -> None:
    with serving("First.", "Second.") as server:
        ran = gerbang("chat", "--lines", *more, "--model", server.address, cwd=place, text="one\n\ntwo\n")
    assert (ran.code, ran.out) == (0, "First.\nSecond.\n")
    said = [item["content"] for item in server.requests[1]["messages"] if item["role"] != "system"]
    assert said == ["one", "First.", "two"]


def test_the_exit_code_of_lines_is_that_of_the_first_that_failed(place: Path) -> None:
    with serving(ASK_MAIL, "Fine.") as server:
        ran = gerbang(
            "chat",
            "--lines",
            "--json",
            "--pending",
            "--model",
            server.address,
            *MINE,
            cwd=place,
            text="a\nb\n",
        )
    assert ran.code == 3
    assert [line["status"] for line in ran.lines] == ["pending_approval", "completed"]


def test_what_waits_is_shown_line_by_line(place: Path) -> None:
    with serving(ASK_MAIL) as server:
        ran = gerbang("chat", "a", "--pending", "--model", server.address, *MINE, cwd=place)
    assert ran.code == 3
    assert "\n    to: ana@example.org\n    text: hello\n" in ran.err


@pytest.mark.parametrize("profile", ["minimal", "terminal", "gateway", "voice"])
def test_the_embedded_model_answers_in_every_profile(place: Path, profile: str) -> None:
    ran = gerbang("chat", "What is 25 * 4 + 10?", "--profile", profile, cwd=place)
    assert (ran.code, ran.out.strip()) == (0, "110")


def test_json(place: Path) -> None:
    with serving([("read_file", {"path": "notes.txt"})], "Rice.") as server:
        ran = gerbang("chat", "What to buy?", "--model", server.address, "--json", cwd=place)
    assert ran.code == 0
    assert {key: ran.json[key] for key in ("status", "answer", "steps")} == {
        "status": "completed", "answer": "Rice.", "steps": 2,
    }  # fmt: skip
    (call,) = ran.json["calls"]
    assert call["status"] == "ok"
    assert call["tool"] == "read_file"
    assert "Buy rice." in call["value"]


def test_json_events(place: Path) -> None:
    with serving([("read_file", {"path": "notes.txt"})], "Buy some rice.") as server:
        ran = gerbang("chat", "What to buy?", "--model", server.address, "--json", "--stream", cwd=place)
    events = ran.lines
    kinds = [event["type"] for event in events if event["type"] not in ("answer_delta", "decided")]
    assert kinds == ["tool_opened", "tool_called", "tool_finished", "finished"]
    assert "".join(event["text"] for event in events if event["type"] == "answer_delta") == "Buy some rice."
    assert events[-1]["result"]["answer"] == "Buy some rice."
    called = next(event for event in events if event["type"] == "tool_called")
    assert (called["tool"], called["arguments"]) == ("read_file", {"path": "notes.txt"})


def test_only_the_answer_goes_to_a_pipe(place: Path) -> None:
    with serving([("hostile__text__v1", {})], "Done \x1b[2J here.") as server:
        ran = gerbang("chat", "go", "--model", server.address, *MINE, cwd=place)
    assert (ran.code, ran.out) == (0, "Done \\x1b[2J here.\n")
    assert "\x1b" not in ran.err
    assert "hostile.text.v1" in ran.err


def test_nobody_to_ask_means_no(place: Path) -> None:
    with serving(ASK_MAIL, "I could not send it.") as server:
        ran = gerbang("chat", "mail ana", "--model", server.address, "--json", *MINE, cwd=place)
    (call,) = ran.json["calls"]
    assert call["status"] == "error"
    assert call["error"]["error_type"] == "approval_denied"
    assert "nobody can be asked" in call["error"]["message"]
    assert "--pending" in ran.err
    assert not (place / "outbox.txt").exists()


def test_a_model_that_gives_no_answer(place: Path) -> None:
    with serving(0.0) as server:
        ran = gerbang("chat", "go", "--model", server.address, "--json", cwd=place)
    assert ran.code == 1
    assert ran.json["status"] == "model_error"
    assert ran.json["detail"]


def test_a_model_that_is_not_there(place: Path) -> None:
    ran = gerbang("chat", "go", "--model", "openai:x@http://127.0.0.1:9/v1", cwd=place)
    assert (ran.code, ran.out) == (1, "The model gave no answer.\n")
    assert "127.0.0.1:9" in ran.err


def test_step_limit(place: Path) -> None:
    calls = [[("calculate", {"expression": f"1 + {number}"})] for number in range(9)]
    with serving(*calls) as server:
        ran = gerbang("chat", "go", "--model", server.address, "--max-steps", "2", "--json", cwd=place)
    assert ran.code == 1
    assert (ran.json["status"], ran.json["steps"]) == ("max_steps", 2)


def chat(place: Path, address: str, *more: str) -> Terminal:
    return Terminal("chat", "--model", address, *MINE, *more, cwd=place)


def test_talking_with_history(place: Path) -> None:
    with (
        serving("First answer.", "Second answer.", "Third answer.") as server,
        chat(place, server.address) as at,
    ):
        at.wait_for("you> ")
        at.type("one\r")
        at.wait_for("First answer.")
        at.wait_for("you> ")
        at.type("\r/help\r")
        at.wait_for("/new forgets")
        at.type("two\r")
        at.wait_for("Second answer.")
        at.wait_for("you> ")
        at.type("/new\r")
        at.wait_for("you> ")
        at.type("three\r")
        at.wait_for("Third answer.")
        at.wait_for("you> ")
        at.type("\x04")
        assert at.end() == 0
    said = [
        [
            (message["role"], message["content"])
            for message in request["messages"]
            if message["role"] != "system"
        ]
        for request in server.requests
    ]
    assert said == [
        [("user", "one")],
        [("user", "one"), ("assistant", "First answer."), ("user", "two")],
        [("user", "three")],
    ]
    history = place / ".local" / "state" / "gerbang" / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert history.read_text().split("\n")[-4:-1] == ["two", "/new", "three"]


def test_ctrl_c_stops_the_turn_and_not_the_program(place: Path) -> None:
    slow = [("slow__wait__v1", {"seconds": 30})]
    with serving(slow, "Still here.") as server, chat(place, server.address) as at:
        at.wait_for("you> ")
        at.type("wait\r")
        at.wait_for("running slow.wait.v1")
        at.type("\x03")
        at.wait_for("Stopped.")
        at.wait_for("you> ")
        at.type("\x03")
        at.wait_for("(Ctrl-D ends)")
        at.type("are you there?\r")
        at.wait_for("Still here.")
        at.wait_for("you> ")
        at.type("/quit\r")
        assert at.end() == 0
    assert (place / "started.txt").exists()
    assert not (place / "ended.txt").exists()
    states = [run["state"] for run in gerbang("runs", "list", "--json", cwd=place).json]
    assert states == ["completed", "cancelled"]


def test_ctrl_c_ends_a_single_request(place: Path) -> None:
    with (
        serving([("slow__wait__v1", {"seconds": 30})]) as server,
        Terminal("chat", "wait", "--model", server.address, *MINE, cwd=place) as at,
    ):
        at.wait_for("running slow.wait.v1")
        at.type("\x03")
        at.wait_for("Interrupted.")
        assert at.end() == 130
    (run,) = gerbang("runs", "list", "--json", cwd=place).json
    assert run["state"] == "cancelled"


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        (["y\r"], "ana@example.org: hello\n"),
        (["n not now\r"], None),
        (["e\r", '{"to": "bo@example.org", "text": "hi"}\r'], "bo@example.org: hi\n"),
    ],
)
def test_approval(place: Path, keys: list[str], sent: str | None) -> None:
    with serving(ASK_MAIL, "That is that.") as server, chat(place, server.address) as at:
        at.wait_for("you> ")
        at.type("mail ana\r")
        shown = at.wait_for("Run it?")
        assert "mail.send.v1" in shown
        assert shown.count("ana@example.org") == 1
        for number, line in enumerate(keys):
            if number:
                at.wait_for("on one line:")
            at.type(line)
        at.wait_for("That is that.")
        at.wait_for("you> ")
        at.type("\x04")
        assert at.end() == 0
    outbox = place / "outbox.txt"
    assert (outbox.read_text() if outbox.exists() else None) == sent
    told = json.dumps(server.requests[1]["messages"][-1])
    if sent is None:
        assert "not now" in told
    elif "bo@" in sent:
        assert "bo@example.org" in told


def test_approval_of_a_single_call(place: Path) -> None:
    arguments = json.dumps(ASK_MAIL[0][1])
    with Terminal("call", "mail.send.v1", arguments, *MINE, cwd=place) as at:
        at.wait_for("Run it?")
        at.type("y\r")
        at.wait_for("sent")
        assert at.end() == 0
    assert (place / "outbox.txt").read_text() == "ana@example.org: hello\n"


def test_ctrl_c_at_the_question(place: Path) -> None:
    with serving(ASK_MAIL, "Fine.") as server, chat(place, server.address) as at:
        at.wait_for("you> ")
        at.type("mail ana\r")
        at.wait_for("Run it?")
        at.type("\x03")
        at.wait_for("Stopped.")
        at.wait_for("you> ")
        at.type("hello\r")
        at.wait_for("Fine.")
        at.wait_for("you> ")
        at.type("\x04")
        assert at.end() == 0
    assert not (place / "outbox.txt").exists()


def test_no_colour_when_it_is_not_wanted(place: Path) -> None:
    with serving("Plain.") as server:
        with Terminal(
            "chat", "go", "--model", server.address, cwd=place, env={"NO_COLOR": "1", "TERM": "dumb"}
        ) as at:
            at.wait_for("Plain.")
            assert at.end() == 0
        assert "\x1b" not in at.screen


def test_a_model_that_fails_does_not_end_the_talk(place: Path) -> None:
    with serving(0.0, 0.0, 0.0, 0.0, "Back again.") as server, chat(place, server.address) as at:
        at.wait_for("you> ")
        at.type("one\r")
        at.wait_for("no answer")
        at.wait_for("you> ")
        for _ in range(4):
            at.type("again\r")
            at.wait_for("you> ")
        at.type("\x04")
        assert at.end() == 0
    assert "Back again." in at.screen


def test_talking_in_indonesian(place: Path) -> None:
    with serving(ASK_MAIL, "Sudah.") as server, chat(place, server.address, "--lang", "id") as at:
        at.wait_for("/new melupakan percakapan")
        at.wait_for("anda> ")
        at.type("kirim surat\r")
        at.wait_for("Panggilan ini perlu persetujuan: mail.send.v1")
        at.wait_for("[u]bah argumennya: ")
        at.type("u\r")
        at.wait_for("Argumen baru sebagai objek JSON")
        at.type('{"to": "al", "text": "hai"}\r')
        at.wait_for("Sudah.")
        at.wait_for("anda> ")
        at.type("/quit\r")
        assert at.end() == 0
    assert (place / "outbox.txt").read_text() == "al: hai\n"
    assert "selesai" in at.screen
