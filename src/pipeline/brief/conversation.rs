//! One conversation of one role: its messages, its tools and its transcript.

use crate::agent::{self, Brief, Conversation, Ending, RunTranscript};
use crate::artifact::check::{LONGEST_TITLE, MAX_LEVELS, limit_words};
use crate::artifact::{Artifact, DraftIds, Ledger, Task};
use crate::config::AGENT;
use crate::error::Error;
use crate::event::{Event, Sink};
use crate::model::Model;
use crate::pipeline::brief::continued::{self, GoesOn};
use crate::pipeline::brief::part::{self, Part};
use crate::pipeline::brief::part_files::{self, Known};
use crate::pipeline::brief::sections::{artifacts, artifacts_of_change, context_of, section};
use crate::pipeline::brief::{
    draft_ids, knowledge, open_feedback, reader, repository, typed_notes,
};
use crate::pipeline::evidence::{Evidence, gather, recorded};
use crate::pipeline::files::project_files;
use crate::pipeline::prompts::{
    ACTOR, AGENT_ACTOR, AGENT_SYSTEM, CommandItem, KNOWLEDGE, NO_TOOLS, SYSTEM, Variables,
};
use crate::pipeline::run::{Run, now};
use crate::pipeline::step::Step;
use crate::pipeline::test_changes::tests_rule;
use crate::pipeline::{draft_count, protected_files};
use crate::session::recorded_files;
use crate::stage::{Role, Stage};
use crate::stages::{self, Approves, StageSpec, Work};
use crate::tool::{Context, Numbers};

/// Maximum bytes of the idea or change request.
const ASKED: usize = 24_000;
/// How often a conversation may outgrow the model's context window and be restarted.
const MAX_RESTARTS: u32 = 3;
/// The end of the first message of a restarted conversation.
const RESTARTED: &str = "## You have begun this already

Your conversation outgrew your context window and starts again here. What you did so far is kept: \
it is in the documents and files. Go on from there; read only what you need, in small parts, and do \
not redo what is done.
";

/// Runs one conversation. If it outgrows the model's context window, starts another one from the
/// documents and files written so far. `refusals` counts the guard refusals of the stage's earlier
/// conversations.
pub(crate) async fn converse(
    run: &Run<'_>,
    part: &Part<'_>,
    refusals: u32,
    ending: &mut dyn Ending,
) -> anyhow::Result<Conversation> {
    let player = run.player(part.spec.stage, part.role)?;
    converse_with(run, part, player.model.as_ref(), refusals, ending).await
}

/// Like [`converse`], with this model: the configured one, or one that wraps it.
pub(crate) async fn converse_with(
    run: &Run<'_>,
    part: &Part<'_>,
    model: &dyn Model,
    refusals: u32,
    ending: &mut dyn Ending,
) -> anyhow::Result<Conversation> {
    let mut whole = converse_once(run, part, (model, refusals), 0, ending).await?;
    let mut restarts = 0;
    while whole.outgrown {
        restarts += 1;
        let (stage, role) = (part.spec.stage, part.role);
        if restarts > MAX_RESTARTS {
            return Err(Error::model(format!(
                "the conversation of the {role} in {stage} does not fit into the model's \
                 window, even after {MAX_RESTARTS} restarts"
            ))
            .hint(
                "use a model with a larger window, or, if this model's window is larger than \
                 [llm] context_window, raise that setting",
            )
            .hint(
                "or split the work into smaller parts (shorter documents, smaller tasks); then: \
                 git cowork resume",
            )
            .into());
        }
        run.note(format!(
            "{stage}: the {role}'s context window is full; its conversation restarts from the \
             files written so far"
        ));
        let more = whole.outcome.guard_refusals;
        whole = converse_once(run, part, (model, refusals + more), restarts, ending).await?;
        whole.outcome.guard_refusals += more;
    }
    Ok(whole)
}

