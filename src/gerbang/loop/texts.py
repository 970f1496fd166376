"""Texts that a person or a model reads, by profile and language. Those of the sources are exact."""

from typing import Any, Final, Literal

from msgspec import Struct

Lang = Literal["en", "id"]


class Texts(Struct, frozen=True, gc=False):
    """The sentences of one profile in one language. `{name}` and `{error}` are filled in.

    `calling` is the assistant message of a call where the protocol has none of its own; empty means the
    model's text is kept. `cut` is put behind a result that was cut; `{total}` is its full length. `lang` is
    the language that errors are said in.
    """

    unknown_tool: str
    limit: str
    empty: str
    error: str
    cut: str
    calling: str = ""
    cancelled: str = "The run was cancelled."
    pending: str = "Waiting for approval."
    over_budget: str = "The budget of this run is used up."
    no_room: str = "The conversation is larger than the model's context window. Ask for less, or begin anew."
    model_error: str = "The model gave no answer."
    denied: str = "Everything that was asked for was refused."
    killed: str = "An operator has stopped this: a kill switch is on."
    results: str = "Results:"
    pending_result: str = "This call waits for a person's approval. It has not run."
    dry_run: str = "Nothing was done: this is what the call would do."
    happened: str = "The service gave no answer, but the call has taken effect. It must not be made again."
    lang: Lang = "en"


_ID: Final[dict[str, Any]] = {
    "lang": "id",
    "cancelled": "Dibatalkan.",
    "pending": "Menunggu persetujuan.",
    "over_budget": "Anggaran untuk proses ini sudah habis.",
    "no_room": "Percakapan lebih besar dari jendela konteks model. Minta lebih sedikit, atau mulai lagi.",
    "model_error": "Model tidak memberi jawaban.",
    "denied": "Semua yang diminta ditolak.",
    "killed": "Operator telah menghentikan ini: sebuah sakelar darurat menyala.",
    "results": "Hasil:",
    "dry_run": "Tidak ada yang dilakukan: inilah yang akan dilakukan panggilan ini.",
    "happened": "Layanan tidak menjawab, tetapi panggilan sudah berlaku. Jangan diulang.",
    "pending_result": "Panggilan ini menunggu persetujuan. Belum dijalankan.",
}

TEXTS: Final[dict[tuple[str, str], Texts]] = {
    ("terminal", "en"): Texts(
        unknown_tool="Unknown tool: {name}",
        limit="Max steps reached. Unfinished: {names}.",
        empty="(no answer)",
        error="Error: {error}",
        cut="\n\n... (output truncated, total {total} chars)",
    ),
    ("terminal", "id"): Texts(
        unknown_tool="Unknown tool: {name}",
        limit="Max steps reached. Belum kelar.",
        empty="(tidak ada jawaban)",
        error="Error: {error}",
        cut="\n\n... (output truncated, total {total} chars)",
        **_ID,
    ),
    ("gateway", "en"): Texts(
        unknown_tool="Unknown tool: {name}",
        limit="The step limit of this run is reached.",
        empty="(no answer)",
        error="{error}",
        cut="… [truncated, {total} characters in all]",
    ),
    ("gateway", "id"): Texts(
        unknown_tool="Tool tidak dikenal: {name}",
        limit="Batas langkah proses ini tercapai.",
        empty="(tidak ada jawaban)",
        error="{error}",
        cut="… [dipotong, seluruhnya {total} karakter]",
        **_ID,
    ),
    ("voice", "en"): Texts(
        unknown_tool="Error: unknown tool '{name}'",
        limit="The step limit of this run is reached.",
        empty="(no answer)",
        error="Error: {error}",
        cut="… [truncated]",
    ),
    ("voice", "id"): Texts(
        unknown_tool="Error: unknown tool '{name}'",
        limit="Batas langkah proses ini tercapai.",
        empty="(tidak ada jawaban)",
        error="Error: {error}",
        cut="… [truncated]",
        **_ID,
    ),
    ("minimal", "en"): Texts(
        unknown_tool="Error: tool {name} is not registered",
        limit="The loop reached its step limit (MAX_STEPS).",
        empty="(no answer)",
        error="Error: {error}",
        cut="… [truncated, {total} characters in all]",
        calling="Calling {name}",
    ),
    ("minimal", "id"): Texts(
        unknown_tool="Error: Tool {name} tidak terdaftar",
        limit="Loop mencapai batas langkah (MAX_STEPS).",
        empty="(tidak ada jawaban)",
        error="Error: {error}",
        cut="… [dipotong, seluruhnya {total} karakter]",
        calling="Memanggil {name}",
        **_ID,
    ),
    ("local", "en"): Texts(
        unknown_tool="Unknown tool: {name}",
        limit="Stopped: the turn limit is reached.",
        empty="(no answer)",
        error="Error: {error}",
        cut="… [truncated, {total} characters in all]",
    ),
    ("local", "id"): Texts(
        unknown_tool="Tool tidak dikenal: {name}",
        limit="Berhenti: mencapai batas giliran.",
        empty="(tidak ada jawaban)",
        error="Error: {error}",
        cut="… [dipotong, seluruhnya {total} karakter]",
        **_ID,
    ),
}
