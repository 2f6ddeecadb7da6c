//! Running a session: everything `new`, `resume` and `revert` share.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use super::context::Context;
use super::sandbox;
use super::signals::Guard;
use super::trace::{self, Traced, start_log};
use super::{Answer, idea};
use crate::artifact::Base;
use crate::config::{Config, LOOPBACK_SERVERS, ModelConfig};
use crate::error::{Error, Kind, hints_of, kind_of};
use crate::event::{Event, Sink as _};
use crate::gate::{Gate, Mode, NobodyThere, Pagers, TerminalPerson, Tty};
use crate::git::Git;
use crate::interrupt;
use crate::model::meter::{Meter, Metered, Notice};
use crate::model::openai::BuildOptions;
use crate::model::record::{Recorder, Recording};
use crate::model::replay::Replay;
use crate::model::{Model, ModelError, choose, discover};
use crate::moment;
use crate::pipeline::prompts::Prompts;
use crate::pipeline::{Env, Finish, Models, Pipeline};
use crate::record::Tracked;
use crate::session::{RefNames, RunNotes, Session, SessionLock, SessionName, StateDir};
use crate::stage::{Role, Stage};
use crate::stages::row;
use crate::tool::{Person, ProjectCommands};
use crate::verify::own_refs;
use crate::workspace::{Workspace, WorkspaceOptions, detect_commands};

/// A runtime for the one thing that waits: the model and commands.
pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The models of a run, probed, so that nothing is created when nobody can answer.
pub(super) fn models(context: &Context) -> anyhow::Result<Models> {
    let runtime = runtime()?;
    let global = &context.global;
    let meter = Rc::new(Meter::new(context.config()?.budget.clone(), Some(notice(context))));
    let metered =
        |replay: Replay| -> Box<dyn Model> { Box::new(Metered::new(replay, Rc::clone(&meter))) };
    let mut models: BTreeMap<String, Box<dyn Model>> = BTreeMap::new();
    if let Some((source, text)) = context.embedded {
        models.insert("default".to_owned(), metered(Replay::parse(source, text)?));
    } else if let Some(path) = &global.replay {
        models.insert("default".to_owned(), metered(Replay::open(path)?));
    } else {
        let config = context.config()?;
        for name in wanted(config)? {
            let (_, model) = config.model(&name)?;
            let model = resolve(context, &runtime, model)?;
            let built = choose::build(&model, options(context, &meter))?;
            runtime.block_on(unless_interrupted(built.probe()))?.map_err(unreachable(&model))?;
            models.insert(name, built);
        }
    }
    if let Some(path) = &global.record {
        let name = models.values().next().map(|model| model.name().to_owned()).unwrap_or_default();
        let recorder = Recorder::create(path, &name, context.secrets()?)?;
        models = models
            .into_iter()
            .map(|(name, model)| {
                let recording: Box<dyn Model> = Box::new(Recording::new(model, recorder.clone()));
                (name, recording)
            })
            .collect();
    }
    Ok(Models { by_name: models, meter })
}

/// What comes of it, unless somebody asks us to stop first.
async fn unless_interrupted<T>(wanted: impl Future<Output = T>) -> anyhow::Result<T> {
    tokio::select! {
        biased;
        () = interrupt::requested() => Err(Error::new(Kind::Interrupted, "interrupted").into()),
        found = wanted => Ok(found),
    }
}

/// The names of the models that play some role in some stage.
fn wanted(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for stage in Stage::ALL {
        for role in [Role::Actor, Role::Critic, Role::SelfReview] {
            names.insert(config.model_for(stage, role)?.0.to_owned());
        }
    }
    Ok(names)
}

/// Shows a person what happens on the way to a model.
fn notice(context: &Context) -> Notice {
    let ui = Rc::clone(&context.ui);
    Rc::new(move |text: &str| ui.emit(Event::Warning { text: text.to_owned() }))
}

