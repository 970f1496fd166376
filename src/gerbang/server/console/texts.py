"""Every text of the console, in English and Indonesian. Codes, names and others' words stay as they are."""

from typing import Any, Final

from gerbang.values.counting import filled

LANGS: Final = {"en": "English", "id": "Bahasa Indonesia"}

TEXTS: Final[dict[str, tuple[str, str]]] = {
    # every page
    "skip": ("Skip to the content", "Lompat ke isi"),
    "menu": ("Console", "Konsol"),
    "menu_approvals": ("Approvals", "Persetujuan"),
    "menu_runs": ("Runs", "Proses"),
    "menu_tools": ("Tools", "Alat"),
    "menu_policy": ("Policy", "Kebijakan"),
    "menu_audit": ("Audit", "Audit"),
    "menu_figures": ("Figures", "Angka"),
    "menu_switches": ("Kill switches", "Sakelar darurat"),
    "language": ("Language", "Bahasa"),
    "you_are": ("{user} of {tenant}", "{user} dari {tenant}"),
    "back": ("Back", "Kembali"),
    "more": ("More", "Berikutnya"),
    "show": ("Show", "Tampilkan"),
    "all": ("all", "semua"),
    "none_here": ("There is nothing here.", "Tidak ada apa-apa di sini."),
    "state": ("State", "Keadaan"),
    "reload": ("Load this page again", "Muat ulang halaman ini"),
    "cut": (
        "… {count:more character is|more characters are} not shown.",
        "… {count} karakter lagi tidak ditampilkan.",
    ),
    # errors and sessions
    "error": ("That did not work", "Itu tidak berhasil"),
    "csrf_wrong": (
        "This form does not come from a page of your session. Nothing was changed; open the page again.",
        "Formulir ini bukan dari halaman sesi Anda. Tidak ada yang diubah; buka halamannya lagi.",
    ),
    "session_over": (
        "Your session is over. Nothing was changed; sign in again.",
        "Sesi Anda sudah berakhir. Tidak ada yang diubah; masuklah lagi.",
    ),
    "right_missing": (
        "This key may not do that: it lacks the right {right}.",
        "Kunci ini tidak boleh melakukannya: haknya tidak memuat {right}.",
    ),
    "too_often": ("Too many requests.", "Terlalu banyak permintaan."),
    "nothing_title": ("Nothing to see", "Tidak ada yang dapat dilihat"),
    "nothing_text": (
        "This key has no right that a page of the console needs.",
        "Kunci ini tidak punya hak yang diperlukan halaman konsol mana pun.",
    ),
    "one_moment": ("One moment", "Sebentar"),
    "go_on": ("Go on", "Lanjutkan"),
    "sign_in": ("Sign in", "Masuk"),
    "sign_out": ("Sign out", "Keluar"),
    "key": ("API key", "Kunci API"),
    "key_help": (
        "A key made with: gerbang keys create. It is not kept in the browser.",
        "Kunci yang dibuat dengan: gerbang keys create. Kunci tidak disimpan di peramban.",
    ),
    "key_wrong": ("This key opens nothing.", "Kunci ini tidak membuka apa pun."),
    # approvals
    "news": ("There are new requests. Show them.", "Ada permintaan baru. Tampilkan."),
    "inbox_empty": ("Nothing waits for a decision.", "Tidak ada yang menunggu keputusan."),
    "approval_pending": ("waiting", "menunggu"),
    "approval_granted": ("granted", "disetujui"),
    "approval_refused": ("refused", "ditolak"),
    "approval_expired": ("expired", "kedaluwarsa"),
    "approval_cancelled": ("withdrawn", "ditarik"),
    "approval_used": ("used", "sudah dipakai"),
    "approval_of": ("Request to run {tool}", "Permintaan menjalankan {tool}"),
    "asks": ("The model asks to run", "Model minta menjalankan"),
    "request": ("Request", "Permintaan"),
    "control": ("steers the effect", "menentukan akibat"),
    "origin_user": ("said by the user", "dikatakan pengguna"),
    "origin_result": ("copied from a result, untrusted:", "disalin dari hasil, tidak tepercaya:"),
    "origin_mixed": ("partly from a result, untrusted:", "sebagian dari hasil, tidak tepercaya:"),
    "origin_own": ("written by the model", "ditulis model"),
    "origin_masked": ("masked", "disamarkan"),
    "mark_title": ("stands in a result of {tool}", "ada dalam hasil {tool}"),
    "no_arguments": ("It has no arguments.", "Tidak ada argumen."),
    "tainted": (
        "This run has read what others may have written: {tools}.",
        "Proses ini telah membaca apa yang mungkin ditulis pihak lain: {tools}.",
    ),
    "suspicious": (
        "What it read there speaks to the model: {tools}.",
        "Yang dibacanya di sana berbicara kepada model: {tools}.",
    ),
    "too_long": (
        "This run is too long to compare its results with these values: take all of them as untrusted.",
        "Proses ini terlalu panjang untuk membandingkan hasilnya dengan nilai ini: anggap semuanya tidak "
        "tepercaya.",
    ),
    "clean": (
        "This run has read nothing from outside before this call.",
        "Proses ini belum membaca apa pun dari luar sebelum panggilan ini.",
    ),
    "edited_by": (
        "{user} changed the call. It was proposed otherwise:",
        "{user} mengubah panggilan ini. Usulan semula lain:",
    ),
    "duties": ("The policy demands", "Kebijakan mensyaratkan"),
    "agreed": ("{count} of {needed} people have agreed.", "{count} dari {needed} orang sudah menyetujui."),
    "type_it": (
        "This cannot be undone. Type {tool} to approve it.",
        "Ini tidak dapat dibatalkan. Ketik {tool} untuk menyetujuinya.",
    ),
    "reasons": ("Asked because", "Ditanyakan karena"),
    "preview": ("What will happen, as it was recorded", "Yang akan terjadi, seperti tercatat"),
    "asked_at": ("Asked", "Ditanyakan"),
    "until": ("until", "sampai"),
    "decided_by": ("Decided by", "Diputuskan oleh"),
    "approve": ("Approve", "Setujui"),
    "deny": ("Deny", "Tolak"),
    "edit": ("Edit", "Ubah"),
    "reason": ("Reason", "Alasan"),
    "keys": ("Keys", "Tombol"),
    "keys_move": ("next and former request", "permintaan berikut dan sebelumnya"),
    "keys_approve": ("approve", "setujui"),
    "keys_deny": ("deny", "tolak"),
    "keys_edit": ("edit", "ubah"),
    "keys_confirm": (
        "a and d move to the button and the reason; Enter confirms.",
        "a dan d berpindah ke tombol dan alasan; Enter menegaskan.",
    ),
    "keys_off": ("Turn the keys off", "Matikan tombol"),
    "keys_on": ("Turn the keys on", "Nyalakan tombol"),
    "done_granted": (
        "Granted. The call runs when it is made again.",
        "Disetujui. Panggilan berjalan bila dibuat lagi.",
    ),
    "done_refused": ("Refused.", "Ditolak."),
    "done_resumed": ("Decided. The run goes on.", "Diputuskan. Proses berlanjut."),
    "done_vote": (
        "Your agreement is recorded. Another person has to agree as well.",
        "Persetujuan Anda dicatat. Orang lain juga harus menyetujui.",
    ),
    "reason_long": ("A reason has at most {limit} characters.", "Alasan paling banyak {limit} karakter."),
    "decided_before": (
        "The request is {state} already; nothing was changed.",
        "Permintaan ini sudah {state}; tidak ada yang diubah.",
    ),
    "changed_meanwhile": (
        "The request is not what you were shown: somebody changed it meanwhile. Look at it again.",
        "Permintaan ini bukan lagi yang ditampilkan: seseorang mengubahnya. Lihatlah lagi.",
    ),
    "edit_of": ("Edit the call of {tool}", "Ubah panggilan {tool}"),
    "new_arguments": ("Arguments, as a JSON object", "Argumen, sebagai objek JSON"),
    "edit_help": (
        "Masked values stay as they are when you leave them. The next page shows what changes.",
        "Nilai yang disamarkan tetap sama bila dibiarkan. Halaman berikut menunjukkan perubahannya.",
    ),
    "review": ("See the changes", "Lihat perubahan"),
    "review_of": ("Changes to the call of {tool}", "Perubahan panggilan {tool}"),
    "changes": ("Changes", "Perubahan"),
    "same": ("Nothing is changed.", "Tidak ada yang berubah."),
    "line_in": ("new", "baru"),
    "line_out": ("removed", "dihapus"),
    "review_help": (
        "The call passes every check again with these arguments, and the model is told what changed.",
        "Panggilan diperiksa lagi seluruhnya dengan argumen ini, dan model diberi tahu perubahannya.",
    ),
    "approve_edited": ("Approve the changed call", "Setujui panggilan yang diubah"),
    "edit_again": ("Edit again", "Ubah lagi"),
    "not_json": ("This is not JSON: {why}", "Ini bukan JSON: {why}"),
    "not_object": ("Arguments are one JSON object.", "Argumen adalah satu objek JSON."),
    # runs
    "run": ("Run", "Proses"),
    "started": ("Started", "Mulai"),
    "updated": ("Last change", "Perubahan terakhir"),
    "steps": ("Steps", "Langkah"),
    "user": ("User", "Pengguna"),
    "model": ("Model", "Model"),
    "answer": ("Answer", "Jawaban"),
    "saying": ("What the model is saying", "Yang sedang dikatakan model"),
    "live": ("live", "langsung"),
    "calls": ("Calls", "Panggilan"),
    "no_calls": ("No call was proposed yet.", "Belum ada panggilan yang diusulkan."),
    "too_many_calls": (
        "There are too many calls for one page; the timeline and the audit show them in parts.",
        "Terlalu banyak panggilan untuk satu halaman; lini masa dan audit menampilkannya bertahap.",
    ),
    "proposed": ("proposed", "diusulkan"),
    "proposal": ("Proposal", "Usulan"),
    "decision": ("Decision", "Keputusan"),
    "effect": ("Effect", "Akibat"),
    "result": ("Result", "Hasil"),
    "rule": ("Rule", "Aturan"),
    "approval": ("Approval", "Persetujuan"),
    "by": ("by", "oleh"),
    "attempts": ("attempts: {count}", "percobaan: {count}"),
    "erased": (
        "What this run was asked, its arguments and results were erased; the record of its calls stays.",
        "Permintaan, argumen, dan hasil proses ini sudah dihapus; catatan panggilannya tetap ada.",
    ),
    "timeline": ("Timeline", "Lini masa"),
    "following": ("This page goes on by itself.", "Halaman ini berlanjut sendiri."),
    "over": ("The run is over.", "Proses sudah selesai."),
    "run_waits": ("The run waits for a decision.", "Proses menunggu keputusan."),
    "cancel": ("Cancel the run", "Batalkan proses"),
    "resume": ("Resume the run", "Lanjutkan proses"),
    "not_waiting": (
        "The run is {state}: there is nothing to resume.",
        "Proses ini {state}: tidak ada yang dapat dilanjutkan.",
    ),
    # tools
    "tool": ("Tool", "Alat"),
    "risk": ("Risk class", "Kelas risiko"),
    "findings": ("Findings", "Temuan"),
    "findings_none": ("The design review finds nothing.", "Tinjauan rancangan tidak menemukan apa pun."),
    "search": ("Search", "Cari"),
    "level": ("Findings of level", "Temuan tingkat"),
    "tools_total": ("{count:tool|tools}", "{count} alat"),
    "held": (
        "These wait until their definition is approved: {tools}.",
        "Ini menunggu sampai definisinya disetujui: {tools}.",
    ),
    "about": ("What it does", "Yang dilakukannya"),
    "parameters": ("Arguments (JSON Schema)", "Argumen (JSON Schema)"),
    "returns": ("Result (JSON Schema)", "Hasil (JSON Schema)"),
    "contract": ("The rest of the contract", "Bagian kontrak lainnya"),
    "explain_this": ("Explain the policy's decision", "Jelaskan keputusan kebijakan"),
    # policy
    "policy_help": (
        "Says what would be decided on a call, by which rule, and why the other rules do not count. "
        "Nothing runs and nothing is recorded. The run's history, budgets and looked-up facts are left out.",
        "Mengatakan apa yang akan diputuskan tentang sebuah panggilan, oleh aturan mana, dan mengapa aturan "
        "lain tidak berlaku. Tidak ada yang dijalankan atau dicatat. Riwayat, anggaran, dan fakta yang "
        "dicari tidak disertakan.",
    ),
    "policy_version": ("Policy in force: {version}", "Kebijakan yang berlaku: {version}"),
    "purpose": ("Purpose", "Tujuan"),
    "tainted_box": ("The run has read something from outside", "Proses telah membaca sesuatu dari luar"),
    "explain": ("Explain", "Jelaskan"),
    "decided_for": ("Decided for {user} of {tenant}", "Diputuskan untuk {user} dari {tenant}"),
    "whole_gate": ("What the whole gate says", "Yang dikatakan seluruh gerbang"),
    "rules_alone": ("What the policy says", "Yang dikatakan kebijakan"),
    "by_default": (
        "No rule matches: the default of {risk} decides.",
        "Tidak ada aturan yang cocok: bawaan {risk} memutuskan.",
    ),
    "floor": (
        "The floor {code} asks although nothing else does.",
        "Batas bawah {code} bertanya walau tidak ada yang lain.",
    ),
    "why": ("Why", "Mengapa"),
    "role_decided": ("decided", "memutuskan"),
    "role_matched": ("matched too", "cocok juga"),
    "role_not": ("does not match", "tidak cocok"),
    "role_error": ("failed; the call is denied", "gagal; panggilan ditolak"),
    "wants": ("{condition} wants {want}", "{condition} menghendaki {want}"),
    "it_is": ("it is {got}", "nilainya {got}"),
    "there_is_none": ("there is none", "tidak ada"),
    "no_rules": (
        "This policy is not made of rules that can be listed here.",
        "Kebijakan ini tidak terdiri atas aturan yang dapat didaftar di sini.",
    ),
    # audit
    "kind": ("Kind of event", "Jenis peristiwa"),
    "words": ("Words", "Kata"),
    "chain": ("Chain", "Rantai"),
    "chain_whole": ("whole, {events:event|events}", "utuh, {events} peristiwa"),
    "chain_broken_chain": ("broken at event {at}", "putus pada peristiwa {at}"),
    "chain_broken_detail": ("the detail of event {at} was changed", "rincian peristiwa {at} diubah"),
    "chain_broken_payload": (
        "arguments or result are not those of event {at}",
        "argumen atau hasil bukan yang dicatat peristiwa {at}",
    ),
    "chain_note": (
        "A whole chain shows that nothing was changed, removed, reordered or inserted up to its head. A tail "
        "that was cut off is seen only by comparing the head with one kept elsewhere.",
        "Rantai yang utuh menunjukkan bahwa tidak ada yang diubah, dihapus, dipindah, atau disisipkan sampai "
        "kepalanya. Ekor yang terpotong hanya terlihat dengan membandingkan kepala yang disimpan di tempat "
        "lain.",
    ),
    "head": ("Head", "Kepala"),
    "looked": (
        "Looked at {runs:run|runs} with {events:event|events}.",
        "Diperiksa {runs} proses dengan {events} peristiwa.",
    ),
    "search_on": ("Search on in older runs", "Cari lagi di proses yang lebih lama"),
    "event": ("Event", "Peristiwa"),
    "time": ("Time (UTC)", "Waktu (UTC)"),
    "facts": ("What it says", "Isinya"),
    "switch_chain": ("Events of kill switches and the policy", "Peristiwa sakelar darurat dan kebijakan"),
    # figures
    "period": ("Period", "Jangka waktu"),
    "chart_calls": ("Calls, and calls that ended in an error", "Panggilan, dan yang berakhir dengan galat"),
    "chart_latency": ("Latency of calls in ms", "Lama panggilan dalam ms"),
    "chart_cost": ("Cost in cost units", "Biaya dalam satuan biaya"),
    "errors": ("Errors", "Galat"),
    "half": ("half are quicker", "separuh lebih cepat"),
    "most": ("95 of 100 are quicker", "95 dari 100 lebih cepat"),
    "cost": ("Cost", "Biaya"),
    "as_table": ("As a table", "Sebagai tabel"),
    "chart_empty": ("Nothing in this period.", "Tidak ada dalam jangka waktu ini."),
    "per_tool": ("By tool", "Menurut alat"),
    "figures_from": (
        "From the records of the newest {runs:run|runs}; {calls:call|calls} in this period.",
        "Dari catatan {runs} proses terbaru; {calls} panggilan dalam jangka waktu ini.",
    ),
    "figures_cut": (
        "There are more runs than are looked at here: older calls are missing.",
        "Ada lebih banyak proses daripada yang diperiksa: panggilan lama tidak ikut.",
    ),
    # kill switches
    "switches_help": (
        "A switch that is on beats every policy, at once and in every process that shares these records.",
        "Sakelar yang menyala mengalahkan setiap kebijakan, seketika dan di setiap proses yang berbagi "
        "catatan ini.",
    ),
    "switches_none": ("No switch is on.", "Tidak ada sakelar yang menyala."),
    "switch_on": ("Turn a switch on", "Nyalakan sakelar"),
    "since": ("Since", "Sejak"),
    "who": ("By", "Oleh"),
    "kind_tool": ("a tool", "satu alat"),
    "kind_group": ("a group of tools", "satu kelompok alat"),
    "kind_tenant": ("a tenant", "satu penyewa"),
    "kind_all": ("everything", "semuanya"),
    "stops": ("What it stops", "Yang dihentikan"),
    "name": ("Name", "Nama"),
    "kill": ("Stop it", "Hentikan"),
    "revive": ("Let it run again", "Izinkan lagi"),
    "done_killed": ("The switch is on.", "Sakelar menyala."),
    "done_revived": ("The switch is off.", "Sakelar mati."),
    "reason_needed": (
        "A reason of 1 to {limit} characters is needed; it goes on record.",
        "Diperlukan alasan 1 sampai {limit} karakter; alasan itu dicatat.",
    ),
}


def text(lang: str, key: str, **fields: Any) -> str:
    """Return a text in a language of LANGS, its fields filled. Raises KeyError when there is none."""
    both = TEXTS[key]
    said = both[1] if lang == "id" else both[0]
    return filled(said, **fields) if fields else said
