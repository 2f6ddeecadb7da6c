//! The state of a stage's newest draft and of its reviews: what a saved draft's notes contain.

use std::str::FromStr as _;

use crate::agent::Conversation;
use crate::artifact::{Artifact, BY_HAND, Feedback};
use crate::git::Oid;
use crate::pipeline::evidence::Evidence;
use crate::pipeline::other_models::Taken;
use crate::record::{Approval, ApprovedContent, Credit, DraftNotes};
use crate::session::{Entry, Trailers, key};
use crate::stages::StageSpec;
use crate::tool::Checked;

/// What is done next in a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another draft: there is none yet, or the newest one was refused.
    #[default]
    Draft,
    /// The rest of a draft that was begun before the run was stopped.
    RestOfDraft,
    /// Checks, gate and critics of the newest draft.
    Review,
}

/// Who has approved which content of the stage. Only an approval of the current content counts.
#[derive(Debug, Default)]
pub(crate) struct Approvals {
    /// A person, or the command that decides in their place.
    pub person: Option<Approval>,
    /// The critic, and its comment.
    pub critic: Option<(ApprovedContent, String)>,
    /// The challenger, and its comment.
    pub challenger: Option<(ApprovedContent, String)>,
}

/// The draft that each reviewer read last: the next time, only the changes since then are shown.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// A person.
    pub person: Option<Oid>,
    /// The critic.
    pub critic: Option<Oid>,
    /// The challenger, in this run.
    pub challenger: Option<Oid>,
}

/// Why a person is asked about the newest draft.
#[derive(Debug, Default)]
pub(crate) struct GateReasons {
    /// Whether the critic asked for a person. If so, the person's approval replaces the critic's
    /// verdict.
    pub critic_asks: bool,
    /// The reason to ask a person, until they have answered.
    pub asks: Option<String>,
    /// Why a draft waits on the branch, if the person has not been shown the reason yet.
    pub waits: Option<String>,
    /// Why only a person's answer lets the stage go on, in the form that a waiting draft has it.
    pub blocked: Option<String>,
    /// Whether a judge gave no verdict, which `blocked` says: it is asked again before anybody is
    /// asked at the gate, also by the next run.
    pub asks_again: bool,
    /// The reason why the gate opens again, if it is not the usual one.
    pub note: Option<String>,
    /// Whether a person edited the code at the gate and has to be shown it again: no command
    /// decides in their place.
    pub shows_edit: bool,
}

impl GateReasons {
    /// Lets the judge be asked again that gave no verdict, as `blocked` says. Until then a person
    /// is shown its words and decides in its place.
    pub fn ask_again(&mut self, blocked: &str) {
        self.note = blocked.split_once(' ').map(|(_, words)| words.to_owned());
        self.blocked = Some(blocked.to_owned());
        self.critic_asks = true;
        self.asks_again = true;
    }

    /// True, once, if the judge that gave no verdict must be asked again. What it said no longer
    /// matters then.
    pub fn take_asks_again(&mut self) -> bool {
        let again = std::mem::take(&mut self.asks_again) && self.blocked.take().is_some();
        if again {
            self.note = None;
            self.critic_asks = false;
        }
        again
    }
}

/// The state of a stage's newest draft, and of its reviews.
#[derive(Debug, Default)]
pub(crate) struct DraftState {
    /// The number of drafts in earlier runs of this stage; numbers continue from there.
    pub offset: u32,
    /// The number of the newest draft.
    pub iteration: u32,
    /// What is done next.
    pub next: Next,
    /// The commit of the newest draft.
    pub commit: Option<Oid>,
    /// The actor's closing words about it.
    pub words: String,
    /// The actor's words about the code, in all drafts.
    pub code_words: CodeWords,
    /// The models that generated it.
    pub credit: Credit,
    /// The state of the actor's self-review.
    pub self_review: SelfReview,
    /// A person's edits of it.
    pub edit: Option<Edit>,
    /// Whether it consists of a person's edits of a refused draft and has not been reviewed yet.
    pub by_hand: bool,
    /// The check results.
    pub evidence: Option<Evidence>,
    /// The newest run of each of the project's commands that the actor requested.
    pub checked: Vec<Checked>,
    /// Who has approved which content.
    pub approvals: Approvals,
    /// The drafts that were read last.
    pub readings: Readings,
    /// Why a person is asked.
    pub gate: GateReasons,
    /// The number of calls that a guard has refused since a person last looked.
    pub refusals: u32,
    /// The model that a person chose for the next drafts.
    pub taken: Option<Taken>,
    /// How often a hook changed approved content.
    pub hook_changes: u32,
}

impl DraftState {
    /// The number of drafts in this run, which the limit counts.
    pub fn used(&self) -> u32 {
        self.iteration.saturating_sub(self.offset)
    }

