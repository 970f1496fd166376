"""Indonesian sentences of errors, under the same names as the English ones."""

from typing import Final

from gerbang.values.approvals_id import APPROVALS
from gerbang.values.limits_id import FINISH, LIMITS
from gerbang.values.sentence import Sentence

ERRORS: Final[dict[str, Sentence]] = {
    # parse_error
    "CALL_NOT_JSON": Sentence(
        "Argumennya bukan JSON yang sah ({why}).",
        "Kirim ulang seluruh panggilan, argumennya sebagai satu objek JSON yang lengkap.",
        "Argumennya bukan JSON yang sah.",
    ),
    "CALL_TRUNCATED": Sentence(
        "Jawaban berakhir di tengah panggilan ini, jadi tidak dijalankan.",
        "Kirim ulang seluruh panggilan, dengan argumen lebih pendek bila jawaban dibatasi.",
    ),
    "CALL_SHAPE": Sentence(
        "Ini bukan bentuk panggilan ({why}).",
        "Kirim nama tool dan satu objek argumen dalam format yang sudah diberitahukan.",
        "Ini bukan bentuk panggilan.",
    ),
    "CALL_AMBIGUOUS": Sentence(
        "Panggilan ini dapat dibaca dengan dua cara ({why}).",
        "Kirim ulang dan tulis setiap kunci satu kali saja.",
        "Panggilan ini dapat dibaca dengan dua cara.",
    ),
    "CALL_TOO_LARGE": Sentence(
        "Panggilan ini terlalu besar ({why}).",
        "Kirim teks lebih sedikit dalam satu panggilan.",
        "Panggilan ini terlalu besar.",
    ),
    "CALL_TOO_LARGE/bytes": Sentence(
        "Argumennya {size} byte; batasnya {limit}.",
        "Kirim lebih sedikit, atau dalam beberapa panggilan.",
        "Argumennya terlalu besar.",
    ),
    "CALL_TOO_LARGE/members": Sentence(
        "Argumennya memuat terlalu banyak nilai.",
        "Kirim lebih sedikit nilai, atau dalam beberapa panggilan.",
    ),
    "CALL_TOO_DEEP": Sentence(
        "Argumennya bersarang terlalu dalam ({why}).",
        "Kirim struktur yang lebih datar.",
        "Argumennya bersarang terlalu dalam.",
    ),
    "CALL_NOT_STARTED": Sentence(
        "Tanda panggilan diikuti sesuatu yang bukan panggilan, jadi dibiarkan dalam teks.",
        "Untuk memanggil tool, tulis seluruh panggilannya tepat sesudah tanda itu; untuk sekadar menunjukkan "
        "tandanya, apit dengan tanda petik terbalik.",
    ),
    "CALL_NOT_OFFERED": Sentence(
        "Penerima {why} bukan salah satu tool yang ditawarkan.",
        "Panggil tool dengan namanya yang tepat.",
        "Penerimanya bukan salah satu tool yang ditawarkan.",
    ),
    "CALL_NOT_LITERAL": Sentence(
        "Argumennya bukan nilai biasa ({why}).",
        "Pakai hanya teks, angka, true atau false, daftar dan objek sebagai argumen.",
        "Argumennya bukan nilai biasa.",
    ),
    "TOO_MANY_CALLS": Sentence(
        "Satu jawaban boleh memuat {limit} panggilan; yang ini tidak dijalankan.",
        "Kirim panggilan lainnya dalam jawaban berikut, lebih sedikit setiap kali.",
        "Jawaban memuat terlalu banyak panggilan; yang ini tidak dijalankan.",
    ),
    # unknown_tool
    "TOOL_UNKNOWN": Sentence(
        "Tidak ada tool bernama {name}.", "Pakai salah satu tool dalam daftar.", "Tool itu tidak ada."
    ),
    "TOOL_UNKNOWN/near": Sentence(
        "Tidak ada tool bernama {name}.", "Apakah maksudnya {near}?", "Tool itu tidak ada."
    ),
    "TOOL_UNKNOWN/none": Sentence(
        "Tidak ada tool bernama {name}.",
        "Tidak ada tool yang tersedia: jawab tanpa tool.",
        "Tool itu tidak ada.",
    ),
    "TOOL_RETIRED": Sentence(
        "Tool {name} sudah dihentikan.",
        "Pakai {successor} sebagai gantinya.",
        "Tool ini sudah dihentikan.",
        "Pakai penggantinya.",
    ),
    "TOOL_RETIRED/none": Sentence(
        "Tool {name} sudah dihentikan dan tidak ada penggantinya.",
        "Pakai salah satu tool dalam daftar.",
        "Tool ini sudah dihentikan dan tidak ada penggantinya.",
    ),
    # validation_error
    "arguments": Sentence(
        "Argumennya tidak cocok dengan {tool}: {names}.",
        "Perbaiki field yang disebut dan kirim ulang panggilannya. Field tool ini: {known}.",
        "Argumennya tidak cocok dengan tool ini.",
        "Perbaiki field yang disebut dan kirim ulang panggilannya.",
    ),
    "arguments/many": Sentence(
        "Argumennya tidak cocok dengan {tool} ({shown} pertama dari {total}): {names}.",
        "Perbaiki field yang disebut dan kirim ulang panggilannya. Field tool ini: {known}.",
        "Argumennya tidak cocok dengan tool ini.",
        "Perbaiki field yang disebut dan kirim ulang panggilannya.",
    ),
    "arguments/none": Sentence(
        "{tool} tidak menerima argumen, tetapi ini dikirim: {names}.",
        "Kirim objek argumen yang kosong.",
        "Tool ini tidak menerima argumen.",
    ),
    "MISSING_FIELD": Sentence("Field yang wajib tidak ada.", "Tambahkan field itu dan kirim ulang."),
    "WRONG_TYPE": Sentence(
        "Sebuah nilai salah tipenya.", "Beri nilai itu tipe yang disebut dan kirim ulang."
    ),
    "WRONG_TYPE/arguments": Sentence(
        "Argumennya harus satu objek JSON.", "Kirim argumen sebagai objek dengan field tool ini."
    ),
    "NOT_IN_ENUM": Sentence(
        "Sebuah nilai tidak termasuk yang diizinkan.", "Pakai salah satu nilai yang diizinkan."
    ),
    "TOO_LONG": Sentence("Sebuah nilai terlalu panjang.", "Pendekkan nilai itu dan kirim ulang."),
    "TOO_SHORT": Sentence("Sebuah nilai terlalu pendek.", "Kirim nilai yang lebih panjang."),
    "OUT_OF_RANGE": Sentence("Sebuah angka di luar batas.", "Pilih angka di dalam batas."),
    "BAD_FORMAT": Sentence("Sebuah teks salah bentuknya.", "Tulis teks itu dalam bentuk yang disebut."),
    "BAD_VALUE": Sentence(
        "Nilai {name} tidak dapat dipakai: {why}",
        "Perbaiki field ini dan kirim ulang panggilannya.",
        "Sebuah nilai tidak dapat dipakai.",
    ),
    "EXTRA_FIELD": Sentence("Sebuah field tidak dikenal.", "Hilangkan field itu dan kirim ulang."),
    "SCHEMA_MISMATCH": Sentence(
        "Argumennya tidak cocok dengan skema tool.", "Perbaiki tempat yang disebut dan kirim ulang."
    ),
    "RUNTIME_OWNED_FIELD": Sentence(
        "Field ini diisi oleh sistem dan tidak boleh dikirim: {names}.",
        "Hilangkan field ini.",
        "Sebuah field diisi oleh sistem dan tidak boleh dikirim.",
    ),
    "BAD_UNICODE": Sentence(
        "Sebuah teks memuat setengah karakter (surrogate tunggal).",
        "Tulis ulang teks itu tanpa karakter yang rusak.",
    ),
    "NOT_A_NUMBER": Sentence(
        "Sebuah angka tidak dikenal oleh JSON.", "Kirim angka yang berhingga, atau hilangkan field itu."
    ),
    "NOT_JSON": Sentence("Sebuah nilai tidak dikenal oleh JSON.", "Kirim nilai JSON biasa."),
    "IDENTITY_CHANGED": Sentence(
        "Suntingan tidak boleh mengubah {names}: itu menamai efeknya.",
        "Tolak saja panggilan ini, dan biarkan yang lain diusulkan.",
        "Suntingan tidak boleh mengubah field yang menamai efeknya.",
    ),
    "KEY_REQUIRED": Sentence(
        "{tool} hanya boleh dipanggil dengan kunci idempotensi, yang harus diberikan program di sekitarnya.",
        "Beri tahu pengguna; panggilan ini tidak dapat diperbaiki dengan argumen lain.",
        "Tool ini perlu kunci idempotensi, yang harus diberikan program di sekitarnya.",
    ),
    # semantic_error
    "SAME_BRANCH": Sentence(
        "Dua nilai yang harus berbeda ternyata sama.", "Pilih nilai lain untuk salah satunya."
    ),
    "STALE_SNAPSHOT": Sentence(
        "Snapshot atau versi yang disebut bukan lagi yang terbaru.",
        "Baca lagi sumbernya dan kirim panggilan dengan versinya yang sekarang.",
    ),
    "NOT_FOUND": Sentence(
        "Yang disebut panggilan ini tidak ada.", "Cari dahulu, lalu pakai nama yang ditemukan."
    ),
    "ILLEGAL_TRANSITION": Sentence(
        "Keadaan sekarang tidak mengizinkan langkah ini.",
        "Baca keadaan sekarang dan pilih langkah yang diizinkan.",
    ),
    "NO_EVIDENCE": Sentence(
        "Bukti yang diperlukan panggilan ini tidak ada.", "Kumpulkan buktinya dahulu, lalu kirim ulang."
    ),
    "SAME_VALUE": Sentence(
        "Dua nilai yang harus berbeda ternyata sama.", "Pilih nilai lain untuk salah satunya."
    ),
    "BAD_DATE": Sentence(
        "Tanggalnya tidak masuk akal di sini.", "Perbaiki tanggalnya, seperti ditulis RFC 3339."
    ),
    "OFF_GOAL": Sentence(
        "Tool ini tidak melayani tujuan proses ini.", "Pilih tool yang melayaninya, atau beri tahu pengguna."
    ),
    "CHECK_FAILED": Sentence(
        "{reader} tidak dapat dibaca, jadi panggilan ini tidak dapat diperiksa dan tidak dijalankan.",
        "Coba lagi nanti, atau beri tahu pengguna.",
        "Ada yang tidak dapat dibaca, jadi panggilan ini tidak dapat diperiksa dan tidak dijalankan.",
    ),
    # permission_denied
    "TOOL_CHANGED": Sentence(
        "Definisi tool {name} bukan yang disetujui, jadi tidak ada yang dijalankan.",
        "Berhenti, dan beri tahu pengguna bahwa tool itu harus disetujui lagi.",
        "Definisi tool bukan yang disetujui, jadi tidak ada yang dijalankan.",
    ),
    "SCOPE_MISSING": Sentence(
        "Pelaku tidak punya scope {scopes}.",
        "Berhenti, dan beri tahu pengguna.",
        "Pelaku tidak punya scope yang diperlukan tool ini.",
    ),
    "TENANT_MISMATCH": Sentence("Sumber ini milik tenant lain.", "Berhenti, dan beri tahu pengguna."),
    "SECRET_MISSING": Sentence(
        "Rahasia {name} belum diisi, jadi tidak ada yang dijalankan. Pengelola Gerbang harus mengisinya: "
        "sebagai variabel lingkungan {name}, atau dengan `gerbang secrets set {name} --secrets file:PATH`.",
        "Beri tahu pengguna rahasia mana yang kurang; jangan pernah meminta isinya.",
        "Rahasia yang diperlukan tool belum diisi, jadi tidak ada yang dijalankan.",
    ),
    "SECRETS_UNAVAILABLE": Sentence(
        "Penyimpanan rahasia tidak dapat dibaca untuk {name}, jadi tidak ada yang dijalankan.",
        "Minta pengguna memeriksa penyimpanannya dengan `gerbang secrets list --secrets ADDRESS`.",
        "Penyimpanan rahasia tidak dapat dibaca, jadi tidak ada yang dijalankan.",
    ),
    "SECRET_TOO_SHORT": Sentence(
        "Rahasia {name} terlalu pendek untuk disembunyikan dari hasil, jadi tidak ada yang dijalankan.",
        "Beri tahu pengguna bahwa rahasia itu perlu nilai lain.",
        "Sebuah rahasia terlalu pendek untuk disembunyikan dari hasil, jadi tidak ada yang dijalankan.",
    ),
    "SECRET_NOT_BOUND": Sentence(
        "Rahasia {name} bukan untuk panggilan ini: ia terikat pada tenant, pengguna, tool, atau asal lain. "
        "Tidak ada yang dijalankan.",
        "Beri tahu pengguna; pengelola Gerbang yang menentukan ikatan rahasia itu.",
        "Rahasia yang diperlukan tool bukan untuk panggilan ini, jadi tidak ada yang dijalankan.",
    ),
    # policy_denied
    "policy_denied": Sentence(
        "Kebijakan tidak mengizinkan panggilan ini ({reasons}).",
        "Pilih cara lain yang lebih sedikit mengubah, atau beri tahu pengguna bahwa ini tidak diizinkan.",
        "Kebijakan tidak mengizinkan panggilan ini.",
    ),
    "KILL_SWITCH": Sentence(
        "Sakelar darurat menghentikan panggilan ini.",
        "Beri tahu pengguna bahwa ini sedang dimatikan; jangan mencoba lagi.",
    ),
    "POLICY_ERROR": Sentence(
        "Kebijakan gagal menilai panggilan ini, jadi ditolak.",
        "Beri tahu pengguna; jangan kirim panggilan yang sama lagi.",
    ),
    "POLICY_UNDEFINED": Sentence(
        "Kebijakan tidak mengatur panggilan ini, jadi ditolak.",
        "Beri tahu pengguna bahwa ini tidak diizinkan.",
    ),
    "NO_POLICY": Sentence(
        "Tidak ada kebijakan, jadi setiap panggilan ditolak.", "Beri tahu pengguna; jawab tanpa tool."
    ),
    # approval_denied, approval_expired
    "APPROVER_REFUSED": Sentence(
        "{by} menolak panggilan ini.",
        "Hormati: jangan kirim panggilan yang sama lagi. Tawarkan hal lain.",
        "Seseorang menolak panggilan ini.",
    ),
    "APPROVER_REFUSED/why": Sentence(
        "{by} menolak panggilan ini: {why}",
        "Hormati: jangan kirim panggilan yang sama lagi. Tawarkan hal lain.",
        "Seseorang menolak panggilan ini.",
    ),
    "APPROVER_UNAVAILABLE": Sentence(
        "Panggilan ini perlu persetujuan seseorang, dan di sini tidak ada yang dapat ditanya.",
        "Beri tahu pengguna apa yang hendak dilakukan dan bahwa itu perlu persetujuan.",
    ),
    "APPROVER_ERROR": Sentence(
        "Persetujuan tidak dapat dimintakan.", "Beri tahu pengguna bahwa panggilan ini tidak dapat disetujui."
    ),
    "APPROVAL_STALE": Sentence(
        "Yang disetujui bukan yang akan dijalankan sekarang: panggilan, kontrak atau kebijakannya berubah.",
        "Beri tahu pengguna bahwa ini perlu disetujui lagi.",
    ),
    "APPROVAL_TIMEOUT": Sentence(
        "Persetujuan tidak diberikan, atau tidak dipakai, pada waktunya.",
        "Beri tahu pengguna; jangan kirim panggilan yang sama lagi.",
    ),
    # timeout, transient_network_error, upstream_error
    "TOOL_TIMEOUT": Sentence(
        "Tool tidak memberi hasil dalam {seconds} detik.",
        "Minta lebih sedikit, atau pakai tool lain.",
        "Tool tidak memberi hasil pada waktunya.",
    ),
    "TOOL_TIMEOUT/mutation": Sentence(
        "Tool tidak memberi hasil dalam {seconds} detik.",
        "Jangan ulangi panggilan ini: efeknya masih mungkin terjadi.",
        "Tool tidak memberi hasil pada waktunya.",
    ),
    "IDLE_TIMEOUT": Sentence(
        "Tool diam terlalu lama dan dihentikan.", "Minta lebih sedikit, atau pakai tool lain."
    ),
    "CONNECT_FAILED": Sentence(
        "Sambungan ke layanan tidak dapat dibuat.", "Coba lagi nanti, atau pakai tool lain."
    ),
    "CONNECTION_RESET": Sentence(
        "Sambungan ke layanan terputus.", "Periksa apa yang terjadi sebelum mengirim ulang panggilan ini."
    ),
    "IDLE_TIMEOUT/raised": Sentence(
        "Yang ditunggu tool tidak menjawab pada waktunya ({reference}).",
        "Minta lebih sedikit, atau pakai tool lain.",
        "Yang ditunggu tool tidak menjawab pada waktunya.",
    ),
    "CONNECT_FAILED/raised": Sentence(
        "Tool tidak dapat menyambung ke layanannya ({reference}).",
        "Coba lagi nanti, atau pakai tool lain.",
        "Tool tidak dapat menyambung ke layanannya.",
    ),
    "CONNECTION_RESET/raised": Sentence(
        "Sambungan tool ke layanannya terputus ({reference}).",
        "Periksa apa yang terjadi sebelum mengirim ulang panggilan ini.",
        "Sambungan tool ke layanannya terputus.",
    ),
    "CIRCUIT_OPEN": Sentence(
        "Layanan ini gagal beberapa kali berturut-turut, jadi dibiarkan dahulu.",
        "Coba lagi sesudah waktu tunggu, atau selesaikan dengan yang sudah diketahui.",
    ),
    "NOT_HAPPENED": Sentence(
        "Layanan tidak menjawab, dan kemudian ternyata tidak ada yang terjadi.",
        "Tidak ada yang berubah: panggilan ini boleh dibuat lagi nanti.",
    ),
    "SECRET_UNUSABLE": Sentence(
        "Rahasia yang diperlukan tool tidak dapat ditaruh di header. Tidak ada yang dikirim.",
        "Beri tahu pengguna; pemilik rahasia itu harus menyetelnya lagi, dalam satu baris.",
    ),
    "EGRESS_REFUSED": Sentence(
        "Gerbang tidak menyambung ke alamat ini.",
        "Pakai alamat atau tool lain, atau beri tahu pengguna: pengelola Gerbang dapat mengizinkannya.",
    ),
    "HTTP_METHOD": Sentence(
        "Tool menyebut metode HTTP yang tidak dikenal. Tidak ada yang dikirim.",
        "Beri tahu pengguna; pakai tool lain.",
    ),
    "NOT_HTTP": Sentence("Layanan tidak menjawab dengan HTTP.", "Beri tahu pengguna, atau pakai tool lain."),
    "TLS_FAILED": Sentence(
        "Layanan tidak dapat membuktikan siapa dirinya (TLS), jadi tidak ada yang dikirim.",
        "Beri tahu pengguna, atau pakai tool lain.",
    ),
    "BAD_BODY": Sentence(
        "Jawaban layanan tidak dapat dibaca: dikemas dengan cara yang tidak dikenal, atau rusak.",
        "Pakai tool lain, atau beri tahu pengguna.",
    ),
    "HTTP_3XX": Sentence(
        "Layanan mengalihkan permintaannya ke tempat lain.", "Pakai tool lain, atau beri tahu pengguna."
    ),
    "HTTP_4XX": Sentence(
        "Layanan menolak permintaannya.", "Baca jawabannya, perbaiki argumennya, atau pakai tool lain."
    ),
    "HTTP_5XX": Sentence("Layanan gagal.", "Coba lagi nanti, atau beri tahu pengguna."),
    "TOOL_FAILED": Sentence(
        "Tool gagal tanpa menyebut sebabnya.", "Pakai argumen atau tool lain, atau beri tahu pengguna."
    ),
    # conflict
    "VERSION_CONFLICT": Sentence(
        "Sementara itu seseorang mengubah sumbernya.",
        "Baca lagi, lalu kirim panggilan dengan versinya yang sekarang.",
    ),
    "ALREADY_EXISTS": Sentence("Itu sudah ada.", "Baca yang sudah ada, lalu pakai itu atau pilih nama lain."),
    "KEY_REUSED": Sentence(
        "Panggilan lain, dengan argumen lain, sudah memakai tempat yang sama dalam run atau kunci yang sama.",
        "Beri panggilan baru step_id sendiri (1 bila tidak diisi), kunci sendiri, atau isi lain pada "
        "argumen kuncinya.",
    ),
    "RESULT_ERASED": Sentence(
        "Panggilan ini sudah pernah dibuat, dan hasilnya sudah dihapus.",
        "Jangan ulangi. Pakai kunci atau langkah baru bila memang harus dibuat lagi.",
    ),
    # output_validation_error, uncertain_effect, cancelled, internal_error
    "OUTPUT_SHAPE": Sentence("Hasil tool salah bentuknya.", "Pakai tool atau argumen lain."),
    "OUTPUT_SHAPE/happened": Sentence("Hasil tool salah bentuknya.", "Jangan ulangi panggilan ini."),
    "EFFECT_UNKNOWN": Sentence(
        "Percobaan terdahulu dari panggilan ini mungkin sudah berefek; tidak diulangi.",
        "Jangan pernah mengulanginya. Beri tahu pengguna bahwa seseorang harus memeriksa.",
    ),
    "EFFECT_UNKNOWN/refused": Sentence(
        "Percobaan terdahulu dari panggilan ini mungkin sudah berefek, dan kini tidak boleh dikirim lagi "
        "({code}).",
        "Jangan pernah mengulanginya. Beri tahu pengguna bahwa seseorang harus memeriksa.",
        "Percobaan terdahulu dari panggilan ini mungkin sudah berefek, dan kini tidak boleh dikirim lagi.",
    ),
    "RUN_CANCELLED": Sentence(
        "Proses dibatalkan sebelum panggilan ini dikirim.", "Berhenti; jangan mulai apa pun lagi."
    ),
    "RUN_CANCELLED/running": Sentence(
        "Proses dibatalkan ketika panggilan ini berjalan.", "Berhenti; jangan mulai apa pun lagi."
    ),
    "REFUSED_BEFORE": Sentence(
        "Panggilan ini sudah ditolak sebelum proses terputus, dan tetap ditolak.",
        "Ajukan lagi bila masih diperlukan.",
    ),
    "RUN_TAKEN_OVER": Sentence(
        "Program lain sekarang menjalankan proses ini, jadi panggilan ini tidak dijalankan di sini.",
        "Jangan lakukan apa pun: program itu meneruskan prosesnya.",
    ),
    "DEADLINE/running": Sentence("Waktu proses ini habis saat panggilan ini berjalan.", FINISH),
    "DEADLINE": Sentence("Batas waktu lewat sebelum panggilan ini dikirim.", FINISH),
    "INTERNAL": Sentence(
        "Tool gagal di dalam ({reference}).",
        "Beri tahu pengguna; tool lain mungkin masih berfungsi.",
        "Tool gagal di dalam.",
    ),
    **APPROVALS,
    **LIMITS,
}
