"""Published measurements of models: stage times (Muri), speed-ups (AFS) and iteration times by plan (Rubick).

The figures are facts of the sources named beside them; how they are written down here is our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MURI_STAGES: Final[Mapping[int, Mapping[str, tuple[float, float, float, float]]]] = {
    1: {
        "vgg16": (107, 117, 68, 0),
        "vgg19": (109, 114, 80, 0),
        "resnet18": (779, 711, 110, 0),
        "shufflenet": (798, 706, 59, 0),
        "bert": (178, 0.5, 160, 0),
        "gpt2": (426, 0.6, 410, 0),
        "a2c": (517, 514, 14, 0),
        "dqn": (490, 446, 8, 0),
    },
    2: {
        "vgg16": (191, 114, 72, 40),
        "vgg19": (205, 115, 83, 41),
        "resnet18": (881, 687, 110, 95),
        "shufflenet": (850, 747, 58, 18),
        "bert": (195, 0.5, 163, 18),
        "gpt2": (464, 0.7, 416, 40),
        "a2c": (525, 504, 14, 0.5),
        "dqn": (495, 441, 8, 0.6),
    },
    4: {
        "vgg16": (201, 82, 72, 67),
        "vgg19": (212, 84, 85, 73),
        "resnet18": (921, 723, 113, 73),
        "shufflenet": (886, 703, 62, 17),
        "bert": (190, 0.5, 163, 18),
        "gpt2": (433, 0.6, 413, 20),
        "a2c": (533, 502, 10, 0.3),
        "dqn": (505, 440, 8, 0.4),
    },
    8: {
        "vgg16": (214, 82, 75, 66),
        "vgg19": (226, 82, 88, 60),
        "resnet18": (1010, 784, 117, 77),
        "shufflenet": (957, 769, 57, 10),
        "bert": (192, 0.5, 167, 59),
        "gpt2": (437, 0.6, 419, 49),
        "a2c": (555, 502, 14, 0.4),
        "dqn": (509, 435, 8, 0.5),
    },
    16: {
        "vgg16": (332, 83, 68, 110),
        "vgg19": (302, 102, 78, 123),
        "resnet18": (1055, 736, 108, 93),
        "shufflenet": (1006, 776, 57, 21),
        "bert": (244, 0.5, 166, 86),
        "gpt2": (491, 0.6, 415, 137),
        "a2c": (567, 514, 14, 1.2),
        "dqn": (525, 438, 8, 1.2),
    },
}
"""By GPUs and model: milliseconds of an iteration alone, and of its data, GPU and network stage.

Profiles in the traces of Rivendile/Muri (SIGCOMM 2022).
"""


def _doublings(*speeds: float) -> dict[int, float]:
    return {1 << power: speed for power, speed in enumerate(speeds)}


AFS_CURVES: Final[Mapping[str, Mapping[int, float]]] = {
    "vgg16": _doublings(1, 1.82, 3.48, 6.61),
    "googlenet": _doublings(1, 1.85, 3.27, 5.60, 8.18),
    "inception4": _doublings(1, 1.95, 3.97, 7.79, 13.84),
    "resnet50": _doublings(1, 1.98, 3.62, 5.95, 9.04),
    "deepspeech": _doublings(1, 1.49, 1.74, 1.83, 1.96),
    "transformer": _doublings(1, 1.89, 3.43, 6.53, 9.85),
    "dcgan": _doublings(1, 1.81, 3.16, 4.69, 5.88),
    "chatbot": _doublings(1, 1.43, 1.73),
    "video": _doublings(1, 1.80, 2.96, 3.81, 4.51),
}
"""By model and GPUs: the speed-up over one GPU, from the throughput tables of the simulator of AFS (NSDI 2021)."""

RUBICK_TIMES: Final[Mapping[str, tuple[int, Mapping[tuple[str, int, int], float]]]] = {
    "vit": (
        64,
        {
            ("zero-dp", 1, 1): 0.1450,
            ("zero-dp", 2, 1): 0.0849,
            ("ga", 2, 2): 0.1157,
            ("ga", 4, 1): 0.0628,
            ("ga", 4, 2): 0.0766,
            ("ga", 8, 1): 0.0492,
            ("ga", 8, 2): 0.0662,
        },
    ),
    "roberta": (
        64,
        {
            ("zero-dp", 1, 1): 0.6836,
            ("zero-dp", 2, 1): 0.6977,
            ("ga", 2, 2): 0.7368,
            ("ga", 4, 1): 0.3728,
            ("ga", 4, 2): 0.4269,
            ("zero-dp", 8, 1): 0.2179,
            ("ga", 8, 2): 0.2546,
        },
    ),
    "bert": (
        32,
        {
            ("ga", 1, 1): 0.6571,
            ("ga", 2, 1): 0.3654,
            ("zero-dp", 2, 2): 0.4338,
            ("ga", 4, 1): 0.2257,
            ("zero-dp", 4, 2): 0.3054,
            ("zero-dp", 8, 1): 0.1550,
            ("zero-dp", 8, 2): 0.1976,
        },
    ),
    "t5": (
        16,
        {
            ("zero-dp", 1, 1): 1.0810,
            ("zero-dp", 2, 1): 0.5924,
            ("ga", 2, 2): 0.9166,
            ("zero-dp", 4, 1): 0.3351,
            ("zero-dp", 4, 2): 0.6241,
            ("zero-dp", 8, 1): 0.2412,
            ("zero-dp", 8, 2): 0.4189,
        },
    ),
    "gpt2": (
        16,
        {
            ("zero-dp", 1, 1): 3.6161,
            ("ga", 2, 1): 1.8306,
            ("gc", 2, 2): 2.5961,
            ("zero-dp", 4, 1): 0.9575,
            ("zero-dp", 4, 2): 1.2861,
            ("zero-dp", 8, 1): 0.5302,
            ("zero-dp", 8, 2): 0.7020,
        },
    ),
    "llama7": (
        8,
        {
            ("zero-offload", 1, 1): 57.8749,
            ("zero-offload", 2, 1): 30.0720,
            ("zero-offload", 4, 1): 16.0981,
            ("zero-offload", 8, 1): 9.4009,
            ("182", 16, 2): 1.1308,
            ("242", 16, 4): 1.6486,
        },
    ),
}
"""By model its batch, and by plan, GPUs and nodes the seconds of an iteration: of equal placements the fastest plan.

Measured placements with equally many GPUs on each node in AlibabaPAI/reconfigurable-dl-scheduler (Rubick).
"""