    /// Begins another draft, about which nobody has said anything yet.
    pub fn begin_draft(&mut self) {
        self.iteration += 1;
        self.next = Next::Draft;
        self.edit = None;
        self.by_hand = false;
        self.words.clear();
        self.approvals.person = None;
        self.approvals.critic = None;
        self.gate = GateReasons { waits: self.gate.waits.take(), ..GateReasons::default() };
    }

    /// Adds the refused calls and the command runs of a conversation.
    pub fn note_run(&mut self, run: &mut Conversation) {
        self.refusals += run.outcome.guard_refusals;
        self.note_checked(&std::mem::take(&mut run.outcome.checked));
    }

    /// Records the newest run of each of the project's commands.
    pub fn note_checked(&mut self, runs: &[Checked]) {
        for checked in runs {
            self.checked.retain(|older| older.command != checked.command);
            self.checked.push(checked.clone());
        }
    }

    /// Records the actor's closing words. `has_tasks`: the code was described with its tasks, and
    /// this conversation corrects it.
    pub fn note_words(&mut self, spec: &StageSpec, conversation: &Conversation, has_tasks: bool) {
        let all = [conversation.text.trim(), conversation.corrected.trim()];
        all.join("\n\n").trim().clone_into(&mut self.words);
        if spec.writes_code() {
            self.code_words.note(conversation, has_tasks);
        }
    }

    /// The actor's closing words as one line.
    pub fn said(&self) -> String {
        self.words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Takes up what a saved or waiting draft notes.
    pub fn read_notes(&mut self, entry: &Entry) {
        let text = |key| entry.trailers.get(key).unwrap_or_default();
        self.credit = Credit::in_entry(entry);
        text(key::ACTOR_SAID).clone_into(&mut self.words);
        self.code_words = CodeWords::parse(&entry.trailers);
        self.self_review = SelfReview::parse(text(key::SELF_REVIEW));
        self.taken = Taken::parse(text(key::ACTOR_MODEL));
    }

    /// The notes that are saved with a draft.
    pub fn notes(&self) -> DraftNotes {
        DraftNotes {
            credit: self.credit.clone(),
            approval: self.approvals.person.clone(),
            edited: self.edit.as_ref().map(Edit::render).unwrap_or_default(),
            seen: self.readings.person.clone(),
            read: self.readings.critic.clone(),
            judged: self.approvals.critic.clone(),
            challenged: self.approvals.challenger.clone(),
            asks: self.gate.asks.as_ref().map(|words| {
                let asker = if self.gate.critic_asks { "asks" } else { "actor" };
                format!("{asker} {words}")
            }),
            said: self.said(),
            code_said: self.code_words.values().to_vec(),
            self_review: self.self_review.render(),
            refusals: self.refusals,
            taken: self.taken.as_ref().map(Taken::render).unwrap_or_default(),
            stuck: self.gate.blocked.clone().filter(|_| self.gate.asks_again),
        }
    }
}

/// The word in the trailer that marks edits of the code.
const CODE: &str = "code";

/// A person's edits of the newest draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The commit the person was shown before their first edit of this draft.
    pub since: Oid,
    /// The files in which more than white space changed; empty if the edit is in the code.
    pub files: Vec<Artifact>,
    /// Whether the person was told that checks refuse the edit: if so, their decision counts.
    pub told: bool,
}

impl Edit {
    /// The value of a saved draft's trailer: `prd.md since=1a2b…`, with `code` in place of the
    /// files for edits of the code. Older versions of git-cowork, whose documents had no record
    /// sections, wrote more words, which are ignored.
    pub fn render(&self) -> String {
        let mut files: Vec<&str> = self.files.iter().map(|file| file.file_name()).collect();
        if files.is_empty() {
            files.push(CODE);
        }
        format!("{} since={}", files.join(" "), self.since.as_str())
    }

    /// Parses the output of [`render`](Self::render).
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let since = words.iter().find_map(|word| word.strip_prefix("since="))?;
        let since = Oid::from_str(since).ok()?;
        let files: Vec<Artifact> = words.iter().filter_map(|word| Artifact::named(word)).collect();
        let any = !files.is_empty() || words.contains(&CODE);
        any.then_some(Self { since, files, told: false })
    }

    pub fn names(&self) -> String {
        if self.files.is_empty() { "the code".to_owned() } else { names(&self.files) }
    }
}

pub(crate) fn names(files: &[Artifact]) -> String {
    files.iter().map(|file| file.file_name()).collect::<Vec<_>>().join(" and ")
}

/// True for the feedback entry that describes a person's edit: it refuses nothing.
pub(crate) fn tells_edit(entry: &Feedback) -> bool {
    entry.extra.contains_key(BY_HAND)
}

/// The self-review changed files.
pub(crate) const REVISED: &str = "revised";
/// It changed nothing and found no problem that must be fixed.
pub(crate) const PASSED: &str = "passed";
/// It changed nothing and could not fix the problems it found.
pub(crate) const NEEDS_REVISION: &str = "needs_revision";