async fn converse_once(
    run: &Run<'_>,
    part: &Part<'_>,
    (model, refusals): (&dyn Model, u32),
    restarts: u32,
    ending: &mut dyn Ending,
) -> anyhow::Result<Conversation> {
    let (stage, config) = (part.spec.stage, run.env.config);
    let mut transcript = open_transcript(run, part, restarts == 0);
    let goes_on = match restarts {
        0 => continued::find(run, part, transcript.cut_run_after())?,
        _ => None,
    };
    let settings = run.player(stage, part.role)?.config;
    let works = works_on_files(model, part.role);
    let without_tools = works || settings.provider == AGENT;
    let mut messages = transcript.typed_in_cut_run();
    messages.extend(goes_on.iter().flat_map(|on| on.before.typed()).map(str::to_owned));
    let mut prompt = asked(run, part, goes_on.as_ref(), &messages, restarts)?;
    if goes_on.is_none() && !works && part::drafts(part) {
        // They are the same in every stage, and so come before what the stages are told.
        let rules = run.env.prompts.render(ACTOR, &part.variables)?;
        prompt = format!("{}\n\n{prompt}", rules.trim_end());
    }
    if without_tools {
        let last = if works { AGENT_ACTOR } else { NO_TOOLS };
        prompt += &run.env.prompts.render(last, &part.variables)?;
    }
    let mut documents = continued::Documents::default();
    if let Some(on) = goes_on {
        transcript.go_on_from(on.before);
        documents = on.documents;
    }
    let (tools, offered) = match without_tools {
        // An agent program's files are saved through the tool calls that a model would have made.
        true if works => (part.tools.clone(), Vec::new()),
        true => Default::default(),
        false => part::tools(run, part),
    };
    let command_tools = if without_tools { Vec::new() } else { part::command_tools(run, part) };
    let limits = run.limits();
    let system = if works { AGENT_SYSTEM } else { SYSTEM };
    let brief = Brief {
        session: run.session.name.to_string(),
        stage,
        role: part.role,
        iteration: part.iteration,
        task: part.task.map(|task| task.id.clone()),
        system: run.env.prompts.render(system, &part.variables)?,
        prompt,
        tools,
        offered,
        closing: part.closing.clone(),
        temperature: config.temperature(stage, part.role),
        max_turns: config.limits.tool_turns,
        context_window: settings.context_window,
        first_turn: match part.question {
            // The question's turns are numbered after the draft's, so that no number occurs twice.
            Some(_) => run.env.models.meter.next_turn(stage, part.role, part.iteration),
            None => 1,
        },
        refusals,
    };
    let records = run.known_records()?;
    let committed_files = recorded_files(run.env.git, &run.session)?;
    let keep_ids = |ids: &DraftIds| draft_ids::keep(run, ids);
    let earlier = run.session.earlier(stage);
    let at = now();
    let commands = (run.env.commands)();
    let notes = typed_notes::ForActor { run, part };
    let mut context = Context {
        stage,
        role: part.role,
        iteration: part.iteration,
        task: part.task.map(|task| task.id.as_str()),
        store: run.store(),
        ledger: Ledger { files: &run.files, recorded: &committed_files, history: records.as_ref() },
        workspace: run.env.workspace,
        limits: &limits,
        commands: &commands,
        command_tools: &command_tools,
        numbers: Numbers::new(draft_ids::load(run), &keep_ids),
        new_id: String::new(),
        code: &|| {
            let tree = run.tree().ok()?;
            gather::lay_out(run, &tree).then(|| tree.into())
        },
        coded: &|plan| project_files::tasks_with_code(run, plan, part.task).unwrap_or_default(),
        person: &notes,
        earlier: &earlier,
        now: &at,
        outcome: crate::tool::Outcome::default(),
    };
    let _working = run.env.models.meter.work(run.session.tip.as_str());
    // The answer to a question is shown when it is complete, not while it streams.
    let whole = WithoutText(run.env.sink);
    let sink: &dyn Sink = if part.question.is_some() { &whole } else { run.env.sink };
    let conversation =
        agent::run(model, &brief, &mut context, &mut transcript, ending, &notes, sink).await;
    protected_files::tell_of_user_files(run);
    if conversation.as_ref().is_ok_and(|had| !had.outgrown) {
        continued::note(run, part, transcript.id(), documents)?;
    }
    conversation
}

/// A sink that drops the text of answers while it streams.
struct WithoutText<'a>(&'a dyn Sink);

impl Sink for WithoutText<'_> {
    fn emit(&self, event: Event) {
        if !matches!(event, Event::Text { .. }) {
            self.0.emit(event);
        }
    }
}

