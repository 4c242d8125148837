"""What a job's process finds in its environment: named things, and nothing else of the worker's.

A worker's environment holds connections, the key of the metadata database and whatever else a deployment
put there.  A job runs SQL, Python functions and Java of others; it gets what it needs to run.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["cloud_of", "job_environment"]

_KEPT: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TEMP", "TMP", "TZ"),
        *("LANG", "LANGUAGE", "TERM", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"),
        *("JAVA_HOME", "JAVA_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"),
        *("HIVE_CONF_DIR", "KRB5_CONFIG", "KRB5CCNAME", "HADOOP_TOKEN_FILE_LOCATION"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "KUBECONFIG"),
        *("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"),
    }
)
_FAMILIES: Final = ("LC_", "SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "TABLE_CORE_")
_SECRET: Final = re.compile("(?i)secret|passw|token|credential|key")
_CLOUDS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": (
        *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
        *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
        *("AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CA_BUNDLE"),
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        *("AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
        *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"),
    ),
    "gs": ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CONFIG"),
    "az": (
        *("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_CLIENT_SECRET", "AZURE_AUTHORITY_HOST"),
        *("AZURE_FEDERATED_TOKEN_FILE", "AZURE_CONFIG_DIR", "AZURE_STORAGE_ACCOUNT"),
    ),
}
"""How a worker says who it is to a cloud; given to a job only if its warehouse lies there."""
_ALIASES: Final = {
    "s3a": "s3",
    "s3n": "s3",
    "gcs": "gs",
    "abfs": "az",
    "abfss": "az",
    "wasbs": "az",
}
_OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": ("key", "secret", "anon", "aws_access_key_id", "profile", "s3.access-key"),
    "gs": ("token",),
    "az": ("account_key", "sas_token", "connection_string", "client_secret"),
}
"""Storage options that say it instead."""


def cloud_of(warehouse: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of the identity that a job needs for ``warehouse``; none if ``options`` have one."""
    scheme = warehouse.partition("://")[0].lower()
    cloud = _ALIASES.get(scheme, scheme)
    names = {key.removeprefix("storage.").removeprefix("fs.") for key in options}
    return () if names.intersection(_OWN.get(cloud, ())) else _CLOUDS.get(cloud, ())


def job_environment(
    extra: Mapping[str, str | None], identity: tuple[str, ...] = ()
) -> dict[str, str]:
    """The environment of a job: the usual, ``identity``, and ``extra`` of the connection.

    A value of None in ``extra`` takes the variable over from the worker, if it is there.
    """
    worker = os.environ
    wanted = {*identity, *(name for name, value in extra.items() if value is None)}
    environment = {name: value for name, value in worker.items() if name in wanted or _usual(name)}
    environment |= {name: value for name, value in extra.items() if value is not None}
    folder = str(Path(sys.executable).parent)
    environment["PATH"] = f"{folder}{os.pathsep}{environment.get('PATH', '')}"
    environment["PYSPARK_PYTHON"] = sys.executable
    environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def _usual(name: str) -> bool:
    return name in _KEPT or (name.startswith(_FAMILIES) and not _SECRET.search(name))