/// Shows a person what is waited for.
fn waiting(context: &Context) -> Notice {
    let ui = Rc::clone(&context.ui);
    Rc::new(move |text: &str| ui.emit(Event::Note { text: text.to_owned() }))
}

fn options(context: &Context, meter: &Rc<Meter>) -> BuildOptions {
    let mut options = BuildOptions {
        no_stream: context.global.no_stream,
        notice: Some(notice(context)),
        waiting: Some(waiting(context)),
        meter: Rc::clone(meter),
        ..BuildOptions::default()
    };
    if let Some(millis) = context.env.get("COWORK_TEST_RETRY_MS").and_then(|ms| ms.parse().ok()) {
        options.retry.base = Duration::from_millis(millis);
    }
    options
}

/// Fills in a base URL from the usual loopback ports where none is configured.
fn resolve(
    context: &Context,
    runtime: &tokio::runtime::Runtime,
    model: &ModelConfig,
) -> anyhow::Result<ModelConfig> {
    let mut model = model.clone();
    if !model.base_url.is_empty() || !matches!(model.provider.as_str(), "openai") {
        return Ok(model);
    }
    let ports = discover::discover(&discover::LOOPBACK_PORTS);
    match runtime.block_on(unless_interrupted(ports))? {
        Some((base_url, name)) => {
            let text = format!("using {name} at {base_url}");
            context.ui.emit(Event::Note { text });
            model.base_url = base_url;
            if !context.loaded()?.origins.contains_key("llm.model") {
                model.model = name;
            }
            Ok(model)
        }
        None => {
            let servers: Vec<&str> = LOOPBACK_SERVERS.iter().map(|(name, _)| *name).collect();
            Err(Error::model("no model is configured, and none answers on this machine")
                .hint(format!("start a local server ({}) and try again", servers.join(", ")))
                .hint("or set a key: export OPENAI_API_KEY=… (or COWORK_LLM_BASE_URL=… for another server)")
                .hint("or see it work without any: git cowork demo")
                .into())
        }
    }
}

fn unreachable(model: &ModelConfig) -> impl Fn(ModelError) -> anyhow::Error + '_ {
    |error| {
        let mut error = Error::model(error.to_string());
        error = error.hint(format!("check that {} is right and the server runs", model.base_url));
        error.hint("or see it work without a model: git cowork demo").into()
    }
}

/// How far a run goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Extent {
    /// Stop after this stage.
    pub stop_after: Option<Stage>,
    /// First go back to before this stage.
    pub go_back_to: Option<Stage>,
    /// Why, for whoever does that stage again.
    pub reason: Option<String>,
    /// Only go back.
    pub no_run: bool,
    /// First take reviewers' comments on what was delivered.
    pub comments: Option<String>,
}

/// Everything of a session that is held while it runs.
pub(super) struct Held {
    /// The repository; the next run waits for its children.
    pub git: Git,
    /// J of the session.
    pub state: StateDir,
    /// Says that this process is the session's run.
    pub lock: SessionLock,
    _guard: Guard,
}

/// Takes the session's lock and clears what a killed process left behind: one of this session, or of
/// another that nobody runs now, for all share the index of a working tree.
pub(super) fn hold(context: &Context, name: &SessionName, command: &str) -> anyhow::Result<Held> {
    let git = context.git()?;
    let state = StateDir::open(&git.state_dir(), name)?;
    let lock = SessionLock::take(&state.lock(), name, command)?;
    for other in StateDir::left_unfinished(&git.state_dir()).iter().filter(|other| *other != name) {
        let state = StateDir::at(&git.state_dir(), other);
        let Ok(_lock) = SessionLock::take(&state.lock(), other, command) else { continue };
        if let Err(error) = with_children(context, git, &state, other) {
            context.ui.emit(Event::Warning { text: format!("session {other}: {error:#}") });
        }
    }
    let git = with_children(context, git, &state, name)?;
    // From now on a signal is a request: the write in hand is finished.
    Ok(Held { git, state, lock, _guard: Guard::new() })
}