/// True if the role is played by an agent program that edits files.
fn works_on_files(model: &dyn Model, role: Role) -> bool {
    matches!(role, Role::Actor | Role::SelfReview) && model.agent().is_some()
}

/// Returns the first message to a role: the session's context and the role's brief. `typed` are the
/// user's notes that its conversation already contains.
fn asked(
    run: &Run<'_>,
    part: &Part<'_>,
    goes_on: Option<&GoesOn>,
    typed: &[String],
    restarts: u32,
) -> anyhow::Result<String> {
    let mut prompt = match goes_on {
        Some(on) => continued::opening(run, part, on)?,
        None => beginning(run, part, restarts)?,
    };
    prompt += &typed_notes::typed_before(run, part, typed)?;
    let brief = part.again.filter(|_| goes_on.is_some()).unwrap_or(part.prompt);
    prompt += &run.env.prompts.render(brief, &part.variables)?;
    if restarts > 0 {
        prompt += RESTARTED;
    }
    Ok(prompt)
}

/// The start of a new conversation, before its brief.
fn beginning(run: &Run<'_>, part: &Part<'_>, restarts: u32) -> anyhow::Result<String> {
    let background = match &part.opening {
        Some(opening) => opening.clone(),
        None => background(run, part)?,
    };
    Ok(match restarts {
        0 => background + &part.extra,
        _ => background + &left_so_far(run, part)?,
    })
}

/// The context that every role gets before its own part. What rarely changes comes first, so that
/// the requests of a session share as long a prefix as possible. A critic or challenger of code
/// gets the documents that contain criteria, the diff and the check results; it can read the rest.
fn background(run: &Run<'_>, part: &Part<'_>) -> anyhow::Result<String> {
    let spec = part.spec;
    let is_reader = matches!(part.role, Role::Critic | Role::Challenger);
    let judges = is_reader && spec.writes_code();
    // The files say nothing of whether requirements are what the idea asks for.
    let of_prd = is_reader && spec.artifacts.contains(&Artifact::Prd);
    let paths = part_files::paths_of(run, part)?;
    let repository = match judges || of_prd {
        true => String::new(),
        false => repository::repository_section(run, spec, &paths)?,
    };
    let mut out = repository.clone();
    if !out.is_empty() {
        out += &repository::own_commands(run);
    }
    if needs_raw_idea(run, spec) {
        let language = run.session.file.language.as_ref();
        let within = language.map(|name| format!(", in {name}")).unwrap_or_default();
        let title = match run.session.is_patch() {
            true => "The change, as requested",
            false => "The idea, as it was given",
        };
        out += &section(&format!("{title}{within}"), &run.session.file.idea, ASKED);
    }
    let mut context = context_of(run, spec);
    if is_reader && run.session.is_patch() && spec.is_before_code() && spec.leaves_records() {
        // A reader of a change gets the request and the difference first, then what they stand in.
        out += &artifacts(run, &[Artifact::ChangeRequest])?;
        out += &reader::change_for_reader(run, spec)?;
        return Ok(out + &artifacts_of_change(run, &context)?);
    }
    // Only change requests have this document.
    context.extend(Some(Artifact::ChangeRequest).filter(|change| !spec.artifacts.contains(change)));
    context.retain(|artifact| !judges || *artifact != Artifact::Design);
    out += &match spec.writes_code() {
        true => artifacts_of_change(run, &context)?,
        false => artifacts(run, &context)?,
    };
    if judges {
        return Ok(out);
    }
    out += &knowledge::known_facts(run, part.task)?;
    out += &repository::code_so_far(run, part.task)?;
    out += &part_files::written_before(run, part.task)?;
    let is_shown = |_: &str, text: &str| repository.contains(text.trim_end());
    let knowledge = Known { files: &is_shown, beside: true };
    out += &part_files::part_files(run, part, &paths, &|one| !one.of_folder, &knowledge)?;
    Ok(out)
}

/// True until the stage that turns the words of the idea into requirements or tasks is passed: its
/// documents say the same, so later requests do without. A change without such a stage is coded
/// from these words.
fn needs_raw_idea(run: &Run<'_>, spec: &StageSpec) -> bool {
    let order = run.session.order();
    let reads = |stage: &&Stage| {
        let row = stages::row(**stage);
        row.leaves_records() || row.writes_code()
    };
    order.iter().find(reads).is_none_or(|first| spec.stage <= *first)
}

