//! The type of a row in the stage table.

use super::input::{CheckInput, Facts, Known};
use crate::artifact::check::Report;
use crate::artifact::{Artifact, FeatureStatus, Scope};
use crate::stage::Stage;

/// A prompt: a Markdown file in `prompts/` that the user may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The name of the file, and of the user's replacement.
    pub file_name: &'static str,
    /// The built-in text.
    pub built_in: &'static str,
}

/// One role's part in a stage.
#[derive(Debug)]
pub struct RoleSpec {
    /// Its brief.
    pub prompt: Prompt,
    /// The tools it may call, in groups; other calls are refused.
    pub tools: &'static [&'static [&'static str]],
}

impl RoleSpec {
    /// The names of its tools.
    pub fn tools(&self) -> Vec<&'static str> {
        self.tools.concat()
    }
}

/// How the actor works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One conversation makes the whole draft.
    Whole,
    /// The first draft is one conversation and one commit for each task of the plan; later drafts
    /// are one conversation of corrections with this brief.
    Tasks {
        /// Brief of a correction.
        correction: Prompt,
        /// Brief of a change request that needs no plan.
        change: Prompt,
    },
}

/// The content that a person's approval covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approves {
    /// The stage's own artifacts.
    Artifacts,
    /// The whole tree: the stage writes code.
    Tree,
}

/// The sessions that have the stage.
#[derive(Clone, Copy, Debug)]
pub enum Selected {
    /// All sessions.
    Always,
    /// Sessions that are not change requests.
    NewOnly,
    /// Change requests.
    ChangesOnly,
    /// All new sessions, and change requests whose scope names the stage.
    Scoped(fn(Scope) -> bool),
}

/// Adds git-cowork's parts to a document's text.
pub type Finish = fn(&str, &dyn Known) -> anyhow::Result<String>;

/// A document that git-cowork can write without a model.
#[derive(Clone, Copy, Debug)]
pub struct Rendered {
    /// Its text, to which [`StageSpec::finish`] adds.
    pub text: fn(&dyn Known) -> anyhow::Result<String>,
    /// True if this text is complete, so that no model has to be asked.
    pub suffices: fn(&dyn Known) -> anyhow::Result<bool>,
}

