//! What a row of the stage table holds.

use super::input::{CheckInput, Facts, Known};
use crate::artifact::check::Report;
use crate::artifact::{Artifact, FeatureStatus, Scope};
use crate::stage::Stage;

/// A prompt: a Markdown file in `prompts/`, which a user may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// The file's name, under which a user may replace it.
    pub file_name: &'static str,
    /// The text that comes with the program.
    pub built_in: &'static str,
}

/// One role's part in a stage.
#[derive(Debug)]
pub struct RoleSpec {
    /// Its brief.
    pub prompt: Prompt,
    /// The tools it is offered, in groups; calling any other is refused.
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

/// What a person's approval names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approves {
    /// The stage's own artifacts.
    Artifacts,
    /// The whole tree: the stage writes code.
    Tree,
}

/// Which sessions have the stage.
#[derive(Clone, Copy, Debug)]
pub enum Selected {
    /// All.
    Always,
    /// Those that are not change requests.
    NewOnly,
    /// Change requests.
    ChangesOnly,
    /// All new ones, and change requests whose scope names it.
    Scoped(fn(Scope) -> bool),
}

/// In [`StageSpec::issues`]: the issues that no row names.
pub(super) const OTHER_ISSUES: &str = "";

/// What a document is with what the program adds to it.
pub type Finish = fn(&str, &dyn Known) -> anyhow::Result<String>;

/// A document that the program can write by itself.
#[derive(Clone, Copy, Debug)]
pub struct Rendered {
    /// Its text, to which [`StageSpec::finish`] adds.
    pub text: fn(&dyn Known) -> anyhow::Result<String>,
    /// Whether that says all there is to say, so that no model need be asked.
    pub suffices: fn(&dyn Known) -> anyhow::Result<bool>,
}

/// A row.
#[derive(Debug)]
pub struct StageSpec {
    /// Which stage.
    pub stage: Stage,
    /// Which sessions have it.
    pub selected: Selected,
    /// An earlier stage whose document is passed with this one's where nobody passes it before, and
    /// the row that takes the place of this one then.
    pub with_earlier: Option<(Stage, &'static Self)>,
    /// The row in its place where no earlier document holds requirements: this one holds them.
    pub alone: Option<&'static Self>,
    /// Who drafts.
    pub actor: RoleSpec,
    /// The closing act: tools with which its actor ends a first draft, when nothing is missing.
    pub closing: &'static [&'static str],
    /// Who judges, if anybody.
    pub critic: Option<RoleSpec>,
    /// How the actor works.
    pub work: Work,
    /// Earlier artifacts every role of the stage gets, in this order.
    pub context: &'static [Artifact],
    /// The roles are told how the project's languages are written.
    pub guidance: bool,
    /// What the stage leaves, the document a person reads first.
    pub artifacts: &'static [Artifact],
    /// Its actor judges what earlier stages left and changes nothing of it: what it reports counts
    /// as a critic's.
    pub judges: bool,
    /// Before its first draft the checks of all earlier stages run again, and what no longer holds
    /// goes back to where it can be corrected.
    pub rechecks: bool,
    /// Nobody is asked for a draft while the session has changed no code.
    pub needs_code: bool,
    /// The program runs the project's build, tests and lint on this stage's tree.
    pub runs_checks: bool,
    /// What must hold before anybody judges.
    pub check: fn(&CheckInput<'_>) -> Report,
    /// The check must still hold when later stages are done.
    pub check_lasts: bool,
    /// What came out of it, for the subject of its commit: `4 requirements, 3 features`.
    pub subject: fn(&Facts<'_>) -> anyhow::Result<String>,
    /// The names behind the numbers, for the body of its commit, in lines.
    pub names: fn(&Facts<'_>) -> anyhow::Result<String>,
    /// Finishing a draft adds what the program knows to the stage's document: its text before, and
    /// with that.
    pub finish: Option<Finish>,
    /// The document as the program writes it by itself, at a depth where it does.
    pub rendered: Option<Rendered>,
    /// How far a feature is once the draft is finished; the flag says that the project's tests have
    /// passed.
    pub feature_status: fn(FeatureStatus, bool) -> FeatureStatus,
    /// What an approval names.
    pub approves: Approves,
    /// Drafts it may take unless the configuration says otherwise.
    pub iterations: u32,
    /// How freely its actor answers unless the configuration says otherwise.
    pub actor_temperature: f64,
    /// How freely whoever judges answers unless the configuration says otherwise.
    pub critic_temperature: f64,
    /// What a model may call its draft when it asks a person to look at it; empty where it cannot.
    pub called: &'static str,
    /// Issues with which a model goes back to this stage.
    pub issues: &'static [&'static str],
    /// What `resume` does after a draft was aborted.
    pub after_abort: &'static str,
}

/// What most rows have in common: one conversation writes a document, which is checked alone.
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
    guidance: false,
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

    /// True for the stage with whose commit a session is delivered.
    pub fn is_last(&self) -> bool {
        self.stage == super::last()
    }

    /// True for a stage that a session has which is not a change request.
    pub const fn is_in_new(&self) -> bool {
        !matches!(self.selected, Selected::ChangesOnly)
    }

    /// True for a stage that leaves records behind it: requirements, features, components or tasks.
    pub fn leaves_records(&self) -> bool {
        self.artifacts.iter().any(|artifact| artifact.document().is_some())
    }

    /// Whether its actor is offered a tool.
    pub fn offers(&self, tool: &str) -> bool {
        self.actor.tools.iter().any(|group| group.contains(&tool))
    }

    /// The document of an earlier stage that is passed with its own.
    pub fn earlier_document(&self) -> Option<Artifact> {
        let mut documents = self.artifacts.iter().copied().filter(|artifact| !artifact.is_json());
        documents.nth(1)
    }

    /// What of its artifacts its roles get as a draft; the others they have from before.
    pub fn own_artifacts(&self) -> Vec<Artifact> {
        let own = self.artifacts.iter().copied();
        own.filter(|artifact| !self.context.contains(artifact)).collect()
    }

    /// The document a person reads first.
    pub fn document(&self) -> Option<Artifact> {
        self.artifacts.iter().copied().find(|artifact| !artifact.is_json())
    }
}
