"""Goal: an operator takes what its action takes, says so, and passes it on.

Method: every operator's signature, docstring and template fields against the registry; what it passes on
against the check of the job.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest

from paimon_provider import get_provider_info as provider_info
from paimon_provider.arguments.job_values import attribute_of
from paimon_provider.operators.base import PaimonDatabaseOperator, PaimonTableOperator
from table_core.jobs.action import Target
from table_core.jobs.registry import ACTIONS
from tests.provider.needed_arguments import NEEDED

BASES = (PaimonTableOperator, PaimonDatabaseOperator)
MORE = {
    "PaimonHealthOperator": {"follow", "otherwise", "level"},
    "PaimonSyncTableOperator": {"source_conn_id", "settings"},
    "PaimonSyncDatabaseOperator": {"source_conn_id", "settings"},
    "PaimonResyncOperator": {"source_conn_id", "settings"},
    "PaimonSourceAuditOperator": {"source_conn_id", "settings"},
    "PaimonSourceDoctorOperator": {"source_conn_id"},
    "PaimonSourceReplayOperator": {"source_conn_id", "settings"},
}
"""What an operator takes besides, and does itself."""
OTHERS = {"PaimonUpkeepOperator": "asks for health, then for what its policy names"}
"""Operators that are more than their action."""


def operators() -> list[Any]:
    found = []
    for name in provider_info.OPERATORS:
        module = importlib.import_module(f"paimon_provider.operators.{name}")
        found += [getattr(module, cls) for cls in module.__all__]
    return [
        cls
        for cls in found
        if inspect.isclass(cls)
        and issubclass(cls, PaimonTableOperator)
        and cls.__name__ not in OTHERS
    ]


def own(cls: Any) -> dict[str, inspect.Parameter]:
    """The parameters that are not those of every operator."""
    common = {name for base in BASES for name in inspect.signature(base.__init__).parameters}
    found: dict[str, inspect.Parameter] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("paimon_provider.operators") and base not in BASES:
            found |= inspect.signature(base.__init__).parameters
    return {name: p for name, p in found.items() if name not in common | {"kwargs"}}


def taken(cls: Any) -> dict[str, Any]:
    return {p.in_operator: p for p in ACTIONS[cls.action].parameters if p.in_operator is not None}


def test_every_action_has_an_operator_of_its_own() -> None:
    found = [cls.action for cls in operators()]
    assert sorted(found) == sorted(ACTIONS)


@pytest.mark.parametrize("cls", operators(), ids=lambda cls: cls.__name__)
class TestEach:
    def test_its_signature_is_what_the_action_takes(self, cls: Any) -> None:
        assert set(own(cls)) == set(taken(cls)) | MORE.get(cls.__name__, set())
        for name, parameter in taken(cls).items():
            given = own(cls)[name]
            assert given.kind is given.KEYWORD_ONLY
            must = parameter.required or parameter.required_by_operator
            assert (given.default is given.empty) == must, name
            if not must:
                assert (given.default or None) == (parameter.default or None), name

    def test_it_renders_what_the_action_says(self, cls: Any) -> None:
        rendered = {name for name, parameter in taken(cls).items() if parameter.templated}
        base = set(PaimonTableOperator.template_fields) | {"database"}
        assert set(cls.template_fields) - base - MORE.get(cls.__name__, set()) == rendered

    def test_its_docstring_tells_of_each_and_which_are_rendered(self, cls: Any) -> None:
        text = inspect.getdoc(cls) or ""
        if cls.__init__ is not cls.__mro__[1].__init__ or ":param" in text:
            told = dict(re.findall(r":param (\w+):\s*(.*?)(?=\n\s*:param |\Z)", text, re.DOTALL))
            assert set(taken(cls)) <= set(told)
            for name in taken(cls):
                assert ("(templated)" in told[name]) == (name in cls.template_fields), name

    def test_what_it_passes_on_is_a_job(self, cls: Any) -> None:
        target = {"database": "a"} if issubclass(cls, PaimonDatabaseOperator) else {"table": "a.b"}
        operator = cls(**{"task_id": "t", **target, **NEEDED[cls]})
        action = ACTIONS[cls.action]
        assert (action.target is Target.DATABASE) == issubclass(cls, PaimonDatabaseOperator)
        passed = operator.arguments()
        assert action.checked(passed)
        for name in NEEDED[cls].keys() & taken(cls).keys():
            job = taken(cls)[name]
            if job.job:
                assert passed[job.name] is not None
        assert all(hasattr(operator, attribute_of(name)) for name in taken(cls))
