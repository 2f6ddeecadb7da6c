//! `git cowork completions SHELL`: prints a script that gets its candidates from git-cowork itself.
//! For bash, zsh and fish it also extends the shell's completion of git.

use clap::Args;
use clap_complete::env::{Elvish, Fish, Powershell, Shells, Zsh};

use crate::cli::args::Answer;
use crate::cli::bash::Bash;
use crate::cli::context::Context;
use crate::error::Error;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    shell: String,
}

/// The variable that the script sets when it runs git-cowork for candidates.
pub(crate) const VARIABLE: &str = "COMPLETE";

/// The shells that have completions.
pub(crate) const SHELLS: Shells<'static> = Shells(&[&Bash, &Elvish, &Fish, &Powershell, &Zsh]);

/// Git's completion has the words in `words`, the cursor in `cword` and the place of the command
/// in `__git_cmd_idx` when it calls `_git_cowork`.
const GIT_ADAPTER: &str = r#"
_git_cowork() {
    local -a given=(git-cowork "${words[@]:__git_cmd_idx+1}")
    local place=$((cword - __git_cmd_idx))
    given[place]=$cur
    __cowork_offer "$place" "${given[@]}"
}
"#;

/// Zsh's completion of git calls a function named `_git-COMMAND`, and offers the commands that the
/// style `user-commands` lists.
const ZSH_ADAPTER: &str = r"
_git-cowork() {
    words[1]=git-cowork
    _clap_dynamic_completer_git_cowork
}
() {
    local -a known
    zstyle -a ':completion:*:*:git:*' user-commands known
    [[ -n ${(M)known:#cowork:*} ]] ||
        zstyle ':completion:*:*:git:*' user-commands $known 'cowork:build software under review'
}
# As a file below `fpath`, the script is the body of the function that zsh calls.
if [[ ${funcstack[1]-} == _git-cowork ]]; then
    _git-cowork
fi
";

/// Fish's completion of git does not complete the arguments of commands that are not git's.
const FISH_ADAPTER: &str = r#"
function __git_cowork_complete
    set -l words (commandline -opc)
    set -l at (contains -i -- cowork $words); or return
    set -e words[1..$at]
    complete -C "git-cowork $words "(commandline -ct)
end
complete -c git -f -n '__fish_seen_subcommand_from cowork' -a '(__git_cowork_complete)'
"#;

pub(crate) fn run(context: &Context, args: CompletionsArgs) -> Answer {
    let Some(shell) = SHELLS.completer(&args.shell) else {
        let names: Vec<&str> = SHELLS.names().collect();
        return Err(Error::usage(format!("there are no completions for '{}'", args.shell))
            .hint(format!("one of: {}", names.join(", ")))
            .into());
    };
    let mut script = Vec::new();
    let name = "git-cowork";
    shell.write_registration(VARIABLE, name, name, name, &mut script)?;
    let mut script = String::from_utf8_lossy(&script).into_owned();
    match args.shell.as_str() {
        "bash" => script += GIT_ADAPTER,
        "zsh" => script += ZSH_ADAPTER,
        "fish" => script += FISH_ADAPTER,
        _ => {}
    }
    context.print(&script)?;
    Ok(0)
}
