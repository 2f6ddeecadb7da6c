//! `git cowork new`: starts a session from an idea.

use std::path::PathBuf;

use clap::Args;

use crate::agent::FirstAnswer;
use crate::artifact::specs::{Choice, Specified};
use crate::artifact::{Artifact, Base, SCHEMA_VERSION, SessionFile};
use crate::cli::args::{Answer, depth_choice, parse_stage};
use crate::cli::context::Context;
use crate::cli::session_cmd::choose_depth::{self, ChosenBy};
use crate::cli::session_cmd::first_request::{self, Work};
use crate::cli::session_cmd::new_session::{self, FirstDraft, NewSession};
use crate::cli::session_cmd::run::{self, Extent};
use crate::cli::session_cmd::spec_folder::{Given, SpecFolder};
use crate::cli::session_cmd::{dependencies, lock, models, preflight, text_input, worktree};
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate::{Tty, confirm};
use crate::git::{self, Git, Head, Oid};
use crate::session::{
    Inheritance, RefNames, Session, SessionName, StageOf, artifact_path, merged, slug, subject_line,
};
use crate::stage::{Depth, Stage};
use crate::stages::{DepthChoice, TABLE, row};

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// What to build
    #[arg(value_name = "IDEA")]
    idea: Vec<String>,
    /// Read the idea from a file, from standard input with -, from a folder with a few Markdown files,
    /// or from specifications of spec-kit, OpenSpec, Kiro, Task Master, Backlog.md or BMAD, whose
    /// requirements and tasks become the draft of the plan
    #[arg(short = 'F', long, value_name = "FILE|DIR|-", conflicts_with = "idea")]
    file: Option<PathBuf>,
    /// With -F and Task Master's tasks.json: the tag whose tasks are read [default: the current tag]
    #[arg(long, value_name = "TAG", requires = "file", conflicts_with = "idea")]
    tag: Option<String>,
    /// With -F and a folder of Backlog.md: the task that is read, such as TASK-1
    #[arg(long, value_name = "ID", requires = "file", conflicts_with = "idea")]
    task: Option<String>,
    /// Session name [default: chosen by the model]
    #[arg(short, long, visible_alias = "project", value_name = "NAME")]
    name: Option<SessionName>,
    /// Start from this revision instead of HEAD
    #[arg(short, long, value_name = "REV")]
    base: Option<String>,
    /// Start from a completed stage of another session (idea to plan): copy the session's artifacts
    /// and continue with the next stage
    #[arg(long, value_name = "S@STAGE")]
    from: Option<StageOf>,
    /// Work in a linked worktree
    #[arg(short, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    worktree: Option<Option<PathBuf>>,
    /// How much process: quick (one document and the code), standard (all documents, few stops),
    /// thorough (all documents, each by itself, a stop at each stage up to coding), auto (depends on
    /// the idea) [default: the configured depth, or auto]
    #[arg(long, value_name = "DEPTH", value_parser = depth_choice())]
    depth: Option<DepthChoice>,
    /// Stop after this stage
    #[arg(long, value_name = "STAGE", value_parser = stage_of_new)]
    stop_after: Option<Stage>,
}

impl NewArgs {
    /// The demo's arguments.
    pub(crate) fn for_demo(idea: &str, name: &str) -> Self {
        Self {
            idea: vec![idea.to_owned()],
            file: None,
            tag: None,
            task: None,
            name: name.parse().ok(),
            base: None,
            from: None,
            worktree: None,
            depth: Some(DepthChoice::Thorough),
            stop_after: None,
        }
    }
}

/// Parses a stage, which must be one that a new session has: a run would never reach any other
/// stage.
fn stage_of_new(text: &str) -> Result<Stage, Error> {
    match parse_stage(text)? {
        stage if !row(stage).is_in_new() => {
            Err(Error::usage(format!("only a change request has the stage {stage}"))
                .hint("start one: git cowork modify \"what is to change\""))
        }
        stage => Ok(stage),
    }
}

/// The command that is recorded in the lock.
const COMMAND: &str = "git cowork new";

