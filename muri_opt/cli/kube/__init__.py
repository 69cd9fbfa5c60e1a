"""``muri-opt kube``: snapshots of Kubernetes, Kueue, KAI Scheduler and Volcano as rounds."""
