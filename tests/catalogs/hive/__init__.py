"""A Hive metastore, for tests."""
