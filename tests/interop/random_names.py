"""Names of columns that SQL, paths and folders take for something else."""

from __future__ import annotations

import random
import re

from random_tables import RandomTable

__all__ = ["ODD_NAMES", "rename_oddly"]

ODD_NAMES = (
    *(
        "c.d",
        "a`b",
        "source.n",
        "target",
        "k.x",
        "two words",
        " led",
        "süß",
        "漢字",
        "select",
        "1st",
    ),
    *("a-b", "it's", 'q"q', "a=b", "a/b", "%20", "a,b", "_KEY", "_c0", "col", "element", "$path"),
    *("{x}", "[0]", "a:b", "a;b", "(c)", "\\", "${x}", "tab\there", "Ab", "aB"),
)
"""The last two differ in case alone."""
OF_AVRO = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def rename_oddly(made: RandomTable, chance: random.Random) -> None:
    """Give some columns of ``made`` such a name: those that no option names; Avro files take few of them."""
    names = [name for name in ODD_NAMES if "avro" not in made.formats or OF_AVRO.fullmatch(name)]
    by_option: set[str] = set()
    for key, text in made.options.items():
        by_option |= {part for word in (key, text) for part in word.replace(".", ",").split(",")}
    free = [name for name, _ in made.columns if name not in by_option]
    some = chance.sample(free, min(len(free), len(names), chance.randint(1, 5)))
    new = dict(zip(some, chance.sample(names, len(some)), strict=True))
    made.columns = [(new.get(name, name), type_) for name, type_ in made.columns]
    made.keys = [new.get(name, name) for name in made.keys]
    made.partitions = [new.get(name, name) for name in made.partitions]
    made.pools = {new.get(name, name): pool for name, pool in made.pools.items()}
