"""All commands, in the groups in which the help lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from muri_opt.cli import (
    check_allocator,
    compare,
    completion,
    convert,
    defragment,
    doctor,
    elastic_gap,
    examples,
    export,
    failures,
    fit,
    gap,
    generate,
    group_loss,
    library,
    policies,
    predict,
    replay,
    show,
    solve,
    trace,
    verify,
    what_if,
    why,
    worst_case,
)
from muri_opt.cli.command import Command
from muri_opt.cli.kube import command as kube
from muri_opt.cli.serve import command as serve
from muri_opt.cli.slurm import command as slurm

GROUPS: Final[Mapping[str, tuple[Command, ...]]] = {
    "decide a round": (
        solve.COMMAND,
        verify.COMMAND,
        show.COMMAND,
        why.COMMAND,
        what_if.COMMAND,
        defragment.COMMAND,
    ),
    "how good is a decision": (
        gap.COMMAND,
        group_loss.COMMAND,
        elastic_gap.COMMAND,
        compare.COMMAND,
        library.COMMAND,
        worst_case.COMMAND,
    ),
    "many rounds": (replay.COMMAND, trace.COMMAND, failures.COMMAND),
    "rounds, programs and job models": (
        generate.COMMAND,
        convert.COMMAND,
        export.COMMAND,
        fit.COMMAND,
        predict.COMMAND,
    ),
    "with other schedulers": (serve.COMMAND, slurm.COMMAND, kube.COMMAND, check_allocator.COMMAND),
    "about this program": (policies.COMMAND, examples.COMMAND, completion.COMMAND, doctor.COMMAND),
}
COMMANDS: Final[Mapping[str, Command]] = {command.name: command for commands in GROUPS.values() for command in commands}


def grouped_commands() -> str:
    """Return the lines that name every command under its group."""
    width = max(map(len, COMMANDS))
    lines = []
    for group, commands in GROUPS.items():
        lines += [f"{group}:", *(f"  {one.name:<{width}}  {one.summary}" for one in commands), ""]
    return "\n".join(lines).rstrip()
