"""What keeps a table in shape: expiry, orphans, copies, statistics, health."""
