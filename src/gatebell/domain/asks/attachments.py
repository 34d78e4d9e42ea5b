"""Attachments: files beside a question or an answer, known by the digest of their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.domain.records import NamedTuple
from gatebell.domain.text.display import storable
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gatebell.domain.asks.asks import Ask

MAX_FILE_BYTES = 10_000_000
MAX_FILES = 10
MAX_TOTAL_BYTES = 25_000_000
MAX_NAME_CHARACTERS = 200
_MAX_PIXELS = 40_000_000
_MAX_SAVED_NAME = 100

UNKNOWN, PLAIN, PDF = "application/octet-stream", "text/plain", "application/pdf"
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The only types that a page shows; other files are downloads."""


class Attachment(NamedTuple):
    """A file as an ask or an answer names it.

    Example:
        for one in gate.wait(ask_id).attachments:
            print(one.name, one.media_type, one.size)
    """

    name: str
    """As the sender wrote it: text to show, never part of a path."""
    media_type: str
    """Decided by the bytes."""
    size: int
    digest: str
    """SHA-256 of the bytes."""

    @property
    def is_image(self) -> bool:
        """Whether a page may show it."""
        return self.media_type in IMAGES


class ReceivedFile:
    """A file that a person attached to an answer.

    Example:
        for file in gate.ask("Which logo?").attachments:
            Path("logo").write_bytes(file.read())
    """

    def __init__(self, attachment: Attachment, read: Callable[[], bytes]) -> None:
        self.name: str = attachment.name
        """As the person's browser or shell gave it: do not use it as a path."""
        self.media_type: str = attachment.media_type
        self.size: int = attachment.size
        self.digest: str = attachment.digest
        self._read = read

    def read(self) -> bytes:
        """Return the bytes, which are those of the digest."""
        return self._read()

    def __repr__(self) -> str:
        return f"<ReceivedFile {self.name!r} {self.media_type} {self.size}>"


def describe_bytes(content: bytes, name: str) -> Attachment:
    """Return the description of a file.

    Raises:
        UsageError: It is too large, or has no name.
    """
    if len(content) > MAX_FILE_BYTES:
        raise UsageError(
            f"{_shorten(name)} has {len(content)} bytes: an attachment has at most {MAX_FILE_BYTES}"
        )
    return Attachment(clean_name(name), find_media_type(content), len(content), hash_bytes(content))


def clean_name(name: str) -> str:
    """Return a name as it is kept: the part after the last slash, and not too long."""
    kept = storable(name).replace("\\", "/").rpartition("/")[2].strip()
    if not kept:
        raise UsageError("an attachment needs a name: give it one, such as screen.png")
    return kept[:MAX_NAME_CHARACTERS]


def _shorten(name: str) -> str:
    return repr(storable(name)[:60])


def hash_bytes(content: bytes) -> str:
    """Return the SHA-256 of the bytes."""
    # Imported here: most asks have no files.
    import hashlib

    return hashlib.sha256(content).hexdigest()


def must_fit(attachments: Sequence[Attachment], *, is_secret: bool) -> None:
    """Refuse too many files, too many bytes, and files beside a secret."""
    if attachments and is_secret:
        raise UsageError("a secret ask takes no attachments, because they are not erased")
    if len(attachments) > MAX_FILES:
        raise UsageError(f"expected at most {MAX_FILES} attachments, got {len(attachments)}")
    total = sum(one.size for one in attachments)
    if total > MAX_TOTAL_BYTES:
        raise UsageError(
            f"the attachments have {total} bytes together: at most {MAX_TOTAL_BYTES} are possible"
        )


def find_media_type(content: bytes) -> str:
    """Return the type of a file by its bytes: an image, text, PDF or unknown."""
    for media_type, measure in _MEASURES.items():
        size = measure(content)
        if size is not None:
            width, height = size
            return media_type if 0 < width * height <= _MAX_PIXELS else UNKNOWN
    if content.startswith(b"%PDF-"):
        return PDF
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return UNKNOWN
    return UNKNOWN if b"\0" in content else PLAIN


def _measure_png(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\x89PNG\r\n\x1a\n") or content[12:16] != b"IHDR":
        return None
    return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])


def _measure_gif(content: bytes) -> tuple[int, int] | None:
    if content[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    return int.from_bytes(content[6:8], "little"), int.from_bytes(content[8:10], "little")


def _measure_webp(content: bytes) -> tuple[int, int] | None:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return None
    kind, data = content[12:16], content[20:]
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (4, 7))
        return width, height
    if kind == b"VP8L":
        bits = int.from_bytes(data[1:5], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    sides = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (6, 8))
    width, height = sides
    return width, height


def _measure_jpeg(content: bytes) -> tuple[int, int] | None:
    """Return the size that the frame of a JPEG has; (0, 0) if there is no frame."""
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    at = 2
    while content[at : at + 1] == b"\xff":
        marker, length = content[at + 1 : at + 2], int.from_bytes(content[at + 2 : at + 4])
        if marker == b"\xff":
            at += 1
        elif marker and 0xC0 <= marker[0] <= 0xCF and marker not in (b"\xc4", b"\xc8", b"\xcc"):
            height, width = content[at + 5 : at + 7], content[at + 7 : at + 9]
            return int.from_bytes(width), int.from_bytes(height)
        elif length < 2:
            break
        else:
            at += 2 + length
    return 0, 0


_MEASURES = {
    "image/png": _measure_png,
    "image/jpeg": _measure_jpeg,
    "image/gif": _measure_gif,
    "image/webp": _measure_webp,
}


def choose_file_names(names: Iterable[str]) -> list[str]:
    """Return a different name for each file to save, of letters, digits, `.`, `-` and `_`."""
    chosen: list[str] = []
    for name in names:
        kept = "".join(
            one if (one.isascii() and one.isalnum()) or one in ".-_" else "_" for one in name
        )
        kept = kept.lstrip(".-") or "attachment"
        stem, dot, ending = kept.rpartition(".")
        if not stem or len(ending) > 10:
            stem, dot, ending = kept, "", ""
        stem = stem[: _MAX_SAVED_NAME - len(ending)]
        candidate, number = f"{stem}{dot}{ending}", 1
        while candidate.lower() in {one.lower() for one in chosen}:
            number += 1
            candidate = f"{stem}-{number}{dot}{ending}"
        chosen.append(candidate)
    return chosen


def describe_files(ask: Ask) -> str:
    """Return a line that names the files of a question, for faces that show no list; or ""."""
    names = ", ".join(one.name for one in ask.question.attachments)
    return f"Attached: {names}. Save: gate show {ask.id} --save-attachments DIR" if names else ""


def describe_size(size: int) -> str:
    """Return a size for people: `12 kB`."""
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def read_attachments(found: Any) -> tuple[Attachment, ...]:
    """Return the attachments of a row or document: objects or lists of their fields."""
    return tuple(
        Attachment(**one) if isinstance(one, dict) else Attachment(*one) for one in found or ()
    )
