//! The data for a delivery report, read from records and the session's commits.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::knowledge::Proposal;
use crate::artifact::{
    BY_HAND, Feature, FeatureStatus, Feedback, Origin, Plan, Requirement, Severity, Store, Task,
};
use crate::git::{self, DiffStyle};
use crate::pipeline::checks::not_covered;
use crate::pipeline::evidence::recorded;
use crate::pipeline::files::project_files;
use crate::pipeline::report::change::{self, ChangeStory};
use crate::pipeline::report::markdown::{TITLE, cell};
use crate::pipeline::run::Run;
use crate::pipeline::{commit_message, protected_files, test_changes};
use crate::record;
use crate::session::{
    Attempt, Kind, RefNames, adopted, approval_of, attempts, key, reviewer_of, start_of_code,
};
use crate::stages::{self, code_stage};

/// Maximum characters of the text about one repository that was created in the working tree.
const MADE_MAX: usize = 240;

/// The data for the sections; in a change request only the records it worked on.
#[derive(Default)]
pub(super) struct Story {
    pub(super) session: String,
    pub(super) size: Size,
    pub(super) requirements: Vec<Requirement>,
    /// The number of other requirements, and of their criteria.
    pub(super) untouched: (usize, usize),
    pub(super) features: Vec<Feature>,
    /// The status of features after the check stage, by id.
    pub(super) checked: BTreeMap<String, FeatureStatus>,
    pub(super) tasks: Vec<Task>,
    /// The features each task works on, directly or in a sub-task.
    pub(super) works_on: BTreeMap<String, Vec<String>>,
    /// The files that each task's commits changed, outside `.cowork`.
    pub(super) done: BTreeMap<String, Vec<String>>,
    /// The tasks that needed no change.
    pub(super) unchanged: BTreeSet<String>,
    /// The files that coding changed outside of tasks.
    pub(super) beside: Vec<String>,
    /// The data of a change request.
    pub(super) change: Option<ChangeStory>,
    /// What the actor says about each correction of a task, or of the whole code, and about
    /// reviewers' comments.
    pub(super) corrected: Vec<(String, String)>,
    pub(super) refused: Vec<Feedback>,
    /// The reasons why whole attempts were dropped.
    pub(super) attempts: Vec<String>,
    /// The check results of each commit.
    pub(super) checks: Vec<String>,
    /// A sentence that names who reviewed the code.
    pub(super) judged: Option<String>,
    /// The requirements that no completed task meets, by id, with the reason.
    pub(super) uncovered: BTreeMap<String, String>,
    /// The command that shows the proofs of criteria.
    pub(super) proofs: String,
    /// The results of the tests that criteria name.
    pub(super) became: BTreeMap<String, String>,
    pub(super) weakened: Vec<String>,
    /// Changes that no person has decided on.
    pub(super) left: String,
    /// The facts that the session proposes.
    pub(super) proposed: Vec<Proposal>,
}

/// The size of a session's changes to the project.
#[derive(Default)]
pub(super) struct Size {
    pub(super) files: usize,
    pub(super) added: u64,
    pub(super) removed: u64,
}

impl Size {
    fn count(run: &Run<'_>, files: &[String]) -> anyhow::Result<Self> {
        let tip = &run.session.tip;
        let mut size = Self { files: files.len(), ..Self::default() };
        let git = run.env.git;
        if let Some(start) = start_of_code(git, &run.session).filter(|_| !files.is_empty()) {
            let counts = git::diff::text(git, &start, tip, files, DiffStyle::Counts, false)?;
            for line in counts.lines() {
                let mut counts = line.split('\t').map(|count| count.parse().unwrap_or(0));
                size.added += counts.next().unwrap_or(0);
                size.removed += counts.next().unwrap_or(0);
            }
        }
        Ok(size)
    }

    pub(super) fn words(&self) -> String {
        let s = |count: u64| if count == 1 { "" } else { "s" };
        let Self { files, added, removed } = self;
        let file = if *files == 1 { "file" } else { "files" };
        format!("{files} {file}: {added} line{} added, {removed} removed.", s(*added))
    }
}

