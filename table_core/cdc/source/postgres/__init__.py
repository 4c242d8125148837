"""PostgreSQL: logical replication, types, connections."""
