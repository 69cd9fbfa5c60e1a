"""How many GPUs jobs ask for, for how long, and whose they are, as public traces state it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

Quantiles = Sequence[tuple[float, float]]
"""Points of a distribution: the part of the jobs with at most this value, and the value."""

TIRESIAS_SIZES: Final = {1: 30, 2: 10, 4: 10, 8: 10}
"""GPUs of the 60 jobs of the trace in the repository of Tiresias (NSDI 2019)."""

SIMULATED_SIZES: Final = {2: 40, 4: 80, 8: 90, 16: 25, 32: 5}
"""GPUs of 240 jobs in the simulator of AFS (NSDI 2021), after Tiresias."""

SIMULATED_SECONDS: Final[Quantiles] = ((0.0, 120.0), (1.0, 7200.0))
"""Seconds of service there."""

MURI_SIZES: Final = {1: 2386, 2: 307, 4: 1087, 8: 1525, 16: 46, 32: 173}
"""GPUs of the jobs of ``cluster_trace`` and the traces 1, 3 and 4 of Rivendile/Muri."""

MURI_SECONDS: Final[Quantiles] = ((0, 1), (0.25, 438), (0.5, 3391), (0.75, 43_733), (0.9, 189_277), (1, 927_475))
"""Seconds of service of the jobs of trace 3 there."""

PHILLY_RUNNING: Final = {1: 5888, 2: 521, 4: 1363, 8: 1974, 16: 234, 32: 19}
"""GPUs of jobs that run at one moment: the running time of all jobs of a size in the flattened trace of Philly."""

PHILLY_SECONDS: Final[Mapping[int, Quantiles]] = {
    1: ((0, 1), (0.25, 122), (0.5, 1117), (0.75, 2716), (0.9, 8512), (0.99, 135_399), (1, 3_256_045)),
    2: ((0, 2), (0.25, 16), (0.5, 21), (0.75, 76), (0.9, 72_740), (0.99, 523_316), (1, 2_582_803)),
    4: ((0, 3), (0.25, 773), (0.5, 17_410), (0.75, 89_394), (0.9, 184_435), (0.99, 907_376), (1, 2_750_674)),
    8: ((0, 1), (0.25, 1876), (0.5, 23_683), (0.75, 173_248), (0.9, 351_982), (0.99, 1_060_498), (1, 4_628_226)),
    16: ((0, 2), (0.25, 384), (0.5, 52_548), (0.75, 165_483), (0.9, 340_974), (0.99, 1_156_737), (1, 1_710_643)),
    32: ((0, 2), (0.25, 1182), (0.5, 14_262), (0.75, 53_209), (0.9, 61_700), (0.99, 124_130), (1, 128_924)),
}
"""Seconds that jobs of a size take in that trace."""

PHILLY_TENANTS: Final = {
    "6214e9": (275, 99),
    "6c71a0": (148, 84),
    "ee9e8c": (129, 262),
    "0e4a51": (119, 79),
    "7f04ca": (93, 169),
    "b436b2": (67, 129),
    "103959": (46, 44),
    "11cb48": (45, 29),
    "ed69ec": (30, 9),
    "2869ce": (29, 83),
    "e13805": (19, 14),
}
"""Virtual clusters of that trace: thousandths of the running time, and of the GPU time, which are its quota here."""

RUBICK_ASKED: Final = {
    ("vit", 1): 11,
    ("vit", 2): 10,
    ("vit", 4): 14,
    ("vit", 8): 13,
    ("roberta", 1): 11,
    ("roberta", 2): 22,
    ("roberta", 4): 11,
    ("roberta", 8): 14,
    ("bert", 1): 8,
    ("bert", 2): 14,
    ("bert", 4): 20,
    ("bert", 8): 22,
    ("t5", 1): 14,
    ("t5", 2): 13,
    ("t5", 4): 19,
    ("t5", 8): 16,
    ("gpt2", 2): 16,
    ("gpt2", 4): 14,
    ("gpt2", 8): 19,
    ("llama7", 8): 12,
    ("llama7", 16): 19,
}
"""Jobs by model and GPUs in the workload of Rubick's authors; of 5, 24, 32, 40 and 48 GPUs they are left out."""

RUBICK_SECONDS: Final[Quantiles] = ((0, 1), (0.25, 2), (0.5, 8), (0.75, 162), (0.9, 1217), (1, 13_473))
"""Seconds of service there, of at least one."""

RUBICK_GUARANTEED: Final = 0.478
"""The part of the jobs with a guarantee in the authors' workload of two tenants."""

AITURBO_SHAPES: Final[dict[tuple[int, int], int]] = {
    (2, 2): 2232,
    (1, 2): 1239,
    (2, 4): 912,
    (2, 1): 903,
    (3, 3): 713,
    (4, 2): 543,
    (2, 6): 522,
    (1, 1): 437,
    (2, 3): 310,
    (4, 4): 304,
}
"""Parameter servers and workers of the jobs in the table of LFSCODE/AITurbo (HPDC 2021) that have both."""

AITURBO_PREDICTABLE: Final = 0.85
"""The part of the jobs there that is predictable."""

AITURBO_SECONDS: Final[Mapping[bool, Quantiles]] = {
    True: ((0, 16), (0.1, 408), (0.25, 2992), (0.5, 8970), (0.75, 15_666), (0.9, 32_086), (0.95, 46_540), (1, 89_145)),
    False: ((0, 2), (0.1, 28), (0.25, 140), (0.5, 470), (0.75, 1007), (0.9, 2081), (0.95, 2938), (1, 53_350)),
}
"""Seconds that predictable jobs take there, and the others."""

DEADLINE_FACTORS: Final = (0.5, 1.5)
"""Deadlines are so many times the time a job takes on what it asks for, as drawn by ElasticFlow (ASPLOS 2023)."""
