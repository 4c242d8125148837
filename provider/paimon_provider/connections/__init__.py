"""What an Airflow connection says of warehouses and sources."""
