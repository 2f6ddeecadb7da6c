//! `git cowork adopt BRANCH`: turns a branch written by hand into a session whose code is done.

use std::path::PathBuf;

use clap::Args;

use crate::artifact::specs::Drafted;
use crate::artifact::{Base, SCHEMA_VERSION, SessionFile};
use crate::cli::args::{Answer, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::adopted_branch::{self, Adopted};
use crate::cli::session_cmd::new_session::{self, FirstDraft, NewSession};
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::{dependencies, lock, models, preflight, worktree};
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{self, Git, Head, Oid};
use crate::session::{
    RefNames, Session, SessionName, default_branches, name_use, slug, subject_line,
};
use crate::shell_quote::quoted;
use crate::stage::{Depth, Stage};
use crate::{clock, stages};

#[derive(Debug, Args)]
pub(crate) struct AdoptArgs {
    /// Branch to adopt, local or on a remote; it is not moved
    #[arg(value_name = "BRANCH")]
    branch: String,
    /// Session name [default: made from the branch name]
    #[arg(short, long, value_name = "NAME")]
    name: Option<SessionName>,
    /// Adopt the commits that are not in this revision [default: the checked-out branch, or the
    /// default branch]
    #[arg(short, long, value_name = "REV")]
    base: Option<String>,
    /// Work in a linked worktree
    #[arg(short, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<PathBuf>>,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = stage_of_adopted)]
    stop_after: Option<Stage>,
}

/// Parses a stage, which must be one that an adopted session has: a run would never reach any other
/// stage.
fn stage_of_adopted(text: &str) -> Result<Stage, Error> {
    let has: Vec<Stage> = stages::order(Depth::Quick, false, None).collect();
    match parse_stage(text)? {
        stage if !has.contains(&stage) => {
            let names: Vec<&str> = has.iter().map(|stage| stage.name()).collect();
            Err(Error::usage(format!("an adopted session has no stage {stage}"))
                .hint(format!("one of: {}", names.join(", "))))
        }
        stage => Ok(stage),
    }
}

/// The command that is recorded in the lock.
const COMMAND: &str = "git cowork adopt";

/// The branch to adopt.
struct Branch {
    /// The name as the user typed it.
    name: String,
    tip: Oid,
    base: Base,
    work: Adopted,
}

pub(crate) fn run(context: &Context, args: AdoptArgs) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    let branch = branch(git, &refs, &args)?;
    context.mode()?;
    let named = args.name.as_ref().or(context.global.session.as_ref());
    let name = free_name(git, &refs, named, &branch)?;
    let idea = branch.work.idea();
    let title = subject_line(preflight::first_line(&idea));
    preflight::require_room(git, &context.config()?.project, &name, &title)?;
    let linked = worktree::of_new(context, args.worktree.as_ref(), COMMAND)?;
    context.ui.set_session(&name);
    let held = lock::hold_with(context, &name, COMMAND, linked.is_none())?;
    let here = linked.is_none() && dependencies::begins_here(git, &branch.tip)?;
    if here {
        dependencies::require(context, &held, &name, dependencies::AGAIN)?;
    }
    let models = models::open(context)?;
    let in_base = |path: &str| holds(git, &branch.base.commit, path);
    let (plan, origin) = branch.work.plan(&in_base);
    let file = SessionFile {
        schema_version: SCHEMA_VERSION.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        name: name.to_string(),
        title,
        idea,
        depth: Depth::Quick,
        base: branch.base,
        created_at: clock::rfc3339(clock::now()),
        origin: Some(origin),
        ..SessionFile::default()
    };
    let stage = stages::order(Depth::Quick, false, None).next();
    let beginning = NewSession {
        file,
        start: branch.tip,
        artifacts: None,
        from: None,
        says_depth: true,
        draft: stage.map(|stage| FirstDraft { stage, text: plan.text.clone() }),
        worktree: linked,
    };
    let (held, session) = new_session::begin(context, held, &refs, &name, beginning)?;
    context.ui.emit(Event::SessionStarted {
        branch: refs.short_branch(&name),
        resumed: false,
        title: session.file.title.clone(),
    });
    tell(context, &branch.name, &branch.work, &plan);
    if !here {
        let then = dependencies::resume_in(context, &held, &name)?;
        dependencies::require(context, &held, &name, &then)?;
    }
    let extent = Extent { stop_after: args.stop_after, ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}

fn tell(context: &Context, branch: &str, work: &Adopted, plan: &Drafted) {
    let note = |text: String| context.ui.emit(Event::Note { text });
    note(work.note().trim_end_matches('.').to_owned());
    let (tasks, s) = (work.tasks(), if work.tasks() == 1 { "" } else { "s" });
    note(format!(
        "draft 1 of the plan has {tasks} task{s} made from these commits; {branch} is not changed"
    ));
    for one in &plan.left_out {
        context.ui.emit(Event::Warning { text: format!("not in the plan: {one}") });
    }
    match work.left_out {
        0 => {}
        1 => note("1 commit has no task: it is a merge or changes nothing".to_owned()),
        more => note(format!("{more} commits have no task: they are merges or change nothing")),
    }
}

/// Reads the branch to adopt.
fn branch(git: &Git, refs: &RefNames, args: &AdoptArgs) -> anyhow::Result<Branch> {
    let name = args.branch.clone();
    let Some(tip) = git.resolve(&name)? else {
        if let Ok(session) = name.parse::<SessionName>()
            && name_use(git, refs, &session, None)?.is_some()
        {
            return Err(Error::repository(format!("'{name}' is already a session"))
                .hint(format!("continue it: git cowork resume {name}"))
                .into());
        }
        return Err(Error::usage(format!("there is no branch '{name}'"))
            .hint("list the branches: git branch --all")
            .into());
    };
    let full = RefNames::local(&name);
    let sessions = [full.as_str(), &format!("{}{name}", RefNames::REMOTES), &name];
    if let Some(session) = sessions.iter().find_map(|full| refs.session_of_any(full)) {
        return Err(Error::repository(format!("'{name}' is the branch of session {session}"))
            .hint(format!("continue it: git cowork resume {session}"))
            .into());
    }
    let (base, base_tip) = base(git, refs, &full, args.base.as_deref())?;
    let shown = if base.is_empty() { base_tip.abbreviated().to_string() } else { base.clone() };
    let Some(parted) = git::merge::base(git, &base_tip, &tip)? else {
        return Err(Error::repository(format!("'{name}' and {shown} have no common ancestor"))
            .hint("name the revision it started from: --base REV")
            .hint("a shallow clone lacks older commits: git fetch --unshallow")
            .into());
    };
    let commits = git.reader().walk(std::slice::from_ref(&tip), std::slice::from_ref(&base_tip))?;
    if let Some(session) = adopted_branch::session_in(&commits) {
        return Err(Error::repository(format!("'{name}' contains commits of session {session}"))
            .hint(format!("continue it: git cowork resume {session}"))
            .hint(format!(
                "or adopt only the commits on top of it: git cowork adopt {} --base REV",
                quoted(&name)
            ))
            .into());
    }
    let title = title(&name);
    let work = Adopted::read(git, (&name, &title), &tip, commits)?;
    if work.is_empty() {
        return Err(Error::repository(format!(
            "nothing to adopt: '{name}' has no change that is not in {shown}"
        ))
        .hint(format!(
            "compare with another revision: git cowork adopt {} --base REV",
            quoted(&name)
        ))
        .into());
    }
    Ok(Branch { name, tip, base: Base { branch: base, commit: parted.to_string() }, work })
}

/// The base of a branch: its short name (empty if the base is not a branch) and its commit.
fn base(
    git: &Git,
    refs: &RefNames,
    branch: &str,
    asked: Option<&str>,
) -> anyhow::Result<(String, Oid)> {
    if let Some(rev) = asked {
        let Some(oid) = git.resolve(rev)? else {
            return Err(Error::usage(format!("'{rev}' names no commit"))
                .hint("list the branches: git branch --all")
                .into());
        };
        let is_branch = git::refs::branch_exists(git, rev)?;
        return Ok((if is_branch { rev.to_owned() } else { String::new() }, oid));
    }
    if let Head::Branch { name: head, oid } = git.head()?
        && head.as_str() != branch
    {
        let Some(session) = refs.session_of(head.as_str()) else {
            return Ok((head.short().to_owned(), oid));
        };
        // Use that session's base, as for a new session that is started on another session's
        // branch.
        let file = Session::find(git, refs, &session)?.file;
        if let Some(tip) = git.resolve(&RefNames::local(&file.base.branch))? {
            return Ok((file.base.branch, tip));
        }
    }
    for short in default_branches(git) {
        let full = RefNames::local(&short);
        if full != branch
            && let Some(oid) = git.resolve(&full)?
        {
            return Ok((short, oid));
        }
    }
    let branch = branch.strip_prefix(RefNames::BRANCHES).unwrap_or(branch);
    Err(Error::usage(format!("no other branch was found that '{branch}' could have started from"))
        .hint(format!("name its base: git cowork adopt {branch} --base REV"))
        .into())
}

/// The branch's name in words: `todo list` of `origin/feature/todo-list`.
fn title(branch: &str) -> String {
    let last = branch.rsplit('/').next().unwrap_or(branch);
    let words = last.replace(['-', '_'], " ");
    if words.trim().is_empty() { branch.to_owned() } else { words }
}

/// The name that was given, or one made from the branch name. A second session of the same branch
/// needs another name.
fn free_name(
    git: &Git,
    refs: &RefNames,
    named: Option<&SessionName>,
    branch: &Branch,
) -> anyhow::Result<SessionName> {
    let name = named.cloned().unwrap_or_else(|| slug(&title(&branch.name)));
    if name.patch_parts().is_some() {
        return Err(Error::usage(format!("'{name}' is a name for change requests only"))
            .hint("the name of a new session must not contain a double dash")
            .into());
    }
    if let Some(used) = name_use(git, refs, &name, Some(&branch.tip))? {
        return Err(preflight::name_taken(&name, used)
            .hint(format!("or use another name: git cowork adopt {} -n NAME", quoted(&branch.name)))
            .into());
    }
    Ok(name)
}

fn holds(git: &Git, commit: &str, path: &str) -> bool {
    let Ok(commit) = commit.parse::<Oid>() else { return false };
    let found = git.reader().entries(&commit, &[path]);
    found.is_ok_and(|all| all.into_iter().any(|entry| entry.is_some()))
}
