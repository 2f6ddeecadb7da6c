//! The command line: parses it and runs the command; `commands/X.rs` is `git cowork X`.
//!
//! Only this module reads the environment and uses terminals; it passes resolved values to the
//! other modules.

mod args;
mod bash;
mod commands;
mod complete;
mod context;
mod demo_recording;
mod doctor;
mod guides;
mod help;
mod overview;
mod remote;
mod runner;
mod sandbox_helper;
mod session_cmd;
mod suggest;
mod terminal;
mod usage;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::error::kind_of;
use crate::record;
use crate::ui::stdout_columns;
use args::{Answer, Global, SessionArg};
use commands::review::ReviewArgs;
use commands::{
    adopt, archive, completions, config, delete, demo, diff, feedback, hook, init, list, log, man,
    merge, models, modify, new, pr, prune, restore, resume, revert, review, show, status, trace,
    trust, undo, verify, watch, why,
};
use context::{Context, Uses};

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
    /// Turn a branch written by hand into a session: review, check and deliver it
    ///
    /// The branch and its commits are not changed: the session's commits go on top of them, on the
    /// session's own branch. git-cowork drafts the plan from the commits, without a model: each
    /// commit becomes a task, fixup! commits belong to the commit they fix, merges are left out.
    /// You review that plan like any other. Then the code is checked, reviewed and delivered as if
    /// the session had written it. The model works only on tasks that none of these commits
    /// has done.
    Adopt(adopt::AdoptArgs),
    /// Address reviewers' comments on a delivered session
    Feedback(feedback::FeedbackArgs),
    /// Continue a session
    #[command(alias = "continue")]
    Resume(resume::ResumeArgs),
    /// Rewind to before a stage; the abandoned work is kept as an attempt
    Revert(revert::RevertArgs),
    /// Restore an attempt or an archived session
    ///
    /// An attempt is the earlier tip of a session's branch, kept when a command (revert,
    /// --goto-stage, restore, abort or delete) moved or removed the branch. git cowork log lists
    /// the attempts of a session with their numbers.
    Restore(restore::RestoreArgs),
    /// Undo the last revert, --goto-stage, restore, abort or delete
    Undo(undo::UndoArgs),
    /// Review a waiting draft
    Review(review::ReviewArgs),
    /// Pass the waiting draft, as review --pass does
    #[command(hide = true)]
    Approve(SessionArg),
    /// Abort the waiting draft, as review --abort does
    #[command(hide = true)]
    Abort(SessionArg),
    /// Show the state of a session and the next step
    #[command(alias = "st")]
    Status(SessionArg),
    /// List sessions
    #[command(alias = "ls")]
    List(list::ListArgs),
    /// Show what a session changed, against its base
    Diff(diff::DiffArgs),
    /// Check that history, tags, documents and approvals are consistent
    Verify(verify::VerifyArgs),
    /// Merge a delivered session into its base branch, with its report as the message
    Merge(merge::MergeArgs),
    /// Push a delivered session's branch and open a pull request
    Pr(pr::PrArgs),
    /// Archive a session: hide its branch, delete nothing
    Archive(SessionArg),
    /// Delete a session; its tip is kept as an attempt
    Delete(delete::DeleteArgs),
    /// List and drop old attempts and drafts
    Prune(prune::PruneArgs),
    /// Show what happened in a session: stages, verdicts, reverts, tokens and cost
    Log(log::LogArgs),
    /// Follow a run from another terminal
    ///
    /// Prints the last steps, then each new step and the progress of the run, until the run ends.
    /// On a terminal you can also answer here: pass the draft at a gate or give feedback, choose
    /// from the menu of a stage that cannot continue, answer questions about your files, and accept
    /// or reject proposed facts. The first answer counts, whether given here or at the run's own
    /// terminal.
    Watch(SessionArg),
    /// Print an artifact of a session
    Show(show::ShowArgs),
    /// Explain why a line exists: its commit, task, feature, requirement and idea, and who passed
    /// it
    ///
    /// Follows lines like git blame -w -C: over moves, copies and changes of white space, and into
    /// the commits of a squash merge if they still exist. Also tells
    /// whether only the session is known, whether a person or a hook wrote the line, or whether it
    /// is older than all sessions.
    ///
    /// Without LINE, explains the file by ranges of lines, then counts the lines of each
    /// requirement. With --session, reads the file at that session's tip, otherwise in the working
    /// tree.
    Why(why::WhyArgs),
    /// Trace requirements to the features, tasks, commits and lines that implement them
    ///
    /// Shows the lines that still exist: in the checked-out commit if that commit contains the
    /// session, otherwise at the session's tip. A requirement that no line implements is listed
    /// with the reason why. With ID, traces one requirement, feature, component or task.
    Trace(trace::TraceArgs),
    /// List the models that the configured servers offer, and those that run on this machine
    Models,
    /// List all settings with their values and where they come from
    ///
    /// API keys are shown as "(set)". Of two numbers in [limits], only the second is a limit; the
    /// first is advice to the model. Settings in the project's file that you have not accepted
    /// with git cowork trust are listed as ignored. Outside a repository, only settings that apply
    /// to all repositories are listed.
    Config(config::ConfigArgs),
    /// Check everything sessions need, and say how to fix what is missing
    ///
    /// Sends one small request to each model server and checks that you are signed in to the forge;
    /// waits at most 10 s for each. Changes nothing. On a terminal, offers to run the project's
    /// tests inside and outside the sandbox and to compare the results; without a terminal, use
    /// --compare.
    ///
    /// Exits with 4 if there is a problem, otherwise with 0, even if there are warnings.
    Doctor(commands::doctor::DoctorArgs),
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
    /// Show or install the manual pages
    Man(man::ManArgs),
}

