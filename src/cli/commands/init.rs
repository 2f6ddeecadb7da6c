//! `git cowork init`: writes the project's configuration file, with every key commented out.

use clap::Args;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::config::{self, Project};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, HookChange};
use crate::record::MessageTrial;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Install the git hooks that protect sessions (git cowork man hooks), and nothing else
    #[arg(long)]
    hooks: bool,
    /// Remove these hooks
    #[arg(long, conflicts_with = "hooks")]
    no_hooks: bool,
}

pub(crate) fn run(context: &Context, args: &InitArgs) -> Answer {
    let git = context.git()?;
    if args.no_hooks {
        say_hooks(context, &git::hooks::remove(git)?);
        return Ok(0);
    }
    if args.hooks {
        say_hooks(context, &git::hooks::install(git)?);
        return Ok(0);
    }
    git::state::require_identity(git)?;
    let path = git.top().join(".cowork/config.toml");
    let say = |text: String| context.ui.emit(Event::Note { text });
    if path.exists() {
        say(format!("{} already exists; nothing was changed", path.display()));
        return Ok(0);
    }
    let failed = |error: std::io::Error| {
        Error::repository(format!("{} cannot be written: {error}", path.display()))
    };
    std::fs::create_dir_all(git.top().join(".cowork")).map_err(failed)?;
    let (project, name) = (&context.config()?.project, "session".parse()?);
    let wanted = MessageTrial { git, project, name: &name, title: "a first idea" }.wanted()?;
    let of_messages = |wanted: &Project| {
        let signoff = wanted.signoff.then(|| ("signoff", "true".to_owned()));
        let subject = (wanted.subject != Project::default().subject)
            .then(|| ("subject", format!("\"{}\"", wanted.subject)));
        subject.into_iter().chain(signoff).collect()
    };
    let set: Vec<(&str, String)> = wanted.as_ref().map(of_messages).unwrap_or_default();
    std::fs::write(&path, config::template_file(&set)).map_err(failed)?;
    for (key, value) in set {
        say(format!("{key} = {value} is set there, for this project's commit messages"));
    }
    let ignored = git::check_ignore::ignored(git, &[".cowork/config.toml"])?;
    if !ignored.is_empty() {
        context.ui.emit(Event::Warning {
            text: ".cowork is ignored by git: session files are committed anyway, but this file is not"
                .to_owned(),
        });
    }
    let force = if ignored.is_empty() { "" } else { "-f " };
    say(format!(
        "wrote .cowork/config.toml; commit it to share it: git add {force}.cowork/config.toml"
    ));
    Ok(0)
}

fn say_hooks(context: &Context, changes: &[(&str, HookChange)]) {
    for (event, change) in changes {
        let text = match change {
            HookChange::Configured => {
                format!("{event}: configured (git config hook.cowork-{event})")
            }
            HookChange::Written(path) => format!("{event}: wrote {}", path.display()),
            HookChange::Added(path) => {
                format!("{event}: added a block to {}; its old content still runs", path.display())
            }
            HookChange::Unchanged => format!("{event}: nothing to do"),
            HookChange::Removed => format!("{event}: removed"),
            HookChange::ByHand { path, lines } => format!(
                "{event}: git-cowork does not change {}; put this at its beginning:\n{lines}",
                path.display()
            ),
        };
        context.ui.emit(Event::Note { text });
    }
}
