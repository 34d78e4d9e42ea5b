"""Attachments: types by bytes, limits, and names that are safe."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatebell.domain.asks import attachments
from gatebell.domain.asks.asks import Ask, Origin, question_digest
from gatebell.domain.asks.attachments import (
    Attachment,
    ReceivedFile,
    describe_bytes,
    find_media_type,
)
from gatebell.domain.asks.questions import make_question
from gatebell.errors import UsageError

NOW = datetime(2026, 1, 1, tzinfo=UTC)

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (3).to_bytes(4) + (2).to_bytes(4) + b"\x08\x02\0\0\0"
JPEG = (
    b"\xff\xd8\xff\xe0\0\x04ab\xff\xc4\0\x03x\xff\xc0\0\x11\x08"
    + (2).to_bytes(2) + (3).to_bytes(2) + bytes(10)
)  # fmt: skip
GIF = b"GIF89a" + (3).to_bytes(2, "little") + (2).to_bytes(2, "little") + b"\0\0\0"


def webp(kind, data):
    return b"RIFF\x20\0\0\0WEBP" + kind + (10).to_bytes(4, "little") + data


def jpeg(width, height):
    return JPEG[:18] + height.to_bytes(2) + width.to_bytes(2) + bytes(10)


@pytest.mark.proves("ATT-1")
@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (webp(b"VP8X", bytes(10)), "image/webp"),
        (webp(b"VP8L", b"\x2f\x02\x40\0\0"), "image/webp"),
        (webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a\x03\0\x02\0"), "image/webp"),
        (b"%PDF-1.7\n\xff", "application/pdf"),
        ("plain, größer".encode(), "text/plain"),
        (b"", "text/plain"),
        (b"<html><script>alert(1)</script>", "text/plain"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='x'/>", "text/plain"),
        (b"\0\1\2", "application/octet-stream"),
        (b"\xff\xfe\xfd", "application/octet-stream"),
        # Beginnings of images without a size, and sizes that fill a browser's memory.
        (b"\x89PNG\r\n\x1a\n<script>", "application/octet-stream"),
        (b"\xff\xd8\xff<script>", "application/octet-stream"),
        (b"\xff\xd8\xff\xff\xff\xff", "application/octet-stream"),
        (PNG[:16] + (65535).to_bytes(4) * 2 + PNG[24:], "application/octet-stream"),
        (jpeg(65535, 65535), "application/octet-stream"),
        (PNG[:16] + bytes(8) + PNG[24:], "application/octet-stream"),
    ],
)
def test_bytes_decide_the_media_type(content, media_type):
    assert find_media_type(content) == media_type
    made = describe_bytes(content, "picture.png")
    assert (made.media_type, made.size) == (media_type, len(content))
    assert made.is_image == media_type.startswith("image/")


@pytest.mark.proves("ATT-2")
def test_limits_of_files_are_named():
    one = Attachment("a", "text/plain", 5_000_001, "d")
    attachments.must_fit([], is_secret=True)
    attachments.must_fit([one] * 4, is_secret=False)
    with pytest.raises(UsageError, match="25000005 bytes together"):
        attachments.must_fit([one] * 5, is_secret=False)
    with pytest.raises(UsageError, match="at most 10 attachments, got 11"):
        attachments.must_fit([one._replace(size=1)] * 11, is_secret=False)
    with pytest.raises(UsageError, match="secret"):
        attachments.must_fit([one], is_secret=True)
    with pytest.raises(UsageError, match="at most 10000000"):
        describe_bytes(bytes(10_000_001), "a")
    for empty in ("", " ", "folder/"):
        with pytest.raises(UsageError, match="needs a name"):
            describe_bytes(b"x", empty)


@pytest.mark.proves("ATT-3", "LAW-4")
def test_digest_covers_attachments_only_if_present():
    plain = make_question("text", "Q")
    first = Attachment("a", "text/plain", 1, "d")
    with_file = make_question("text", "Q", attachments=(first,))
    others = [
        make_question("text", "Q", attachments=(first._replace(**changed),))
        for changed in ({"name": "b"}, {"digest": "e"}, {"size": 2}, {"media_type": "image/png"})
    ]
    digests = [question_digest(one, Origin()) for one in (plain, with_file, *others)]
    assert len(set(digests)) == 6
    # Of the version before attachments.
    assert digests[0] == "0a9cdbcf0bb987c4550031552192a530a59cfc15aef502512ff807e7cad8f48a"


@pytest.mark.proves("ATT-9", "LAW-8")
@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["screen.png"], ["screen.png"]),
        (["a b\u202e.png", "größe.txt"], ["a_b_.png", "gr__e.txt"]),
        (["../../etc/passwd", "..", ".bashrc", "-rf"], ["_.._etc_passwd", "attachment", "bashrc", "rf"]),
        (["a.txt", "A.TXT", "a.txt"], ["a.txt", "A-2.TXT", "a-3.txt"]),
        (["x" * 300 + ".png"], ["x" * 97 + ".png"]),
        (["nul\0l\n"], ["nul_l_"]),
    ],
)  # fmt: skip
def test_saved_names_are_safe_and_different(names, chosen):
    assert attachments.choose_file_names(names) == chosen


@pytest.mark.proves("ATT-9")
def test_kept_name_is_the_last_part():
    made = describe_bytes(b"x", "C:\\files\\../x/\ud800a.png")
    assert made.name == "\ufffda.png" and len(describe_bytes(b"x", "y" * 999).name) == 200
    sizes = [attachments.describe_size(size) for size in (5, 12_345, 9_990_000)]
    assert sizes == ["5 bytes", "12 kB", "10.0 MB"]


@pytest.mark.proves("ATT-10")
def test_received_file_reads_its_bytes_when_asked():
    reads = []
    received = ReceivedFile(describe_bytes(b"abc", "a.txt"), lambda: reads.append(1) or b"abc")
    assert (received.name, received.media_type, received.size) == ("a.txt", "text/plain", 3)
    assert received.digest == attachments.hash_bytes(b"abc") and reads == []
    assert received.read() == b"abc" and reads == [1]
    assert repr(received) == "<ReceivedFile 'a.txt' text/plain 3>"


@pytest.mark.proves("ATT-9")
def test_files_of_a_question_are_named_in_one_line():
    files = tuple(Attachment(name, "text/plain", 1, "d") for name in ("a.png", "b.txt"))
    asks = [
        Ask("a-1", make_question("text", "Q", attachments=one), Origin(), NOW, "d")
        for one in ((), files)
    ]
    assert list(map(attachments.describe_files, asks)) == [
        "", "Attached: a.png, b.txt. Save: gate show a-1 --save-attachments DIR"
    ]  # fmt: skip


@pytest.mark.proves("ATT-16")
def test_attachments_are_read_back_from_json():
    files = (Attachment("a.png", "image/png", 1, "d"),)
    for found in ([one._asdict() for one in files], [list(one) for one in files]):
        assert attachments.read_attachments(found) == files
    assert attachments.read_attachments(None) == ()