pub(crate) fn run(context: &Context, args: NewArgs) -> Answer {
    let writes = text_input::opens_editor(context, &args.idea, args.file.as_deref());
    text_input::keeping(context, writes, ("idea", COMMAND), start(context, args, writes))
}

/// Starts a session and runs it; `writes` if its idea is written in the editor.
fn start(context: &Context, args: NewArgs, writes: bool) -> Answer {
    let git = context.git()?;
    let refs = context.refs()?;
    preflight::check(git, &refs)?;
    // Nobody writes an idea for nothing.
    if let (true, Some(rev)) = (writes, args.base.as_deref()) {
        base(context, git, &refs, Some(rev))?;
    }
    let opened = writes.then(|| models::open(context)).transpose()?;
    let origin = Start::parse(context, git, &refs, &args)?;
    context.mode()?;
    let named = args.name.as_ref().or(context.global.session.as_ref());
    let words = origin.words();
    let beginning = || match &origin.from {
        Some(from) if args.base.is_none() => base_of(git, from),
        _ => base(context, git, &refs, args.base.as_deref()),
    };
    // If HEAD is unborn, its first commit is created only after all other checks.
    let unborn = matches!(git.head()?, Head::Unborn { .. });
    let found = if unborn { None } else { Some(beginning()?) };
    let begins_at = found.as_ref().map(|(_, start)| start);
    let own_name = free_name(git, &refs, named, words, begins_at)?;
    preflight::require_room(git, &context.config()?.project, &own_name, words)?;
    let linked = worktree::of_new(context, args.worktree.as_ref(), COMMAND)?;
    if let Some(named) = named {
        context.ui.set_session(named);
    }
    let held = lock::hold_with(context, &own_name, COMMAND, linked.is_none())?;
    let here = linked.is_none()
        && begins_at.map_or(Ok(true), |start| dependencies::begins_here(git, start))?;
    if here {
        dependencies::require(context, &held, &own_name, dependencies::AGAIN)?;
    }
    let depth = |suggested| {
        let (idea, from, stop_after) = (&origin.idea[..], origin.from.as_ref(), args.stop_after);
        let planned = origin.specs.as_ref().is_some_and(|(_, specified)| specified.open > 0);
        let work = ChosenBy { idea, start: begins_at, from, planned, stop_after, suggested };
        choose_depth::choose(git, context.config()?, args.depth, &work)
    };
    // Report contradicting options before any model request.
    depth(None)?;
    let models = opened.map_or_else(|| models::open(context), Ok)?;
    choose_depth::tell_costs(context, git, &refs, &models)?;
    let first = match &origin.specs {
        // No request is needed: the folder already has a name and a title.
        Some(_) => FirstAnswer::default(),
        None => {
            first_request::ask(context, &models, &Work { idea: &origin.idea, named, parent: None })?
        }
    };
    let name = match first_request::words(&first) {
        Some(words) => free_name(git, &refs, named, words, begins_at)?,
        None => own_name.clone(),
    };
    let held = first_request::hold_as(context, held, &own_name, &name, COMMAND)?;
    let chosen = depth(first.depth.map(|depth| (depth, first.reason.clone())))?;
    let (base, start) = found.map_or_else(beginning, Ok)?;
    let artifacts = match (&origin.from, &args.from) {
        (Some(from), Some(of)) => Some(artifacts(git, from, of, &name, &start)?),
        _ => None,
    };
    // Only the depth `quick` can use the folder's plan: other depths have documents that the folder
    // does not contain.
    let specs = origin.specs.as_ref();
    let plan = specs
        .filter(|_| chosen.depth == Depth::Quick)
        .map(|(folder, specified)| folder.begun(git, &start, specified));
    let (begun, drafted) = plan.unzip();
    let file = SessionFile {
        origin: begun.as_ref().map(|begun| begun.origin.clone()),
        schema_version: SCHEMA_VERSION.to_owned(),
        id: uuid::Uuid::now_v7().to_string(),
        name: name.to_string(),
        title: subject_line(&first.title.unwrap_or(origin.title)),
        idea: origin.idea,
        language: first.language,
        depth: chosen.depth,
        base,
        created_at: clock::rfc3339(clock::now()),
        ..SessionFile::default()
    };
    let draft = begun.map(|begun| FirstDraft { stage: Stage::Plan, text: begun.plan });
    let beginning = NewSession {
        file,
        start,
        artifacts,
        from: origin.from,
        says_depth: true,
        draft,
        worktree: linked,
    };
    let (held, session) = new_session::begin(context, held, &refs, &name, beginning)?;
    text_input::sent(git, "idea", &session.file.idea);
    let (branch, title) = (refs.short_branch(&name), session.file.title.clone());
    context.ui.emit(Event::SessionStarted { branch, resumed: false, title });
    choose_depth::tell(context, &session, &chosen);
    if let Some((folder, specified)) = specs {
        folder.tell(context, specified, chosen.depth, drafted.as_ref());
    }
    if !here {
        let then = dependencies::resume_in(context, &held, &name)?;
        dependencies::require(context, &held, &name, &then)?;
    }
    let extent = Extent { stop_after: args.stop_after, ..Extent::default() };
    run::run_session(context, &held, &models, session, extent)
}