/// What a conversation that grew too long has produced: the draft's documents, or the list of
/// written files. A critic or challenger has produced nothing and gets the same input again.
fn left_so_far(run: &Run<'_>, part: &Part<'_>) -> anyhow::Result<String> {
    Ok(match part.role {
        Role::Critic | Role::Challenger => part.extra.clone(),
        Role::Actor | Role::SelfReview if part.spec.work == Work::Whole => {
            artifacts(run, &part.spec.own_artifacts())?
        }
        Role::Actor | Role::SelfReview => {
            let mut paths: Vec<String> = run.env.workspace.written().paths();
            paths.retain(|path| !path.starts_with(".cowork/"));
            section("Files you have written so far", &paths.join("\n"), 2_500)
        }
    })
}

fn open_transcript(run: &Run<'_>, part: &Part<'_>, may_go_on: bool) -> RunTranscript {
    let task = part.task.map(|task| format!(".{}", task.id)).unwrap_or_default();
    let question = part.question.map(|n| format!(".question-{n}")).unwrap_or_default();
    let name = format!("{}.{}.{}{task}{question}", part.spec.stage, part.iteration, part.role);
    // Only a run's first conversations can continue one that was cut off in the previous run.
    let drafts = matches!(part.role, Role::Actor | Role::SelfReview);
    let goes_on = may_go_on && drafts && part.question.is_none() && run.continues_transcript.get();
    let dir = run.env.state.transcripts();
    RunTranscript::new(&dir, &name, run.session.tip.as_str(), goes_on)
}

pub(crate) fn brief_variables(step: &Step<'_, '_>) -> anyhow::Result<Variables> {
    let config = step.run.env.config;
    let patch = step.run.session.is_patch();
    let range = |limits| limit_words(limits, patch);
    let limits = step.run.limits();
    let commands = (step.run.env.commands)();
    Ok(Variables {
        session: step.run.session.name.to_string(),
        iteration: step.draft.iteration,
        iterations: draft_count::allowed(step)?,
        requirements: range(limits.requirements),
        features: range(limits.features),
        components: range(limits.components),
        tasks: range(limits.tasks),
        feedback: open_feedback::open_items(step)?,
        next_ids: draft_ids::next(step.run, step.spec)?,
        saved: match step.spec.document() {
            Some(document) => step.run.store().text(document)?.is_some(),
            None => true,
        },
        levels: MAX_LEVELS,
        longest_title: LONGEST_TITLE,
        patch,
        earlier: step.spec.earlier_document().map_or("", Artifact::file_name),
        last_task: match step.spec.work {
            Work::Tasks { .. } => last_task(step.run)?,
            Work::Whole => String::new(),
        },
        knowledge: step.run.env.prompts.render(KNOWLEDGE, &Variables::default())?.trim().to_owned(),
        summary_wanted: step.run.depth().written_here(stages::last()).is_some(),
        document: step.spec.document().map_or("", Artifact::file_name),
        document_path: document_path(step.run, step.spec),
        tests_rule: tests_rule(config.project.tests).to_owned(),
        guidance: match step.spec.writes_code() {
            true => repository::guidance_text(step.run)?,
            false => String::new(),
        },
        commands: CommandItem { test: commands.test, build: commands.build, lint: commands.lint },
        evidence: step.draft.evidence.as_ref().map(Evidence::describe).unwrap_or_default(),
        failed_before: match step.spec.approves {
            Approves::Tree => recorded::failed_before(step.run)?,
            Approves::Artifacts => String::new(),
        },
        ..Variables::default()
    })
}

/// The path of the file a stage writes; empty if it writes none.
fn document_path(run: &Run<'_>, spec: &StageSpec) -> String {
    let change = || spec.artifacts.iter().copied().find(|own| *own == Artifact::ChangeRequest);
    let document = spec.document().or_else(change);
    document.map(|document| run.path_of(document)).unwrap_or_default()
}

/// The id of the plan's last top-level task; empty if there is none.
fn last_task(run: &Run<'_>) -> anyhow::Result<String> {
    let tasks = run.store().plan()?.tasks;
    let last = tasks.into_iter().rfind(Task::is_top_level);
    Ok(last.map(|task| task.id).unwrap_or_default())
}
