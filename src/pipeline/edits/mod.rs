//! A person's edit is law. What a person changed in a draft stays byte for byte; where only the
//! document or only the records were edited, one conversation may change the other side and
//! nothing else, and what it changed is shown before it is recorded. Later drafts are told what the
//! person wrote, and the gate compares with it.

pub(crate) mod overwritten_edits;

use std::str::FromStr as _;

use crate::artifact::{Artifact, BY_HAND, Feedback, FeedbackType, Files, Origin, Store};
use crate::event::Event;
use crate::gate::Mode;
use crate::git::{DiffStyle, Oid};
use crate::pipeline::Pipeline;
use crate::pipeline::brief::conversation::Part;
use crate::pipeline::brief::sections::{DIFF, artifacts, cut, section};
use crate::pipeline::change::record_diff;
use crate::pipeline::progress::Progress;
use crate::pipeline::prompts::Prompt;
use crate::pipeline::table::{Approves, Side, StageSpec};
use crate::record::DraftEnding;
use crate::session::{CommittedFiles, Entry};
use crate::stage::Role;

/// Bytes of a person's edit that later drafts are told.
const TOLD: usize = 4_000;

/// Stands in the trailer for edits of the code.
const CODE: &str = "code";

/// What a person edited in the newest draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// What the person was shown before their first edit of this draft.
    pub since: Oid,
    /// What they were shown before their last: what they did not touch is as it was there.
    pub base: Oid,
    /// What they changed, by more than white space; none where it is the code.
    pub files: Vec<Artifact>,
    /// The other side was brought in line, or nothing had to be.
    pub aligned: bool,
    /// The person was told that the checks refuse it: what they decide then is done.
    pub told: bool,
}

impl Edit {
    /// For the trailer of a kept draft: `prd.md since=1a2b… base=1a2b… aligned`, with `code` in the
    /// place of files where it is that.
    pub fn render(&self) -> String {
        let mut files: Vec<&str> = self.files.iter().map(|file| file.file_name()).collect();
        if files.is_empty() {
            files.push(CODE);
        }
        let aligned = if self.aligned { " aligned" } else { "" };
        let (since, base) = (self.since.as_str(), self.base.as_str());
        format!("{} since={since} base={base}{aligned}", files.join(" "))
    }

    /// Reads that back.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let commit = |key: &str| {
            let value = words.iter().find_map(|word| word.strip_prefix(key))?;
            Oid::from_str(value).ok()
        };
        let (since, base) = (commit("since=")?, commit("base=")?);
        let files: Vec<Artifact> = words.iter().filter_map(|word| Artifact::named(word)).collect();
        let aligned = words.contains(&"aligned");
        let any = !files.is_empty() || words.contains(&CODE);
        any.then_some(Self { since, base, files, aligned, told: false })
    }

    pub fn names(&self) -> String {
        if self.files.is_empty() { "the code".to_owned() } else { names(&self.files) }
    }
}

fn names(files: &[Artifact]) -> String {
    files.iter().map(|file| file.file_name()).collect::<Vec<_>>().join(" and ")
}

/// Whether two texts differ by white space at most.
fn alike(a: Option<String>, b: Option<String>) -> bool {
    let squeezed = |text: Option<String>| -> Option<String> {
        text.map(|text| text.chars().filter(|c| !c.is_whitespace()).collect())
    };
    squeezed(a) == squeezed(b)
}

/// True for the entry that tells the actor what a person edited: nobody refused anything by it.
pub(crate) fn is_law(entry: &Feedback) -> bool {
    entry.extra.contains_key(BY_HAND)
}

