"""Small workloads as files, for tests of studies."""

from __future__ import annotations

from pathlib import Path

HEAD = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time,resource_time_0,resource_time_1,resource_time_2"


def write_trace(path: Path, *, jobs: int = 8, slower: int = 0) -> str:
    """Write a workload in the format of the Muri authors, in which more jobs want GPUs than can have them."""
    rows = [
        f"j{k},{(1, 2, 4)[k % 3]},{k * 20_000},{40 + 17 * (k * 7 % 11) + slower},vgg16,1000,200,500,300"
        for k in range(jobs)
    ]
    path.write_text("\n".join([HEAD, *rows]) + "\n")
    return str(path)
