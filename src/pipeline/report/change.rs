//! What the delivery report of a change request tells of it: its scope, what it has touched beside
//! that, and the records before and after.

use super::fit::Section;
use super::markdown::{REASON, TITLE, cell, paths};
use crate::artifact::record_diff::Change;
use crate::artifact::{ChangeRequest, Store};
use crate::pipeline::change::scope::{self, RECORDS};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;

/// Items of a list.
const ROWS: usize = 40;
/// Characters of a field before or after.
const FIELD: usize = 80;

/// What a change request was to touch, and what it has touched.
#[derive(Default)]
pub(crate) struct ChangeStory {
    pub asked: ChangeRequest,
    /// Files it changed that neither its triage nor a task of its own named.
    outside: Vec<String>,
    /// What it made of the records.
    records: Vec<Change>,
}

pub(crate) fn change_story(run: &Run<'_>, store: &Store<'_>) -> anyhow::Result<ChangeStory> {
    Ok(ChangeStory {
        asked: store.change_request()?.unwrap_or_default(),
        outside: scope::outside_scope(
            run,
            &project_files::code_since_start(run, &run.session.tip)?,
        )?,
        records: scope::changes_of(run, &RECORDS)?.unwrap_or_default(),
    })
}

impl ChangeStory {
    /// What it was to touch, and what it has touched beside that.
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

    /// A line for each field of a record that changed, and for each record that came or went.
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
            .list(&items, "`git diff` of the JSON files has them all")
            .without(more)
    }
}

/// Bytes at the beginning of both texts that are the same words, where a line has no room for them.
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
    fn of_long_texts_the_part_that_differs_is_told() {
        assert_eq!(alike("a b c", "a b d"), 0);
        let long = "wörd ".repeat(60);
        let (before, after) = (format!("{long}old end"), format!("{long}older end"));
        assert_eq!(&before[alike(&before, &after)..], "old end");
        assert_eq!(&after[alike(&before, &after)..], "older end");
        assert_eq!(alike(&long, "ö"), 0);
        assert_eq!(alike(&"x".repeat(300), &"x".repeat(301)), 0);
    }
}
