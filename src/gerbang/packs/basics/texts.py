"""What the basic tools say to a model when they cannot answer, in English and Indonesian.

A message tells what is wrong and, unless the words are fixed by a profile, what to do next.
"""

from typing import Final, Literal

from msgspec import Struct

from gerbang.packs.arithmetic import MAX_CHARS, MAX_DIGITS, Reason
from gerbang.packs.workspace import MAX_PATH_CHARS, MAX_SCANNED, FaultKind

Lang = Literal["en", "id"]


class Said(Struct, frozen=True):
    """One message: `text` may hold `{path}`, `{found}` or `{names}`; `fix` is the advice alone."""

    text: str
    fix: str = ""


class Words(Struct, frozen=True):
    """All texts of one language. `file` and `folder` are keyed by a workspace's fault."""

    workspace: str
    file: dict[FaultKind, Said]
    folder: dict[FaultKind, Said]
    sums: dict[Reason, Said]
    no_knowledge: Said
    no_zone: Said
    empty: str
    outside: str
    special: str
    more: str
    cut: str
    days: tuple[str, ...]


ENGLISH: Final = Words(
    workspace="workspace",
    file={
        "OUTSIDE": Said(
            "REFUSED: the path is outside the workspace.",
            "Use a path relative to the workspace; list_files shows them.",
        ),
        "MISSING": Said("No such file: {path}", "Call list_files and use one of its names."),
        "BAD_PATH": Said(
            f"That cannot be a path: at most {MAX_PATH_CHARS} characters, 64 folders deep, no NUL.",
            "Call list_files and use one of its names.",
        ),
        "IS_FOLDER": Said(
            "{path} is a folder. Call list_files to see what is in it.", "Call list_files with it."
        ),
        "NOT_A_FOLDER": Said("{path} is a file. Call read_file to read it.", "Call read_file with it."),
        "NOT_A_FILE": Said("{path} is a device, pipe or socket. Only ordinary files can be read."),
        "NOT_TEXT": Said("{path} is not a UTF-8 text file. Only text can be read."),
        "UNREADABLE": Said("{path} may not be read by this program. Tell the user."),
        "CHANGED": Said("{path} changed while it was opened. Try again.", "Try again."),
        "TOO_MANY_LINKS": Said("{path} is a chain or loop of links. Use another path."),
        "TOO_MANY_ENTRIES": Said(f"{{path}} holds more than {MAX_SCANNED} entries. Name a subfolder."),
        "NO_WORKSPACE": Said("The workspace folder is gone. Tell the user to make it again."),
    },
    folder={
        "MISSING": Said("No such folder: {path}", "Leave the folder out to list the workspace itself."),
        "OUTSIDE": Said(
            "REFUSED: the path is outside the workspace.",
            "Leave the folder out to list the workspace itself.",
        ),
    },
    sums={
        "EMPTY": Said("There is nothing to calculate. Write an expression such as 25 * 4 + 10."),
        "TOO_LONG": Said(f"The expression is longer than {MAX_CHARS} characters. Calculate it in parts."),
        "TOO_DEEP": Said("Too many parentheses inside each other. Calculate it in parts."),
        "CARET": Said("`^` is not known. Write a power with **, such as 2 ** 10."),
        "COMMA": Said("`,` is not known. Write 1234.5 with a point and nothing between thousands."),
        "PERCENT": Said(
            "`%` is the remainder of a division here, not percent. Write 12% of 340 as 12 / 100 * 340."
        ),
        "NAME": Said(
            "`{found}` is not known: only numbers, + - * / // % ** and parentheses. Write 3 * 4, not 3 x 4."
        ),
        "CHARACTER": Said("`{found}` is not known: only numbers, + - * / // % ** and parentheses."),
        "SYNTAX": Said(
            "This is not an expression. Check operators and parentheses; write 2 * (3), 1000, 7, "
            "not 2(3), 1 000, 007."
        ),
        "DIVISION_BY_ZERO": Said("Division by zero has no value. Check the divisor."),
        "TOO_LARGE": Said(f"The number is too large: at most {MAX_DIGITS} digits. Use smaller numbers."),
        "NOT_REAL": Said("A negative number has no such power among the real numbers. Check the sign."),
    },
    no_knowledge=Said(
        "Not in the knowledge base", "Search once more with other words, or say it is not known."
    ),
    no_zone=Said("Unknown time zone: {found}. Use an IANA name such as {names}."),
    empty="(empty)",
    outside="(link out of the workspace, cannot be read)",
    special="(not an ordinary file, cannot be read)",
    more="... ({total} entries, the first {shown} are shown)",
    cut="… [cut, {total} characters in all]",
    days=("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
)

INDONESIAN: Final = Words(
    workspace="ruang-kerja",
    file={
        "OUTSIDE": Said(
            "DITOLAK: jalur di luar ruang kerja.",
            "Pakai jalur relatif terhadap ruang kerja; daftar_berkas menunjukkannya.",
        ),
        "MISSING": Said("Berkas tidak ada: {path}", "Panggil daftar_berkas dan pakai salah satu namanya."),
        "BAD_PATH": Said(
            f"Itu bukan jalur: paling banyak {MAX_PATH_CHARS} karakter, 64 folder, tanpa NUL.",
            "Panggil daftar_berkas dan pakai salah satu namanya.",
        ),
        "IS_FOLDER": Said(
            "{path} adalah folder. Panggil daftar_berkas untuk melihat isinya.",
            "Panggil daftar_berkas dengan folder itu.",
        ),
        "NOT_A_FOLDER": Said(
            "{path} adalah berkas. Panggil baca_berkas untuk membacanya.",
            "Panggil baca_berkas dengan jalur itu.",
        ),
        "NOT_A_FILE": Said("{path} adalah perangkat, pipa, atau soket. Hanya berkas biasa yang bisa dibaca."),
        "NOT_TEXT": Said("{path} bukan berkas teks UTF-8. Hanya teks yang bisa dibaca."),
        "UNREADABLE": Said("{path} tidak boleh dibaca oleh program ini. Beri tahu pengguna."),
        "CHANGED": Said("{path} berubah saat dibuka. Coba lagi.", "Coba lagi."),
        "TOO_MANY_LINKS": Said("{path} adalah rantai atau lingkaran tautan. Pakai jalur lain."),
        "TOO_MANY_ENTRIES": Said(f"{{path}} berisi lebih dari {MAX_SCANNED} entri. Sebutkan subfolder."),
        "NO_WORKSPACE": Said("Folder ruang kerja sudah tidak ada. Minta pengguna membuatnya lagi."),
    },
    folder={
        "MISSING": Said("Folder tidak ada: {path}", "Kosongkan folder untuk melihat isi ruang kerja."),
        "OUTSIDE": Said(
            "DITOLAK: jalur di luar ruang kerja.", "Kosongkan folder untuk melihat isi ruang kerja."
        ),
    },
    sums={
        "EMPTY": Said("Tidak ada yang dihitung. Tulis ekspresi seperti 25 * 4 + 10."),
        "TOO_LONG": Said(f"Ekspresi lebih panjang dari {MAX_CHARS} karakter. Hitung sebagian-sebagian."),
        "TOO_DEEP": Said("Terlalu banyak kurung di dalam kurung. Hitung sebagian-sebagian."),
        "CARET": Said("`^` tidak dikenal. Tulis pangkat dengan **, misalnya 2 ** 10."),
        "COMMA": Said("`,` tidak dikenal. Tulis 1234.5 dengan titik desimal dan tanpa pemisah ribuan."),
        "PERCENT": Said("`%` di sini sisa bagi, bukan persen. Tulis 12% dari 340 sebagai 12 / 100 * 340."),
        "NAME": Said(
            "`{found}` tidak dikenal: hanya angka, + - * / // % **, dan kurung. Tulis 3 * 4, bukan 3 x 4."
        ),
        "CHARACTER": Said("`{found}` tidak dikenal: hanya angka, + - * / // % **, dan kurung."),
        "SYNTAX": Said(
            "Ini bukan ekspresi. Periksa operator dan kurung; tulis 2 * (3), 1000, 7, bukan 2(3), 1 000, 007."
        ),
        "DIVISION_BY_ZERO": Said("Pembagian dengan nol tidak ada nilainya. Periksa pembaginya."),
        "TOO_LARGE": Said(
            f"Angkanya terlalu besar: paling banyak {MAX_DIGITS} digit. Pakai angka lebih kecil."
        ),
        "NOT_REAL": Said("Bilangan negatif tidak punya pangkat real seperti itu. Periksa tandanya."),
    },
    no_knowledge=Said("Tidak ada di KB", "Cari sekali lagi dengan kata lain, atau katakan tidak diketahui."),
    no_zone=Said("Zona waktu tidak dikenal: {found}. Pakai nama IANA seperti {names}."),
    empty="(kosong)",
    outside="(tautan ke luar ruang kerja, tidak bisa dibaca)",
    special="(bukan berkas biasa, tidak bisa dibaca)",
    more="... ({total} entri, ditampilkan {shown} yang pertama)",
    cut="… [dipotong, seluruhnya {total} karakter]",
    days=("Senin", "Selasa", "Rabu", "Kamis", "Jumat", "Sabtu", "Minggu"),
)

LANGUAGES: Final[dict[str, Words]] = {"en": ENGLISH, "id": INDONESIAN}
