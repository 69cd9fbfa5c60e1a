"""The scripts for bash, zsh and fish, made from the words of the commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muri_opt.cli.completion_words import Words

_BASH = """# Completion of muri-opt for bash: eval "$(muri-opt completion bash)"
_muri_opt() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local flags="" words=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W {commands} -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{steps}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
        *) COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _muri_opt muri-opt
"""

_ZSH = """#compdef muri-opt
# Completion of muri-opt for zsh: muri-opt completion zsh > ~/.zfunc/_muri-opt
_muri_opt() {{
    local -a commands flags plain
    if (( CURRENT == 2 )); then
        commands=(
{commands}
        )
        _describe command commands
        return
    fi
    case "$words[2] $words[CURRENT-1]" in
{values}
    esac
    case "$words[2]" in
{cases}
    esac
    case "$words[2] $words[3]" in
{steps}
    esac
    if [[ "$PREFIX" == -* ]]; then
        _describe option flags
    else
        compadd -a plain
        _files
    fi
}}
_muri_opt "$@"
"""


def bash_script(commands: Sequence[Words]) -> str:
    """Return the script for bash."""
    return _BASH.format(
        commands=shlex.quote(" ".join(one.name for one in commands if " " not in one.name)),
        values=_lines(
            f'{_pattern(one, flag)}) COMPREPLY=($(compgen -W {_list(values)} -- "$word")); return ;;'
            for one, flag, values in _valued(commands)
        ),
        cases=_lines(_bash_case(one) for one in commands if " " not in one.name),
        steps=_lines(_bash_case(one) for one in commands if " " in one.name),
    )


def _bash_case(one: Words) -> str:
    return f"{_pattern(one)}) flags={_list([option.flag for option in one.options])} words={_list(one.words)} ;;"


def zsh_script(commands: Sequence[Words]) -> str:
    """Return the script for zsh."""
    described = [_described(one.name, one.summary) for one in commands if " " not in one.name]
    return _ZSH.format(
        commands=_lines(described, by=12),
        values=_lines(
            f"{_pattern(one, flag)}) compadd -- {' '.join(map(shlex.quote, values))}; return ;;"
            for one, flag, values in _valued(commands)
        ),
        cases=_lines(_zsh_case(one) for one in commands if " " not in one.name),
        steps=_lines(_zsh_case(one) for one in commands if " " in one.name),
    )


def _zsh_case(one: Words) -> str:
    flags = " ".join(_described(option.flag, option.help) for option in one.options)
    return f"{_pattern(one)}) flags=({flags}); plain=({' '.join(map(shlex.quote, one.words))}) ;;"


def _described(name: str, words: str) -> str:
    """Return a name with its description, as ``_describe`` takes them: a colon between the two."""
    return shlex.quote(f"{name.replace(':', chr(92) + ':')}:{words}")


def fish_script(commands: Sequence[Words]) -> str:
    """Return the script for fish."""
    lines = ["# Completion of muri-opt for fish: muri-opt completion fish > ~/.config/fish/completions/muri-opt.fish"]
    for one in commands:
        name, _, step = one.name.partition(" ")
        about = f"-d {_fish(one.summary)}"
        if not step:
            lines.append(f"complete -c muri-opt -f -n __fish_use_subcommand -a {name} {about}")
        seen = f"__fish_seen_subcommand_from {name}" + (f"; and __fish_seen_subcommand_from {step}" if step else "")
        rule = f"complete -c muri-opt -n {_fish(seen)}"
        if one.words:
            lines.append(f"{rule} -a {_fish(' '.join(one.words))}")
        for option in one.options:
            taken = "" if option.values is None else " -r"
            if option.values:
                taken = f" -x -a {_fish(' '.join(option.values))}"
            lines.append(f"{rule} -l {option.flag.lstrip('-')}{taken} -d {_fish(option.help)}")
    return "\n".join(lines) + "\n"


def _fish(text: str) -> str:
    """Return the text in quotes of fish, where a backslash goes before a quote or another backslash."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _valued(commands: Sequence[Words]) -> list[tuple[Words, str, tuple[str, ...]]]:
    """Return the options of commands and steps that take one of some values."""
    return [(one, option.flag, option.values) for one in commands for option in one.options if option.values]


def _pattern(one: Words, flag: str | None = None) -> str:
    """Return the pattern of a command with one of its steps, or with one of its options."""
    return shlex.quote(one.name if flag is None else f"{one.name.partition(' ')[0]} {flag}")


def _list(words: Sequence[str]) -> str:
    return shlex.quote(" ".join(words))


def _lines(found: Iterable[str], by: int = 8) -> str:
    return "\n".join(" " * by + line for line in found)
