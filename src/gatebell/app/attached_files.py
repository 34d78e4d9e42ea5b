"""Attach files of this machine to asks and answers, and save the files of others."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from gatebell.adapters.files.attached_files import read_file, save_file
from gatebell.domain.asks.attachments import MAX_FILES, ReceivedFile, choose_file_names
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.asks.attachments import Attachment
    from gatebell.ports.backends.backend import Backend


def attach(
    backend: Backend, paths: Sequence[str | os.PathLike[str]], within: str = ""
) -> tuple[Attachment, ...]:
    """Keep the bytes of files, for an ask or answer that names them next.

    Args:
        backend: where the ask is kept
        paths: the files
        within: only files that really are in this folder
    """
    if isinstance(paths, str | os.PathLike) or len(paths) > MAX_FILES:
        raise UsageError(f"attachments is a list of at most {MAX_FILES} paths")
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        raise UsageError("attachments is a list of paths of files")
    # All of them are read first: a missing file must not leave the others in the store.
    read = [
        (os.path.basename(os.fspath(path)), read_file(os.fspath(path), within)) for path in paths
    ]
    return tuple(backend.attach(name, content) for name, content in read)


def receive(backend: Backend, ask: Ask) -> tuple[ReceivedFile, ...]:
    """Return the files of the answer, which are read when they are needed."""
    return tuple(
        ReceivedFile(one, partial(backend.read_attachment, ask.id, one))
        for one in ask.answer_attachments
    )


def save(backend: Backend, ask: Ask, attachments: Sequence[Attachment], folder: str) -> list[str]:
    """Save files of an ask into a folder, without overwriting any; return their paths."""
    names = choose_file_names(one.name for one in attachments)
    return [
        save_file(folder, name, backend.read_attachment(ask.id, one))
        for name, one in zip(names, attachments, strict=True)
    ]
