//! The parts of a change request's delivery report: its scope, files changed outside of it, and the
//! records before and after.

use super::fit::Section;
use super::markdown::{REASON, TITLE, cell, paths};
use crate::artifact::record_diff::Change;
use crate::artifact::{ChangeRequest, Store};
use crate::pipeline::change::scope::{self, RECORDS};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;

/// Maximum number of items in a list.
const ROWS: usize = 40;
/// Maximum characters of a field's value.
const FIELD: usize = 80;

/// The requested scope of a change request, and the changes it made.
#[derive(Default)]
pub(crate) struct ChangeStory {
    pub asked: ChangeRequest,
    /// Files it changed that neither its triage nor one of its own tasks names.
    outside: Vec<String>,
    /// Its changes to the records.
    records: Vec<Change>,
}

pub(crate) fn change_story(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<ChangeStory> {
    let mut asked = store.change_request()?.unwrap_or_default();
    asked.scope = run.session.scope.unwrap_or(asked.scope);
    Ok(ChangeStory {
        asked,
        outside: scope::outside_scope(
            run,
            &project_files::code_since_start(run, &run.session.tip)?,
        )?,
        records: scope::changes_of(run, &RECORDS)?.unwrap_or_default(),
    })
}

impl ChangeStory {
    /// The requested scope, and the files changed outside of it.
    pub(crate) fn scope(&self, all: &str) -> Section {
        let asked = &self.asked;
        let mut items = vec![format!("- {}", asked.headline())];
        let lists = [
            ("Components", &asked.affected_components),
            ("Files", &asked.affected_files),
            ("Stays as it is", &asked.constraints),
        ];
        for (title, named) in lists.into_iter().filter(|(_, named)| !named.is_empty()) {
            items.push(format!("- {title}: {}", cell(&named.join("; "), 2 * REASON)));
        }
        let outside = "- Files changed outside this scope";
        if asked.affected_files.is_empty() {
            items.push(format!("{outside}: triage named no files to compare with"));
        } else if self.outside.is_empty() {
            items.push(format!("{outside}: none"));
        } else {
            items.push(format!("{outside} (named by neither triage nor a task):"));
            let shown = self.outside.iter().take(ROWS);
            items.extend(shown.map(|path| format!("  - {}", paths(std::slice::from_ref(path), 0))));
        }
        let more = self.outside.len().saturating_sub(ROWS);
        Section::new("## Scope of the change", "").list(&items, all).without(more)
    }

    /// One line for each changed field of a record, and for each added or removed record.
    pub(crate) fn before_and_after(&self) -> Section {
        let mut items = Vec::new();
        for record in &self.records {
            let name = cell(&format!("{} {}", record.id, record.title), TITLE);
            if record.fields.is_empty() {
                items.push(format!("- {name}: {}", record.became.name()));
            }
            for field in &record.fields {
                let same = alike(&field.before, &field.after);
                let part = |words: &str| match same {
                    _ if words.is_empty() => "(nothing)".to_owned(),
                    0 => cell(words, FIELD),
                    _ => cell(&format!("… {}", &words[same..]), FIELD),
                };
                let (before, after) = (part(&field.before), part(&field.after));
                let field = cell(&field.name, TITLE);
                items.push(format!("- {name}, {field}: {before} → {after}"));
            }
        }
        let more = items.len().saturating_sub(ROWS);
        items.truncate(ROWS);
        Section::new("## Records before and after", "")
            .list(&items, "`git diff` of the JSON files shows them all")
            .without(more)
    }
}

/// The length in bytes of the words that both texts have in common at the start; 0 if both texts
/// fit on a line.
fn alike(before: &str, after: &str) -> usize {
    if before.chars().count().max(after.chars().count()) <= FIELD {
        return 0;
    }
    let pairs = before.char_indices().zip(after.chars());
    let same = pairs.take_while(|((_, a), b)| a == b).last();
    let same = same.map_or(0, |((at, c), _)| at + c.len_utf8());
    before[..same].rfind(' ').map_or(0, |space| space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_reduced_to_the_part_that_differs() {
        assert_eq!(alike("a b c", "a b d"), 0);
        let long = "wörd ".repeat(60);
        let (before, after) = (format!("{long}old end"), format!("{long}older end"));
        assert_eq!(&before[alike(&before, &after)..], "old end");
        assert_eq!(&after[alike(&before, &after)..], "older end");
        assert_eq!(alike(&long, "ö"), 0);
        assert_eq!(alike(&"x".repeat(300), &"x".repeat(301)), 0);
    }
}
