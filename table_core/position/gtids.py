"""Sets of transactions as MySQL and MariaDB write them."""

from __future__ import annotations

__all__ = ["gtids_after", "gtids_contain"]


def gtids_contain(outer: str, inner: str) -> bool:
    """Whether every transaction of ``inner`` is in ``outer``.

    MySQL: ``uuid:1-5:7,uuid:2``; MariaDB: ``domain-server-sequence``, of each domain the newest.  The server
    in the middle does not matter: after a failover the domain goes on with another one.

    >>> gtids_contain("a:1-5:7", "a:2-3"), gtids_contain("a:1-5:7", "a:6")
    (True, False)
    >>> gtids_contain("0-1-100", "0-2-90")
    True
    """
    there, asked = _ranges(outer), _ranges(inner)
    return all(
        any(low <= first and last <= high for low, high in there.get(name, ()))
        for name, spans in asked.items()
        for first, last in spans
    )


def gtids_after(known: str, gtid: str) -> str:
    """The set ``known`` once the transaction ``gtid`` is done too.

    MariaDB keeps the newest of each domain, and a reader that names one domain alone is sent all of
    the others from their start.  MySQL: ``a:1-4`` and ``a:5`` are ``a:1-5``.
    """
    name, colon, _ = gtid.partition(":")
    if not colon:
        domain = gtid.partition("-")[0]
        others = [g for g in _entries(known) if g.partition("-")[0] != domain]
        return ",".join(sorted([*others, gtid], key=lambda g: int(g.partition("-")[0])))
    spans = _ranges(f"{known},{gtid}")[name.lower()]
    mine = ":".join(f"{low}-{high}" if low < high else f"{low}" for low, high in spans)
    others = [g for g in _entries(known) if g.partition(":")[0].lower() != name.lower()]
    return ",".join(sorted([*others, f"{name}:{mine}"]))


def _entries(text: str) -> list[str]:
    return [part for part in (p.strip() for p in text.replace("\n", "").split(",")) if part]


def _ranges(text: str) -> dict[str, list[tuple[int, int]]]:
    ranges: dict[str, list[tuple[int, int]]] = {}
    for entry in _entries(text):
        name, colon, rest = entry.partition(":")
        if not colon:  # MariaDB: all up to the number
            domain, _, number = entry.split("-")
            ranges.setdefault(domain, []).append((1, int(number)))
            continue
        if ":" in rest and not rest.replace(":", "").replace("-", "").isdigit():  # a tagged GTID
            tag, _, rest = rest.partition(":")
            name = f"{name}:{tag}"
        for span in rest.split(":"):
            first, _, last = span.partition("-")
            ranges.setdefault(name.lower(), []).append((int(first), int(last or first)))
    return {name: _joined(spans) for name, spans in ranges.items()}


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined
