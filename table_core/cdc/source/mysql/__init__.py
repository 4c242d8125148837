"""MySQL and MariaDB: the binary log, types, connections."""
