//! The command line: the commands and where each of them is run; `commands/X.rs` is `git cowork X`.
//!
//! Everything that reads the environment or knows about terminals happens in this room; below it
//! only resolved values go down.

mod args;
mod commands;
mod context;
mod help;
mod overview;
mod remote;
mod sandbox_helper;
mod session_cmd;
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::{Error, Kind, kind_of};
use crate::record;
use crate::ui::JsonLines;
use args::{Answer, Global, SessionArg};
use commands::{
    archive, completions, delete, demo, feedback, hook, init, list, log, merge, modify, new, pr,
    prune, restore, resume, revert, review, show, status, trust, undo, verify,
};
use context::Context;

/// Let language models build software inside git, under review.
#[derive(Debug, Parser)]
#[command(name = "git-cowork", version)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a session from an idea and run it
    New(new::NewArgs),
    /// Start a change request for a delivered session, on its own branch
    Modify(modify::ModifyArgs),
    /// Address reviewers' comments on a delivered session
    Feedback(feedback::FeedbackArgs),
    /// Continue a session
    Resume(resume::ResumeArgs),
    /// Rewind to before a stage; the abandoned work is kept as an attempt
    Revert(revert::RevertArgs),
    /// Restore an attempt or an archived session
    Restore(restore::RestoreArgs),
    /// Undo the last revert, goto, restore, abort or delete
    Undo,
    /// Review a waiting draft
    Review(review::ReviewArgs),
    /// Show the state of a session and the next step
    Status(SessionArg),
    /// List sessions
    List(list::ListArgs),
    /// Check that history, tags, documents and approvals are consistent
    Verify(verify::VerifyArgs),
    /// Merge a delivered session into its base branch, with its report as the message
    Merge(merge::MergeArgs),
    /// Push a delivered session's branch and open a pull request
    Pr(pr::PrArgs),
    /// Archive a session: hide its branch, delete nothing
    Archive(SessionArg),
    /// Delete a session; its tip is kept as an attempt
    Delete(SessionArg),
    /// List and drop old attempts and drafts
    Prune(prune::PruneArgs),
    /// Show what happened in a session: stages, verdicts, reverts, tokens and cost
    Log(SessionArg),
    /// Print an artifact of a session
    Show(show::ShowArgs),
    /// Write the project's configuration file
    Init(init::InitArgs),
    /// Trust the project's configuration file as it is now
    Trust(trust::TrustArgs),
    /// Called by the git hooks
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// Run the whole pipeline in a temporary repository: no key, no network
    Demo(demo::DemoArgs),
    /// Print shell completions
    Completions(completions::CompletionsArgs),
}

/// Runs the program.
pub fn main() -> ExitCode {
    if let Some(code) = sandbox_helper::run() {
        return code;
    }
    // A shell that completes calls us back, and gets its answer here.
    clap_complete::CompleteEnv::with_factory(Cli::command).var(completions::VARIABLE).complete();
    let args: Vec<OsString> = std::env::args_os().collect();
    // Help says `git cowork`; the command itself keeps its name, which completions are made from.
    let command = help::explained(Cli::command().bin_name("git cowork"));
    let parsed = command.try_get_matches_from(&args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            return usage_error(&error, &args);
        }
    };
    record::arm(
        std::env::var("COWORK_TEST_ABORT_AT").ok().filter(|spec| !spec.is_empty()).as_deref(),
        std::env::var_os("COWORK_TEST_POINTS").filter(|path| !path.is_empty()).map(PathBuf::from),
    );
    terminal::signals::watch();
    let context = Context::new(&cli.global);
    let answer = dispatch(cli, &context);
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            context.ui.error(&error);
            ExitCode::from(kind_of(&error).exit_code())
        }
    }
}

fn dispatch(cli: Cli, context: &Context) -> Answer {
    match cli.command {
        None => overview::run(context),
        Some(Command::New(args)) => new::run(context, args),
        Some(Command::Modify(args)) => modify::run(context, args),
        Some(Command::Feedback(args)) => feedback::run(context, &args),
        Some(Command::Resume(args)) => resume::run(context, args),
        Some(Command::Revert(args)) => revert::run(context, args),
        Some(Command::Restore(args)) => restore::run(context, &args),
        Some(Command::Undo) => undo::run(context),
        Some(Command::Merge(args)) => merge::run(context, &args),
        Some(Command::Pr(args)) => pr::run(context, &args),
        Some(Command::Archive(args)) => archive::run(context, &args),
        Some(Command::Delete(args)) => delete::run(context, &args),
        Some(Command::Prune(args)) => prune::run(context, &args),
        Some(Command::Review(args)) => review::run(context, args),
        Some(Command::Status(args)) => status::run(context, args),
        Some(Command::List(args)) => list::run(context, args),
        Some(Command::Log(args)) => log::run(context, args),
        Some(Command::Verify(args)) => verify::run(context, args),
        Some(Command::Show(args)) => show::run(context, args),
        Some(Command::Init(args)) => init::run(context, &args),
        Some(Command::Trust(args)) => trust::run(context, &args),
        Some(Command::Hook(args)) => hook::run(context, &args),
        Some(Command::Demo(args)) => demo::run(context, args),
        Some(Command::Completions(args)) => completions::run(context, args),
    }
}

/// Help and version are answers, the rest is exit 2. Who asked for JSON gets the error as an
/// event, though the option could not be parsed; else clap prints each where it belongs.
fn usage_error(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let mut options = args.iter().take_while(|arg| *arg != "--");
    if !error.use_stderr() || !options.any(|arg| arg == "--json") {
        let _ = error.print();
        return ExitCode::from(if error.use_stderr() { Kind::Usage.exit_code() } else { 0 });
    }
    let text = error.render().to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let mut said = Error::usage(first.strip_prefix("error: ").unwrap_or(first));
    said.hints = lines.map(str::to_owned).collect();
    let (out, err) = (Box::new(std::io::stdout()), Box::new(std::io::stderr()));
    JsonLines::new(out, err, "").error(&said.into());
    ExitCode::from(Kind::Usage.exit_code())
}

/// Somebody closed our standard output (`git cowork list | head`): a quiet end.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
