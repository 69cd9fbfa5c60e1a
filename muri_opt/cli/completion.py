"""``muri-opt completion``: a script that lets a shell complete commands, options, policies and shipped rounds."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Final

from muri_opt.cli.command import Command
from muri_opt.cli.completion_scripts import bash_script, fish_script, zsh_script
from muri_opt.cli.completion_words import Words
from muri_opt.cli.output import Reply
from muri_opt.errors import unknown_name

_EXAMPLES = """  eval "$(muri-opt completion bash)"
  muri-opt completion bash > ~/.local/share/bash-completion/completions/muri-opt
  muri-opt completion zsh > ~/.zfunc/_muri-opt
  muri-opt completion fish > ~/.config/fish/completions/muri-opt.fish

The first line is for the shell that is open, the others for all shells to come; of zsh the folder must be in fpath.
The script knows the rounds and policies of this version: write it again after an update."""

SCRIPTS: Final[Mapping[str, Callable[[tuple[Words, ...]], str]]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", metavar="SHELL", help=", ".join(SCRIPTS))


def run(arguments: argparse.Namespace) -> Reply:
    """Return the script."""
    from muri_opt.cli.completion_words import all_words
    from muri_opt.cli.main import build_parser

    if arguments.shell not in SCRIPTS:
        raise unknown_name("shell", arguments.shell, SCRIPTS)
    return Reply(SCRIPTS[arguments.shell](all_words(build_parser())))


COMMAND = Command(
    name="completion",
    summary="print a script for bash, zsh or fish that completes commands, options, policies and rounds",
    examples=_EXAMPLES,
    add_options=add_options,
    run=run,
)
