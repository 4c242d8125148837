"""Apache Paimon tables in Apache Airflow."""

from importlib.metadata import version

__version__ = version("airflow-provider-paimon")
"""Of the distribution: Airflow finds the provider by its entry points, so there is one."""
