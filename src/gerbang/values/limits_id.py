"""Indonesian sentences of limits: what is used up or comes too often, and how to go on."""

from typing import Final

from gerbang.values.sentence import Sentence

FINISH: Final = "Selesaikan dengan yang sudah diketahui, dan sebutkan apa yang kurang."
"""What is left to do when nothing further can be called."""

LIMITS: Final[dict[str, Sentence]] = {
    "RATE_TOOL": Sentence(
        "Tool ini dipanggil terlalu sering.",
        "Tunggu selama retry_after_ms, atau selesaikan dengan yang sudah diketahui.",
    ),
    "RATE_ACTOR": Sentence(
        "Terlalu banyak panggilan untuk pengguna ini.",
        "Tunggu selama retry_after_ms, atau selesaikan dengan yang sudah diketahui.",
    ),
    "RATE_TENANT": Sentence(
        "Terlalu banyak panggilan untuk tenant ini.",
        "Tunggu selama retry_after_ms, atau selesaikan dengan yang sudah diketahui.",
    ),
    "RATE_TEAM": Sentence(
        "Terlalu banyak panggilan untuk tim ini.",
        "Tunggu selama retry_after_ms, atau selesaikan dengan yang sudah diketahui.",
    ),
    "RATE_RUN": Sentence(
        "Terlalu banyak panggilan dalam proses ini.",
        "Tunggu selama retry_after_ms, atau selesaikan dengan yang sudah diketahui.",
    ),
    "TOO_MANY_AT_ONCE": Sentence(
        "Panggilan {tool} yang berjalan sudah sebanyak yang boleh berjalan bersamaan.",
        "Coba lagi nanti, atau selesaikan dengan yang sudah diketahui.",
        "Panggilan tool ini yang berjalan sudah sebanyak yang boleh berjalan bersamaan.",
    ),
    "TOO_MANY_LATE_CALLS": Sentence(
        "Terlalu banyak panggilan terdahulu masih berjalan melewati batas waktunya.",
        "Tunggu, atau selesaikan dengan yang sudah diketahui.",
    ),
    "BUDGET_STEPS": Sentence("Langkah proses ini sudah habis.", FINISH),
    "BUDGET_CALLS": Sentence(
        "Proses ini boleh membuat {limit} panggilan, dan semuanya sudah dipakai.",
        FINISH,
        "Panggilan proses ini sudah habis.",
    ),
    "BUDGET_COST": Sentence("Satuan biaya sudah habis.", FINISH),
    "BUDGET_TOKENS": Sentence("Token sudah habis.", FINISH),
    "BUDGET_TIME": Sentence("Waktu proses ini sudah habis.", FINISH),
    "BUDGET_CONTEXT": Sentence(
        "Konteks model tidak punya ruang lagi untuk panggilan ini dan hasilnya; tidak dijalankan.",
        "Minta lebih sedikit, atau selesaikan dengan yang sudah diketahui.",
    ),
    "REPEATED_CALL": Sentence(
        "Panggilan yang sama sudah dibuat {times} kali; jawabannya tidak berubah.",
        FINISH,
        "Panggilan yang sama dibuat terlalu sering; jawabannya tidak berubah.",
    ),
}
