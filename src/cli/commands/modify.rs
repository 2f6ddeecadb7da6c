//! `git cowork modify`: starts a change request for a completed session, on its own branch.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::artifact::{SCHEMA_VERSION, SessionFile, SessionKind};
use crate::cli::args::{Answer, depth_choice, parse_stage};
use crate::cli::context::Context;
use crate::cli::demo_recording::{self, ChangeReplay};
use crate::cli::remote::upstream;
use crate::cli::session_cmd::first_request::{self, Work};
use crate::cli::session_cmd::new_session::{self, NewSession};
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::{dependencies, lock, models, preflight, text_input, worktree};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{Git, Head, Oid};
use crate::session::{ChangeBase, RefNames, SessionName, change_base, changeable, subject_line};
use crate::stage::{Depth, Stage};
use crate::stages::DepthChoice;

#[derive(Debug, Args)]
pub(crate) struct ModifyArgs {
    /// What to change
    #[arg(value_name = "CHANGE")]
    change: Vec<String>,
    /// Read the change from a file, or from standard input with -
    #[arg(short = 'F', long, value_name = "FILE|-", conflicts_with = "change")]
    file: Option<PathBuf>,
    /// Name of the change [default: chosen by the model]; its session is named SESSION--NAME
    #[arg(short, long, value_name = "NAME")]
    name: Option<SessionName>,
    /// Session to change (same as --session)
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    project: Option<SessionName>,
    /// Work in a linked worktree
    #[arg(short, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<PathBuf>>,
    /// How much process: quick, standard, thorough, or auto (depends on the result of triage)
    /// [default: the configured depth, or auto]
    #[arg(long, value_name = "DEPTH", value_parser = depth_choice())]
    depth: Option<DepthChoice>,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = parse_stage)]
    stop_after: Option<Stage>,
    /// Only print what would be started
    #[arg(long)]
    dry_run: bool,
}

/// The command that is recorded in the lock.
const COMMAND: &str = "git cowork modify";

pub(crate) fn run(context: &Context, args: ModifyArgs) -> Answer {
    let writes = text_input::opens_editor(context, &args.change, args.file.as_deref());
    text_input::keeping(context, writes, ("change", COMMAND), start(context, args, writes))
}

