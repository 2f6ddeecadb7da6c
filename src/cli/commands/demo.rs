//! `git cowork demo`: runs the whole pipeline in a temporary repository, from a recording built
//! into the program: no key, no network. With `--ask` the user decides at the gates.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::cli::args::{Answer, Global};
use crate::cli::commands::new::{self, NewArgs};
use crate::cli::context::Context;
use crate::cli::demo_recording;
use crate::cli::session_cmd::choose_model::find_program;
use crate::config::Config;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::Mode;
use crate::git::Git;
use crate::git::init::configure;
use crate::shell_quote::quoted;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to create the repository [default: a new temporary folder]
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Stop at the gates, explain each one, and let you decide (on a terminal)
    #[arg(long)]
    ask: bool,
}

/// The idea of the recorded session.
const IDEA: &str = "a todo list for the terminal: add, list, complete and remove todos, kept in \
                    one plain text file, with tests";

pub(crate) fn run(context: &Context, args: DemoArgs) -> Answer {
    let asks = asks(context, args.ask)?;
    let path = match args.path {
        Some(path) => path,
        None => tempfile::Builder::new()
            .prefix("git-cowork-demo-")
            .tempdir()
            .context("creating a temporary folder")?
            .keep(),
    };
    if std::fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Error::usage(format!("{} is not empty", path.display()))
            .hint("give a folder that does not exist yet")
            .into());
    }
    let git = Git::init(&path)?;
    // What the program prints works as typed there: whatever prefix the user has configured, and
    // before the program is installed.
    configure(&git, "cowork.project.branchprefix", &Config::default().project.branch_prefix)?;
    if find_program(context, "git-cowork").is_none() {
        let program = std::env::current_exe().context("finding this program's own file")?;
        configure(&git, "alias.cowork", &format!("!{}", quoted(&program.to_string_lossy())))?;
    }
    let top = git.top().to_owned();
    let inner = match asks {
        true => Context::demo(&context.global, git, None),
        // Nobody is asked: the recording has one answer for each step.
        false => {
            let global =
                Global { review: Some(Mode::Auto), no_interactive: true, ..context.global.clone() };
            Context::demo(&global, git, Some(("the demo's recording", demo_recording::SESSION)))
        }
    };
    play(context, &inner, asks).map_err(|error| match asks {
        true => told_where(error, &top),
        false => error,
    })
}

/// True if the user decides at the gates.
fn asks(context: &Context, ask: bool) -> anyhow::Result<bool> {
    let mode = context.global.review;
    match (ask, mode) {
        (true, Some(Mode::Wait | Mode::Auto)) => {
            return Err(Error::usage(
                "demo --ask asks at the gates, but --review wait and --review auto ask nobody",
            )
            .hint("git cowork demo --ask")
            .hint("git cowork demo")
            .into());
        }
        (false, None | Some(Mode::Wait | Mode::Auto)) => return Ok(false),
        (true, _) | (_, Some(Mode::Ask)) => {}
    }
    match context.attended() {
        true => Ok(true),
        false => Err(Error::usage("demo --ask needs a terminal")
            .hint("without one: git cowork demo")
            .into()),
    }
}

/// Runs the session, then prints commands that show the result or continue the session.
fn play(context: &Context, inner: &Context, asks: bool) -> Answer {
    demo_recording::keep(inner.git()?, asks)?;
    if asks {
        context.ui.emit(Event::Note { text: demo_recording::NOTE.to_owned() });
    }
    let code = new::run(inner, NewArgs::for_demo(IDEA, "todo"))?;
    if context.global.json {
        return Ok(code);
    }
    // Clear the live line first: otherwise the run would erase the text that is printed below the
    // line.
    inner.ui.clear();
    let top = inner.git()?.top();
    let (said, commands) = match code {
        0 => ("A session from idea to delivery, in", DELIVERED.as_slice()),
        _ => ("The demo waits for you in", WAITING.as_slice()),
    };
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let mut text =
        format!("\n{said} {}\n\n  cd {}\n", top.display(), quoted(&top.to_string_lossy()));
    for (command, what) in commands {
        let _ = writeln!(text, "  {command:width$}  # {what}");
    }
    context.print(&text)?;
    Ok(code)
}

/// What to do where the demo waits.
const WAITING: [(&str, &str); 2] =
    [("git cowork", "the session's state"), ("git cowork resume", "opens the gate again")];

/// What to look at after the demo, and what to do next.
const DELIVERED: [(&str, &str); 8] = [
    ("git log --graph --oneline --decorate", "the story"),
    ("git show cowork/todo/prd", "a stage is a commit"),
    ("git cowork status", "read from that history"),
    ("git cowork show report", "what a reviewer reads first"),
    ("git cowork why todo.sh:50", "why this line is there"),
    ("git cowork merge", "the report becomes its message"),
    ("git cowork modify \"search the list\"", "a change, recorded as well"),
    ("sh todo.sh add \"buy milk\"", "the program that was delivered"),
];

/// Puts a `cd` to the demo's folder in front of the error's other hints.
fn told_where(error: anyhow::Error, top: &Path) -> anyhow::Error {
    let first = format!("cd {}", quoted(&top.to_string_lossy()));
    match error.downcast::<Error>() {
        Ok(mut error) => {
            error.hints.insert(0, first);
            error.into()
        }
        Err(error) => error,
    }
}