/// The repository as this session's commands use it.
fn with_children(
    context: &Context,
    git: &Git,
    state: &StateDir,
    name: &SessionName,
) -> anyhow::Result<Git> {
    let own = own_refs(&context.refs()?, name);
    let say = |text: &str| context.ui.emit(Event::Note { text: text.to_owned() });
    git.with_children_in(&state.git_children(), &own, &say)
}

/// The working tree as tools of this session may use it.
pub(super) fn workspace(
    context: &Context,
    held: &Held,
    name: &SessionName,
) -> anyhow::Result<Workspace> {
    let config = context.config()?;
    let workspace = Workspace::open(WorkspaceOptions {
        root: held.git.top().to_owned(),
        state_dir: held.state.path().to_owned(),
        artifact_dirs: vec![name.artifact_dir(), name.record_dir()],
        timeout_s: config.limits.command_timeout_s,
        timeout_max_s: config.limits.command_timeout_max_s,
        command_prefix: config.sandbox.command_prefix.clone(),
        confinement: sandbox::confinement(context, &held.git)?,
        secrets: context.secrets()?,
        tracking: Some(Rc::new(Tracked(held.git.clone()))),
        env: context.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
    })?;
    workspace.protect(held.state.protected()?.into_iter().map(|entry| entry.path));
    Ok(workspace)
}

/// The project's commands: what is configured, else what is detected.
fn commands(config: &Config, git: &Git) -> ProjectCommands {
    let found = detect_commands(git.top(), &config.project.template);
    let pick = |configured: &str, detected: String| {
        if configured.is_empty() { detected } else { configured.to_owned() }
    };
    ProjectCommands {
        test: pick(&config.project.test, found.test),
        build: pick(&config.project.build, found.build),
        lint: pick(&config.project.lint, found.lint),
    }
}

/// Calls `with` with a pipeline for the session, wired to this terminal.
pub(super) fn with_pipeline<T>(
    context: &Context,
    held: &Held,
    models: &Models,
    mode: Mode,
    session: Session,
    with: impl FnOnce(&mut Pipeline<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = context.config()?;
    let refs = RefNames::new(&config.project.branch_prefix);
    let workspace = workspace(context, held, &session.name)?;
    let prompts = Prompts { folder: context.prompt_folder() };
    let commands = || {
        if context.without_commands {
            ProjectCommands::default()
        } else {
            commands(config, &held.git)
        }
    };
    let ui = Rc::clone(&context.ui);
    let tty = Tty::new(context.color).before(move || ui.clear());
    let notify = &config.review.notify;
    let notes = RunNotes::new(&held.state, &held.lock, session.next_stage());
    let call = |message: &str| {
        notes.waits();
        trace::call(&context.ui, notify, held.git.top(), message);
    };
    let person: Box<dyn Person + '_> = if context.attended {
        Box::new(TerminalPerson { terminal: &tty, call: &call })
    } else {
        Box::new(NobodyThere)
    };
    start_log(&held.state, &context.secrets()?, context.global.verbose)?;
    models.meter.open(&held.state.ledger(&session.file.id), session.spent(&held.git)?)?;
    let sink = Traced::new(context, held, &session.name, (mode, &notes), &call)?;
    let scratch = held.state.path().to_owned();
    let tools = if mode == Mode::Ask || context.attended {
        let mut editor = idea::editor(context)?;
        held.git.top().clone_into(&mut editor.cwd);
        Some((editor, Pagers { text: held.git.pager()?, diff: held.git.diff_pager()? }))
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
    });
    let env = Env {
        git: &held.git,
        refs: &refs,
        config,
        models,
        workspace: &workspace,
        state: &held.state,
        prompts: &prompts,
        commands: &commands,
        sink: &sink,
        person: person.as_ref(),
        gate,
        mode,
        stop_after: None,
    };
    // Whoever reads the log later did not see the terminal.
    with(&mut Pipeline::new(env, session)).inspect_err(|error| {
        tracing::error!("{error:#}");
        hints_of(error).iter().for_each(|hint| tracing::error!("hint: {hint}"));
    })
}