impl Command {
    /// What the command does with the repository.
    fn uses(&self) -> Uses {
        match self {
            Self::Diff(_)
            | Self::List(_)
            | Self::Log(_)
            | Self::Show(_)
            | Self::Status(_)
            | Self::Trace(_)
            | Self::Why(_) => Uses::History,
            Self::Verify(args) if !args.fix => Uses::History,
            Self::New(_)
            | Self::Modify(_)
            | Self::Adopt(_)
            | Self::Feedback(_)
            | Self::Resume(_)
            | Self::Revert(_)
            | Self::Restore(_)
            | Self::Undo(_)
            | Self::Merge(_)
            | Self::Archive(_)
            | Self::Delete(_)
            | Self::Review(_)
            | Self::Approve(_)
            | Self::Abort(_) => Uses::Commits,
            _ => Uses::Files,
        }
    }
}

/// Runs the program.
pub fn main() -> ExitCode {
    if let Some(code) = sandbox_helper::run() {
        return code;
    }
    terminal::signals::watch_panics();
    #[cfg(target_env = "gnu")]
    keep_freed_memory();
    // A shell's completion script runs this program again; that run prints candidates and exits
    // here.
    let completed = || complete::completed(Cli::command());
    let completion = clap_complete::CompleteEnv::with_factory(completed);
    completion.var(completions::VARIABLE).shells(completions::SHELLS).complete();
    let args: Vec<OsString> = std::env::args_os().collect();
    let mut command = command();
    let parsed = command.try_get_matches_from_mut(&args);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&command, &error, &args),
    };
    let test = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let point = |name: &str| test(name).and_then(|spec| spec.into_string().ok());
    record::arm(
        point("COWORK_TEST_ABORT_AT").as_deref(),
        point("COWORK_TEST_PANIC_AT").as_deref(),
        test("COWORK_TEST_POINTS").map(PathBuf::from),
    );
    terminal::signals::watch();
    let mut context = Context::new(&cli.global);
    context.uses = cli.command.as_ref().map_or(Uses::History, Command::uses);
    if !matches!(cli.command, Some(Command::Hook(_) | Command::Completions(_))) {
        context.choose_colors();
    }
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

/// The command line, named `git cowork` so that its help shows that name. Completions need the name
/// `git-cowork`.
fn command() -> clap::Command {
    let screen = std::io::stdout().is_terminal().then(stdout_columns);
    help::explained(Cli::command().bin_name("git cowork"), man::is_installed(), screen)
}

fn dispatch(cli: Cli, context: &Context) -> Answer {
    match cli.command {
        None => overview::run(context),
        Some(Command::New(args)) => new::run(context, args),
        Some(Command::Modify(args)) => modify::run(context, args),
        Some(Command::Adopt(args)) => adopt::run(context, args),
        Some(Command::Feedback(args)) => feedback::run(context, &args),
        Some(Command::Resume(args)) => resume::run(context, args),
        Some(Command::Revert(args)) => revert::run(context, args),
        Some(Command::Restore(args)) => restore::run(context, &args),
        Some(Command::Undo(args)) => undo::run(context, &args),
        Some(Command::Merge(args)) => merge::run(context, &args),
        Some(Command::Pr(args)) => pr::run(context, &args),
        Some(Command::Archive(args)) => archive::run(context, &args),
        Some(Command::Delete(args)) => delete::run(context, &args),
        Some(Command::Prune(args)) => prune::run(context, &args),
        Some(Command::Review(args)) => review::run(context, args),
        Some(Command::Approve(args)) => review::run(context, ReviewArgs::pass(args)),
        Some(Command::Abort(args)) => review::run(context, ReviewArgs::abort(args)),
        Some(Command::Status(args)) => status::run(context, args),
        Some(Command::List(args)) => list::run(context, args),
        Some(Command::Log(args)) => log::run(context, args),
        Some(Command::Watch(args)) => watch::run(context, args),
        Some(Command::Diff(args)) => diff::run(context, &args),
        Some(Command::Verify(args)) => verify::run(context, args),
        Some(Command::Show(args)) => show::run(context, args),
        Some(Command::Why(args)) => why::run(context, &args),
        Some(Command::Trace(args)) => trace::run(context, &args),
        Some(Command::Models) => models::run(context),
        Some(Command::Config(args)) => config::run(context, &args),
        Some(Command::Doctor(args)) => commands::doctor::run(context, &args),
        Some(Command::Init(args)) => init::run(context, &args),
        Some(Command::Trust(args)) => trust::run(context, &args),
        Some(Command::Hook(args)) => hook::run(context, &args),
        Some(Command::Demo(args)) => demo::run(context, args),
        Some(Command::Completions(args)) => completions::run(context, args),
        Some(Command::Man(args)) => man::run(context, &args, Cli::command()),
    }
}

/// Makes glibc's allocator keep up to 2 MiB of freed memory. It returns to the kernel what exceeds
/// a limit (mallopt(3), `M_TRIM_THRESHOLD`): 128 KiB by default, or twice the largest block that
/// was mapped separately and then freed. Zlib asks for more than 128 KiB for each object that is
/// written, and the kernel would have to provide the same pages again each time.
#[cfg(target_env = "gnu")]
fn keep_freed_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(1024 * 1024)));
}

/// True if the reader closed standard output (`git cowork list | head`), which is not an error.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
