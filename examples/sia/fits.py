"""Sia's fits of speeds to measurements, faster and with the same numbers to the last bit.

Nine tenths of a simulation are such fits, and most of a fit is the derivative of its objective by automatic
differentiation, which follows every measurement through every operation. Here the same operations are made on arrays,
and sums are added up in the same order. Fits to the same measurements are made once.
"""

from __future__ import annotations

import hashlib
import json
from functools import reduce
from operator import add
from types import SimpleNamespace

import numpy as np


class Cache:
    """Numbers by text, also from run to run where there is a file for them."""

    def __init__(self, file):
        self._file = file
        self._known = json.loads(file.read_text()) if file and file.exists() else {}

    def get(self, key, work_out):
        """Return what is known by a key, or work it out."""
        if key not in self._known:
            self._known[key] = work_out()
        return self._known[key]

    def save(self):
        """Write the file, if there is one."""
        if self._file:
            self._file.write_text(json.dumps(self._known))


class Objective:
    """The objective of a fit (``_obj_fn`` in their ``goodput.py``) at some measurements."""

    def __init__(self, num_nodes, num_replicas, atomic_bsz, accum_seconds, optim_seconds):
        self._between, self._within = num_nodes > 1, (num_nodes <= 1) & (num_replicas > 1)
        self._beyond = np.maximum(num_replicas - 2, 1e-8)
        self._batch = atomic_bsz
        self._log_accum, self._log_optim = np.log(accum_seconds), np.log(optim_seconds)

    def gradient(self, params):
        """Return the derivative by each parameter."""
        alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma = params
        accum = alpha_c + beta_c * self._batch
        network = self._chosen(alpha_n, alpha_r) + self._chosen(beta_n, beta_r) * self._beyond
        accum_power, network_power = np.power(accum, gamma), np.power(network, gamma)
        total = accum_power + network_power
        log_total = np.log(total)
        by_optim = _by_errors(log_total / gamma - self._log_optim)
        by_total = by_optim / gamma / total
        by_accum = _by_errors(np.log(accum) - self._log_accum) / accum
        by_accum = by_accum + by_total * gamma * accum ** (gamma - 1)
        by_network = by_total * gamma * network ** (gamma - 1)
        by_gamma = 1e-3 * 2 * (gamma - 1)
        by_gamma = by_gamma + np.sum(-by_optim * log_total / gamma**2)
        by_gamma = by_gamma + np.sum(by_total * np.log(network) * network_power)
        by_gamma = by_gamma + np.sum(by_total * np.log(accum) * accum_power)
        by_link = []
        for link, alpha, beta in ((self._between, alpha_n, beta_n), (self._within, alpha_r, beta_r)):
            ratio = 1e-2 * 2 * (beta / alpha)
            by_link.append(_added(-ratio * beta / alpha**2, by_network[link]))
            by_link.append(_added(ratio / alpha, (self._beyond * by_network)[link]))
        return np.array([np.sum(by_accum), np.sum(self._batch * by_accum), *by_link, by_gamma])

    def _chosen(self, between, within):
        return np.select([self._between, self._within], [between, within], 1e-8)


def _by_errors(errors):
    """Return the derivative of the root of the mean square by each error."""
    root = 0.5 * np.mean(np.power(errors, 2)) ** -0.5
    return root / len(errors) * 2 * errors


def _added(first, others):
    """Return the sum of a number and of others, the last of them first: the order in which they are differentiated."""
    return reduce(add, reversed(others.tolist()), first)


def gradient_of(_objective):
    """Return the derivative of a fit's objective, in place of ``autograd.grad``; measurements stay as they are."""
    known = []

    def gradient(params, *measured):
        if not known:
            known.append(Objective(*measured))
        return known[0].gradient(params)

    return gradient


def remember_fits(cache):
    """Let the simulator fit the speed of a job to the same measurements once, and without automatic differentiation."""
    import goodput
    import job

    goodput.autograd = SimpleNamespace(grad=gradient_of, numpy=np)

    def fitted(*arrays):
        key = "fit " + hashlib.sha256(b"".join(array.tobytes() + b"|" for array in arrays)).hexdigest()
        return goodput.PerfParams(
            *cache.get(key, lambda: [float(number) for number in goodput.fit_perf_params(*arrays)])
        )

    job.fit_perf_params = fitted
