"""Where the entries of a manifest lie, and what stands at their beginning, without decoding them.

Where each entry begins is not written down.  But every file name begins alike, so the places of
that beginning are guessed to be names, all are walked to the end of their entry at once, and then
over what stands before the next name.  If that arrives at the next guess, from the first entry to the
last and to the last byte, each entry is where it was taken to be; else there are no heads.

Two entries of 60 and 120 bytes; ``data-`` is also in a key of the second::

    byte         0      16        60     76        130       180
    payload      head   data-a …  head   data-b …  data-x …  end
    names               16               76        130
    ends                60               180       anything
    following           76               the end   anything

The first name is at 16.  Its entry ends at 60, and the head there leads to the name at 76, which is a guess
as well; that one ends with the payload.  No end leads to 130, so it is left out.  For a wrong chain every
end would have to meet a guess, as many times as there are entries, and the last one the end.

Source: format 4.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from table_core.ondisk.avro_steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from table_core.ondisk.avro import Container
    from table_core.ondisk.avro_steps import Positions

__all__ = ["Heads", "find_heads"]

_FEW: Final = 64
"""Fewer entries are decoded sooner than found."""
_GUESSES: Final = 4
"""More guesses an entry cost more than decoding it."""
_HEAD: Final = ["_VERSION", "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE"]
_HEAD_TYPES: Final = [{"int", "long"}, {"int", "long"}, {"bytes"}, {"int", "long"}, {"int", "long"}]


@dataclass(frozen=True, slots=True, eq=False)
class Heads:
    """One of each an entry, in order."""

    starts: Positions
    """One more: the end."""
    version: Positions
    kind: Positions
    partition: tuple[bytes, ...]
    bucket: Positions
    total_buckets: Positions

    def __iter__(self) -> Iterator[tuple[bytes, int, int]]:
        """Partition, bucket and total buckets of each."""
        return zip(self.partition, self.bucket.tolist(), self.total_buckets.tolist(), strict=True)

    def payload(self, whole: bytes, which: Iterable[int]) -> bytes:
        """The entries ``which``, still encoded."""
        bounds = self.starts.tolist()
        return b"".join(whole[bounds[at] : bounds[at + 1]] for at in which)


def find_heads(container: Container) -> Heads | None:
    """The heads of all entries; None where the bytes leave a doubt, or it does not pay."""
    schema, payload = container.plain.schema, container.payload
    if container.count < _FEW or not _is_usual(schema):
        return None
    rest = {"type": "record", "fields": schema["fields"][-1]["type"]["fields"][1:]}
    steps = Steps(payload)
    first = _Prefix.at(steps, np.zeros(1, np.int64))
    if first.name[0] < 0 or first.name_size[0] < 1:
        return None
    name = payload[int(first.name[0]) : int(first.name[0] + first.name_size[0])]
    begins = name[: name.find(b"-") + 1] or name[:1]
    names = np.array([match.start() for match in re.finditer(re.escape(begins), payload)])
    if len(names) > _GUESSES * container.count:
        return None
    size = _sizes_before(payload, names)
    ends = steps.skip(rest, np.where((size > 0) & (names + size <= steps.size), names + size, -1))
    following = _Prefix.at(steps, np.where(ends == steps.size, -1, ends))
    chain = _chained(names, following.name, int(first.name[0]), container.count)
    if chain is None or int(ends[chain[-1]]) != steps.size:
        return None
    prefix = first.followed_by(following, chain[:-1])
    if (prefix.name_size != size[chain]).any():
        return None
    starts = np.concatenate([np.zeros(1, np.int64), ends[chain]])
    return prefix.heads(payload, starts)


def _is_usual(schema: Mapping[str, Any]) -> bool:
    """Whether entries begin as Paimon's do, with the name as the first member of the file."""
    fields = schema["fields"]
    if [field["name"] for field in fields] != _HEAD:
        return False
    types = [field["type"] for field in fields]
    if not all(isinstance(t, str) and t in fit for t, fit in zip(types, _HEAD_TYPES, strict=False)):
        return False
    file = types[-1]
    name = file["fields"][0] if isinstance(file, dict) and file["type"] == "record" else {}
    return bool(name.get("name") == "_FILE_NAME" and name["type"] == "string")


@dataclass(frozen=True, slots=True, eq=False)
class _Prefix:
    """What stands before the names of entries, member by member; names at -1 are none."""

    version: Positions
    kind: Positions
    partition: Positions
    partition_size: Positions
    bucket: Positions
    total_buckets: Positions
    name: Positions
    name_size: Positions

    @classmethod
    def at(cls, steps: Steps, starts: Positions) -> _Prefix:
        version, at = steps.long(starts)
        kind, at = steps.long(at)
        size, partition = steps.long(at)
        bucket, at = steps.long(steps.skip("bytes", at))
        total, at = steps.long(at)
        name_size, name = steps.long(at)
        return cls(version, kind, partition, size, bucket, total, name, name_size)

    def followed_by(self, other: _Prefix, which: Positions) -> _Prefix:
        """These, then ``which`` of ``other``."""
        return _Prefix(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)[which]])
                for name in self.__slots__
            )
        )

    def heads(self, payload: bytes, starts: Positions) -> Heads:
        spans = zip(self.partition.tolist(), self.partition_size.tolist(), strict=True)
        partitions = tuple(payload[at : at + size] for at, size in spans)
        return Heads(starts, self.version, self.kind, partitions, self.bucket, self.total_buckets)


def _sizes_before(payload: bytes, names: Positions) -> Positions:
    """The lengths that stand before texts, in one byte or two; 0 where there is none.

    A number before the length ends with a byte below 128, so what is not below belongs to it.  Avro
    writes the length doubled: 0x10 is 8, and 0x8A 0x01 is 0x0A + (1 << 7) = 138, so 69.

    >>> _sizes_before(bytes.fromhex("02108a01"), np.array([2, 4])).tolist()
    [8, 69]
    """
    bytes_ = np.frombuffer(payload, np.uint8)
    last = bytes_[names - 1].astype(np.int64)
    before = bytes_[np.maximum(names - 2, 0)].astype(np.int64)
    zigzag = np.where(before & 0x80, (before & 0x7F) | last << 7, last)
    fits = (names > 1) & (last < 0x80) & (zigzag & 1 == 0)
    return np.where(fits, zigzag >> 1, 0)


def _chained(names: Positions, following: Positions, first: int, count: int) -> Positions | None:
    """Which of ``names`` are those of entries, one after the other; None where one is not there.

    The guess at 25 is no name: what ends where a head and the name at 40 follow is the entry of 10.

    >>> _chained(np.array([10, 25, 40, 70]), np.array([40, -1, 70, -1]), 10, 3).tolist()
    [0, 2, 3]
    """
    place = np.searchsorted(names, following)
    met = (place < len(names)) & (names[np.minimum(place, len(names) - 1)] == following)
    at = int(np.searchsorted(names, first))
    if at >= len(names) or int(names[at]) != first:
        return None
    if at == 0 and len(names) == count and met[:-1].all():  # no false guess: no step in Python
        if bool((place[:-1] == np.arange(1, count)).all()):
            return np.arange(count)
        return None
    chain, next_, is_met = [at], place.tolist(), met.tolist()
    while len(chain) < count:
        if not is_met[chain[-1]]:
            return None
        chain.append(next_[chain[-1]])
    return np.array(chain) if all(a < b for a, b in pairwise(chain)) else None
