"""Profiles and their texts. Those that the source systems fix are compared to the character."""

import pytest
from msgspec.structs import asdict

from gerbang.errors import UsageError
from gerbang.loop.profile import PROFILES, profile_named
from gerbang.loop.texts import TEXTS

NAMES = ["gateway", "local", "minimal", "terminal", "voice"]


@pytest.mark.parametrize(
    ("name", "max_steps", "count", "protocol", "dialect", "framing", "renderer", "chars", "temperature"),
    [
        ("terminal", 12, "answers", "text", "tool_use", "envelope", "exact", 2000, None),
        ("gateway", 25, "answers", "native", "auto", "framed", "structured", 16_000, None),
        ("voice", 4, "rounds", "native", "auto", "plain", "exact", 2000, None),
        ("minimal", 6, "answers", "text", "router", "plain", "exact", 16_000, None),
        ("local", 5, "answers", "native", "auto", "plain", "exact", 8000, 0.1),
    ],
)
def test_settings(
    name: str,
    max_steps: int,
    count: str,
    protocol: str,
    dialect: str,
    framing: str,
    renderer: str,
    chars: int,
    temperature: float | None,
) -> None:
    profile = profile_named(name)
    assert asdict(profile) == {
        "name": name,
        "protocol": protocol,
        "dialect": dialect,
        "max_steps": max_steps,
        "count": count,
        "framing": framing,
        "renderer": renderer,
        "result_max_chars": chars,
        "temperature": temperature,
        "max_repeats": None if name == "voice" else 3,
    }


def test_the_profiles_are_these() -> None:
    assert sorted(PROFILES) == NAMES
    assert set(TEXTS) == {(name, lang) for name in NAMES for lang in ("en", "id")}
    with pytest.raises(UsageError, match="Use one of: gateway, local, minimal, terminal, voice"):
        profile_named("Terminal")
    with pytest.raises(UsageError, match="Use 'en' or 'id'"):
        profile_named("voice").texts("fr")


@pytest.mark.parametrize("lang", ["en", "id"])
@pytest.mark.parametrize("name", NAMES)
def test_each_has_all_texts_and_only_known_places(name: str, lang: str) -> None:
    for field, text in asdict(profile_named(name).texts(lang)).items():
        if field != "calling":
            assert text.strip()
        filled = text.format(name="N", names="A, B", error="E", total=5)
        assert "{" not in filled


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_fixed_is_translated(name: str) -> None:
    english, indonesian = (asdict(profile_named(name).texts(lang)) for lang in ("en", "id"))
    for field in (
        "cancelled",
        "pending",
        "over_budget",
        "model_error",
        "denied",
        "results",
        "pending_result",
        "limit",
    ):
        assert english[field] != indonesian[field]


@pytest.mark.parametrize(
    ("name", "lang", "field", "text"),
    [
        ("terminal", "id", "limit", "Max steps reached. Belum kelar."),
        ("terminal", "en", "limit", "Max steps reached. Unfinished: a.v1."),
        ("terminal", "id", "unknown_tool", "Unknown tool: a.v1"),
        ("terminal", "en", "unknown_tool", "Unknown tool: a.v1"),
        ("terminal", "id", "cut", "\n\n... (output truncated, total 2001 chars)"),
        ("terminal", "en", "cut", "\n\n... (output truncated, total 2001 chars)"),
        ("voice", "en", "unknown_tool", "Error: unknown tool 'a.v1'"),
        ("voice", "id", "unknown_tool", "Error: unknown tool 'a.v1'"),
        ("voice", "en", "cut", "… [truncated]"),
        ("voice", "id", "cut", "… [truncated]"),
        ("minimal", "id", "limit", "Loop mencapai batas langkah (MAX_STEPS)."),
        ("minimal", "id", "unknown_tool", "Error: Tool a.v1 tidak terdaftar"),
        ("minimal", "id", "calling", "Memanggil a.v1"),
        ("local", "id", "limit", "Berhenti: mencapai batas giliran."),
        ("local", "id", "unknown_tool", "Tool tidak dikenal: a.v1"),
        ("local", "id", "empty", "(tidak ada jawaban)"),
    ],
)
def test_exact_texts(name: str, lang: str, field: str, text: str) -> None:
    made = getattr(profile_named(name).texts(lang), field)
    assert made.format(name="a.v1", names="a.v1", total=2001) == text
