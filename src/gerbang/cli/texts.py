"""Everything that the commands say to a person, in English and Indonesian. Help texts stay English."""

from collections.abc import Mapping
from typing import Any, Final

from gerbang.values.counting import filled

LANGUAGES: Final = ("en", "id")

TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    # errors and endings of every command
    "error": ("Error: {text}", "Galat: {text}"),
    "interrupted": (
        "Interrupted. What was decided and done so far is on record: gerbang runs list",
        "Dihentikan. Yang sudah diputuskan dan dilakukan tercatat: gerbang runs list",
    ),
    "full": (
        "Error: this cannot be written: {why}. Make room, or write it elsewhere.",
        "Galat: ini tidak bisa ditulis: {why}. Sediakan tempat, atau tulis di tempat lain.",
    ),
    "inside": (
        "Error: something went wrong inside Gerbang ({kind}, reference {reference}).\n"
        "Run it again with GERBANG_DEBUG=1 to see where, and report that with the reference.",
        "Galat: ada yang salah di dalam Gerbang ({kind}, rujukan {reference}).\n"
        "Jalankan lagi dengan GERBANG_DEBUG=1 untuk melihat letaknya, lalu laporkan bersama rujukan itu.",
    ),
    # what is read from the command line and standard input
    "the_prompt": ("The prompt", "Permintaan"),
    "the_arguments": ("The arguments", "Argumen"),
    "too_large": (
        "{what} on standard input is larger than {limit} bytes. Send less.",
        "{what} dari masukan standar lebih besar dari {limit} bita. Kirim lebih sedikit.",
    ),
    "input_not_utf8": (
        "{what} on standard input is not UTF-8 (byte {place}). Convert it first, for example with "
        "iconv -t UTF-8.",
        "{what} dari masukan standar bukan UTF-8 (bita {place}). Ubah dulu, misalnya dengan iconv -t UTF-8.",
    ),
    "argument_not_utf8": (
        "{what} is not UTF-8. Check the terminal's encoding.",
        "{what} bukan UTF-8. Periksa penyandian terminal.",
    ),
    "json_example": (
        """Write a JSON object, such as '{{"path": "notes.txt"}}'.""",
        """Tulis objek JSON, misalnya '{{"jalur": "catatan.txt"}}'.""",
    ),
    "json_large": (
        "The arguments are larger than {limit} bytes. Send less.",
        "Argumen lebih besar dari {limit} bita. Kirim lebih sedikit.",
    ),
    "json_wrong": (
        "The arguments are not valid JSON: {reason} (line {line}, column {column}). {example}",
        "Argumen bukan JSON yang sah: {reason} (baris {line}, kolom {column}). {example}",
    ),
    "json_deep": (
        "The arguments are nested too deeply. Send a flatter object.",
        "Argumen bersarang terlalu dalam. Kirim objek yang lebih datar.",
    ),
    "json_unreadable": (
        "The arguments cannot be read: {reason}. {example}",
        "Argumen tidak dapat dibaca: {reason}. {example}",
    ),
    "json_other": (
        "The arguments are {kind}, not an object. {example}",
        "Argumen berupa {kind}, bukan objek. {example}",
    ),
    "json_twice": (
        "The name {name!r} stands twice in one object. Leave one of them out.",
        "Nama {name!r} muncul dua kali dalam satu objek. Hapus salah satunya.",
    ),
    "json_constant": (
        "{name} is not a JSON number. Write a finite number.",
        "{name} bukan bilangan JSON. Tulis bilangan yang berhingga.",
    ),
    "kind_null": ("null", "null"),
    "kind_bool": ("true or false", "true atau false"),
    "kind_number": ("a number", "bilangan"),
    "kind_text": ("a string", "teks"),
    "kind_list": ("a list", "daftar"),
    # chat
    "chat_keys": (
        "/new forgets the conversation, /quit (or Ctrl-D) ends. Ctrl-C stops the turn that is running.",
        "/new melupakan percakapan, /quit (atau Ctrl-D) mengakhiri. "
        "Ctrl-C menghentikan giliran yang berjalan.",
    ),
    "chat_head": ("Model {model}, profile {profile}. {keys}", "Model {model}, profil {profile}. {keys}"),
    "you": ("you> ", "anda> "),
    "ctrl_d": ("(Ctrl-D ends)", "(Ctrl-D mengakhiri)"),
    "stopped": (
        "Stopped. What had begun is on record; nothing more will start.",
        "Dihentikan. Yang sudah dimulai tercatat; tidak ada lagi yang akan dimulai.",
    ),
    "prompt_empty": (
        "The prompt is empty. Write one: gerbang chat 'What is 25 * 4 + 10?'",
        "Permintaan kosong. Tulis satu: gerbang chat 'Hitung 25 * 4 + 10'",
    ),
    "json_needs_prompt": (
        "--json needs a prompt: gerbang chat --json 'What is 25 * 4 + 10?'",
        "--json memerlukan permintaan: gerbang chat --json 'Hitung 25 * 4 + 10'",
    ),
    "lines_or_prompt": (
        "--lines reads requests from standard input; leave the prompt out, or write -.",
        "--lines membaca permintaan dari masukan standar; jangan beri permintaan, atau tulis -.",
    ),
    "thinking": ("thinking", "berpikir"),
    "running": ("running {names}", "menjalankan {names}"),
    "answer": ("Answer:", "Jawaban:"),
    "end_max_steps": ("stopped at the step limit", "berhenti pada batas langkah"),
    "end_budget": ("stopped: a budget is used up", "berhenti: anggaran habis"),
    "end_denied": ("stopped: all that was asked for was refused", "berhenti: semua yang diminta ditolak"),
    "end_pending_approval": ("waiting for a person's approval", "menunggu persetujuan seseorang"),
    "end_cancelled": ("cancelled", "dibatalkan"),
    "end_model_error": ("the model gave no answer", "model tidak memberi jawaban"),
    # a call and what came of it
    "proposes": ("the model proposes", "model mengusulkan"),
    "decides": ("the gate decides", "gerbang memutuskan"),
    "came_back": ("what came back", "yang kembali"),
    "done": ("done", "selesai"),
    "not_done": ("not done", "tidak dilakukan"),
    "from_record": ("(from the record: nothing ran again)", "(dari catatan: tidak ada yang dijalankan lagi)"),
    "waiting_for": ("Waiting for approval {id}:", "Menunggu persetujuan {id}:"),
    "waits": ("Waiting for a person's approval.", "Menunggu persetujuan seseorang."),
    "waits_id": (
        "Waiting for a person's approval (approval {id}).",
        "Menunggu persetujuan seseorang (persetujuan {id}).",
    ),
    "failed": ("The call failed.", "Panggilan gagal."),
    "whole_object": ("(whole object)", "(seluruh objek)"),
    "nothing_in_it": ("(empty)", "(kosong)"),
    "more_lines": ("... ({count:more line|more lines})", "... ({count} baris lagi)"),
    "why_rule": ("rule {rule} matched", "aturan {rule} cocok"),
    "why_class_allow": (
        "no rule matched, and calls are allowed by default for class {risk}",
        "tidak ada aturan yang cocok, dan kelas {risk} diizinkan secara baku",
    ),
    "why_class_ask": (
        "no rule matched, and a person is asked by default for class {risk}",
        "tidak ada aturan yang cocok, dan untuk kelas {risk} seseorang ditanyai secara baku",
    ),
    "why_class_deny": (
        "no rule matched, and calls are denied by default for class {risk}",
        "tidak ada aturan yang cocok, dan kelas {risk} ditolak secara baku",
    ),
    "why_no_rule": ("no rule was needed for that", "untuk itu tidak perlu aturan"),
    "why_unmatched": ("no rule matched", "tidak ada aturan yang cocok"),
    "decision": ("Decision: {decision} ({reasons})", "Keputusan: {decision} ({reasons})"),
    "nothing_run": ("Nothing was run.", "Tidak ada yang dijalankan."),
    # asking a person
    "asks": ("This call needs a yes: {tool}", "Panggilan ini perlu persetujuan: {tool}"),
    "no_preview": ("(no preview)", "(tanpa pratinjau)"),
    "asked_because": ("asked because: {reasons}", "ditanyakan karena: {reasons}"),
    "policy_says": ("the policy says so", "kebijakan menentukannya"),
    "run_it": (
        "Run it? [y]es  [n]o, with a reason if you like  [e]dit the arguments: ",
        "Jalankan? [y]a  [t]idak, dengan alasan bila mau  [u]bah argumennya: ",
    ),
    "y_n_e": ("Answer y, n or e.", "Jawab y, t atau u."),
    "arguments_now": ("Arguments now: {arguments}", "Argumen sekarang: {arguments}"),
    "new_arguments": (
        "New arguments as a JSON object on one line: ",
        "Argumen baru sebagai objek JSON dalam satu baris: ",
    ),
    "nothing_written": ("Nothing was written.", "Tidak ada yang ditulis."),
    "not_changed": ("Not changed. {reason}", "Tidak diubah. {reason}"),
    "editor_ended": (
        "The editor {editor!r} ended with code {code}.",
        "Penyunting {editor!r} berakhir dengan kode {code}.",
    ),
    "unavailable": (
        "nobody can be asked: standard input is not a terminal",
        "tidak ada yang dapat ditanyai: masukan standar bukan terminal",
    ),
    "leave_pending": (
        "Nobody can be asked here, so the call is refused. Add --pending to leave it waiting; then decide "
        "with gerbang approvals list and approve, or in the console of gerbang serve.",
        "Tidak ada yang dapat ditanyai di sini, jadi panggilan ditolak. Tambahkan --pending agar panggilan "
        "menunggu; lalu putuskan dengan gerbang approvals list dan approve, atau di konsol gerbang serve.",
    ),
    "input_ended": ("the person ended the input without an answer", "masukan berakhir tanpa jawaban"),
    "said_no": ("the person said no", "orang itu menjawab tidak"),
    "edited": ("edited", "diubah"),
    "decide_later": (
        "It waits for a person. See: gerbang approvals show {id}",
        "Menunggu seseorang. Lihat: gerbang approvals show {id}",
    ),
    "second_person": (
        "Your yes is on record. A second person has to agree: gerbang approvals approve {id} --as NAME",
        "Persetujuan Anda tercatat. Orang kedua harus setuju: gerbang approvals approve {id} --as NAMA",
    ),
    "run_read_outside": (
        "The run has read something from outside; this call may come from there.",
        "Run ini telah membaca sesuatu dari luar; panggilan ini mungkin berasal dari sana.",
    ),
    "policy_wants": ("the policy wants: {duties}", "kebijakan meminta: {duties}"),
    "agreed_already": ("agreed already: {names}", "sudah setuju: {names}"),
    "unclear": ("the person gave no clear answer", "tidak ada jawaban yang jelas"),
    # tools
    "head_tools": ("tool|risk class|what it is for", "tool|kelas risiko|kegunaan"),
    "unknown_tool": (
        "Unknown tool: {tool}. Known tools: {known}",
        "Tool tidak dikenal: {tool}. Tool yang dikenal: {known}",
    ),
    "contracts_where": (
        "Name a file or folder of contracts: --contracts PATH, or the setting contracts.",
        "Sebutkan berkas atau folder kontrak: --contracts PATH, atau setelan contracts.",
    ),
    "never_approved": ("never approved", "belum pernah disetujui"),
    "approved_as": ("approved as {digest}", "disetujui sebagai {digest}"),
    "contract_waits": (
        "{tool} waits: {was}, now {digest} ({origin})",
        "{tool} menunggu: {was}, sekarang {digest} ({origin})",
    ),
    "contract_approved": ("{tool} is approved as it is now.", "{tool} disetujui seperti sekarang."),
    "no_contract_waits": ("No contract waits for approval.", "Tidak ada kontrak yang menunggu persetujuan."),
    # runs
    "head_runs": ("run|started|state|steps|request", "run|mulai|keadaan|langkah|permintaan"),
    "no_runs": (
        "No runs are recorded in {store} yet. Start one with: gerbang chat",
        "Belum ada run yang tercatat di {store}. Mulai dengan: gerbang chat",
    ),
    "no_run": (
        "No run {run} in {store}. See: gerbang runs list",
        "Tidak ada run {run} di {store}. Lihat: gerbang runs list",
    ),
    "many_ids": (
        "Several begin with {start}: {some}. Write more of the id.",
        "Beberapa dimulai dengan {start}: {some}. Tulis lebih banyak dari id-nya.",
    ),
    "run_unknown": (
        "There is no run {run}. See: gerbang runs list",
        "Tidak ada run {run}. Lihat: gerbang runs list",
    ),
    "run_cancelled": ("Run {run} is cancelled.", "Run {run} dibatalkan."),
    "no_doubts": (
        "There is no call of which nobody knows what became of it.",
        "Tidak ada panggilan yang nasibnya tidak diketahui.",
    ),
    "doubt_unsaid": (
        "Say what you have found out: --happened or --not-happened. Nothing was changed.",
        "Sebutkan apa yang Anda ketahui: --happened atau --not-happened. Tidak ada yang diubah.",
    ),
    "cancel_asked": (
        "Run {run} has not ended yet. The request stands: whoever drives it ends it before its next call.",
        "Run {run} belum berakhir. Permintaan tetap berlaku: yang menjalankannya mengakhirinya sebelum "
        "panggilan berikutnya.",
    ),
    "no_prose": (
        "(this model only picks tools: ask for something that a tool does, such as: Read notes.txt. "
        "For a model that talks, see --model.)",
        "(model ini hanya memilih alat: mintalah sesuatu yang bisa dikerjakan alat, misalnya: Baca berkas "
        "catatan.txt. Untuk model yang bisa mengobrol, lihat --model.)",
    ),
    "in_doubt": (
        "Somebody has to find out what became of it, and say so: gerbang runs uncertain",
        "Seseorang harus mencari tahu apa yang terjadi, lalu mengatakannya: gerbang runs uncertain",
    ),
    "given_again": (
        "Nothing was run: this is the stored result of the same call, made earlier.",
        "Tidak ada yang dijalankan: ini hasil tersimpan dari panggilan yang sama sebelumnya.",
    ),
    "cancel_late": (
        "Run {run} is {state} already; nothing was changed.",
        "Run {run} sudah {state}; tidak ada yang diubah.",
    ),
    "tool_not_here": (
        "The run {run} knew what is not here: {tool}. Name its tools as when it ran: --python MODULE:NAME, "
        "--tools FILE, --lang, --profile, --config FILE, or the setting contracts.",
        "Run {run} mengenal yang tidak ada di sini: {tool}. Sebutkan alatnya seperti saat run berjalan: "
        "--python MODULE:NAME, --tools FILE, --lang, --profile, --config FILE, atau setelan contracts.",
    ),
    "no_store": (
        "There is no store yet, so there are no runs. Name another with --store.",
        "Belum ada penyimpanan, jadi belum ada run. Sebutkan yang lain dengan --store.",
    ),
    "none_cut_off": ("No run was cut off.", "Tidak ada run yang terputus."),
    "call_waits": ("Waiting: gerbang approvals show {id}", "Menunggu: gerbang approvals show {id}"),
    "waits_person": ("decide on it: gerbang approvals show {ids}", "putuskan: gerbang approvals show {ids}"),
    "waits_resume": (
        "decided; go on: gerbang runs resume {run}",
        "sudah diputuskan; lanjutkan: gerbang runs resume {run}",
    ),
    "waits_caller": (
        "decided; it goes on when its program makes the call again",
        "sudah diputuskan; dilanjutkan saat programnya mengulang panggilan itu",
    ),
    "label_next": ("next", "berikut"),
    "label_run": ("run", "run"),
    "label_for": ("for", "untuk"),
    "label_request": ("request", "permintaan"),
    "label_answer": ("answer", "jawaban"),
    "for_whom": ("{user} of {tenant}", "{user} dari {tenant}"),
    "with_model": ("model {model}", "model {model}"),
    "with_profile": ("profile {profile}", "profil {profile}"),
    "open_run": ("{state}, or cut off", "{state}, atau terputus"),
    "run_started": ("run started", "run dimulai"),
    "run_ended": ("run {status} after {steps:step|steps}", "run {status} setelah {steps} langkah"),
    "answered_calls": ("model answered: proposes {calls}", "model menjawab: mengusulkan {calls}"),
    "answered": ("model answered, without a call", "model menjawab, tanpa panggilan"),
    "call_in": ("in {ms} ms", "dalam {ms} md"),
    "call_refused": ("refused: {code}", "ditolak: {code}"),
    "call_replayed": ("result given again from the record", "hasil diberikan lagi dari catatan"),
    "by_rule": ("by rule {rule}", "oleh aturan {rule}"),
    # putting the street together
    "no_records_folder": (
        "The folder {folder} for records cannot be made: {reason}. Name another place with --store "
        "sqlite:PATH, or keep none with --store memory:",
        "Folder {folder} untuk catatan tidak dapat dibuat: {reason}. Sebutkan tempat lain dengan --store "
        "sqlite:PATH, atau jangan simpan dengan --store memory:",
    ),
    "no_workspace": (
        "There is no folder {folder}. Make it, or name another with --workspace.",
        "Folder {folder} tidak ada. Buat folder itu, atau sebutkan yang lain dengan --workspace.",
    ),
    "python_form": (
        "--python takes MODULE:NAME, such as mytools:search, not {name!r}.",
        "--python menerima MODULE:NAME, misalnya mytools:search, bukan {name!r}.",
    ),
    "no_module": (
        "The module {module!r} was not found. Check --python {name}.",
        "Modul {module!r} tidak ditemukan. Periksa --python {name}.",
    ),
    "module_broken": (
        "The module {module!r} cannot be imported: {reason}",
        "Modul {module!r} tidak dapat diimpor: {reason}",
    ),
    "no_attribute": (
        "The module {module!r} has no {attribute!r}. Check --python {name}.",
        "Modul {module!r} tidak memiliki {attribute!r}. Periksa --python {name}.",
    ),
    # demo
    "demo_title": (
        "Gerbang: the model proposes, the gate decides, and everything is on record.",
        "Gerbang: model mengusulkan, gerbang memutuskan, dan semuanya tercatat.",
    ),
    "demo_where": (
        "Model {model}, workspace {workspace}, records in {store}",
        "Model {model}, ruang kerja {workspace}, catatan di {store}",
    ),
    "demo_you": ("You: {request}", "Anda: {request}"),
    "demo_starting": (
        "Starting the model; the first answer takes longest.",
        "Memulai model; jawaban pertama paling lama.",
    ),
    "demo_answering": ("Request {number} of {count} ...", "Permintaan {number} dari {count} ..."),
    "what_next": ("What next", "Selanjutnya"),
    "next_chat": (
        "talk to this model about your own files in ./workspace",
        "mengobrol dengan model ini tentang berkas Anda di ./ruang-kerja",
    ),
    "next_runs": (
        "what has just been recorded; runs show RUN is one run's timeline",
        "apa yang baru saja tercatat; runs show RUN menampilkan urutan satu run",
    ),
    "next_tools": ("what the model may propose", "apa yang boleh diusulkan model"),
    "next_ollama": ("a model served by Ollama", "model yang dilayani Ollama"),
    "next_openai": ("any OpenAI-compatible server", "server apa pun yang kompatibel dengan OpenAI"),
}  # fmt: skip

_chosen = 0


def speak(lang: str) -> None:
    """Say everything in `lang` from now on: one process serves one person. What is not known is English."""
    global _chosen
    _chosen = LANGUAGES.index(lang) if lang in LANGUAGES else 0


def language() -> str:
    """Return the language that is spoken now."""
    return LANGUAGES[_chosen]


def say(key: str, /, **values: Any) -> str:
    """Return a text of the table, its `{names}` filled in. Raises KeyError for one that there is not."""
    return filled(TEXTS[key][_chosen], **values)
