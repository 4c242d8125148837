"""What must be there before Airflow starts: its login, the bucket, the topic. Twice is once."""

from __future__ import annotations

import json
import os
from pathlib import Path

from demo.cluster import shop
from demo.cluster.definition import BUCKET
from demo.cluster.lake import storage_options
from demo.environment import USER


def main() -> None:
    """Write the file of logins, make the bucket and the topic."""
    import s3fs

    passwords = Path(os.environ["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"])
    passwords.touch(mode=0o600)
    passwords.write_text(json.dumps({USER: os.environ["AIRFLOW_ADMIN_PASSWORD"]}))
    store = s3fs.S3FileSystem(**storage_options())
    if not store.exists(BUCKET):
        store.call_s3("create_bucket", Bucket=BUCKET)
    shop.make_topic()


if __name__ == "__main__":
    main()
