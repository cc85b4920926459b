"""The command `asct completion SHELL`."""

from __future__ import annotations

import click

from asct.cli.options import PROGRAM, GlobalOptions, shared_options

_BASH = r"""_asct_completion() {
    local IFS=$' \t\n' type value words current prefix=
    local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^=:@]/}
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    [[ -n $breaks ]] && prefix=${current%"${current##*[$breaks]}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$prefix"}") ;;
        esac
    done < <(env COMP_WORDS="$line" COMP_CWORD=$((${#words[@]} - 1)) _ASCT_COMPLETE=bash_complete "$1")
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -o nosort -F _asct_completion asct"""
"""bash splits words at `=`, `:` and `@`. Unlike click's script, this one joins them again, so that it can complete
setting values. Because bash replaces only the text after the last of these characters, the candidates contain only that
part."""


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@shared_options
def command(options: GlobalOptions, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    For bash:
      asct completion bash > ~/.local/share/bash-completion/completions/asct
    """
    from click.shell_completion import get_completion_class

    script = _BASH
    if shell != "bash":
        kind = get_completion_class(shell)
        assert kind is not None  # click supports every shell that the option accepts
        group = click.get_current_context().find_root().command
        script = kind(group, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source()
    if options.json:
        options.console.document({"schema": "asct.completion/1", "shell": shell, "script": script})
    else:
        click.echo(script)