/// Starts a change request and runs it; `writes` if the change is written in the editor.
fn start(context: &Context, args: ModifyArgs, writes: bool) -> Answer {
    let git = context.git()?;
    let replay = ChangeReplay::begin(git, &args.change)?;
    if replay.is_some() {
        context.ui.emit(Event::Note { text: demo_recording::NOTE.to_owned() });
    }
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    // Nobody writes a change for nothing.
    let opened = writes.then(|| models::open(context)).transpose()?;
    if writes {
        parent(context, git, &refs, args.project.as_ref())?;
    }
    let change = text_input::text(context, &args.change, args.file.as_deref(), "change")?;
    context.mode()?;
    let parent = parent(context, git, &refs, args.project.as_ref())?;
    upstream::fetch_missing(context, git, &refs, &parent)?;
    upstream::require_not_behind(git, &refs, &parent)?;
    let ChangeBase { parent: found, base, start, artifacts } = change_base(git, &refs, &parent)?;
    let named = args.name.as_ref().map(|name| parent.change(name)).transpose()?;
    let line = preflight::first_line(&change);
    let own_name = free_name(git, &refs, &parent, named.as_ref(), line, &start)?;
    preflight::require_room(git, &context.config()?.project, &own_name, line)?;
    if args.dry_run {
        let name = (&own_name, named.is_some());
        return say_what_would_be(context, &parent, name, (base.branch.as_str(), &start));
    }
    let linked = worktree::of_new(context, args.worktree.as_ref(), COMMAND)?;
    if let Some(named) = &named {
        context.ui.set_session(named);
    }
    let held = lock::hold_with(context, &own_name, COMMAND, linked.is_none())?;
    let here = linked.is_none() && dependencies::begins_here(git, &start)?;
    if here {
        dependencies::require(context, &held, &own_name, dependencies::AGAIN)?;
    }
    let models = opened.map_or_else(|| models::open(context), Ok)?;
    let work = Work { idea: &change, named: named.as_ref(), parent: Some(&parent) };
    let first = first_request::ask(context, &models, &work)?;
    let name = match first_request::words(&first) {
        Some(words) => free_name(git, &refs, &parent, named.as_ref(), words, &start)?,
        None => own_name.clone(),
    };
    let held = first_request::hold_as(context, held, &own_name, &name, COMMAND)?;
    let from = point(&base.branch, &start);
    let text = format!("a change to {parent}, from {from}");
    context.ui.emit(Event::Note { text });
    if let Some((from, _)) = &artifacts {
        let text = format!("its documents come from {from}, because none were merged");
        context.ui.emit(Event::Note { text });
    }
    let artifacts = artifacts.map(|(_, commit)| commit);
    let choice = args.depth.unwrap_or(context.config()?.project.depth);
    let file = SessionFile {
        schema_version: SCHEMA_VERSION.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        name: name.to_string(),
        kind: SessionKind::Patch,
        title: subject_line(first.title.as_deref().unwrap_or(preflight::first_line(&change))),
        idea: change,
        language: first.language,
        depth: choice.fixed().unwrap_or(Depth::Standard),
        base,
        parent: Some(found),
        created_at: clock::rfc3339(clock::now()),
        ..SessionFile::default()
    };
    let says_depth = args.depth.is_some_and(|choice| choice.fixed().is_some());
    let (from, draft) = (None, None);
    let beginning =
        NewSession { file, start, artifacts, from, says_depth, draft, worktree: linked };
    let (held, session) = new_session::begin(context, held, &refs, &name, beginning)?;
    if let Some(replay) = replay {
        replay.started();
    }
    text_input::sent(git, "change", &session.file.idea);
    let (branch, title) = (refs.short_branch(&name), session.file.title.clone());
    context.ui.emit(Event::SessionStarted { branch, resumed: false, title });
    if !here {
        let then = dependencies::resume_in(context, &held, &name)?;
        dependencies::require(context, &held, &name, &then)?;
    }
    let extent = Extent { stop_after: args.stop_after, ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}

/// The branch a change starts from, or the commit if there is no branch.
fn point<'a>(branch: &'a str, start: &'a Oid) -> &'a str {
    if branch.is_empty() { start.short() } else { branch }
}

fn say_what_would_be(
    context: &Context,
    parent: &SessionName,
    (name, is_fixed): (&SessionName, bool),
    (branch, start): (&str, &Oid),
) -> Answer {
    let mut out = format!("Changes  {parent}, from {}", point(branch, start));
    if !branch.is_empty() {
        let _ = write!(out, " at {}", start.short());
    }
    let named = if is_fixed { "" } else { ", or a name the model chooses" };
    let _ = write!(out, "\nBranch   {}{named}\n", context.refs()?.short_branch(name));
    context.print(&out)?;
    let text = "nothing was started: this was a dry run; no model was asked";
    context.ui.emit(Event::Note { text: text.to_owned() });
    Ok(0)
}

/// The session to change: the named one, or the session of the current branch, or the newest
/// completed session, which is printed.
fn parent(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    named: Option<&SessionName>,
) -> anyhow::Result<SessionName> {
    if let Some(named) = named.or(context.global.session.as_ref()) {
        return Ok(named.clone());
    }
    if let Head::Branch { name, .. } = git.head()?
        && let Some(session) = refs.session_of(name.as_str())
    {
        return Ok(session);
    }
    let Some(name) = changeable(git, refs)?.into_iter().next() else {
        return Err(Error::repository("there is no completed session here to change")
            .hint("start one: git cowork new \"what you want built\"")
            .hint("or name it: git cowork modify --session S \"what is to change\"")
            .into());
    };
    context.ui.emit(Event::Note { text: format!("session {name}, the newest completed one") });
    Ok(name)
}

/// The name that was given, or a free one made from `words`.
fn free_name(
    git: &Git,
    refs: &RefNames,
    parent: &SessionName,
    named: Option<&SessionName>,
    words: &str,
    start: &Oid,
) -> anyhow::Result<SessionName> {
    if let Some(name) = named {
        preflight::require_free(git, refs, name, Some(start))?;
        return Ok(name.clone());
    }
    preflight::first_free(git, refs, &parent.change_named_after(words)?, Some(start))
}
