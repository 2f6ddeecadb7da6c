//! A critic's second reading (row B14): what it said before and what changed since it read the draft
//! come first and take the place of everything it has read already. A document is sent whole only
//! where it is smaller than its difference; the rest can be read with the critic's tools.

use std::fmt::Write as _;

use crate::artifact::{Artifact, Origin, Store};
use crate::git::{self, DiffStyle, Oid};
use crate::pipeline::brief::reader::WHOLE_CODE;
use crate::pipeline::brief::sections::{DIFF, artifact_section, section};
use crate::pipeline::files::approved_content;
use crate::pipeline::progress::Progress;
use crate::pipeline::run::Run;
use crate::session::artifact_path;
use crate::stages::{Approves, RoleSpec, StageSpec};

/// Bytes of the critic's own feedback.
const SAID: usize = 12_000;

/// Who reads again.
pub(crate) struct Reading<'a> {
    /// As whom its feedback was given.
    pub by: Origin,
    /// Its part.
    pub role: &'a RoleSpec,
    /// The draft it read last.
    pub read: Option<&'a Oid>,
}

/// What a second reading begins with.
pub(crate) struct SecondReading {
    /// The whole of it.
    pub opening: String,
    /// What changed, as a part of that.
    pub changes: String,
}

/// What a judge gets that has read a draft of this stage before; none on its first reading.
pub(crate) fn changes_since_reading(
    run: &Run<'_>,
    spec: &StageSpec,
    reading: &Reading<'_>,
    progress: &Progress,
) -> anyhow::Result<Option<SecondReading>> {
    let Some(read) = reading.read else { return Ok(None) };
    let mut opening = String::new();
    section(
        &mut opening,
        "Your feedback so far",
        &own_words(run, spec, reading.by, progress)?,
        SAID,
    );
    let tree = run.recorder().tree(&run.session.tip)?;
    let Changes { mut diff, whole, unchanged } = match spec.approves {
        Approves::Artifacts => changed_documents(run, spec, read, &tree)?,
        Approves::Tree => changed_code(run, spec, read, &tree)?,
    };
    if diff.is_empty() && whole.is_empty() {
        diff = "Nothing in it has changed.".to_owned();
    }
    section(&mut opening, "Changed since you last read it", &diff, DIFF / 2);
    opening += &whole;
    section(
        &mut opening,
        "Not repeated here",
        &format!("{unchanged}{}", how_to_read(reading.role)),
        DIFF,
    );
    let changes = if diff.is_empty() { "It is above, whole.".to_owned() } else { diff };
    Ok(Some(SecondReading { opening, changes }))
}

/// What a judge said about earlier drafts of this run of the stage.
pub(super) fn own_words(
    run: &Run<'_>,
    spec: &StageSpec,
    by: Origin,
    progress: &Progress,
) -> anyhow::Result<String> {
    let mut out = String::new();
    for entry in run.feedback_so_far()? {
        if (entry.stage, entry.from) != (spec.stage, by) || entry.iteration <= progress.offset {
            continue;
        }
        let draft = entry.iteration - progress.offset;
        let _ = write!(out, "- draft {draft}, {}: {}", entry.severity.name(), entry.details);
        if let Some(fix) = &entry.suggested_fix {
            let _ = write!(out, " Suggested: {fix}");
        }
        out.push('\n');
    }
    Ok(out)
}

fn changed_documents(
    run: &Run<'_>,
    spec: &StageSpec,
    read: &Oid,
    tree: &Oid,
) -> anyhow::Result<Changes> {
    let files = run.files();
    let (store, name) = (Store::new(&files), &run.session.name);
    let mut changes = Changes::default();
    let mut unchanged = Vec::new();
    for artifact in spec.artifacts {
        let path = artifact_path(name, *artifact);
        let paths = std::slice::from_ref(&path);
        let diff = git::diff::text(run.env.git, read, tree, paths, DiffStyle::Patch, false)?;
        let whole = artifact_section(&store, name, *artifact)?;
        match hunks(&diff) {
            "" if whole.is_empty() => {}
            "" => unchanged.push(path),
            hunks if hunks.len() > whole.len() => changes.whole += &whole,
            hunks => {
                let _ = writeln!(changes.diff, "### {path}\n\n{}\n", hunks.trim_end());
            }
        }
    }
    for artifact in spec.context.iter().chain(&[Artifact::ChangeRequest]) {
        if store.text(*artifact)?.is_some() {
            unchanged.push(artifact_path(name, *artifact));
        }
    }
    changes.unchanged = named("Unchanged since you read it", &unchanged);
    Ok(changes)
}

fn changed_code(
    run: &Run<'_>,
    spec: &StageSpec,
    read: &Oid,
    tree: &Oid,
) -> anyhow::Result<Changes> {
    let diff = approved_content::shown_diff(run, spec, read, tree, DiffStyle::Patch)?;
    let all = approved_content::shown_diff(
        run,
        spec,
        &approved_content::shown_from(run, spec),
        tree,
        DiffStyle::Patch,
    )?;
    let files = run.files();
    let store = Store::new(&files);
    let mut context = Vec::new();
    for artifact in spec.context.iter().chain(&[Artifact::ChangeRequest]) {
        if store.text(*artifact)?.is_some() {
            context.push(artifact_path(&run.session.name, *artifact));
        }
    }
    let mut changes =
        Changes { unchanged: named("The documents you read", &context), ..Changes::default() };
    if diff.len() > all.len() {
        section(&mut changes.whole, WHOLE_CODE, &all, DIFF);
    } else {
        changes.diff = diff;
    }
    Ok(changes)
}

/// What became of a draft since it was read.
#[derive(Debug, Default)]
struct Changes {
    /// The differences that are smaller than what they are of.
    diff: String,
    /// What is smaller than its difference, as sections.
    whole: String,
    /// What is not repeated, as a line.
    unchanged: String,
}

/// A patch of one file without its header; empty where nothing changed.
fn hunks(patch: &str) -> &str {
    let at = if patch.starts_with("@@ ") { Some(0) } else { patch.find("\n@@ ").map(|at| at + 1) };
    match at {
        Some(at) => &patch[at..],
        // A file that git calls binary has changed, too.
        None => patch,
    }
}

fn named(what: &str, paths: &[String]) -> String {
    if paths.is_empty() { String::new() } else { format!("{what}: {}.\n", paths.join(", ")) }
}

/// A judge's tools that read.
fn how_to_read(judge: &RoleSpec) -> String {
    let reads = |name: &&str| {
        let verb = name.split_once('_').map_or("", |(verb, _)| verb);
        ["load", "get", "read", "search"].contains(&verb)
    };
    let tools: Vec<&str> = judge.tools().into_iter().filter(reads).collect();
    format!("Where the changes do not tell enough, read with {}.", tools.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_its_hunks() {
        let patch =
            "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(hunks(patch), "@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(hunks(""), "");
        let binary = "diff --git a/x b/x\nBinary files a/x and b/x differ\n";
        assert_eq!(hunks(binary), binary);
    }
}
