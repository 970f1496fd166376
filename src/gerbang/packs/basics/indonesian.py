"""The basic tools in Indonesian: `baca_berkas`, `daftar_berkas`, `hitung`, and two whose names stay."""

from typing import Annotated, Any

from msgspec import Meta

from gerbang.adapters.tools.python import PythonTool, tool
from gerbang.packs.arithmetic import MAX_CHARS
from gerbang.packs.basics import actions, common
from gerbang.packs.basics.texts import INDONESIAN
from gerbang.packs.knowledge import MAX_QUERY_CHARS, Knowledge
from gerbang.packs.workspace import MAX_PATH_CHARS, Workspace
from gerbang.ports import Clock

_Path = Annotated[str, Meta(min_length=1, max_length=MAX_PATH_CHARS)]
_Folder = Annotated[str, Meta(max_length=MAX_PATH_CHARS)]
_Sum = Annotated[str, Meta(min_length=1, max_length=MAX_CHARS)]
_Query = Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
_Zone = Annotated[str, Meta(min_length=1, max_length=64)]


def file_tools(workspace: Workspace) -> list[PythonTool[..., Any]]:
    """Return `baca_berkas` and `daftar_berkas` for a workspace."""

    @tool(name="baca_berkas", risk="read_internal", timeout_s=10, **common.FILES)
    def baca_berkas(jalur: _Path) -> str:
        """Membaca berkas teks di ruang kerja.

        Pakai ini setiap kali pengguna menyebut sebuah berkas. Bukan untuk folder: itu tugas
        daftar_berkas. Tidak mengubah apa pun. Mengembalikan 8000 karakter pertama dari berkas.

        Args:
            jalur: Jalur berkas di dalam ruang kerja, misalnya catatan.txt.
        """
        return actions.read_text(workspace, jalur, INDONESIAN)

    @tool(name="daftar_berkas", risk="read_internal", timeout_s=10, **common.FILES)
    def daftar_berkas(folder: _Folder = "") -> str:
        """Menampilkan daftar berkas di ruang kerja atau di salah satu foldernya.

        Pakai ini setiap kali pengguna bertanya berkas apa saja yang ada. Bukan untuk isinya: itu tugas
        baca_berkas. Tidak mengubah apa pun. Mengembalikan satu jalur per baris, berurutan, paling
        banyak 200; folder berakhir dengan garis miring.

        Args:
            folder: Folder di dalam ruang kerja. Kosongkan untuk ruang kerja itu sendiri.
        """
        return actions.list_folder(workspace, folder, INDONESIAN)

    return [baca_berkas, daftar_berkas]


def calculate_tool() -> PythonTool[..., Any]:
    """Return `hitung`."""

    @tool(name="hitung", risk="compute", timeout_s=5, **common.SUMS)
    async def hitung(ekspresi: _Sum) -> int | float | str:
        """Menghitung ekspresi aritmetika dengan tepat.

        Pakai ini untuk setiap perhitungan, yang mudah juga. Bukan untuk kata, satuan, atau persamaan.
        Tidak mengubah apa pun. Mengembalikan angkanya.

        Args:
            ekspresi: Angka dengan + - * / // % ** dan kurung, misalnya 25 * 4 + 10.
        """
        return actions.calculate(ekspresi, INDONESIAN)

    return hitung


def knowledge_tool(knowledge: Knowledge) -> PythonTool[..., Any]:
    """Return `knowledge_search` over a knowledge base."""

    @tool(name="knowledge_search", risk="read_internal", timeout_s=10, **common.KNOWLEDGE)
    async def knowledge_search(query: _Query) -> str:
        """Mencari di basis pengetahuan (KB).

        Pakai ini sebelum menjawab dari ingatan tentang fakta, aturan, atau produk. Bukan untuk berkas di
        ruang kerja: itu tugas baca_berkas. Tidak mengubah apa pun. Mengembalikan paling banyak tiga
        kutipan dengan sumbernya.

        Args:
            query: Kata-kata yang dicari, misalnya masa pengembalian.
        """
        return actions.search(knowledge, query, INDONESIAN)

    return knowledge_search


def time_tool(clock: Clock) -> PythonTool[..., Any]:
    """Return `current_time`."""

    @tool(name="current_time", risk="compute", timeout_s=5, **common.TIME)
    def current_time(zone: _Zone | None = None) -> str:
        """Memberi tahu tanggal dan waktu saat ini.

        Pakai ini untuk setiap pertanyaan tentang sekarang atau hari ini. Bukan untuk hari lain. Tidak
        mengubah apa pun. Mengembalikan hari, tanggal, waktu, dan selisih dari UTC.

        Args:
            zone: Zona waktu IANA, misalnya Asia/Jakarta. Kosongkan untuk waktu setempat.
        """
        return actions.current_time(clock, zone, INDONESIAN)

    return current_time


def minimal_tools(knowledge: Knowledge | None) -> list[PythonTool[..., Any]]:
    """Return `calculator` and `knowledge_search`, whose one parameter is `input`."""

    @tool(name="calculator", risk="compute", timeout_s=5, **common.ROUTED_SUMS)
    async def calculator(input: _Sum) -> int | float | str:  # noqa: A002  # the protocol's own word
        """Menghitung ekspresi aritmetika dengan tepat.

        Pakai ini untuk setiap perhitungan, yang mudah juga. Bukan untuk kata, satuan, atau persamaan.
        Tidak mengubah apa pun. Mengembalikan angkanya.

        Args:
            input: Angka dengan + - * / // % ** dan kurung, misalnya 25 * 4 + 10.
        """
        return actions.calculate(input, INDONESIAN)

    if knowledge is None:
        return [calculator]

    @tool(name="knowledge_search", risk="read_internal", timeout_s=10, **common.ROUTED_KNOWLEDGE)
    async def knowledge_search(input: _Query) -> str:  # noqa: A002  # the protocol's own word
        """Mencari di basis pengetahuan (KB).

        Pakai ini sebelum menjawab dari ingatan tentang fakta, aturan, atau produk. Bukan untuk hitungan.
        Tidak mengubah apa pun. Mengembalikan paling banyak tiga kutipan dengan sumbernya.

        Args:
            input: Kata-kata yang dicari, misalnya masa pengembalian.
        """
        return actions.search(knowledge, input, INDONESIAN)

    return [calculator, knowledge_search]
