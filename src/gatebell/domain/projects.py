"""Keys of projects: a name that people chose, or the address of the shared repository."""

from __future__ import annotations

_MAX_CHARACTERS = 200
_SCHEMES = ("https", "http", "ssh", "git", "git+ssh")
_PORTS = {"https": ":443", "http": ":80", "ssh": ":22", "git": ":9418"}


def parse_name(text: str) -> str:
    """Return the name in the first line of .gate/project, or "" if there is none.

    A name has a prefix, so that it is never equal to an address or a folder.
    """
    name = text.partition("\n")[0].strip()
    if not name or not name.isprintable() or len(name) > _MAX_CHARACTERS:
        return ""
    return f"name:{name}"


def normalise_remote(address: str) -> str:
    """Return HOST/PATH of a repository's address, the same for each way to reach it, or "".

    User and password are left out. A path on this machine is not an address that hosts share.
    """
    scheme, separator, rest = address.partition("://")
    if not separator:
        host, colon, path = address.partition(":")
        # As in git, a slash before the first colon means a path, and two colons mean a program.
        if not colon or "/" in host or not host or path.startswith(":"):
            return ""
        rest, scheme = f"{host}/{path.lstrip('/')}", "ssh"
    if scheme.lower() not in _SCHEMES:
        return ""
    host, _, path = rest.partition("/")
    host = host.rpartition("@")[2].lower().removesuffix(_PORTS.get(scheme.lower(), ""))
    path = path.partition("?")[0].strip("/").removesuffix(".git").strip("/")
    key = f"{host}/{path}"
    if not host or not path or not key.isprintable() or len(key) > _MAX_CHARACTERS:
        return ""
    return key