impl Pipeline<'_> {
    /// What a person changed in the stage's files since they were shown `shown`.
    pub(crate) fn edit_since(&self, spec: &StageSpec, shown: &Oid) -> anyhow::Result<Option<Edit>> {
        if spec.approves == Approves::Tree {
            return Ok(None);
        }
        let before = CommittedFiles::new(self.env.git, &self.session.name, shown);
        let now = self.files();
        let mut files = Vec::new();
        for artifact in spec.artifacts {
            if !alike(before.read(*artifact)?, now.read(*artifact)?) {
                files.push(*artifact);
            }
        }
        let (since, base) = (shown.clone(), shown.clone());
        let edit = Edit { since, base, files, aligned: false, told: false };
        Ok((!edit.files.is_empty()).then_some(edit))
    }

    /// Notes what a person edited since `shown`, beside what they had edited before in this draft.
    pub(crate) fn note_edit(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        shown: &Oid,
    ) -> anyhow::Result<()> {
        let Some(new) = self.edit_since(spec, shown)? else { return Ok(()) };
        progress.edit = match progress.edit.take() {
            None => Some(new),
            // What was put back to what it was at first is no edit.
            Some(earlier) => self.edit_since(spec, &earlier.since)?.and_then(|mut all| {
                let theirs =
                    |file: &Artifact| new.files.contains(file) || earlier.files.contains(file);
                all.files.retain(theirs);
                all.base = new.base;
                (!all.files.is_empty()).then_some(all)
            }),
        };
        Ok(())
    }

    /// Notes what a person edited in a draft that was kept or waits, while no run was there to
    /// see it: what is not as it was and not as a tool left it. True when there was something.
    pub(crate) fn note_edit_by_hand(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        draft: &Oid,
    ) -> anyhow::Result<bool> {
        let Some(mut new) = self.edit_since(spec, draft)? else { return Ok(false) };
        new.files.retain(|file| {
            let path = crate::session::artifact_path(&self.session.name, *file);
            !self.env.workspace.is_as_written(&path)
        });
        if new.files.is_empty() {
            return Ok(false);
        }
        let earlier = progress.edit.as_ref().map(|edit| edit.files.clone()).unwrap_or_default();
        new.files.extend(earlier);
        self.note_edit(spec, progress, draft)?;
        if let Some(edit) = &mut progress.edit {
            edit.files.retain(|file| new.files.contains(file));
        }
        Ok(true)
    }

    /// The same of the code: what a person edited in the files of the session, or committed.
    pub(crate) fn note_code_by_hand(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        draft: &Entry,
    ) -> anyhow::Result<bool> {
        if spec.approves != Approves::Tree {
            return Ok(false);
        }
        let taken = self.take_persons_code(spec, Some(&draft.commit))?;
        if taken.is_empty() && !self.committed_by_hand(draft.parents.first())? {
            return Ok(false);
        }
        let (since, base) = (draft.commit.clone(), draft.commit.clone());
        let files = Vec::new();
        progress.edit = Some(Edit { since, base, files, aligned: true, told: false });
        Ok(true)
    }

    /// Whether a person has committed code of their own on the branch since this tip. What a merge
    /// brought is not theirs.
    fn committed_by_hand(&self, since: Option<&Oid>) -> anyhow::Result<bool> {
        let Some(since) = since.filter(|since| **since != self.session.tip) else {
            return Ok(false);
        };
        let tip = std::slice::from_ref(&self.session.tip);
        for commit in self.env.git.reader().walk(tip, std::slice::from_ref(since))? {
            let ours = self.session.history.iter().any(|entry| entry.commit == commit.id);
            if let ([parent], false) = (&commit.parents[..], ours) {
                let changed = self.env.git.changed_paths(parent, &commit.id)?;
                if changed.iter().any(|path| !path.starts_with(".cowork/")) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Brings the side of the draft a person did not edit in line with the one they did.
    ///
    /// # Errors
    /// Of the model. The draft is then as the person left it, and the next run tries again.
    pub(crate) async fn align(
        &mut self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let Some(edit) = progress.edit.clone().filter(|edit| !edit.aligned) else {
            return Ok(());
        };
        let waits = self.env.mode == Mode::Wait && self.env.config.gated(spec.stage);
        if waits && progress.by_hand {
            // No model is asked before a person has passed it.
            return Ok(());
        }
        progress.by_hand = false;
        self.mark(progress, progress.iteration, DraftEnding::Whole);
        let side = spec.follows(&edit.files);
        if let Some(side) = side {
            self.bring_in_line(spec, progress, &edit, side).await?;
        }
        progress.edit = Some(Edit { aligned: true, ..edit });
        if side.is_some() { self.keep(spec, progress) } else { Ok(()) }
    }

    async fn bring_in_line(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
        edit: &Edit,
        side: Side,
    ) -> anyhow::Result<()> {
        let law: Vec<Artifact> =
            spec.artifacts.iter().copied().filter(|file| Side::of(*file) != side).collect();
        let follows: Vec<Artifact> = spec.side(side).collect();
        let law = self.texts(&self.files(), &law)?;
        // A run that was killed may have left half a change.
        let base = CommittedFiles::new(self.env.git, &self.session.name, &edit.base);
        for (file, text) in self.texts(&base, &follows)? {
            if !alike(self.files().read(file)?, text.clone()) {
                self.put_texts(&[(file, text)])?;
            }
        }
        let before = self.texts(&self.files(), &follows)?;
        let held = self.report(spec, progress)?.is_ok();
        let text = format!("{}: bringing {} in line with your edit", spec.stage, names(&follows));
        self.env.sink.emit(Event::Note { text });
        let part = self.aligning(spec, progress, edit, side, &follows)?;
        let run = self.converse(&part, &mut progress.refusals).await;
        // Whatever a tool did: what the person wrote is law.
        self.put_texts(&law)?;
        if let Err(error) = run {
            self.put_texts(&before)?;
            return Err(error);
        }
        progress.credit.merge(self.taken());
        let report = self.report(spec, progress)?;
        let Some(finding) = report.findings.first() else {
            let now = self.texts(&self.files(), &follows)?;
            let differing = now.iter().zip(&before).filter(|(now, before)| now != before);
            let changed: Vec<Artifact> = differing.map(|((file, _), _)| *file).collect();
            if !changed.is_empty() {
                progress.approval = None;
                progress.note = Some(self.what_followed(edit, &changed)?);
            }
            return Ok(());
        };
        self.put_texts(&before)?;
        // The person decides: what they passed is not what the records say.
        progress.approval = None;
        let (edited, follows) = (edit.names(), names(&follows));
        let why = if held {
            let found = &finding.details;
            format!("{follows} could not be brought in line with your edit of {edited}: {found}")
        } else {
            format!(
                "your edit of {edited} does not pass the checks, and {follows} could not be \
                 brought in line with it"
            )
        };
        if self.env.mode == Mode::Auto {
            self.warn(format!("{}: {why}", spec.stage));
        }
        progress.note = Some(why);
        Ok(())
    }

    fn aligning<'a>(
        &self,
        spec: &'a StageSpec,
        progress: &Progress,
        edit: &Edit,
        side: Side,
        follows: &[Artifact],
    ) -> anyhow::Result<Part<'a>> {
        let files = self.files();
        let mut extra = artifacts(&Store::new(&files), &self.session.name, spec.artifacts)?;
        let diff = self.diff_of(spec, edit)?;
        section(&mut extra, "What the person changed", &diff, DIFF / 2);
        let mut variables = self.variables(spec, progress)?;
        variables.edited = edit.names();
        variables.follows = names(follows);
        Ok(Part {
            spec,
            role: Role::Actor,
            prompt: Prompt::Align,
            tools: spec.tools_of(side),
            iteration: progress.iteration,
            task: None,
            opening: None,
            extra,
            variables,
        })
    }

    /// For the person: what was changed to go with their edit.
    fn what_followed(&self, edit: &Edit, follows: &[Artifact]) -> anyhow::Result<String> {
        let before = CommittedFiles::new(self.env.git, &self.session.name, &edit.base);
        let changes = record_diff::changes(&before, &self.files(), follows)?;
        let all: Vec<&record_diff::Change> = changes.iter().collect();
        let what = match record_diff::names(&all, 6) {
            names if names.is_empty() => "look at what changed".to_owned(),
            names => names,
        };
        let follow = if follows.len() == 1 { "follows" } else { "follow" };
        Ok(format!("{} {follow} your edit of {}: {what}", names(follows), edit.names()))
    }

    /// Tells the next draft what the person wrote in this one: it stays.
    pub(crate) fn tell_edit(
        &self,
        spec: &StageSpec,
        progress: &mut Progress,
    ) -> anyhow::Result<()> {
        let Some(edit) = progress.edit.clone() else { return Ok(()) };
        let words = format!(
            "I edited {} by hand. What I wrote stays as it is, unless something I say later asks \
             for a change of that very place. My changes:\n{}",
            edit.names(),
            cut(self.diff_of(spec, &edit)?.trim_end(), TOLD)
        );
        let mut entry = self.feedback(spec.stage, progress.iteration, Origin::Human, &words);
        entry.feedback_type = FeedbackType::Suggestion;
        let files: Vec<&str> = edit.files.iter().map(|file| file.file_name()).collect();
        entry.extra.insert(BY_HAND.to_owned(), files.into());
        self.note_version(spec, progress, &edit, &mut entry)?;
        self.give_feedback(vec![entry])
    }

    /// What the person changed, as a diff of the files they edited.
    fn diff_of(&self, spec: &StageSpec, edit: &Edit) -> anyhow::Result<String> {
        let tree = self.recorder().tree(&self.session.tip)?;
        if edit.files.is_empty() {
            return self.shown_diff(spec, &edit.since, &tree, DiffStyle::Patch);
        }
        let path = |file: &Artifact| crate::session::artifact_path(&self.session.name, *file);
        let paths: Vec<String> = edit.files.iter().map(path).collect();
        self.env.git.diff_text(&edit.since, &tree, &paths, DiffStyle::Patch, false)
    }

    fn texts(
        &self,
        files: &dyn Files,
        which: &[Artifact],
    ) -> anyhow::Result<Vec<(Artifact, Option<String>)>> {
        which.iter().map(|artifact| Ok((*artifact, files.read(*artifact)?))).collect()
    }

    /// Puts back what differs, byte for byte.
    fn put_texts(&self, texts: &[(Artifact, Option<String>)]) -> anyhow::Result<()> {
        let files = self.files();
        for (artifact, text) in texts {
            if let Some(text) = text
                && files.read(*artifact)?.as_ref() != Some(text)
            {
                files.write(*artifact, text)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_reads_back_from_its_trailer() {
        let edit = Edit {
            since: "0123456789012345678901234567890123456789".parse().unwrap(),
            base: "1123456789012345678901234567890123456789".parse().unwrap(),
            files: vec![Artifact::Prd, Artifact::Features],
            aligned: false,
            told: false,
        };
        assert_eq!(Edit::parse(&edit.render()), Some(edit.clone()));
        let aligned = Edit { aligned: true, ..edit };
        assert_eq!(Edit::parse(&aligned.render()), Some(aligned.clone()));
        let of_code = Edit { files: Vec::new(), ..aligned };
        assert_eq!(Edit::parse(&of_code.render()), Some(of_code));
        assert_eq!(Edit::parse("prd.md"), None);
        assert_eq!(Edit::parse(""), None);
    }
}
