"""The bytes of a text file as UTF-8, piece by piece, whatever its encoding is."""

from __future__ import annotations

import codecs
from typing import Any, Final

from table_core.errors import DataError

__all__ = ["NO_UTF8", "Decoded", "require_decodable"]

NO_UTF8: Final = "invalid UTF8 data"
"""As Arrow says it."""
_PIECE: Final = 1 << 20
_SHOWN: Final = 20
_HEAD: Final = 4
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Of UTF-32 before those of UTF-16, which begin alike."""
_OTHER_FILES: Final = (
    (b"PK\x03\x04", "a zip, as Excel's .xlsx is too: unpack it, or save the sheet as CSV UTF-8"),
    (b"\xd0\xcf\x11\xe0", "an old workbook of Excel: save the sheet as CSV UTF-8"),
    (b"\x1f\x8b", "packed by gzip, if not twice: unpack it, or give it a name that ends in .gz"),
    (
        b"\x28\xb5\x2f\xfd",
        "packed by zstd, if not twice: unpack it, or give it a name that ends in .zst",
    ),
    (b"BZh", "packed by bzip2: unpack it, or pack it by gzip or zstd"),
    (b"\xfd7zX", "packed by xz: unpack it, or pack it by gzip or zstd"),
    (b"PAR1", "Parquet: say the format parquet"),
)
_UTF_8: Final = frozenset({"utf-8", "utf-8-sig"})


class Decoded:
    """``file`` as UTF-8 without a byte order mark.

    Without an ``encoding`` a byte order mark tells it, and UTF-8 is what has none: then bytes pass as they are.
    """

    closed = False

    def __init__(self, file: Any, encoding: str = "", *, check: bool = False) -> None:
        head = _head(file)
        for mark, what in _OTHER_FILES:
            if head.startswith(mark):
                raise DataError(f"this is no text but {what}")
        mark, of_mark = next((pair for pair in _MARKS if head.startswith(pair[0])), (b"", ""))
        name = codecs.lookup(encoding or of_mark or "utf-8").name
        if mark and (not encoding or name == of_mark or name in _UTF_8):
            head = head[len(mark) :]
        if name == "utf-8-sig":
            name = "utf-8"
        self._file, self._head, self.encoding = file, head, name
        passes = name in _UTF_8 and not check
        self._decoder = None if passes else codecs.getincrementaldecoder(name)("strict")
        self._rest, self._lines, self._begun = b"", 1, False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most ``size``; all that are left of -1.

        Raises:
            DataError: some are none of the encoding; ``line`` is in its facts.
        """
        if self._decoder is None:
            part, self._head = self._head, b""
            if size < 0:
                return part + bytes(self._file.read())
            return part[:size] if part else bytes(self._file.read(size))
        pieces, length = [self._rest], len(self._rest)
        while size < 0 or not length:
            piece = self._next()
            if not piece:
                break
            pieces.append(piece)
            length += len(piece)
        whole = b"".join(pieces)
        cut = len(whole) if size < 0 else size
        self._rest = whole[cut:]
        return whole[:cut]

    def _next(self) -> bytes:
        """What the next piece becomes; b'' at the end."""
        assert self._decoder is not None
        while True:
            data = self._head or bytes(self._file.read(_PIECE))
            self._head = b""
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:
                raise self._undecodable(error) from error
            if not self._begun and text:
                text, self._begun = text.removeprefix("\ufeff"), True
            self._lines += text.count("\n")
            if text or not data:
                return text.encode("utf-8", "surrogatepass")

    def _undecodable(self, error: UnicodeError) -> DataError:
        line = self._lines
        if not isinstance(error, UnicodeDecodeError):
            return DataError(f"the bytes are no {self.encoding}: {error}", line=line)
        before = error.object[: error.start].decode(self.encoding, "replace")
        shown = error.object[max(error.start - _SHOWN, 0) : error.start + _SHOWN]
        cure = (
            "rows_options encoding='cp1252' reads what Excel wrote on Windows"
            if self.encoding in _UTF_8
            else "rows_options encoding names the one that wrote the file"
        )
        return DataError(
            f"the byte 0x{error.object[error.start]:02x} in {shown!r} is no {self.encoding}: {cure}",
            line=line + before.count("\n"),
            value=repr(shown),
        )

    def readable(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Nothing is owned."""


def require_decodable(file: Any) -> None:
    """Read ``file`` to its end as UTF-8.

    Raises:
        DataError: a byte is none; says on which line.
    """
    text = Decoded(file, check=True)
    while text.read(_PIECE):
        pass


def _head(file: Any) -> bytes:
    head = b""
    while len(head) < _HEAD and (part := bytes(file.read(_HEAD - len(head)))):
        head += part
    return head
