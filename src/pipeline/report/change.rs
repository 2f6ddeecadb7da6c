//! What the delivery report of a change request tells of it: its scope, what it has touched beside
//! that, and the records before and after.

use std::fmt::Write as _;

use super::markdown::{REASON, TITLE, cell, paths, table};
use crate::artifact::record_diff::Change;
use crate::artifact::{ChangeRequest, Store};
use crate::pipeline::change::scope::{self, RECORDS};
use crate::pipeline::files::project_files;
use crate::pipeline::run::Run;

/// Rows of a table or list.
const ROWS: usize = 40;

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
    pub(crate) fn scope(&self) -> String {
        let asked = &self.asked;
        let mut out = format!("- {}\n", asked.headline());
        let lists = [
            ("Components", &asked.affected_components),
            ("Files", &asked.affected_files),
            ("Stays as it is", &asked.constraints),
        ];
        for (title, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            let items: Vec<String> = items.iter().map(|item| cell(item, REASON)).collect();
            let _ = writeln!(out, "- {title}: {}", items.join("; "));
        }
        if asked.affected_files.is_empty() {
            out += "- Files changed outside this scope: triage named no files to compare with\n";
        } else if self.outside.is_empty() {
            out += "- Files changed outside this scope: none\n";
        } else {
            out += "- Files changed outside this scope (named by neither triage nor a task):\n";
            for path in self.outside.iter().take(ROWS) {
                let _ = writeln!(out, "  - {}", paths(std::slice::from_ref(path)));
            }
            out += &more(self.outside.len(), "  - ", "");
        }
        out
    }

    /// A row for each field of a record that changed, and for each record that came or went.
    pub(crate) fn before_and_after(&self) -> String {
        if self.records.is_empty() {
            return "No requirement, feature, component or task changed.\n".to_owned();
        }
        let mut rows = Vec::new();
        for record in &self.records {
            let name = cell(&format!("{} {}", record.id, record.title), TITLE);
            let became = record.became.name();
            if record.fields.is_empty() {
                rows.push([name, became.to_owned(), String::new(), String::new()]);
                continue;
            }
            for field in &record.fields {
                let same = alike(&field.before, &field.after);
                let part = |words: &str| match same {
                    0 => cell(words, REASON),
                    _ => cell(&format!("… {}", &words[same..]), REASON),
                };
                let (before, after) = (part(&field.before), part(&field.after));
                rows.push([name.clone(), cell(&field.name, TITLE), before, after]);
            }
        }
        let all = rows.len();
        rows.truncate(ROWS);
        let table = table(["Record", "Field", "Before", "After"], &rows);
        table + &more(all, "\n", ": `git diff` of the JSON files has them all")
    }
}

/// Bytes at the beginning of both texts that are the same words, where a cell has no room for them.
fn alike(before: &str, after: &str) -> usize {
    if before.chars().count().max(after.chars().count()) <= REASON {
        return 0;
    }
    let pairs = before.char_indices().zip(after.chars());
    let same = pairs.take_while(|((_, a), b)| a == b).last();
    let same = same.map_or(0, |((at, c), _)| at + c.len_utf8());
    before[..same].rfind(' ').map_or(0, |space| space + 1)
}

/// What is said of those that are not among the first [`ROWS`].
fn more(all: usize, before: &str, after: &str) -> String {
    match all.saturating_sub(ROWS) {
        0 => String::new(),
        more => format!("{before}and {more} more{after}\n"),
    }
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
