"""The shipped library, read once for all modules of tests that go over it."""

from muri_opt.studies.library import instances

ALL = instances()
"""Every shipped instance with what is known of it."""
