"""What the objects of a Hive metastore mean, without a connection."""
