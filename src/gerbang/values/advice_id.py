"""What to do about each type of error, in Indonesian, where the error itself does not say."""

from typing import Final

ADVICE: Final[dict[str, str]] = {
    "parse_error": "Kirim ulang seluruh panggilan.",
    "unknown_tool": "Pakai salah satu tool dalam daftar.",
    "validation_error": "Perbaiki argumennya dan kirim ulang panggilannya.",
    "semantic_error": "Baca dahulu, atau pilih nilai lain.",
    "permission_denied": "Berhenti, dan beri tahu pengguna.",
    "policy_denied": "Pilih cara lain yang lebih sedikit mengubah, atau beri tahu pengguna.",
    "approval_denied": "Hormati: jangan kirim panggilan yang sama lagi.",
    "approval_expired": "Beri tahu pengguna; jangan kirim panggilan yang sama lagi.",
    "rate_limited": "Tunggu, atau selesaikan dengan yang sudah diketahui.",
    "budget_exceeded": "Selesaikan dengan yang sudah diketahui, dan sebutkan apa yang kurang.",
    "timeout": "Minta lebih sedikit, atau pakai tool lain.",
    "transient_network_error": "Coba lagi nanti, atau pakai tool lain.",
    "upstream_error": "Pakai argumen atau tool lain, atau beri tahu pengguna.",
    "conflict": "Baca lagi sebelum mengirim panggilan lain.",
    "output_validation_error": "Pakai tool lain.",
    "uncertain_effect": "Jangan pernah mengulanginya. Beri tahu pengguna bahwa seseorang harus memeriksa.",
    "cancelled": "Berhenti; jangan mulai apa pun lagi.",
    "internal_error": "Beri tahu pengguna; tool lain mungkin masih berfungsi.",
}
