"""Random tables with a history: their columns, keys' names and options change meanwhile, by seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from random_lives import RandomAppends, RandomLives, RandomMoves
from random_merges import few
from random_tables import RandomTable
from random_values import any_type

DEEDS = (
    *("write",) * 5,
    *("alter",) * 4,
    *("option", "option", "compact", "compact", "overwrite", "tag", "rollback"),
)


@dataclass
class Changing(RandomLives):
    """A ``RandomLives`` whose schema changes as that of a ``RandomTable``, and in more ways."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.formats = [self.options["file.format"]]
        self.wild, self.fresh = True, 0
        for key, text, luck in (
            ("deletion-vectors.modifiable", "true", 0.3),
            ("manifest-sort.enabled", "true", 0.2 if self.partitions else 0),
            ("manifest.delete-file-drop-stats", "true", 0.2),
            ("add-column-before-partition", "true", 0.1),
            ("write.sequence-number-init-mode", "snapshot", 0.1 if self.keys else 0),
        ):
            if self.chance.random() < luck:
                self.options[key] = text

    @property
    def fixed(self) -> set[str]:
        """Columns that stay as they are, for an option names them."""
        named: set[str] = set()
        for key, text in self.options.items():
            if key.startswith("fields."):
                named |= set(key.split(".")[1].split(","))
            if key.endswith(("-group", ".columns", ".field", "-field", "-fields", "bucket-key")):
                named |= set(text.split(","))
        return {*self.keys, *self.partitions, *named}

    def deeds(self, count: int) -> list[str]:
        """What is done to the table, one after the other."""
        return ["write", "write", *(self.chance.choice(DEEDS) for _ in range(count))]

    def alter(self) -> list[list[Any]]:
        """One schema change as the judge takes it; the values of a column follow its type."""
        named = {name for text in self.options.values() for name in text.split(",")}
        own = [key for key in self.keys if key not in self.partitions and key not in named]
        luck = self.chance.random()
        if luck < 0.12:
            return self._again()
        if own and luck < 0.2:
            return self._other_key(self.chance.choice(own))
        changes: list[list[Any]] = RandomTable.alter(self)  # type: ignore[arg-type]
        changed = [change[1] for change in changes if change[0] == "type"]
        for name, _ in self.columns:
            if name not in self.makers or name in changed:
                self.makers[name] = few
        return changes

    _inside = RandomTable._inside

    def option(self) -> list[list[Any]]:
        """Another value of an option that may change."""
        chance, options = self.chance, self.options
        made = [
            ("write-only", chance.choice(["true", "false"])),
            ("metadata.stats-mode", chance.choice(["none", "counts", "full", "truncate(2)"])),
            ("metadata.stats-dense-store", chance.choice(["true", "false"])),
            ("manifest.merge-min-count", "2"),
            ("data-file.prefix", "again-"),
        ]
        first = options.get("merge-engine") == "first-row"
        if self.keys:
            made.append(("data-file.thin-mode", chance.choice(["true", "false"])))
            if not first:
                made.append(("changelog-producer", chance.choice(["none", "lookup", "input"])))
        if "deletion-vectors.modifiable" in options and not first:
            on = options.get("deletion-vectors.enabled") == "true"
            made += [("deletion-vectors.enabled", "false" if on else "true")] * 4
        key, text = chance.choice(made)
        options[key] = text
        return [["option", key, text]]

    def _again(self) -> list[list[Any]]:
        """Drop a column and add another under its name."""
        free = [n for n, _ in self.columns if n not in self.fixed]
        if len(free) < 2:
            return []
        name, type_ = self.chance.choice(free), any_type(self.chance, self.avoid)
        self.columns = [*((n, t) for n, t in self.columns if n != name), (name, type_)]
        self.makers[name] = few
        return [["drop", name], ["add", name, type_, self.columns[-2][0]]]

    def _other_key(self, name: str) -> list[list[Any]]:
        """Another name for a column of the key."""
        self.fresh += 1
        fresh = f"key{self.fresh}"
        self.columns = [(fresh if n == name else n, t) for n, t in self.columns]
        self.keys = [fresh if key == name else key for key in self.keys]
        self.pools = [{fresh if n == name else n: v for n, v in p.items()} for p in self.pools]
        return [["rename", name, fresh]]


class ChangingAppends(Changing, RandomAppends):
    """Without a key."""


class ChangingMoves(Changing, RandomMoves):
    """With rows that move from partition to partition."""
