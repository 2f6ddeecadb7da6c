//! Checks git itself and the user's tools: the name on commits, editor, pager, terminal.
//!
//! Also finds programs on the user's `PATH`.

use crate::cli::context::Context;
use crate::cli::doctor::finding::Finding;
use crate::cli::session_cmd::choose_model::find_program;
use crate::git::{self, Git};

/// The git that is installed.
pub(super) fn git(context: &Context) -> Finding {
    match git::installed(&context.cwd) {
        Ok(version) => Finding::ok("git", version),
        Err(error) => Finding::of_error("git", &error),
    }
}

/// Checks the user's tools.
pub(super) fn of_a_person(context: &Context, git: &Git) -> Vec<Finding> {
    vec![identity(git), editor(context, git), pager(context, git), terminal(context)]
}

fn identity(git: &Git) -> Finding {
    let both = git::state::require_identity(git).and_then(|()| git::state::author(git));
    match both {
        Ok(author) => Finding::ok("identity", format!("commits are made as {author}")),
        Err(error) => Finding::of_error("identity", &error),
    }
}

fn editor(context: &Context, git: &Git) -> Finding {
    const CHOOSE: &str = "git config --global core.editor nano";
    let own = context.config().map(|config| config.review.editor.clone()).unwrap_or_default();
    let command = match own.is_empty() {
        true => git::settings::editor(git).ok().flatten(),
        false => Some(own),
    };
    let Some(command) = command else {
        return Finding::warning("editor", "there is none: drafts cannot be edited in a review")
            .fix(CHOOSE);
    };
    match program_of(&command) {
        Some(program) if find_program(context, program).is_none() => {
            Finding::warning("editor", format!("'{program}' is not installed")).fix(CHOOSE)
        }
        Some(program) if returns_at_once(program, &command) => {
            let text = format!("'{command}' returns before anything was edited");
            Finding::warning("editor", text)
                .fix(format!("git config --global core.editor '{command} --wait'"))
        }
        _ => Finding::ok("editor", command),
    }
}

/// True for an editor with windows that is not told to wait until its file is closed.
fn returns_at_once(program: &str, command: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let windowed = ["code", "code-insiders", "codium", "cursor", "windsurf", "zed", "subl", "atom"];
    let waits = |word: &str| ["--wait", "-w"].contains(&word);
    windowed.contains(&name) && !command.split_whitespace().any(waits)
}

fn pager(context: &Context, git: &Git) -> Finding {
    let command = git::settings::own_pager(git).unwrap_or_else(|_| "cat".to_owned());
    match program_of(&command) {
        Some(program) if find_program(context, program).is_none() => {
            Finding::warning("pager", format!("'{program}' is not installed; nothing is paged"))
                .fix("git config --global cowork.pager false")
        }
        Some("cat") => Finding::ok("pager", "none"),
        _ => Finding::ok("pager", command),
    }
}

fn terminal(context: &Context) -> Finding {
    let text = match context.attended() {
        true => "a person can be asked here",
        false => "none here: drafts wait for git cowork review",
    };
    Finding::ok("terminal", text)
}

/// The program that a shell command starts; `None` if only a shell could tell.
pub(super) fn program_of(command: &str) -> Option<&str> {
    let first = command.split_whitespace().next()?;
    let plain = |c: char| c.is_alphanumeric() || "/._+-".contains(c);
    first.chars().all(plain).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_commands_name_their_program() {
        assert_eq!(program_of("vim -f"), Some("vim"));
        assert_eq!(program_of("/usr/bin/code --wait"), Some("/usr/bin/code"));
        for command in ["", "'my editor' x", "$EDITOR", "~/bin/ed", "A=b vim"] {
            assert_eq!(program_of(command), None, "{command}");
        }
    }
}