/// The state of a stage's self-review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SelfReview {
    /// Not started.
    #[default]
    Open,
    /// Started on this draft.
    Begun(Oid),
    /// Done, with this outcome.
    Done(&'static str),
}

impl SelfReview {
    /// The value of a saved draft's trailer.
    pub fn render(&self) -> String {
        match self {
            Self::Open => String::new(),
            Self::Begun(draft) => format!("begun {draft}"),
            Self::Done(outcome) => (*outcome).to_owned(),
        }
    }

    /// Parses the output of [`render`](Self::render).
    pub fn parse(text: &str) -> Self {
        if let Some(draft) = text.strip_prefix("begun ").and_then(|oid| oid.parse().ok()) {
            return Self::Begun(draft);
        }
        let outcome = [REVISED, PASSED, NEEDS_REVISION].into_iter().find(|known| *known == text);
        outcome.map_or(Self::Open, Self::Done)
    }

    /// The outcome; empty before it is done.
    pub const fn outcome(&self) -> &'static str {
        match self {
            Self::Done(outcome) => outcome,
            Self::Open | Self::Begun(_) => "",
        }
    }

    /// The draft under self-review.
    pub const fn reads(&self) -> Option<&Oid> {
        match self {
            Self::Begun(draft) => Some(draft),
            Self::Open | Self::Done(_) => None,
        }
    }
}

/// Begins the value of a trailer with the words about the whole.
const WHOLE: &str = "whole: ";
/// Begins the value of a trailer with the words about a correction.
const CORRECTED: &str = "corrected: ";

/// The actor's words about the code, in order, each as the value of a trailer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodeWords(Vec<String>);

impl CodeWords {
    /// The words that a draft's trailers contain.
    pub(crate) fn parse(trailers: &Trailers) -> Self {
        Self(trailers.all(key::CODE_SAID).map(str::to_owned).collect())
    }

    /// The values of the trailers.
    pub(crate) fn values(&self) -> &[String] {
        &self.0
    }

    /// Adds the words of a conversation, which `corrects` existing code.
    pub(crate) fn note(&mut self, conversation: &Conversation, corrects: bool) {
        let first = if corrects || !self.0.is_empty() { CORRECTED } else { WHOLE };
        for (begin, words) in [(first, &conversation.text), (CORRECTED, &conversation.corrected)] {
            if !words.trim().is_empty() {
                self.0.push(format!("{begin}{}", words.trim()));
            }
        }
    }

    /// The words about the whole; empty if there are none.
    pub(crate) fn whole(&self) -> &str {
        self.0.iter().find_map(|one| one.strip_prefix(WHOLE)).unwrap_or_default()
    }

    /// The words about each correction.
    pub(crate) fn corrections(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|one| one.strip_prefix(CORRECTED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_parsed_from_its_trailer() {
        let edit = Edit {
            since: "0123456789012345678901234567890123456789".parse().unwrap(),
            files: vec![Artifact::Prd, Artifact::Features],
            told: false,
        };
        assert_eq!(Edit::parse(&edit.render()), Some(edit.clone()));
        let older =
            format!("{} base=1123456789012345678901234567890123456789 aligned", edit.render());
        assert_eq!(Edit::parse(&older), Some(edit.clone()));
        let of_code = Edit { files: Vec::new(), ..edit };
        assert_eq!(Edit::parse(&of_code.render()), Some(of_code));
        assert_eq!(Edit::parse("prd.md"), None);
        assert_eq!(Edit::parse(""), None);
    }

    #[test]
    fn its_state_is_parsed_from_its_trailer() {
        let draft: Oid = "0123456789012345678901234567890123456789".parse().unwrap();
        for state in [
            SelfReview::Open,
            SelfReview::Begun(draft),
            SelfReview::Done(REVISED),
            SelfReview::Done(PASSED),
            SelfReview::Done(NEEDS_REVISION),
        ] {
            assert_eq!(SelfReview::parse(&state.render()), state);
        }
        for other in ["begun", "begun nothing", "rejected"] {
            assert_eq!(SelfReview::parse(other), SelfReview::Open, "{other}");
        }
    }

    #[test]
    fn the_first_words_are_about_the_whole_and_later_ones_about_corrections() {
        let said = |text: &str, corrected: &str| Conversation {
            text: text.into(),
            corrected: corrected.into(),
            ..Conversation::default()
        };
        let mut words = CodeWords::default();
        words.note(&said("It adds.", "The `?` is there."), false);
        words.note(&said("Named the file.", ""), false);
        let mut trailers = Trailers::default();
        words.values().iter().for_each(|one| trailers.push(key::CODE_SAID, one));
        assert_eq!(CodeWords::parse(&trailers), words);
        assert_eq!(words.whole(), "It adds.");
        let corrections: Vec<&str> = words.corrections().collect();
        assert_eq!(corrections, ["The `?` is there.", "Named the file."]);
        let mut words = CodeWords::default();
        words.note(&said("Named the file.", ""), true);
        assert_eq!((words.whole(), words.corrections().count()), ("", 1));
    }
}
