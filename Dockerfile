# One image for Airflow and for Spark: the same Python, the same packages, the same versions.
FROM python:3.11-slim-bookworm

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 50000 --create-home airflow \
    && mkdir -p /opt/airflow /data \
    && chown airflow /opt/airflow /data

WORKDIR /opt/project
COPY pyproject.toml README.md LICENSE NOTICE constraints.txt ./
COPY table_core table_core
COPY provider provider
RUN pip install --no-cache-dir -c constraints.txt ./table_core ".[postgres]" psutil \
    && python -c "from importlib.metadata import version as v; assert v('pyspark') == v('pyspark-client')"
COPY dags dags
COPY demo demo

ENV AIRFLOW_HOME=/opt/airflow PYSPARK_PYTHON=/usr/local/bin/python PYTHONUNBUFFERED=1
USER airflow
