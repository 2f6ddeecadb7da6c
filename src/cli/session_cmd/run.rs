//! Runs a session: the code that `new`, `resume` and `revert` share.

use std::rc::Rc;
use std::sync::Arc;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::demo_recording;
use crate::cli::session_cmd::asking::unless_interrupted;
use crate::cli::session_cmd::event_log::{self, EventLog, start_log};
use crate::cli::session_cmd::lock::LockedSession;
use crate::cli::session_cmd::other_models::Others;
use crate::cli::session_cmd::typed::{self, BeforeGate, FromElsewhere};
use crate::cli::session_cmd::{text_input, workspace};
use crate::cli::terminal::runtime;
use crate::config::Config;
use crate::error::{Error, Kind, hints_of, kind_of};
use crate::gate::{Gate, Guide, Mode, NobodyThere, Pagers, TerminalPerson, Tty};
use crate::git::{self, Git};
use crate::interrupt;
use crate::languages::detect_commands;
use crate::moment::{self, TreeCache};
use crate::pipeline::prompts::Prompts;
use crate::pipeline::{Env, Finish, Models, OtherModels, Pipeline};
use crate::session::{RefNames, RunGates, RunNotes, Session, SessionName, TypedNotes};
use crate::stage::{Depth, Stage};
use crate::tool::{Person, ProjectCommands};
use crate::ui::markdown;

/// How far a run goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extent {
    /// Stop after this stage.
    pub stop_after: Option<Stage>,
    /// First raise the depth of the session.
    pub raise: Option<Depth>,
    /// First rewind to before this stage.
    pub go_back_to: Option<Stage>,
    /// The reason for the rewind, which the actor of that stage gets.
    pub reason: Option<String>,
    /// Only rewind.
    pub no_run: bool,
    /// First reopen the delivered session with these comments of reviewers.
    pub comments: Option<String>,
}

/// The project's commands: the configured ones, or else those that are detected.
pub(crate) fn commands(config: &Config, git: &Git) -> ProjectCommands {
    let detection = detect_commands(git.top(), &config.project.template);
    let pick = |configured: &str, detected: String| {
        if configured.is_empty() { detected } else { configured.to_owned() }
    };
    ProjectCommands {
        test: pick(&config.project.test, detection.test),
        build: pick(&config.project.build, detection.build),
        lint: pick(&config.project.lint, detection.lint),
    }
}

/// Calls `with` with a pipeline for the session, wired to this terminal.
pub(crate) fn with_pipeline<T>(
    context: &Context,
    held: &LockedSession,
    models: &Models,
    mode: Mode,
    session: Session,
    with: impl FnOnce(&mut Pipeline<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = context.config()?;
    let refs = RefNames::new(&config.project.branch_prefix);
    let workspace = workspace::open(context, held, &session.name)?;
    let prompts = Prompts { folder: context.prompt_folder() };
    let cache: TreeCache<(), ProjectCommands> = TreeCache::default();
    let demo = demo_recording::kept(&held.git);
    let detect = || -> anyhow::Result<ProjectCommands> { Ok(commands(config, &held.git)) };
    let commands = || cache.or_find((), detect).unwrap_or_default();
    let ui = Rc::clone(&context.ui);
    let tty = Tty::new(context.color).before(move || ui.clear());
    let notify = &config.review.notify;
    let notes = RunNotes::new(&held.state, &held.lock, session.next_stage());
    let gates = RunGates::new(&held.state, &held.lock);
    let elsewhere = FromElsewhere(&gates);
    let guide = demo.map(|_| Guide::default());
    let typed_notes = Arc::new(TypedNotes::open(&held.state, &session.file.id));
    let untold = BeforeGate(&typed_notes);
    let call = |message: &str| {
        notes.waits();
        event_log::call(&context.ui, notify, held.git.top(), message);
    };
    let person: Box<dyn Person + '_> = if context.attended() {
        Box::new(TerminalPerson { terminal: &tty, call: &call })
    } else {
        Box::new(NobodyThere)
    };
    start_log(&held.state, &context.secrets()?, context.global.verbose)?;
    let spent = session.spent(&held.git)?;
    let ledger = held.state.ledger(&session.file.id);
    models.meter.open(&ledger, spent, session.tip.as_str())?;
    let sink = EventLog::new(context, held, &session.name, (mode, &notes), &call)?;
    let scratch = held.state.path().to_owned();
    let tools = if mode == Mode::Ask || context.attended() {
        let mut editor = text_input::editor(context)?;
        held.git.top().clone_into(&mut editor.cwd);
        Some((
            editor,
            Pagers {
                text: git::settings::pager(&held.git)?,
                diff: git::settings::diff_pager(&held.git)?,
                layout: Some(markdown),
            },
        ))
    } else {
        None
    };
    let gate = tools.as_ref().map(|(editor, pagers)| Gate {
        terminal: &tty,
        editor,
        pagers,
        comment_prefix: &config.review.comment_prefix,
        scratch: &scratch,
        call: &call,
        elsewhere: &elsewhere,
        guide: guide.as_ref(),
        untold: &untold,
    });
    let others = Others::new(context, models);
    let env = Env {
        git: &held.git,
        refs: &refs,
        config,
        models,
        others: others.as_ref().map(|others| others as &dyn OtherModels),
        workspace: &workspace,
        state: &held.state,
        gates: &gates,
        typed: &typed_notes,
        prompts: &prompts,
        commands: &commands,
        sink: &sink,
        person: person.as_ref(),
        gate,
        mode,
        stop_after: None,
    };
    // Also log the error: a person who reads the log later has not seen the terminal.
    with(&mut Pipeline::new(env, session)).inspect_err(|error| {
        tracing::error!("{error:#}");
        hints_of(error).iter().for_each(|hint| tracing::error!("hint: {hint}"));
    })
}

