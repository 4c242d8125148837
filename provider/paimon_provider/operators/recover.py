"""Save what can be saved of a table whose documents are broken."""

from __future__ import annotations

from typing import Any

from paimon_provider.operators.base import PaimonTableOperator

__all__ = ["PaimonRecoverOperator"]


class PaimonRecoverOperator(PaimonTableOperator):
    """Say what is broken in a table, and save what can be saved.

    Without ``apply`` it changes nothing. Let no other task write meanwhile.

    :param apply: do it. What is taken away is kept in the table's folder ``recovered``.
    """

    action = "recover"

    def __init__(self, *, apply: bool = False, engine: str = "local", **kwargs: Any) -> None:
        super().__init__(engine=engine, **kwargs)
        self.apply = apply
