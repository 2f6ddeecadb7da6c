//! Finds lines a person wrote that a later draft changed. Feedback tells the actor to keep these
//! lines. If it changes them anyway, or restores lines the person deleted, git-cowork tells the
//! person which lines these are and where their version is.
//!
//! This needs only two blob ids in the entry of `feedback_history.json` about the edit: what the
//! person was shown, and the version they left.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::artifact::{Artifact, Feedback, Files as _};
use crate::gate::{Mode, comments};
use crate::git::{self, Object, Oid, Store};
use crate::pipeline::draft_state::{Edit, Next, tells_edit};
use crate::pipeline::run::Run;
use crate::pipeline::step::Step;
use crate::record::{self, DraftEnding};
use crate::session::RefNames;
use crate::stages::Approves;

/// Fields of the entry: blob ids by file name.
const SHOWN: &str = "shown";
const THEIRS: &str = "theirs";

/// Maximum number of lines that are quoted.
const QUOTED: usize = 3;
/// Maximum characters of each quoted line.
const WIDTH: usize = 90;

/// A draft's changes to one file that a person had edited.
struct Broken {
    file: Artifact,
    /// Lines the person wrote that are missing now.
    gone: Vec<String>,
    /// Lines the person deleted that are there again.
    back: Vec<String>,
    /// The person's version.
    theirs: Oid,
}

/// Adds the versions before and after the edit to its feedback entry, and makes sure that a commit
/// contains the person's version before the actor continues.
pub(crate) fn note_version(
    step: &mut Step<'_, '_>,
    edit: &Edit,
    entry: &mut Feedback,
) -> anyhow::Result<()> {
    let git = step.run.env.git;
    let path = |file: &Artifact| step.run.path_of(*file);
    let paths: Vec<String> = edit.files.iter().map(path).collect();
    let versions = git::blobs::hash_files(git, &paths, Store::No)?;
    let commits = step.draft.commit.iter().chain([&step.run.session.tip]);
    let mut is_kept = false;
    for commit in commits {
        is_kept |= git::snapshot::blob_ids(git, commit, &paths)? == versions;
    }
    if !is_kept {
        let (number, ending) = match step.draft.next == Next::RestOfDraft {
            true => (step.draft.iteration + 1, DraftEnding::Partial),
            false => (step.draft.iteration, DraftEnding::Whole),
        };
        let (tip, notes) = (&step.run.session.tip, step.draft.notes());
        step.draft.commit = Some(record::draft_refs::keep(
            &step.run.recorder(),
            tip,
            step.spec.stage,
            number,
            ending,
            &notes,
        )?);
    }
    let by_name = |ids: Vec<Option<Oid>>| -> Map<String, Value> {
        let pairs = edit.files.iter().zip(ids);
        let ids = pairs.filter_map(|(file, id)| Some((file.file_name(), id?.to_string())));
        ids.map(|(name, id)| (name.to_owned(), id.into())).collect()
    };
    let before = git::snapshot::blob_ids(git, &edit.since, &paths)?;
    entry.extra.insert(SHOWN.to_owned(), by_name(before).into());
    entry.extra.insert(THEIRS.to_owned(), by_name(versions).into());
    Ok(())
}

/// Reports the lines edited by a person that the newest draft changed: at the gate, or as a warning
/// if nobody is there.
pub(crate) fn tell_of_overwritten(step: &mut Step<'_, '_>) -> anyhow::Result<()> {
    for broken in overwritten(step)? {
        let short = format!(
            "draft {} changed what you wrote in {}",
            step.draft.iteration,
            broken.file.file_name()
        );
        let full = format!("{short}: {}; {}", broken.words(), way_back(step.run, &broken)?);
        let has_gate = step.run.gated(step.spec.stage) && step.run.env.mode != Mode::Auto;
        if step.run.env.mode != Mode::Ask || !has_gate {
            step.run.warn(format!("{}: {full}", step.spec.stage));
        }
        if has_gate {
            let words = if step.run.env.mode == Mode::Ask { full } else { short.clone() };
            step.draft.gate.note = Some(match step.draft.gate.note.take() {
                // The note of a waiting draft already contains the short form.
                Some(note) if note.contains(&short) => note.replace(&short, &words),
                Some(note) => format!("{note}; {words}"),
                None => words,
            });
        }
    }
    Ok(())
}

