"""Change events into tables: what joins ``table_core.cdc`` to sources, tables and commits."""