/// Runs a session to the end of its extent and answers with the exit code.
pub(super) fn run_session(
    context: &Context,
    held: &Held,
    models: &Models,
    session: Session,
    extent: Extent,
) -> Answer {
    let mode = context.mode()?;
    let name = session.name.clone();
    let base = session.file.base.clone();
    let is_patch = session.is_patch();
    let finish = with_pipeline(context, held, models, mode, session, |pipeline| {
        pipeline.stop_after(extent.stop_after);
        if let Some(stage) = extent.go_back_to {
            pipeline.rewind(stage, extent.reason.as_deref().unwrap_or_default())?;
            if extent.no_run {
                return Ok(Finish::Stopped(stage));
            }
        }
        if let Some(comments) = &extent.comments {
            pipeline.reopen(comments)?;
        }
        let outcome = runtime()?.block_on(async {
            tokio::select! {
                biased;
                () = interrupt::requested() => None,
                finish = moment::watched(pipeline.run()) => Some(finish),
                () = tick(context) => None,
            }
        });
        let finish = outcome.unwrap_or_else(|| {
            context.ui.clear();
            if let Err(error) = pipeline.stop_cleanly() {
                let text = format!("the draft could not be kept: {error:#}");
                context.ui.emit(Event::Warning { text });
            }
            interrupt::check().map(|()| Finish::Completed)
        });
        let troubles = pipeline.troubles();
        if !troubles.is_empty() {
            context.ui.clear();
            let text = format!("skipped in this run: {}", troubles.join("; "));
            context.ui.emit(Event::Warning { text });
        }
        finish.map_err(|error| interrupted(error, pipeline.kept(), &name))
    })?;
    context.ui.clear();
    match finish {
        Finish::Completed => {
            let text = format!("{name} is delivered; look at it: git cowork show {name} report");
            context.ui.emit(Event::Note { text });
            Ok(0)
        }
        Finish::Stopped(_) => Ok(0),
        Finish::Waiting { stage, why } => {
            let say = |text: String| context.ui.emit(Event::Note { text });
            if let Some(why) = why {
                say(format!("{stage} waits for a person: {why}"));
            }
            let read = match stage {
                stage if row(stage).writes_code() => {
                    format!("git diff {}...HEAD -- . ':!.cowork'", base_of(&base))
                }
                stage if is_patch && row(stage).has_both_sides() => {
                    format!("git diff {}...HEAD -- .cowork", base_of(&base))
                }
                _ => format!("git cowork show {name} {stage}"),
            };
            say(format!("read it: {read}"));
            say(format!(
                "answer: git cowork review {name} --pass (or --edit, --feedback TEXT, --abort)"
            ));
            say(format!("then: git cowork resume {name}"));
            Ok(Kind::Waiting.exit_code())
        }
    }
}

/// Whatever else went wrong while we were asked to stop: it was an interruption, and this is what
/// is kept.
fn interrupted(error: anyhow::Error, kept: Option<String>, name: &SessionName) -> anyhow::Error {
    let asked = interrupt::is_requested();
    if !asked && kind_of(&error) != Kind::Interrupted {
        return error;
    }
    let kept = kept.unwrap_or_else(|| "what was finished is recorded".to_owned());
    let mut message = format!("interrupted; {kept}");
    if kind_of(&error) != Kind::Interrupted {
        message = format!("{message} (on the way: {error:#})");
    }
    Error::new(Kind::Interrupted, message)
        .hint(format!("continue: git cowork resume {name}"))
        .into()
}

fn base_of(base: &Base) -> &str {
    if base.branch.is_empty() { &base.commit } else { &base.branch }
}

/// Keeps the clock of the live status line going; never ends.
async fn tick(context: &Context) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        context.ui.tick();
    }
}

/// For commands that ask no model.
pub(super) fn no_models() -> Models {
    Models { by_name: BTreeMap::new(), meter: Rc::default() }
}
