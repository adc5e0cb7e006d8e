# SPDX-License-Identifier: Apache-2.0
"""Paths in buckets and of folders.

The grammar in the notation of RFC 5234, at most 1024 characters each::

    bucket-path = [ "/" ] bucket *( "/" segment ) [ "/" ]
    bucket      = 1*255( ALPHA / DIGIT / "-" / "." / "_" )   ; begins with a letter or a digit
    folder      = 1*( "/" segment ) [ "/" ]
    segment     = 1*( ALPHA / DIGIT / "!" / "-" / "_" / "." / "*" / "'" / "(" / ")" / "@" / other )
                                                             ; neither "." nor ".."
    other       = what can be printed outside of ASCII, but for blanks

Source of the characters: ``fileservice.ParsePath`` of MatrixOne, which reads the paths of backups.

A path that was stored before this grammar may be read leniently: as MatrixOne finds its objects,
which joins the prefix and the name of a file to a clean path (Go's ``path.Join``).
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from .errors import InvalidLocation

_LONGEST: Final = 1024
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+")
_PUNCTUATION: Final = frozenset("!-_.*'()@")


@dataclass(frozen=True, slots=True)
class BucketPath:
    """A bucket and a prefix in it.

    Attributes:
        bucket: its name.
        segments: of the prefix; none for the whole bucket.
    """

    bucket: str
    segments: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> BucketPath:
        """Read a path.

        Raises:
            InvalidLocation: it does not follow the grammar.
        """
        bucket, *segments = _body(text).split("/")
        _require_bucket(bucket, text)
        if mistake := _mistake(segments):
            raise InvalidLocation(f"{text!r} {mistake}{_instead(bucket, segments)}")
        return cls(bucket, tuple(segments))

    @classmethod
    def read(cls, text: str) -> BucketPath:
        """Read a path that is in use, however it is written, as MatrixOne finds its objects.

        Raises:
            InvalidLocation: there is no bucket in it, or it leads out of the bucket.
        """
        bucket, _slash, rest = text.strip("/").partition("/")
        _require_bucket(bucket, text)
        segments = [part for part in posixpath.normpath(f"./{rest}").split("/") if part != "."]
        if ".." in segments:
            raise InvalidLocation(f"{text!r} must not lead out of the bucket")
        return cls(bucket, tuple(part for part in segments if part))

    @property
    def prefix(self) -> str:
        """The prefix without slashes at its ends; empty for the whole bucket."""
        return "/".join(self.segments)

    def __str__(self) -> str:
        return "/".join((self.bucket, *self.segments))


def parse_prefix(text: str) -> str:
    """Return a prefix, which may be empty and of any characters, without slashes at its ends.

    Raises:
        InvalidLocation: it is not clean.
    """
    body = _body(text)
    if body and any(part in ("", ".", "..") for part in body.split("/")):
        raise InvalidLocation(f"{text!r} must not have empty parts, '.' or '..'")
    return body


def parse_folder(text: str) -> str:
    """Return the path of a folder without a slash at its end.

    Raises:
        InvalidLocation: it does not follow the grammar.
    """
    if not text.startswith("/") or not text.strip("/"):
        raise InvalidLocation(f"{text!r} must be an absolute path below the root, as /data/shared")
    segments = text[1:].removesuffix("/").split("/")
    if len(text) > _LONGEST:
        raise InvalidLocation(f"is longer than {_LONGEST} characters")
    if mistake := _mistake(segments):
        normal = posixpath.normpath("/" + text.strip("/"))
        clean = normal[1:].split("/")
        instead = "" if normal == "/" or _mistake(clean) else f"; write {normal!r}"
        raise InvalidLocation(f"{text!r} {mistake}{instead}")
    return "/" + "/".join(segments)


def _body(text: str) -> str:
    if len(text) > _LONGEST:
        raise InvalidLocation(f"is longer than {_LONGEST} characters")
    return text.removeprefix("/").removesuffix("/")


def _require_bucket(bucket: str, text: str) -> None:
    if _SCHEME.match(text):
        raise InvalidLocation(_of_url(text))
    if not _BUCKET.fullmatch(bucket):
        raise InvalidLocation(
            f"{text!r} must be <bucket> or <bucket>/<prefix>, with a bucket of letters, digits, "
            "'-', '.' and '_'"
        )


def _of_url(text: str) -> str:
    scheme, _colon, rest = text.partition(":")
    if scheme.lower() in ("http", "https"):
        return f"{text!r} must be <bucket> or <bucket>/<prefix>; the server goes into endpoint"
    clean = [part for part in rest.split("/") if part]
    usable = bool(clean) and bool(_BUCKET.fullmatch(clean[0])) and not _mistake(clean[1:])
    instead = f"; write {'/'.join(clean)!r}" if usable else ""
    return f"{text!r} must be <bucket> or <bucket>/<prefix>, without {scheme}://{instead}"


def _mistake(segments: list[str]) -> str:
    """Say what is wrong with the segments of a path; empty if nothing is."""
    if any(part in ("", ".", "..") for part in segments):
        return "must not have empty parts, '.' or '..'"
    odd = sorted({letter for part in segments for letter in part if not _is_allowed(letter)})
    return f"has {''.join(odd)!r}, which MatrixOne refuses in paths" if odd else ""


def _instead(bucket: str, segments: list[str]) -> str:
    clean = [part for part in segments if part not in ("", ".")]
    if ".." in clean or _mistake(clean):
        return ""
    return f"; write {'/'.join((bucket, *clean))!r}"


def _is_allowed(letter: str) -> bool:
    if letter.isascii():
        return letter.isalnum() or letter in _PUNCTUATION
    return letter.isprintable()
