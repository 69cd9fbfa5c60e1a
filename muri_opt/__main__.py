"""``python -m muri_opt``: the command line."""

from muri_opt.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
