"""Apache Paimon tables in Apache Airflow."""

__version__ = "0.2.0"