/// Returns the command that restores the person's version.
fn way_back(run: &Run<'_>, broken: &Broken) -> anyhow::Result<String> {
    let path = run.path_of(broken.file);
    let git = run.env.git;
    let draft = RefNames::draft(&run.session.name, run.stage.get());
    let mut commits: Vec<Oid> =
        run.session.history.iter().rev().map(|entry| entry.commit.clone()).collect();
    if let Some(newest) = git.resolve(draft.as_str())? {
        let entries = run.session.beside_tip(git, &newest)?;
        commits.extend(entries.into_iter().map(|entry| entry.commit));
    }
    for commit in commits {
        if git::snapshot::blob_id(git, &commit, &path)?.as_ref() == Some(&broken.theirs) {
            let commit = commit.abbreviated();
            return Ok(format!("restore yours: git restore --source={commit} -- {path}"));
        }
    }
    Ok(format!("your version: git show {}", broken.theirs.abbreviated()))
}

/// Lines of the person's edits of earlier drafts that are missing in this draft, and were there
/// when the person last looked.
fn overwritten(step: &Step<'_, '_>) -> anyhow::Result<Vec<Broken>> {
    if step.spec.approves == Approves::Tree {
        return Ok(Vec::new());
    }
    let git = step.run.env.git;
    let reader = git.reader();
    let text = |id: &Value| -> anyhow::Result<Option<(Oid, String)>> {
        let Some(id) = id.as_str().and_then(|id| id.parse::<Oid>().ok()) else {
            return Ok(None);
        };
        // A draft made in another clone may not be here.
        let bytes = reader.blob(Object::Id(&id)).ok().flatten();
        Ok(bytes.map(|bytes| (id, String::from_utf8_lossy(&bytes).into_owned())))
    };
    let last_look = match &step.draft.readings.person {
        Some(seen) => step.run.session.entry_at(git, seen)?,
        None => None,
    };
    let mut findings: Vec<Broken> = Vec::new();
    for entry in step.run.feedback_so_far()? {
        let earlier = (step.draft.offset + 1..step.draft.iteration).contains(&entry.iteration);
        if entry.stage != step.spec.stage || !tells_edit(&entry) || !earlier {
            continue;
        }
        for file in step.spec.artifacts {
            let id = |key| entry.extra.get(key).and_then(|ids| ids.get(file.file_name()));
            let Some((theirs, left)) = id(THEIRS).map(text).transpose()?.flatten() else {
                continue;
            };
            let before = id(SHOWN).map(text).transpose()?.flatten();
            let before = before.map(|(_, text)| text).unwrap_or_default();
            let mut own_lines = EditedLines::between(&before, &left);
            // Changes that the person has already seen are not reported again.
            if let Some(last_look) = last_look.as_ref().filter(|l| l.iterations() > entry.iteration)
            {
                own_lines.only_as_in(&text_at(step.run, &last_look.commit, *file)?);
            }
            let now = step.run.files.read(*file)?.unwrap_or_default();
            let mut broken = own_lines.broken(&now);
            // An earlier edit that the person changed in this draft does not count as overwritten.
            if let Some(edit) = step.draft.edit.as_ref().filter(|e| e.files.contains(file)) {
                let draft_changes = own_lines.broken(&text_at(step.run, &edit.since, *file)?);
                broken.0.retain(|line| draft_changes.0.contains(line));
                broken.1.retain(|line| draft_changes.1.contains(line));
            }
            let (mut gone, mut back) = broken;
            for told in findings.iter().filter(|told| told.file == *file) {
                gone.retain(|line| !told.gone.contains(line));
                back.retain(|line| !told.back.contains(line));
            }
            if !gone.is_empty() || !back.is_empty() {
                findings.push(Broken { file: *file, gone, back, theirs });
            }
        }
    }
    Ok(findings)
}

fn text_at(run: &Run<'_>, commit: &Oid, file: Artifact) -> anyhow::Result<String> {
    let files = run.files_at(commit);
    Ok(files.read(file)?.unwrap_or_default())
}

impl Broken {
    /// `"- REQ-002 List todos by date" is gone`
    fn words(&self) -> String {
        let quote = |lines: &[String], one: &str, many: &str| {
            let cut = |line: &String| {
                let line = line.trim();
                let start: String = line.chars().take(WIDTH).collect();
                let more = if start.len() < line.len() { "…" } else { "" };
                format!("\"{start}{more}\"")
            };
            let mut quotes: Vec<String> = lines.iter().take(QUOTED).map(cut).collect();
            if lines.len() > QUOTED {
                quotes.push(format!("{} more", lines.len() - QUOTED));
            }
            let verb = if lines.len() == 1 { one } else { many };
            (!lines.is_empty()).then(|| format!("{} {verb}", quotes.join(", ")))
        };
        let lines_gone = quote(&self.gone, "is gone", "are gone");
        let back = quote(
            &self.back,
            "is back although you deleted it",
            "are back although you deleted them",
        );
        lines_gone.into_iter().chain(back).collect::<Vec<_>>().join("; ")
    }
}

