"""Text that may come from anywhere, made fit for a record."""


def clean_text(text: str) -> str:
    """Return the text with halves of surrogate pairs written as escapes: they have no UTF-8 form."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
