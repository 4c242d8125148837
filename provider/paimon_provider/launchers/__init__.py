"""Where a job runs: in the worker, in a process beside it, on a cluster."""
