"""Changes of shares that pay: a job keeps its share where what a change saves is less than its restart costs."""

from __future__ import annotations

import numpy as np

from muri_opt.systems.curves import Ints


def kept_shares(shares: Ints, present: Ints, time: Ints, restart: Ints, gpus: int) -> Ints:
    """Return the shares in which running jobs keep their present one wherever a change does not pay.

    ``present[j]`` are the GPUs a job holds now (0: none), ``restart[j]`` the time a change of its share costs, in the
    unit of ``time[j, k]``. A change pays if the job needs longer with the share it has than with the new one and the
    restart. Shares that would grow in vain are put back first, which frees GPUs; then shares that would shrink, in the
    given order, as long as the GPUs last. A share that is taken away altogether stays taken.

    >>> times = np.array([[NEVER, 12, 6, 4, 3]])
    >>> kept_shares(np.array([4]), np.array([2]), times, np.array([9]), 4)
    array([2])
    """
    result = shares.copy()
    jobs = np.arange(len(shares))
    changed = (present > 0) & (shares > 0) & (shares != present) & (restart > 0)
    in_vain = changed & (time[jobs, present] - time[jobs, shares] <= restart)  # a sum could leave a machine word
    growing = in_vain & (shares > present)
    result[growing] = present[growing]
    left = gpus - int(result.sum())
    for job in np.flatnonzero(in_vain & (shares < present)).tolist():
        more = int(present[job] - shares[job])
        if more <= left:
            result[job] = present[job]
            left -= more
    return result
