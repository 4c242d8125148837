"""The streamhouse on a cluster of real servers: in containers (Compose) or as processes (``make cluster-demo``)."""