/// What a session starts from: an idea in words or in a file, a folder of specifications, or a stage of
/// another session.
struct Start {
    idea: String,
    title: String,
    /// The folder, and what its specifications say.
    specs: Option<(SpecFolder, Specified)>,
    /// The stage of another session.
    from: Option<Inheritance>,
}

impl Start {
    fn parse(
        context: &Context,
        git: &Git,
        refs: &RefNames,
        args: &NewArgs,
    ) -> anyhow::Result<Self> {
        let from = args.from.as_ref().map(|from| Inheritance::read(git, refs, from)).transpose()?;
        let choice = Choice { tag: args.tag.as_deref(), task: args.task.as_deref() };
        let file = args.file.as_deref();
        let input = file.map(|path| Given::at(context, path, choice)).transpose()?.flatten();
        let (idea, title, specs) = match (input, &from) {
            (Some(Given::Specs(_)), Some(_)) => {
                let message = "a session starts from a folder or from a stage, not from both";
                return Err(Error::usage(message)
                    .hint("leave out --from, or give the idea as a file")
                    .into());
            }
            (Some(Given::Specs(folder)), None) => {
                // File names without a folder are looked up in the start commit.
                let start = git.resolve(args.base.as_deref().unwrap_or("HEAD"))?;
                let specified = folder.specified(git, start.as_ref())?;
                (folder.idea(&specified), specified.title.clone(), Some((*folder, specified)))
            }
            (None, Some(from)) if args.idea.is_empty() && file.is_none() => {
                (from.idea.clone(), from.title.clone(), None)
            }
            (input, _) => {
                let idea = match input {
                    Some(Given::Idea(idea)) => idea,
                    _ => text_input::text(context, &args.idea, file, "idea")?,
                };
                let title = preflight::first_line(&idea).to_owned();
                (idea, title, None)
            }
        };
        Ok(Self { idea, title, specs, from })
    }

    /// The words that the session is named after.
    fn words(&self) -> &str {
        match &self.specs {
            Some((_, specified)) => &specified.words,
            None => preflight::first_line(&self.idea),
        }
    }
}

/// The base of the other session from which this session starts, and the base's commit.
fn base_of(git: &Git, from: &Inheritance) -> anyhow::Result<(Base, Oid)> {
    let commit = &from.base.commit;
    let Some(start) = git.resolve(commit)? else {
        return Err(Error::repository(format!(
            "the commit that the --from session started from is missing: {commit}"
        ))
        .hint("fetch it: git fetch --unshallow")
        .hint("or start from another commit: -b REV")
        .into());
    };
    Ok((from.base.clone(), start))
}

