"""What jobs that wait are told in the same words by several policies."""

from __future__ import annotations

from typing import Final

KEPT_FREE: Final = "free now; the decision keeps them free"
DECIDE_AGAIN: Final = "decide again; the methods 'auto' and 'exact' leave no such job waiting"
"""The remedy where GPUs are kept free."""
LOST: Final = "it is lost: it ran on a node that is down"
