"""What the readers say of a broken call, in Indonesian. What is not here (a name, a mark) stays as it is."""

from typing import Final

REASONS: Final[dict[str, str]] = {
    "a backslash stands before a character that needs none": (
        "garis miring terbalik di depan karakter yang tidak memerlukannya"
    ),
    "a bracket does not fit": "sebuah kurung tidak cocok",
    "a colon is missing after a key": "titik dua sesudah kunci tidak ada",
    "a comma or a closing bracket is missing": "koma atau kurung tutup tidak ada",
    "a comma stands before a closing bracket": "ada koma di depan kurung tutup",
    "a header has no message": "sebuah kepala tidak punya pesan",
    "a key is given twice with two different values": (
        "sebuah kunci ditulis dua kali dengan dua nilai berbeda"
    ),
    "a key is missing": "sebuah kunci tidak ada",
    "a key is not closed": "sebuah kunci tidak ditutup",
    "a key must be in double quotes": "kunci harus diapit tanda kutip ganda",
    "a number cannot be read": "sebuah angka tidak dapat dibaca",
    "a number is too large": "sebuah angka terlalu besar",
    "a number is too long": "sebuah angka terlalu panjang",
    "a raw line break in a text": "ada ganti baris mentah dalam teks",
    "a raw line break or control character in a text": (
        "ada ganti baris atau karakter kendali mentah dalam teks"
    ),
    "a tag is not closed": "sebuah tag tidak ditutup",
    "a text holds half a character": "sebuah teks memuat setengah karakter",
    "a text is not closed": "sebuah teks tidak ditutup",
    "a value is missing or not JSON": "sebuah nilai tidak ada atau bukan JSON",
    "a value is neither text, number, true, false nor null": (
        "sebuah nilai bukan teks, angka, true, false, atau null"
    ),
    "a value is no literal": "sebuah nilai bukan literal",
    "a value is not in string marks": "sebuah nilai tidak diapit tanda teks",
    "an argument has no value": "sebuah argumen tidak punya nilai",
    "an argument is given twice": "sebuah argumen ditulis dua kali",
    "an element holds both text and elements": "sebuah elemen memuat teks dan elemen sekaligus",
    "an element is given twice": "sebuah elemen ditulis dua kali",
    "an end tag does not fit": "sebuah tag penutup tidak cocok",
    "an escape is not complete": "sebuah escape tidak lengkap",
    "an escape names no character": "sebuah escape tidak menunjuk karakter apa pun",
    "an object needs texts as keys": "kunci objek harus teks",
    "every argument needs its name, as in key=value": "setiap argumen perlu namanya, seperti key=value",
    "no call like name(key=value)": "bukan panggilan seperti nama(kunci=nilai)",
    "something follows the value": "ada sesuatu sesudah nilai",
    "text follows the arguments": "ada teks sesudah argumen",
    "the action input is no JSON object": "masukan tindakan bukan objek JSON",
    "the arguments are a plain text, not an object": "argumennya teks biasa, bukan objek",
    "the arguments are given twice": "argumennya ditulis dua kali",
    "the arguments are missing": "argumennya tidak ada",
    "the arguments are no object": "argumennya bukan objek",
    "the arguments are not one object": "argumennya bukan satu objek",
    "the call has two names": "panggilan ini punya dua nama",
    "the closing bracket of the list is missing": "kurung tutup daftarnya tidak ada",
    "the header of a message is too long": "kepala pesan terlalu panjang",
    "the list holds something that is no call": "daftarnya memuat sesuatu yang bukan panggilan",
    "the name of an argument is missing": "nama sebuah argumen tidak ada",
    "the name of an argument is not closed": "nama sebuah argumen tidak ditutup",
    "the name of the tool is missing": "nama tool tidak ada",
    "the name of the tool is missing, too long or not printable": (
        "nama tool tidak ada, terlalu panjang, atau tidak dapat dicetak"
    ),
    "the type of an argument is not closed": "tipe sebuah argumen tidak ditutup",
    "there is text between the arguments": "ada teks di antara argumen",
    "too much white space": "terlalu banyak spasi",
    "unreadable": "tidak terbaca",
}
