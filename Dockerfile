# One image for Airflow and for Spark: the same Python, the same packages, the same versions.
FROM python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 50000 --create-home airflow \
    && mkdir -p /opt/airflow /opt/streamhouse \
    && chown airflow /opt/airflow /opt/streamhouse

WORKDIR /opt/project
COPY pyproject.toml README.md LICENSE NOTICE constraints.txt ./
COPY table_core table_core
COPY provider provider
RUN pip install --no-cache-dir -c constraints.txt ./table_core ".[postgres,mysql,kafka,s3]" psutil \
    && python -c "from importlib.metadata import version as v; assert v('pyspark') == v('pyspark-client')"
COPY demo demo

ENV AIRFLOW_HOME=/opt/airflow PYSPARK_PYTHON=/usr/local/bin/python PYTHONUNBUFFERED=1
USER airflow
