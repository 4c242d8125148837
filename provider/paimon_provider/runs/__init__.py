"""Task runs: who commits, the jobs that outlive an attempt, what they print."""
