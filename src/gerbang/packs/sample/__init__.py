"""The sample workspace that the demonstration and the examples read; English and Indonesian."""

import shutil
from pathlib import Path
from typing import Final

from gerbang.errors import ConfigError
from gerbang.packs.basics import default_workspace

FOLDERS: Final = {"en": Path(__file__).parent / "en", "id": Path(__file__).parent / "id"}
"""Where the samples are; each holds a knowledge base in `KNOWLEDGE`."""
KNOWLEDGE: Final = {"en": "knowledge", "id": "pengetahuan"}


def copy_sample(target: Path | str, lang: str = "en") -> Path:
    """Copy the sample workspace of a language into `target`, made when missing, and return `target`.

    A file that is there already is kept as it is. Raises ConfigError when a file cannot be written.
    """
    if lang not in FOLDERS:
        raise ConfigError(f"There is no sample in the language {lang!r}. Use one of: {', '.join(FOLDERS)}.")
    source, target = FOLDERS[lang], Path(target)
    try:
        for file in sorted(source.rglob("*")):
            place = target / file.relative_to(source)
            if file.is_file() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
    except OSError as error:
        raise ConfigError(
            f"The sample cannot be copied to {target}: {error.strerror}. Name another folder."
        ) from None
    return target


def make(root: Path | str = ".", lang: str = "en") -> Path:
    """Return the default workspace below `root`, with the sample in it. Raises ConfigError."""
    return copy_sample(default_workspace(lang, root), lang)
