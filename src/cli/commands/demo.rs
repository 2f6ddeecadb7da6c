//! `git cowork demo`: the whole pipeline in a throw-away repository, played from the recording
//! that comes with the program. No key, no network.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::cli::args::{Answer, Global};
use crate::cli::commands::new::{self, NewArgs};
use crate::cli::context::Context;
use crate::cli::terminal::runtime;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::Mode;
use crate::git::Git;
use crate::workspace::{Workspace, WorkspaceOptions};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Where to create the repository [default: a new temporary folder]
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
}

/// The idea the recording answers.
const IDEA: &str = "a todo list for the terminal: add, list, complete and remove todos, kept in \
                    one plain text file, with tests";
/// What the model said, once.
const RECORDING: &str = include_str!("../../../demo/replay.jsonl");

pub(crate) fn run(context: &Context, args: DemoArgs) -> Answer {
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
    let top = git.top().to_owned();
    // Nobody is asked: the recording has one answer for each step.
    let global =
        Global { review: Some(Mode::Auto), no_interactive: true, ..context.global.clone() };
    let mut inner = Context::demo(&global, git, ("the demo's recording", RECORDING));
    inner.without_commands = !cargo_works(&inner)?;
    let code = new::run(&inner, NewArgs::for_demo(IDEA, "todo"))?;
    if !context.global.json {
        let top = top.display();
        context.print(&format!(
            "\nA session from idea to delivery, in {top}\n\n  \
             cd {top}\n  \
             git log --graph --oneline --decorate     # the story\n  \
             git log --format=fuller                  # who made what, reviewed how, tested with what\n  \
             git show cowork/todo/prd                 # a stage is a commit: its documents, its trailers\n  \
             git cowork status                        # read from that history, kept nowhere else\n  \
             git cowork show report                   # what a reviewer reads first\n  \
             git cowork merge                         # that report becomes the message of the merge\n  \
             cargo run -- add \"buy milk\"              # the program that was delivered\n"
        ))?;
    }
    Ok(code)
}

/// Whether the delivered program can be built and tested here; without a Rust toolchain the demo
/// still tells its story, and says that nothing was run.
fn cargo_works(context: &Context) -> anyhow::Result<bool> {
    let git = context.git()?;
    let workspace = Workspace::open(WorkspaceOptions {
        root: git.top().to_owned(),
        state_dir: git.state_dir(),
        timeout_s: 30,
        timeout_max_s: 30,
        env: context.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
        ..WorkspaceOptions::default()
    })?;
    let asked = workspace.run_trusted("cargo --version", None);
    let works = runtime::current_thread()?.block_on(asked)?.succeeded();
    if !works {
        let text = "no working cargo here: the program is written, but not built or tested";
        context.ui.emit(Event::Warning { text: text.to_owned() });
    }
    Ok(works)
}
