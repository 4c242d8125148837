"""Apache Paimon tables in Apache Airflow."""

__version__ = "0.1.0"
