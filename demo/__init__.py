"""The demo: sample input, its expectation, and an Airflow to run the pipeline in."""
