//! The parts of a change request's delivery report: its scope, files changed outside of it, and the
//! records before and after.

use std::collections::BTreeSet;

use super::fit::Section;
use super::markdown::{REASON, TITLE, WHOLE, cell, paths};
use crate::artifact::check::Baseline;
use crate::artifact::record_diff::{Became, Change};
use crate::artifact::{ChangeRequest, Criterion, IdKind, Store};
use crate::pipeline::change::scope::{self, RECORDS};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;

/// Maximum number of files outside the scope that are listed.
const ROWS: usize = 40;
/// Maximum characters of a field's value that is shown whole on either side.
const FIELD: usize = 80;

/// The requested scope of a change request, and the changes it made.
#[derive(Default)]
pub(crate) struct ChangeStory {
    pub asked: ChangeRequest,
    /// The files it changed that triage named, and those that neither triage nor one of its own
    /// tasks names.
    inside: Vec<String>,
    outside: Vec<String>,
    /// The tasks it added.
    pub own_tasks: BTreeSet<String>,
    /// Its changes to the records.
    records: Vec<Change>,
    /// What it started with.
    before: Baseline,
}

pub(crate) fn change_story(
    run: &Run<'_>,
    store: &Store<'_>,
    changed: &[String],
) -> anyhow::Result<ChangeStory> {
    let mut request = store.change_request()?.unwrap_or_default();
    request.scope = run.session.scope.unwrap_or(request.scope);
    let is_changed = |named: &&String| {
        let pattern = std::slice::from_ref(*named);
        changed.iter().any(|path| scope::covers(pattern, path))
    };
    Ok(ChangeStory {
        inside: request.affected_files.iter().filter(is_changed).cloned().collect(),
        asked: request,
        outside: scope::outside_scope(run, changed)?,
        own_tasks: scope::own_tasks(run)?.into_iter().map(|task| task.id).collect(),
        records: scope::changes_of(run, &RECORDS)?.unwrap_or_default(),
        before: project_files::baseline_of_change(run)?.unwrap_or_default(),
    })
}

impl ChangeStory {
    /// How it changed a record; `None` if the record is as it was.
    pub(crate) fn became(&self, id: &str) -> Option<Became> {
        self.records.iter().find(|record| record.id == id).map(|record| record.became)
    }

    /// Ids and titles of the requirements that it removed.
    pub(crate) fn removed_requirements(&self) -> impl Iterator<Item = String> {
        let is_gone =
            |one: &&Change| one.kind == IdKind::Requirement && one.became == Became::Removed;
        self.records.iter().filter(is_gone).map(|one| format!("{} {}", one.id, one.title))
    }

    /// True if a requirement did not have this criterion before.
    pub(crate) fn is_new(&self, requirement: &str, criterion: &Criterion) -> bool {
        !self.before.has_criterion(requirement, criterion)
    }

    /// The requested scope, and the files changed outside of it.
    pub(crate) fn scope(&self, all: &str) -> Section {
        let request = &self.asked;
        let mut section = Section::new("## Scope of the change", "");
        let summary = cell(&request.summary, WHOLE);
        for line in [summary, request.headline()].iter().filter(|line| !line.is_empty()) {
            section.push(&format!("- {line}"));
        }
        let rest = match request.affected_files.len() - self.inside.len() {
            0 => Vec::new(),
            count => vec![format!("{count} that triage named not changed")],
        };
        let files = [&self.inside[..], &rest].concat();
        for (title, named) in [
            ("Features", &request.affected_features),
            ("Components", &request.affected_components),
            ("Files", &files),
            ("Stays as it is", &request.constraints),
        ] {
            if !named.is_empty() {
                section.push(&format!("- {title}: {}", cell(&named.join("; "), WHOLE)));
            }
        }
        let outside = "- Files changed outside this scope";
        if request.affected_files.is_empty() {
            section.push(&format!("{outside}: triage named no files to compare with"));
        } else if self.outside.is_empty() {
            section.push(&format!("{outside}: none"));
        } else {
            section.push(&format!("{outside} (named by neither triage nor a task):"));
            for path in self.outside.iter().take(ROWS) {
                section.push(&format!("  - {}", paths(std::slice::from_ref(path), 0)));
            }
        }
        let more = self.outside.len().saturating_sub(ROWS);
        section.list(&[], all).without(more)
    }

    /// One line for each changed field of a record, or item of a list in it, and for each added or
    /// removed record.
    pub(crate) fn before_and_after(&self, all: &str) -> Section {
        let mut section = Section::new("## Records before and after", "");
        let mut others = Vec::new();
        for record in &self.records {
            let name = cell(&format!("{} {}", record.id, record.title), TITLE);
            let (mut items, mut most) = (Vec::new(), REASON);
            let is_product = matches!(record.kind, IdKind::Requirement | IdKind::Feature);
            if is_product {
                most = WHOLE;
            }
            if record.fields.is_empty() {
                items.push(format!("- {name}: {}", record.became.name()));
            }
            for field in &record.fields {
                let (before, after) = differing(&field.before, &field.after);
                let (before, after) = (cell(&before, most), cell(&after, most));
                let how = match (before.is_empty(), after.is_empty()) {
                    (true, _) => format!("added: {after}"),
                    (_, true) => format!("removed: {before}"),
                    _ => format!("{before} → {after}"),
                };
                items.push(format!("- {name}, {}: {how}", cell(&field.name, TITLE)));
            }
            match is_product {
                true => items.iter().for_each(|item| section.push(item)),
                false => others.append(&mut items),
            }
        }
        section.list(&others, all)
    }
}

/// Two texts, each reduced to the words that differ and those between them; both whole if they fit
/// on a line or one is empty.
fn differing(before: &str, after: &str) -> (String, String) {
    let whole = || (before.to_owned(), after.to_owned());
    if before.chars().count().max(after.chars().count()) <= FIELD {
        return whole();
    }
    let (a, b): (Vec<&str>, Vec<&str>) =
        (before.split_whitespace().collect(), after.split_whitespace().collect());
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let shorter = a.len().min(b.len()) - start;
    let (ends_a, ends_b) = (a.iter().rev(), b.iter().rev());
    let end = ends_a.zip(ends_b).take(shorter).take_while(|(a, b)| a == b).count();
    if start + end == 0 {
        return whole();
    }
    let part = |words: &[&str]| {
        let dots = |count| if count > 0 { vec!["…"] } else { Vec::new() };
        let middle = words[start..words.len() - end].to_vec();
        [dots(start), middle, dots(end)].concat().join(" ")
    };
    (part(&a), part(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_reduced_to_the_part_that_differs() {
        let of = |before: &str, after: &str| differing(before, after);
        assert_eq!(of("a b c", "a b d"), ("a b c".to_owned(), "a b d".to_owned()));
        let long = "wörd ".repeat(60);
        let (before, after) = (format!("{long}old end"), format!("{long}older end"));
        assert_eq!(of(&before, &after), ("… old …".to_owned(), "… older …".to_owned()));
        assert_eq!(of(&long, ""), (long.clone(), String::new()));
        let more = format!("{long}more");
        assert_eq!(of(long.trim_end(), &more), ("…".to_owned(), "… more".to_owned()));
        let (one, other) = ("x".repeat(300), "x".repeat(301));
        assert_eq!(of(&one, &other), (one, other));
    }
}
