"""Indonesian sentences of approvals: who may not give one, and why one is good for nothing now."""

from typing import Final

from gerbang.values.sentence import Sentence

_AGAIN: Final = "Jika masih diperlukan, tanyakan dulu kepada pengguna sebelum mengusulkannya lagi."

APPROVALS: Final[dict[str, Sentence]] = {
    "SELF_APPROVAL": Sentence(
        "{by} tidak boleh menyetujui panggilan ini: panggilan ini untuk orang yang sama atau wakilnya.",
        "Jangan panggil lagi. Beri tahu pengguna bahwa orang lain harus menyetujuinya.",
        "Tidak seorang pun boleh menyetujui panggilan untuk dirinya sendiri.",
    ),
    "SECOND_PERSON": Sentence(
        "Dua orang berbeda harus menyetujui panggilan ini, dan {by} bukan orang kedua.",
        "Jangan panggil lagi. Beri tahu pengguna bahwa orang lain juga harus menyetujuinya.",
        "Dua orang berbeda harus menyetujui panggilan ini.",
    ),
    "OTHER_APPROVER": Sentence(
        "{by} mengubah panggilan ini; orang lain harus menyetujui bentuknya yang sekarang.",
        "Jangan panggil lagi. Beri tahu pengguna bahwa orang lain harus menyetujuinya.",
        "Yang mengubah panggilan ini tidak boleh menyetujuinya.",
    ),
    "APPROVER_ROLE": Sentence(
        "{by} tidak boleh menyetujui panggilan ini: perlu salah satu peran {roles}.",
        "Jangan panggil lagi. Beri tahu pengguna peran mana yang harus menyetujuinya.",
        "Yang menyetujui panggilan ini tidak punya peran yang diperlukan.",
    ),
    "APPROVER_FOREIGN": Sentence(
        "{by} berasal dari tenant lain dan tidak boleh menyetujui panggilan ini.",
        "Jangan panggil lagi.",
        "Orang dari tenant lain tidak boleh menyetujui panggilan ini.",
    ),
    "APPROVER_IS_AGENT": Sentence(
        "{by} menjawab melalui agen; panggilan ini harus disetujui oleh orang.",
        "Jangan panggil lagi. Beri tahu pengguna bahwa orang harus menyetujuinya.",
        "Panggilan ini harus disetujui oleh orang.",
    ),
    "APPROVER_UNNAMED": Sentence(
        "Dua orang harus menyetujui panggilan ini, dan persetujuan datang tanpa nama.",
        "Jangan panggil lagi. Beri tahu pengguna bahwa yang menyetujui harus menyebut namanya.",
    ),
    "APPROVAL_FORGED": Sentence(
        "Persetujuan panggilan ini tidak dikeluarkan di sini, atau telah diubah.",
        "Jangan panggil lagi. Beri tahu pengguna.",
    ),
    "APPROVAL_FILES": Sentence(
        "Panggilan ini menyebut berkas {name}, yang tidak dapat diikat pada persetujuan.",
        "Sebutkan berkas berukuran wajar di dalam folder kerja.",
        "Panggilan ini menyebut berkas yang tidak dapat diikat pada persetujuan.",
    ),
    "APPROVAL_STALE/asker": Sentence("Persetujuan itu untuk panggilan orang lain.", _AGAIN),
    "APPROVAL_STALE/run": Sentence("Persetujuan itu untuk panggilan dari proses lain.", _AGAIN),
    "APPROVAL_STALE/contract": Sentence("Kontrak tool telah berubah sejak panggilan disetujui.", _AGAIN),
    "APPROVAL_STALE/policy": Sentence("Kebijakan telah berubah sejak panggilan disetujui.", _AGAIN),
    "APPROVAL_STALE/taint": Sentence(
        "Proses ini telah membaca sesuatu dari luar sejak panggilan disetujui.", _AGAIN
    ),
    "APPROVAL_STALE/file": Sentence(
        "Berkas {name} telah berubah sejak panggilan disetujui.",
        _AGAIN,
        "Sebuah berkas telah berubah sejak itu.",
    ),
    "APPROVAL_STALE/used": Sentence("Persetujuan itu sudah digunakan.", _AGAIN),
    "APPROVAL_STALE/version": Sentence("Persetujuan itu diminta oleh versi program yang lebih lama.", _AGAIN),
}