/// The lines of one file that a person's edit added or deleted.
struct EditedLines {
    /// Added lines.
    added: Vec<AddedLine>,
    /// Deleted lines that occur nowhere in the person's version.
    deleted: Vec<String>,
}

/// An added line.
struct AddedLine {
    line: String,
    /// For a line that was moved (it was elsewhere before): the lines it must stay between.
    between: Option<(Option<String>, Option<String>)>,
}

impl AddedLine {
    fn holds(&self, now: &[&str]) -> bool {
        let places = |line: &str| {
            let line = line.to_owned();
            now.iter().enumerate().filter(move |(_, other)| other.trim_end() == line).map(|p| p.0)
        };
        let Some((above, below)) = &self.between else { return stands(&self.line, now) };
        let from = above.as_ref().and_then(|line| places(line).next());
        let to = below.as_ref().and_then(|line| places(line).next_back());
        places(&self.line)
            .any(|at| from.is_none_or(|from| from < at) && to.is_none_or(|to| at < to))
    }
}

impl EditedLines {
    fn between(shown: &str, left: &str) -> Self {
        let (old, new): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), left.lines().collect());
        let pairs = comments::matched(&old, &new);
        let text = |line: &&&str| !line.trim().is_empty();
        let to_line = |line: &&str| line.trim_end().to_owned();
        let added_line = |at: usize| {
            let above = new[..at].iter().rev().find(text).map(to_line);
            let below = new[at + 1..].iter().find(text).map(to_line);
            let between = stands(new[at], &old).then_some((above, below));
            AddedLine { line: to_line(&new[at]), between }
        };
        let rest = (0..new.len()).filter(|at| pairs[*at].is_none() && text(&&new[*at]));
        let same: BTreeSet<usize> = pairs.iter().flatten().copied().collect();
        let deletions = old
            .iter()
            .enumerate()
            .filter(|(at, line)| !same.contains(at) && text(line) && !stands(line, &new));
        Self {
            added: rest.map(added_line).collect(),
            deleted: deletions.map(|(_, l)| to_line(l)).collect(),
        }
    }

    /// Drops added lines that are already missing, and deleted lines that are already back, in a
    /// text the person saw later.
    fn only_as_in(&mut self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        self.added.retain(|line| line.holds(&lines));
        self.deleted.retain(|line| !stands(line, &lines));
    }

    /// The added lines missing in `now`, and the deleted lines that are back.
    fn broken(&self, now: &str) -> (Vec<String>, Vec<String>) {
        let now: Vec<&str> = now.lines().collect();
        let absent = self.added.iter().filter(|added| !added.holds(&now));
        let back = self.deleted.iter().filter(|line| stands(line, &now));
        (absent.map(|one| one.line.clone()).collect(), back.cloned().collect())
    }
}

fn stands(line: &str, lines: &[&str]) -> bool {
    lines.iter().any(|other| other.trim_end() == line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(shown: &str, left: &str, now: &str) -> (Vec<String>, Vec<String>) {
        EditedLines::between(shown, left).broken(now)
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn a_persons_missing_lines_are_found_even_if_the_rest_moved() {
        let (shown, left) = ("a\nb\nc\n", "a\nB\nc\n");
        assert_eq!(broken(shown, left, "a\nB  \nc\nd\n"), (vec![], vec![]));
        assert_eq!(broken(shown, left, "c\nB\n"), (vec![], vec![]), "the rest is the actor's");
        assert_eq!(broken(shown, left, "a\nb\nc\n"), (lines(&["B"]), lines(&["b"])));
        assert_eq!(broken(shown, left, "a\nbb\nc\n"), (lines(&["B"]), vec![]));
        assert_eq!(broken(shown, "a\nc\n", "a\nb\nc\n"), (vec![], lines(&["b"])));
        // For a moved line its position counts.
        assert_eq!(broken(shown, "b\na\nc\n", "a\nb\nc\n").1, Vec::<String>::new());
        assert_eq!(broken(shown, "b\na\nc\n", "a\nb\nc\n").0.len(), 1);
        assert_eq!(broken(shown, "b\na\nc\n", "b\na\nc\nd\n"), (vec![], vec![]));
    }

    #[test]
    fn changes_the_person_has_seen_are_not_reported_again() {
        let mut own_lines = EditedLines::between("a\nb\n", "A\nB\n");
        own_lines.only_as_in("A\nb\n");
        assert_eq!(own_lines.broken("x\n"), (lines(&["A"]), vec![]));
    }
}
