"""What Airflow and OpenLineage are told of tables that are read and written."""