/// A row of the stage table.
#[derive(Debug)]
pub struct StageSpec {
    /// The stage.
    pub stage: Stage,
    /// The sessions that have it.
    pub selected: Selected,
    /// An earlier stage whose document is reviewed together with this one's if that earlier stage
    /// has no gate of its own, and the row that then replaces this one.
    pub with_earlier: Option<(Stage, &'static Self)>,
    /// The row that replaces this one if no earlier document contains requirements: this document
    /// then contains them.
    pub alone: Option<&'static Self>,
    /// The role that drafts.
    pub actor: RoleSpec,
    /// The tools that end a first draft when nothing is missing.
    pub closing: &'static [&'static str],
    /// The role that judges, if any.
    pub critic: Option<RoleSpec>,
    /// How the actor works.
    pub work: Work,
    /// Earlier artifacts that every role of the stage gets, in this order.
    pub context: &'static [Artifact],
    /// The artifacts the stage writes; the first is the document a person reads.
    pub artifacts: &'static [Artifact],
    /// Whether its actor judges the results of earlier stages without changing them: its feedback
    /// counts as a critic's.
    pub judges: bool,
    /// Whether the checks of all earlier stages run again before its first draft, and failures go
    /// back to the stage that can fix them.
    pub rechecks: bool,
    /// Whether the stage fails without asking a model if the session has changed no code.
    pub needs_code: bool,
    /// Whether the project's build, tests and lint run on this stage's tree.
    pub runs_checks: bool,
    /// The checks that must pass before anybody judges the draft.
    pub check: fn(&CheckInput<'_>) -> Report,
    /// Whether the checks must still pass when later stages are done.
    pub check_lasts: bool,
    /// The result for the subject of its commit: `4 requirements, 3 features`.
    pub subject: fn(&Facts<'_>) -> anyhow::Result<String>,
    /// The names of the records, as lines for the body of its commit.
    pub names: fn(&Facts<'_>) -> anyhow::Result<String>,
    /// Adds git-cowork's parts to the stage's document when a draft is finished.
    pub finish: Option<Finish>,
    /// The document as git-cowork writes it, at depths that allow this.
    pub rendered: Option<Rendered>,
    /// The status of a feature after the draft; the flag means that the project's tests have
    /// passed.
    pub feature_status: fn(FeatureStatus, bool) -> FeatureStatus,
    /// The content that an approval covers.
    pub approves: Approves,
    /// The maximum number of drafts, unless the configuration says otherwise.
    pub iterations: u32,
    /// The actor's temperature, unless the configuration says otherwise.
    pub actor_temperature: f64,
    /// The critic's temperature, unless the configuration says otherwise.
    pub critic_temperature: f64,
    /// The name a model uses to ask for a person's review of this draft; empty if it cannot ask.
    pub called: &'static str,
    /// Issues for which a model goes back to this stage.
    pub issues: &'static [&'static str],
    /// What `resume` does after a draft was aborted.
    pub after_abort: &'static str,
}

/// The defaults of most rows: one conversation writes a document, and only that document
/// is checked.
pub(super) const USUAL: StageSpec = StageSpec {
    stage: Stage::ALL[0],
    selected: Selected::Always,
    with_earlier: None,
    alone: None,
    actor: RoleSpec { prompt: Prompt { file_name: "", built_in: "" }, tools: &[] },
    closing: &[],
    critic: None,
    work: Work::Whole,
    context: &[],
    artifacts: &[],
    judges: false,
    rechecks: false,
    needs_code: false,
    runs_checks: false,
    check: |_| Report::default(),
    check_lasts: false,
    subject: |_| Ok(String::new()),
    names: |_| Ok(String::new()),
    finish: None,
    rendered: None,
    feature_status: |status, _| status,
    approves: Approves::Artifacts,
    iterations: 3,
    actor_temperature: 0.7,
    critic_temperature: 0.3,
    called: "",
    issues: &[],
    after_abort: "starts the stage again",
};

impl StageSpec {
    /// True for the stage that writes the code.
    pub fn writes_code(&self) -> bool {
        self.approves == Approves::Tree
    }

    /// True for a stage that comes before the code is written.
    pub fn is_before_code(&self) -> bool {
        self.stage < super::code_stage()
    }

    /// True for the stage whose commit delivers a session.
    pub fn is_last(&self) -> bool {
        self.stage == super::last()
    }

    /// True for a stage of sessions that are not change requests.
    pub const fn is_in_new(&self) -> bool {
        !matches!(self.selected, Selected::ChangesOnly)
    }

    /// True for a stage that writes records: requirements, features, components or tasks.
    pub fn leaves_records(&self) -> bool {
        self.artifacts.iter().any(|artifact| artifact.document().is_some())
    }

    /// True if its actor has a tool.
    pub fn offers(&self, tool: &str) -> bool {
        self.actor.tools.iter().any(|group| group.contains(&tool))
    }

    /// The document of an earlier stage that is reviewed together with this one's.
    pub fn earlier_document(&self) -> Option<Artifact> {
        let mut documents = self.artifacts.iter().copied().filter(|artifact| !artifact.is_json());
        documents.nth(1)
    }

    /// The artifacts that make up the draft; its roles get the others as context.
    pub fn own_artifacts(&self) -> Vec<Artifact> {
        let own = self.artifacts.iter().copied();
        own.filter(|artifact| !self.context.contains(artifact)).collect()
    }

    /// The document a person reads first.
    pub fn document(&self) -> Option<Artifact> {
        self.artifacts.iter().copied().find(|artifact| !artifact.is_json())
    }
}

pub(super) const READ_FILES: &[&str] = &["list_files", "read_file", "search_files"];

/// Tools that read the session's results, for stages that look back on it.
pub(super) const READ_SESSION: &[&str] = &[
    "get_requirements",
    "get_design",
    "get_plan",
    "load_idea",
    "load_prd_doc",
    "load_design_doc",
    "load_plan_doc",
    "load_feedback_history",
];

/// The role that gives a second opinion, in any stage: it reads, and gives its verdict in prose.
pub const CHALLENGER: RoleSpec =
    RoleSpec { prompt: prompt!("challenger.md"), tools: &[READ_FILES, READ_SESSION] };

/// The tools with which a critic gives its verdict.
pub const VERDICT: &[&str] = &["provide_feedback", "exit_loop"];

/// The tools with which a critic asks for an earlier stage or a person instead.
pub(super) const ESCALATE: &[&str] = &["request_replanning", "goto_stage", "request_human_review"];
