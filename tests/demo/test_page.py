"""The address that the demo ends with is the one that the provider's plugin serves."""

from __future__ import annotations

from demo.environment import PAGE
from paimon_provider.links import TABLES_PATH


def test_the_demo_ends_with_the_address_of_the_tables_page() -> None:
    assert PAGE == TABLES_PATH
