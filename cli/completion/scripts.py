"""The scripts that teach shells to complete the words of ``pybroker``. Each asks ``pybroker __complete WORD...``."""

from collections.abc import Sequence

from ...base.command_parser import CommandParser
from ..exit_codes import DONE

__all__ = ["SCRIPTS_BY_SHELL", "completion_command"]

SCRIPTS_BY_SHELL = {
    "bash": r"""
_pybroker() {
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -o default -F _pybroker pybroker
""",
    "zsh": r"""
#compdef pybroker
_pybroker() {
    local -a found
    found=("${(@f)$(pybroker __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -z ${found[1]} ]]; then _files
    elif [[ ${found[1]} == *= ]]; then compadd -S '' -a found
    else compadd -a found
    fi
}
compdef _pybroker pybroker
""",
    "fish": r"""
function __pybroker_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -e words[1]
    set -l found (pybroker __complete $words "$word" 2>/dev/null)
    if count $found >/dev/null
        string join \n -- $found
    else
        __fish_complete_path "$word"
    end
end
complete -c pybroker -f -a '(__pybroker_complete)'
""",
}

_DESCRIPTION = """\
Prints a script that completes commands, options, and names of topics, groups and settings in the cluster."""

_EPILOG = """\
examples:
  source <(pybroker completion bash)                                    in ~/.bashrc
  source <(pybroker completion zsh)                                     in ~/.zshrc, after compinit
  pybroker completion fish > ~/.config/fish/completions/pybroker.fish"""


def completion_command(arguments: Sequence[str]) -> int:
    """``pybroker completion``; returns its exit code. Raises CommandError."""
    parser = CommandParser("pybroker completion", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("shell", choices=tuple(SCRIPTS_BY_SHELL), help="the shell that reads the script")
    print(SCRIPTS_BY_SHELL[parser.parse_args(arguments).shell].strip())
    return DONE