/// The tree of `start` with copies of the artifacts that a stage of another session had.
fn artifacts(
    git: &Git,
    from: &Inheritance,
    of: &StageOf,
    name: &SessionName,
    start: &Oid,
) -> anyhow::Result<Oid> {
    let stages = TABLE.iter().filter(|row| row.is_in_new() && row.stage <= of.stage);
    let artifacts = stages.flat_map(|row| row.artifacts).chain([&Artifact::Feedback]);
    let mut files = Vec::new();
    for artifact in artifacts {
        let there = artifact_path(&of.session, *artifact);
        let blob = git::snapshot::blob_id(git, &from.commit, &there)?;
        files.extend(blob.map(|blob| (artifact_path(name, *artifact), blob)));
    }
    git::snapshot::tree_with(git, start, &files)
}

/// The name that was given, or a free one made from `words`.
fn free_name(
    git: &Git,
    refs: &RefNames,
    named: Option<&SessionName>,
    words: &str,
    start: Option<&Oid>,
) -> anyhow::Result<SessionName> {
    if let Some(name) = named {
        if name.patch_parts().is_some() {
            return Err(Error::usage(format!("'{name}' is a name for change requests only"))
                .hint("the name of a new session must not contain a double dash")
                .into());
        }
        preflight::require_free(git, refs, name, start)?;
        return Ok(name.clone());
    }
    preflight::first_free(git, refs, &slug(words), start)
}

/// The base for `session.json`, and the commit that the session starts from.
fn base(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    asked: Option<&str>,
) -> anyhow::Result<(Base, Oid)> {
    let (branch, start) = match (asked, git.head()?) {
        (Some(rev), _) => {
            let Some(start) = git.resolve(rev)? else {
                return Err(Error::usage(format!("'{rev}' names no commit"))
                    .hint("list the branches: git branch --all")
                    .into());
            };
            let branch =
                if git::refs::branch_exists(git, rev)? { rev.to_owned() } else { String::new() };
            (branch, start)
        }
        (None, Head::Unborn { branch }) => {
            let root = git::commit::create_root(git, "Start of the repository\n")?;
            context.ui.emit(Event::Note {
                text: format!("{} had no commit yet; made an empty one", branch.short()),
            });
            (branch.short().to_owned(), root)
        }
        (None, Head::Detached { oid }) => (String::new(), oid),
        (None, Head::Branch { name: branch, oid }) => match refs.session_of(branch.as_str()) {
            // On another session's branch, a new session starts from the same base as that session,
            // unless the user wants to build on what it has delivered.
            Some(other) => {
                let session = Session::find(git, refs, &other)?;
                if stacks(context, git, refs, &session)? {
                    let start = session.tip;
                    let branch = branch.short().to_owned();
                    return Ok((Base { branch, commit: start.to_string() }, start));
                }
                let file = session.file;
                let tip = git.resolve(&RefNames::local(&file.base.branch))?;
                let commit = match tip {
                    Some(tip) => tip,
                    None => file.base.commit.parse()?,
                };
                (file.base.branch, commit)
            }
            None => (branch.short().to_owned(), oid),
        },
    };
    Ok((Base { branch, commit: start.to_string() }, start))
}

/// True if the user wants the new session to start from the branch of this one, which is delivered
/// and not merged. Without a terminal, a note names the command for it.
fn stacks(
    context: &Context,
    git: &Git,
    refs: &RefNames,
    session: &Session,
) -> anyhow::Result<bool> {
    if !session.is_completed() || merged(git, refs, session)?.is_some() {
        return Ok(false);
    }
    let (name, branch) = (&session.name, refs.short_branch(&session.name));
    let without = format!("{name} is delivered and not merged");
    let base = match session.file.base.branch.as_str() {
        "" => "its base",
        base => base,
    };
    if context.attended() {
        context.ui.clear();
        let question = format!("{without}: start from {branch} instead of {base}?");
        return confirm(&Tty::new(context.color), &question);
    }
    let text = format!(
        "{without}: this session starts from {base}; to build on it, start it with -b {branch}"
    );
    context.ui.emit(Event::Note { text });
    Ok(false)
}