/// Changes that no person has decided on, and repositories created in the working tree.
fn left_to_a_person(run: &Run<'_>) -> String {
    let proposals = protected_files::left_to_a_person(run).unwrap_or_default();
    let repositories = run.env.workspace.command_effects().repositories();
    let list: String =
        repositories.iter().map(|one| format!("- {}\n", cell(&one.told(), MADE_MAX))).collect();
    let title = "Repositories that commands or tools made in the working tree; remove what nobody \
                 needs:";
    let section = (!list.is_empty()).then(|| format!("{title}\n\n{list}"));
    let all = [proposals, section.unwrap_or_default()];
    all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Reads the data from records and history.
pub(super) fn delivery_story(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<Story> {
    let git = run.env.git;
    let paths = project_files::code_since_start(run, &run.session.tip)?;
    // Without a check report, the commit of the code names the log of the tests, and who approved it.
    let name = &run.session.name;
    let proofs = match run.depth().has(stages::verifying()) {
        true => format!("`git cowork show {name} check`"),
        false => {
            let project = &run.env.config.project;
            let root = record::tags::root(project, git.top(), name);
            let root = root.unwrap_or_else(|| RefNames::tags(name));
            let label = RefNames::label(&root, stages::code_stage().name());
            format!("`git show {}`", label.short())
        }
    };
    let mut story = Story {
        requirements: store.requirements()?.requirements,
        features: store.features()?.features,
        tasks: store.plan()?.tasks,
        session: run.session.name.to_string(),
        size: Size::count(run, &paths)?,
        uncovered: not_covered(run, store)?,
        proofs,
        judged: judged(run),
        left: left_to_a_person(run),
        ..Story::default()
    };
    let criteria = story.requirements.iter().flat_map(|one| &one.acceptance_criteria);
    let became = criteria
        .filter_map(|one| Some((one.test.clone()?, recorded::became(run, one.test.as_deref()?)?)));
    story.became = became.collect();
    let plan = Plan { tasks: std::mem::take(&mut story.tasks), ..Plan::default() };
    for task in plan.tasks.iter().filter(|task| task.is_top_level()) {
        let features = plan.features_of(&task.id).into_iter().map(str::to_owned).collect();
        story.works_on.insert(task.id.clone(), features);
        story.tasks.push(task.clone());
    }
    story.read_commits(run, &paths)?;
    let check = run.session.stage_entry(stages::verifying());
    if let Some(entry) = check.or_else(|| run.session.stage_entry(stages::code_stage())) {
        let then = run.files_at(&entry.commit);
        let features = Store::new(&then).features()?.features.into_iter();
        story.checked = features.map(|feature| (feature.id, feature.status)).collect();
    }
    if run.session.is_patch() {
        let change = change::change_story(run, store, &paths)?;
        story.keep_what_is_done(&change);
        story.change = Some(change);
    }
    let tests = test_changes::changes_of_tests(run, &run.session.tip)?;
    story.weakened = tests.weakened.iter().map(ToString::to_string).collect();
    story.refused = store.feedback()?.into_iter().filter(changed_the_outcome).collect();
    // A person's feedback comes first; more severe feedback comes before less severe.
    story
        .refused
        .sort_by_key(|said| (said.from != Origin::Human, std::cmp::Reverse(said.severity)));
    let mut all = attempts(git, Some(&run.session.name))?;
    all.retain(Attempt::can_be_undone);
    // A command that was killed and repeated has saved the same attempt twice.
    all.dedup_by(|next, last| next.tip == last.tip && next.reason == last.reason);
    story.attempts = all.into_iter().map(|attempt| attempt.reason).collect();
    Ok(story)
}

/// True if a refusal was about the delivered work, not about the form of a draft.
pub(super) fn changed_the_outcome(said: &Feedback) -> bool {
    let about_it = matches!(said.from, Origin::Human | Origin::Critic | Origin::Challenger)
        || said.goto_stage().is_some();
    about_it
        && said.severity >= Severity::Major
        && !said.extra.contains_key(BY_HAND)
        && !said.is_reason()
}

/// A sentence that names who passed the code, from the stage's commit.
pub(crate) fn judged(run: &Run<'_>) -> Option<String> {
    let entry = approval_of(&run.session, stages::code_stage())?;
    let critic = match entry.body.contains("The challenger approved: ") {
        true => Some("by the critic and a second opinion"),
        false => entry.body.contains("The critic approved: ").then_some("by the critic"),
    };
    let person = reviewer_of(&run.session, entry).filter(|person| person.commit.is_some());
    let person = person.map(|p| cell(p.name.split(" <").next().unwrap_or_default(), TITLE));
    Some(match (person, critic) {
        (Some(person), Some(critic)) => format!("Judged in review {critic}, and by {person}."),
        (Some(person), None) => format!("Judged in review by {person}."),
        (None, Some(critic)) => format!("Judged in review {critic}; no person approved the code."),
        (None, None) => return None,
    })
}

impl Story {
    /// Reads the files that each commit changed and that the whole still changes, and the check
    /// results. A file of no commit was changed beside tasks.
    fn read_commits(&mut self, run: &Run<'_>, changed: &[String]) -> anyhow::Result<()> {
        for entry in &run.session.history {
            if entry.brings_code()
                && let Some(parent) = entry.parents.first()
            {
                let mut files = git::paths::changed(run.env.git, parent, &entry.commit)?;
                if let (Kind::Task(id), Some(_)) = (&entry.kind, entry.trailers.get(key::REASON)) {
                    self.unchanged.insert(id.clone());
                }
                match &entry.kind {
                    Kind::Task(id) => self.done.entry(id.clone()).or_default().append(&mut files),
                    _ => self.beside.append(&mut files),
                }
            }
            let owner = match &entry.kind {
                Kind::Task(id) => id.as_str(),
                _ => stages::code_stage().name(),
            };
            if entry.brings_code() {
                // A task made from reviewers' comments is a correction as a whole.
                let is_review =
                    self.tasks.iter().any(|one| one.id == owner && one.is_from_review());
                let words = is_review.then(|| commit_message::said_in(&entry.body)).into_iter();
                let words = words.chain(commit_message::corrections_in(&entry.body));
                let words = words.filter(|one| !one.is_empty());
                self.corrected.extend(words.map(|one| (owner.to_owned(), one.to_owned())));
            }
            if let Some(found) = entry.trailers.get(key::CHECKS) {
                self.checks.push(found.to_owned());
            }
        }
        for (task, commit) in adopted(run.env.git, &run.session)? {
            let changes = run.env.git.reader().diff(commit.parents.first(), &commit.id)?;
            let files = changes.into_iter().map(|change| change.path);
            self.done.entry(task).or_default().extend(files);
        }
        let of_tasks: BTreeSet<&String> = self.done.values().flatten().collect();
        self.beside.extend(changed.iter().filter(|path| !of_tasks.contains(path)).cloned());
        for files in self.done.values_mut().chain([&mut self.beside]) {
            files.retain(|path| changed.contains(path));
            files.sort();
            files.dedup();
        }
        Ok(())
    }

    /// Keeps what the change has worked on and what it has changed.
    fn keep_what_is_done(&mut self, change: &ChangeStory) {
        let is_own = |id: &String| self.done.contains_key(id) || change.own_tasks.contains(id);
        self.tasks.retain(|task| is_own(&task.id));
        let features_of = |task| self.works_on(task).iter().cloned();
        let used: BTreeSet<String> = self.tasks.iter().flat_map(features_of).collect();
        let used = self.features.iter().filter(|feature| used.contains(&feature.id));
        let met: BTreeSet<&String> = used.flat_map(|feature| &feature.requirement_ids).collect();
        let is_touched =
            |one: &Requirement| met.contains(&one.id) || change.became(&one.id).is_some();
        let all = std::mem::take(&mut self.requirements);
        let (touched, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_touched);
        self.untouched = (rest.len(), rest.iter().map(|one| one.acceptance_criteria.len()).sum());
        self.requirements = touched;
    }

    /// The features a task works on, directly or in a sub-task.
    pub(super) fn works_on(&self, task: &Task) -> &[String] {
        self.works_on.get(&task.id).map_or(&[], Vec::as_slice)
    }
}

/// What the actor of the last planned task, or of a change without tasks, said about the code; may
/// be empty. Tasks made from reviewers' comments and later corrections are not the whole.
pub(crate) fn said_of_the_code(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<String> {
    let plan = store.plan()?;
    let is_planned =
        |id: &String| !plan.tasks.iter().any(|task| task.id == *id && task.is_from_review());
    let history = &run.session.history;
    let mut last = history.iter().rev().filter(|entry| matches!(entry.kind, Kind::Task(_)));
    if let Some(entry) = last.clone().find(|e| matches!(&e.kind, Kind::Task(id) if is_planned(id)))
    {
        return Ok(commit_message::said_in(&entry.body).to_owned());
    }
    if last.next().is_some() {
        return Ok(String::new());
    }
    let mut whole = history.iter().filter(|entry| entry.kind == Kind::Stage(code_stage()));
    let words = whole.find_map(|entry| {
        Some(commit_message::said_of_the_whole(&entry.body)).filter(|said| !said.is_empty())
    });
    Ok(words.unwrap_or_default().to_owned())
}
