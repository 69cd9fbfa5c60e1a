"""What is replayed: the authors' files, public traces, and workloads drawn as published."""