/// Runs a session to the end of its extent and returns the exit code.
pub(crate) fn run_session(
    context: &Context,
    held: &LockedSession,
    models: &Models,
    session: Session,
    extent: Extent,
) -> Answer {
    let mode = context.mode()?;
    let name = session.name.clone();
    let finish = with_pipeline(context, held, models, mode, session, |pipeline| {
        pipeline.stop_after(extent.stop_after);
        if let Some(depth) = extent.raise {
            pipeline.raise(depth)?;
        }
        if let Some(stage) = extent.go_back_to {
            pipeline.rewind(stage, extent.reason.as_deref().unwrap_or_default())?;
            if extent.no_run {
                return Ok(Finish::Stopped(stage));
            }
        }
        if let Some(comments) = &extent.comments {
            pipeline.reopen(comments)?;
        }
        let listening = typed::listen(context, pipeline.typed())?;
        let running = moment::watched(pipeline.run());
        let running = unless_interrupted(context, Some(&models.meter), running);
        let finish = runtime::current_thread()?.block_on(running).unwrap_or_else(|_| {
            if let Err(error) = pipeline.stop_cleanly() {
                context.warn(format!("the draft could not be saved: {error:#}"));
            }
            interrupt::check().map(|()| Finish::Completed)
        });
        listening.ends(matches!(finish, Ok(Finish::Completed)));
        let troubles = pipeline.troubles();
        if !troubles.is_empty() {
            context.ui.clear();
            context.warn(format!("skipped in this run: {}", troubles.join("; ")));
        }
        finish.map_err(|error| interrupted(error, pipeline.kept(), &name))
    })?;
    context.ui.clear();
    if matches!(finish, Finish::Completed) {
        demo_recording::forget(&held.git);
    }
    match finish {
        // The terminal's live display has already shown the end.
        Finish::Completed if context.ui.tells_end() => Ok(0),
        Finish::Completed => {
            context.note(format!("{name} is delivered; look at it: git cowork show {name} report"));
            Ok(0)
        }
        Finish::Stopped(_) => Ok(0),
        Finish::Waiting { stage, why, answers } => {
            let why = why.map(|why| format!("{stage} waits for a person: {why}"));
            for text in why.into_iter().chain(answers) {
                context.note(text);
            }
            Ok(Kind::Waiting.exit_code())
        }
    }
}

/// If a stop was requested, converts any error into an interruption, with a message that says what
/// was saved.
fn interrupted(error: anyhow::Error, kept: Option<String>, name: &SessionName) -> anyhow::Error {
    let stops = interrupt::is_requested();
    if !stops && kind_of(&error) != Kind::Interrupted {
        return error;
    }
    let work = kept.unwrap_or_else(|| "finished work is recorded".to_owned());
    let mut message = format!("interrupted; {work}");
    if kind_of(&error) != Kind::Interrupted {
        message = format!("{message} (error while stopping: {error:#})");
    }
    Error::new(Kind::Interrupted, message)
        .hint(format!("continue: git cowork resume {name}"))
        .into()
}
