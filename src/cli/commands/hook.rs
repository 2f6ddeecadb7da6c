//! `git cowork hook EVENT`: called by the scripts in `hooks/`. Only `pre-push` may stop the user's
//! command; an error in another hook is only a warning.

use std::io::Read as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::args::Answer;
use crate::cli::commands::verify;
use crate::cli::context::Context;
use crate::cli::remote::upstream;
use crate::cli::session_cmd::lock;
use crate::cli::session_cmd::workspace::with_recorder;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Oid, RefName};
use crate::record;
use crate::session::{RefNames, Session, SessionName, key};

/// The git hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Moment {
    PostRewrite,
    PrepareCommitMsg,
    PrePush,
}

#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Name of the hook
    event: Moment,
    /// Arguments that git passed to the hook
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &HookArgs) -> Answer {
    let done = match args.event {
        Moment::PrePush => return push(context, &args.arguments),
        Moment::PostRewrite => rewritten(context),
        Moment::PrepareCommitMsg => message(context, &args.arguments),
    };
    if let Err(error) = done {
        context
            .ui
            .emit(Event::Warning { text: format!("git-cowork's hook did nothing: {error:#}") });
    }
    Ok(0)
}

/// The session whose branch HEAD is on.
fn here(git: &Git, refs: &RefNames) -> anyhow::Result<Option<Session>> {
    let Some(branch) = git.head()?.branch().cloned() else { return Ok(None) };
    match refs.session_of(branch.as_str()) {
        Some(name) => Session::find(git, refs, &name).map(Some),
        None => Ok(None),
    }
}

/// Adds the missing tags of stage commits, after a rewrite such as a rebase.
fn rewritten(context: &Context) -> anyhow::Result<()> {
    let git = context.git()?;
    let Some(session) = here(git, &context.refs()?)? else { return Ok(()) };
    let held = lock::hold_session(context, &session.name, "git cowork hook")?;
    with_recorder(context, &held, &session.name, &session.tip, |recorder| {
        record::tags::add_missing(recorder, &session).map(|_| ())
    })
}

/// Adds the session's trailers to a user's commit on a session branch. An empty message is not
/// changed, because an empty message aborts the commit.
fn message(context: &Context, arguments: &[String]) -> anyhow::Result<()> {
    let git = context.git()?;
    let Some(file) = arguments.first().map(PathBuf::from) else { return Ok(()) };
    let Some(session) = here(git, &context.refs()?)? else { return Ok(()) };
    let text = std::fs::read_to_string(&file)?;
    let comment = git::settings::get(git, "core.commentChar")?.unwrap_or_else(|| "#".to_owned());
    let blank = |line: &str| line.trim().is_empty() || line.starts_with(&comment);
    if text.lines().all(blank) {
        return Ok(());
    }
    let trailers =
        [(key::SESSION, session.name.as_str()), (key::SESSION_ID, session.file.id.as_str())];
    git::settings::add_trailers(git, &file, &trailers)
}

/// Verifies the session branches that are pushed. Findings stop the push, and so do commits that
/// somebody else has pushed to the same branch.
fn push(context: &Context, arguments: &[String]) -> Answer {
    let (git, refs) = (context.git()?, context.refs()?);
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input)?;
    let pushed: Vec<Pushed> = input.lines().filter_map(|line| Pushed::parse(line, &refs)).collect();
    let remote = arguments.first().map_or("the remote", String::as_str);
    for Pushed { session, tip, theirs } in &pushed {
        if let Some(theirs) = theirs {
            upstream::require_not_over(git, &refs, session, remote, tip, theirs)?;
        }
    }
    let names: Vec<SessionName> = pushed.into_iter().map(|pushed| pushed.session).collect();
    if names.is_empty() {
        return Ok(0);
    }
    verify::before_push(context, &names)
}

/// A session's branch that is being pushed.
struct Pushed {
    session: SessionName,
    tip: Oid,
    /// The tip of the remote branch, if it exists and has the same name.
    theirs: Option<Oid>,
}

impl Pushed {
    /// Parses `<local ref> <local oid> <remote ref> <remote oid>`. A deletion has no local ref; the
    /// remote oid is zero if the remote has no such ref.
    fn parse(line: &str, refs: &RefNames) -> Option<Self> {
        let mut words = line.split(' ');
        let (local, tip) = (RefName::new(words.next()?).ok()?, words.next()?.parse().ok()?);
        let same = words.next()? == local.as_str();
        let theirs: Option<Oid> = words.next()?.trim_end().parse().ok();
        let theirs = theirs.filter(|oid| same && !oid.is_zero());
        Some(Self { session: refs.session_of(local.as_str())?, tip, theirs })
    }
}
