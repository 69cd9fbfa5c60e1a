"""What quotas, CPUs and memory cost where they are scarce."""
