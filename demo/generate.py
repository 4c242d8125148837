"""Sample input of the streamhouse: ten rounds of customer changes and orders, the same for a seed.

    python demo/generate.py FOLDER [--seed 7] [--customers 24000] [--orders 200000]

Layout of ``FOLDER``, with rounds 01 to 10, one for each day from 2026-03-01 on::

    events/customers/round-NN.jsonl     Debezium change events of table ``customers``, one a line,
                                        in the order of ``source.pos``.  Round 01 holds the snapshot
                                        (``op`` r), the others inserts c, updates u and deletes d.
                                        ``updated`` is epoch milliseconds.
                                        From round 04 on, rows have a new column ``loyalty_tier``.
    orders/round-NN/batch-BB.parquet    order_id int64, customer_id int64, amount decimal(12, 2),
                                        order_time timestamp(ms), dt string as yyyy-MM-dd

What is in it on purpose:

- San Marino has one customer, who orders in rounds 1 to 5 and moves to Italy in round 6: its row
  must vanish from ``country_sales``.
- Iceland gets its first customer in round 7, who never orders: its row must appear with zeros.
- One order in 200 comes up to two rounds before its customer does.
- One order in 50 is a day late, so a round adds to the partition of the day before.
- Customers move between countries; of those who only look and never order some leave.  So however
  the rounds are grouped into runs, no order waits for ever.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = [
    "ARRIVING",
    "FIRST_DAY",
    "NEW_COLUMN_ROUND",
    "ROUNDS",
    "VANISHING",
    "deliver",
    "events_of",
    "generate",
]

FIRST_DAY = dt.date(2026, 3, 1)
ROUNDS = 10
BATCHES = 4
NEW_COLUMN_ROUND = 4
VANISHING, MOVES_IN, MOVES_TO = "San Marino", 6, "Italy"
ARRIVING, ARRIVES_IN = "Iceland", 7
LONER_ID, PIONEER_ID = 1, 2
LOOKERS = 15
"""Customers whose id is a multiple of this never order."""

COUNTRIES = (
    "Argentina",
    "Australia",
    "Austria",
    "Belgium",
    "Brazil",
    "Canada",
    "Chile",
    "China",
    "Denmark",
    "Egypt",
    "Finland",
    "France",
    "Germany",
    "Greece",
    "India",
    "Indonesia",
    "Ireland",
    "Italy",
    "Japan",
    "Kenya",
    "Mexico",
    "Netherlands",
    "Norway",
    "Poland",
    "Portugal",
    "Spain",
    "Sweden",
    "Switzerland",
    "Turkey",
    "Vietnam",
)
FIRST_NAMES = (
    "Ada",
    "Ben",
    "Chidi",
    "Dana",
    "Emil",
    "Fatma",
    "Goran",
    "Hana",
    "Ines",
    "Jun",
    "Kofi",
    "Lena",
    "Mai",
    "Noor",
    "Olga",
)
LAST_NAMES = (
    "Aydin",
    "Berg",
    "Costa",
    "Dubois",
    "Eze",
    "Fischer",
    "Gupta",
    "Haas",
    "Ito",
    "Jansen",
    "Kaya",
    "Lopez",
    "Mori",
)
TIERS = ("bronze", "silver", "gold")
ORDERS_SCHEMA = pa.schema(
    [
        ("order_id", pa.int64()),
        ("customer_id", pa.int64()),
        ("amount", pa.decimal128(12, 2)),
        ("order_time", pa.timestamp("ms")),
        ("dt", pa.string()),
    ]
)


@dataclass
class Shop:
    """The source database while it changes; every change is an event of the current round."""

    random: np.random.Generator
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    round: int = 1
    events: list[str] = field(default_factory=list)
    position: int = 0

    @property
    def clock_ms(self) -> int:
        """Milliseconds since the epoch; moves on with every event."""
        day = FIRST_DAY + dt.timedelta(days=self.round - 1)
        start = dt.datetime.combine(day, dt.time(), dt.UTC)
        return int(start.timestamp() * 1000) + self.position

    def put(self, op: str, customer: int, **values: Any) -> None:
        """Insert (``c``, ``r``) or update (``u``) a customer."""
        before = self.rows.get(customer)
        after = {**(before or {"id": customer}), **values, "updated": self.clock_ms}
        if self.round >= NEW_COLUMN_ROUND:
            after.setdefault("loyalty_tier", TIERS[customer % len(TIERS)] if customer % 4 else None)
        self.rows[customer] = after
        self._emit(op, before, after)

    def remove(self, customer: int) -> None:
        """Delete a customer."""
        self._emit("d", self.rows.pop(customer), None)

    def _emit(self, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        self.position += 1
        source = {
            "version": "3.5.0.Final",
            "connector": "mysql",
            "name": "shop",
            "ts_ms": self.clock_ms,
            "snapshot": "true" if op == "r" else "false",
            "db": "shop",
            "table": "customers",
            "pos": self.position,
        }
        event = {
            "before": before,
            "after": after,
            "source": source,
            "op": op,
            "ts_ms": self.clock_ms,
        }
        self.events.append(json.dumps(event, separators=(",", ":")))


def generate(
    folder: Path, *, seed: int = 7, customers: int = 24_000, orders: int = 200_000
) -> None:
    """Write the whole input into ``folder``; what was there before is removed."""
    for part in ("events", "orders"):
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / "events" / "customers").mkdir(parents=True)
    random = np.random.default_rng(seed)
    shop = Shop(random)
    per_round = max(customers // 100, 4)
    newcomers = {
        n: np.arange(customers + (n - 2) * per_round, customers + (n - 1) * per_round) + 10
        for n in range(2, ROUNDS + 1)
    }
    for number in range(1, ROUNDS + 1):
        shop.round, shop.events = number, []
        _change_customers(shop, number, customers, newcomers, per_round)
        path = events_of(folder, number)
        path.write_text("\n".join(shop.events) + "\n")
        coming = [newcomers[n] for n in (number + 1, number + 2) if n <= ROUNDS]
        _write_orders(folder, shop, number, orders // ROUNDS, coming)


def _change_customers(
    shop: Shop, number: int, customers: int, newcomers: dict[int, np.ndarray], per_round: int
) -> None:
    weights = 1.0 / np.arange(1, len(COUNTRIES) + 1) ** 0.7
    weights /= weights.sum()

    def arrive(op: str, ids: np.ndarray) -> None:
        homes = shop.random.choice(len(COUNTRIES), len(ids), p=weights)
        for customer, home in zip(ids.tolist(), homes.tolist(), strict=True):
            shop.put(op, customer, **_person(customer), country=COUNTRIES[home])

    if number == 1:
        shop.put("r", LONER_ID, **_person(LONER_ID), country=VANISHING)
        arrive("r", np.arange(10, customers + 10))
        return
    arrive("c", newcomers[number])
    residents = np.array(sorted(shop.rows.keys() - {LONER_ID, PIONEER_ID}))
    chosen = shop.random.choice(residents, 2 * per_round, replace=False).tolist()
    for customer in chosen[:per_round]:
        shop.put(
            "u", customer, country=COUNTRIES[int(shop.random.choice(len(COUNTRIES), p=weights))]
        )
    for customer in chosen[per_round:]:
        shop.put("u", customer, email=f"c{customer}@new.example")
    lookers = residents[residents % LOOKERS == 0]
    for customer in shop.random.choice(lookers, per_round // 4, replace=False).tolist():
        shop.remove(customer)
    if number == MOVES_IN:
        shop.put("u", LONER_ID, country=MOVES_TO)
    if number == ARRIVES_IN:
        shop.put("c", PIONEER_ID, **_person(PIONEER_ID), country=ARRIVING)


def _person(customer: int) -> dict[str, str]:
    first = FIRST_NAMES[customer % len(FIRST_NAMES)]
    last = LAST_NAMES[customer // 7 % len(LAST_NAMES)]
    return {"name": f"{first} {last}", "email": f"c{customer}@mail.example"}


def _write_orders(
    folder: Path, shop: Shop, number: int, count: int, coming: list[np.ndarray]
) -> None:
    random = shop.random
    buyers = _buyers(np.array(sorted(shop.rows.keys() - {PIONEER_ID})))
    customer = random.choice(buyers, count)
    if coming:
        early = random.random(count) < 1 / 200
        customer[early] = random.choice(_buyers(np.concatenate(coming)), int(early.sum()))
    if number < MOVES_IN:
        customer[:3] = LONER_ID
    late = (random.random(count) < 1 / 50) & (number > 1)
    second = random.integers(0, 86_400_000, count)
    start = np.datetime64(FIRST_DAY, "ms") + np.timedelta64(number - 1, "D")
    moment = start + second.astype("timedelta64[ms]") - late * np.timedelta64(1, "D")
    cents = np.clip(np.exp(random.normal(8.3, 1.0, count)), 99, 5_000_000).astype(np.int64)
    table = pa.table(
        [
            pa.array(np.arange(count) + (number - 1) * count + 1),
            pa.array(customer),
            _hundredths(cents),
            pa.array(moment),
            pa.array(np.datetime_as_string(moment, "D")),
        ],
        schema=ORDERS_SCHEMA,
    )
    home = folder / "orders" / f"round-{number:02d}"
    home.mkdir(parents=True)
    step = -(-count // BATCHES)
    for batch in range(BATCHES):
        part = table.slice(batch * step, step)
        pq.write_table(part, home / f"batch-{batch + 1:02d}.parquet", compression="zstd")


def _buyers(customers: np.ndarray) -> np.ndarray:
    return customers[customers % LOOKERS != 0]


def _hundredths(cents: np.ndarray) -> pa.Array:
    """``cents`` as decimals with two digits after the point, without a Python object a row."""
    words = np.zeros((len(cents), 2), dtype="<i8")
    words[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words)])


def events_of(folder: Path, number: int) -> Path:
    """The file with the customer events of a round."""
    return folder / "events" / "customers" / f"round-{number:02d}.jsonl"


def deliver(source: Path, inbox: Path, rounds: range) -> int:
    """Hand ``rounds`` of ``source`` over to ``inbox`` as if they were one, named as the last of them.

    Returns:
        The number of the delivered round.
    """
    last = rounds[-1]
    events = events_of(inbox, last)
    events.parent.mkdir(parents=True, exist_ok=True)
    names = [events_of(source, number) for number in rounds]
    events.write_text("".join(name.read_text() for name in names))
    home = inbox / "orders" / f"round-{last:02d}"
    home.mkdir(parents=True, exist_ok=True)
    for number in rounds:
        for batch in sorted((source / "orders" / f"round-{number:02d}").iterdir()):
            shutil.copyfile(batch, home / f"{batch.stem}-of-{number:02d}.parquet")
    return last


def main(arguments: list[str]) -> int:
    """Run from the command line."""
    about = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=about)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--customers", type=int, default=24_000)
    parser.add_argument("--orders", type=int, default=200_000)
    wish = parser.parse_args(arguments)
    generate(wish.folder, seed=wish.seed, customers=wish.customers, orders=wish.orders)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
