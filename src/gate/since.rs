//! A short summary of the changes since a person last looked.
//!
//! The main document comes first. Long lines may be shortened to their differences. For files
//! that only programs read, only the number of changed lines is shown.

use crate::gate::clean::clean;
use crate::gate::{Document, Draft, Since};
use crate::wrap::wrap;

impl Since {
    /// Summarizes a unified diff; `None` if nothing changed. `records` describes changed records
    /// (`1 component removed`); if it is not empty, files that only programs read are not counted.
    pub fn of(diff: String, records: &str) -> Option<Self> {
        let mut files = files(&diff);
        files.retain(|file| file.changed() > 0);
        if files.is_empty() {
            return None;
        }
        if !records.is_empty() || files.iter().any(|file| !file.is_json()) {
            files.retain(|file| !file.is_json());
        }
        let added: usize = files.iter().map(FileDiff::added).sum();
        let changed: usize = files.iter().map(FileDiff::changed).sum();
        let lines = if changed == 1 { "1 line".to_owned() } else { format!("{changed} lines") };
        let lines = match (added, changed - added) {
            (0, 0) => None,
            (0, _) => Some(format!("{lines} removed")),
            (_, 0) => Some(format!("{lines} added")),
            _ => Some(format!("{lines} changed")),
        };
        let records = (!records.is_empty()).then(|| records.to_owned());
        let summary = records.into_iter().chain(lines).collect::<Vec<_>>().join(", ");
        Some(Self { heading: "Since you last looked", summary, diff })
    }
}

/// A diff as shown at a gate.
pub(super) struct Shown {
    /// The rows that fit: a sign (`+`, `-`, or a blank for context), and the row's text including
    /// the sign.
    pub rows: Vec<(char, String)>,
    /// Number of changed lines that did not fit, or fit only in part.
    pub more: usize,
    /// Files whose changed lines are only counted: one line of text for each file.
    pub counted: Vec<String>,
}

/// The changes in at most `height` rows of `width` columns.
pub(super) fn shown(draft: &Draft<'_>, diff: &str, width: usize, height: usize) -> Shown {
    let main = draft.main().map(|main| main.name.as_str());
    let other = |name: &str| {
        let named = |document: &&Document| name.rsplit('/').next() == Some(&*document.name);
        draft.documents.iter().find(named).filter(|document| Some(&*document.name) != main)
    };
    let changed = files(diff).into_iter().filter(|file| file.changed() > 0);
    let (counted, mut read): (Vec<_>, Vec<_>) =
        changed.partition(|file| file.is_json() && other(&file.name).is_some());
    // If no other files changed, show these files in full.
    let counted = if read.is_empty() {
        read.extend(counted);
        Vec::new()
    } else {
        counted
    };
    read.sort_by_key(|file| main.is_none_or(|main| file.name.rsplit('/').next() != Some(main)));
    let several = read.len() > 1;
    let mut out = Shown { rows: Vec::new(), more: 0, counted: Vec::new() };
    for file in read {
        let unexpected = file.is_json() && main.is_some_and(|main| !file.name.ends_with(main));
        if (several || unexpected) && out.rows.len() < height {
            out.rows.push((' ', file.name.clone()));
        }
        for (sign, line) in cut_to_difference(near_changes(&file.lines), width) {
            let mut parts = wrap(&line, width.saturating_sub(3));
            if sign == ' ' {
                parts.truncate(1);
            }
            let room = height.saturating_sub(out.rows.len());
            if out.more > 0 || room == 0 {
                out.more += usize::from(sign != ' ');
                continue;
            }
            if parts.len() > room {
                parts.truncate(room);
                out.more += 1;
            }
            for (i, part) in parts.into_iter().enumerate() {
                // The rest of a long line is indented, so that it does not look like a new line.
                let start = if i == 0 { sign.to_string() } else { "   ".to_owned() };
                out.rows.push((sign, format!("{start}{part}")));
            }
        }
    }
    out.counted = counted
        .iter()
        .map(|file| {
            let name = file.name.rsplit('/').next().unwrap_or(&file.name);
            let changed = file.added().max(file.changed() - file.added());
            let lines = if changed == 1 { "line" } else { "lines" };
            format!("{name}: {changed} {lines} changed")
        })
        .collect();
    out
}

type Line = (char, String);

/// The diff of one file: `+`, `-`, a blank for context, `@` between hunks.
struct FileDiff {
    name: String,
    lines: Vec<Line>,
}

impl FileDiff {
    fn is_json(&self) -> bool {
        self.name.ends_with(".json")
    }

    fn added(&self) -> usize {
        self.lines.iter().filter(|line| line.0 == '+').count()
    }

    fn changed(&self) -> usize {
        self.lines.iter().filter(|line| matches!(line.0, '+' | '-')).count()
    }
}

fn files(diff: &str) -> Vec<FileDiff> {
    let diff = clean(diff);
    let mut files: Vec<FileDiff> = Vec::new();
    let mut in_header = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            in_header = true;
            let name = names.rsplit_once(" b/").map_or(names, |(_, name)| name).to_owned();
            files.push(FileDiff { name, lines: Vec::new() });
            continue;
        }
        if files.is_empty() {
            files.push(FileDiff { name: String::new(), lines: Vec::new() });
        }
        let Some(file) = files.last_mut() else { continue };
        let mut chars = line.chars();
        match chars.next() {
            Some('@') => {
                in_header = false;
                file.lines.push(('@', String::new()));
            }
            _ if in_header && line.starts_with("Binary files ") => {
                file.lines.push(('+', "(not text)".to_owned()));
            }
            _ if in_header => {}
            Some(sign @ ('+' | '-' | ' ')) => {
                file.lines.push((sign, chars.as_str().replace('\t', "    ")));
            }
            _ => {}
        }
    }
    files
}

/// The changed lines, the lines directly next to them, and `…` for gaps.
fn near_changes(lines: &[Line]) -> Vec<Line> {
    let changed = |at: usize| lines.get(at).is_some_and(|line| matches!(line.0, '+' | '-'));
    let mut near: Vec<Line> = Vec::new();
    let mut left_out = false;
    for (at, (sign, text)) in lines.iter().enumerate() {
        let beside = changed(at + 1) || at.checked_sub(1).is_some_and(changed);
        if changed(at) || (*sign == ' ' && beside && !text.trim().is_empty()) {
            if std::mem::take(&mut left_out) && !near.is_empty() {
                near.push((' ', "…".to_owned()));
            }
            near.push((*sign, text.clone()));
        } else if !text.trim().is_empty() || *sign == '@' {
            left_out = true;
        }
    }
    near
}

/// Shortens the common parts of long lines that replace each other, so that the change itself fits.
fn cut_to_difference(mut lines: Vec<Line>, width: usize) -> Vec<Line> {
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, sign| lines[from..].iter().take_while(|l| l.0 == sign).count();
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        for pair in at..at + removed.min(added) {
            let (old, new) = (&lines[pair].1, &lines[pair + removed].1);
            if old.chars().count().max(new.chars().count()) > 2 * width {
                let (old, new) = without_common(old, new);
                lines[pair].1 = old;
                lines[pair + removed].1 = new;
            }
        }
        at += (removed + added).max(1);
    }
    lines
}

fn without_common(old: &str, new: &str) -> (String, String) {
    /// Number of common words to keep beside a difference.
    const BESIDE: usize = 4;
    let (old, new): (Vec<_>, Vec<_>) = (old.split(' ').collect(), new.split(' ').collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest);
    let tail = tail.take_while(|(a, b)| a == b).count();
    let cut = |words: &[&str]| {
        let from = if head > BESIDE + 1 { head - BESIDE } else { 0 };
        let to = if tail > BESIDE + 1 { words.len() - (tail - BESIDE) } else { words.len() };
        let before = if from > 0 { "… " } else { "" };
        let after = if to < words.len() { " …" } else { "" };
        format!("{before}{}{after}", words[from..to].join(" "))
    };
    (cut(&old), cut(&new))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "diff --git a/d/x.md b/d/x.md\nindex 1..2\n--- a/d/x.md\n+++ b/d/x.md\n\
                       @@ -1,3 +1,3 @@\n \n far\n near\n--- a\n+b\n@@ -9 +9 @@\n c\n+d\n";

    #[test]
    fn a_diff_is_summed_up_in_a_line() {
        let summary =
            |diff: &str, records: &str| Since::of(diff.to_owned(), records).map(|s| s.summary);
        assert_eq!(summary("", ""), None);
        assert_eq!(summary("diff --git a/x b/x\nold mode 1\n", ""), None);
        assert_eq!(summary(ONE, "").unwrap(), "3 lines changed");
        assert_eq!(summary("@@ -1 +1 @@\n+x\n", "").unwrap(), "1 line added");
        assert_eq!(summary("@@ -1 +1 @@\n-x\n-y\n", "").unwrap(), "2 lines removed");
        let json = ONE.replace("x.md", "y.json");
        let two = format!("{ONE}{json}");
        assert_eq!(summary(&two, "").unwrap(), "3 lines changed");
        assert_eq!(summary(&json, "").unwrap(), "3 lines changed");
        let records = "1 component removed";
        assert_eq!(summary(&two, records).unwrap(), "1 component removed, 3 lines changed");
        assert_eq!(summary(&json, records).unwrap(), records);
    }

    #[test]
    fn only_lines_near_a_change_are_kept() {
        let near = near_changes(&files(ONE)[0].lines);
        let near: Vec<_> = near.iter().map(|(sign, text)| format!("{sign}{text}")).collect();
        assert_eq!(near, [" …", " near", "--- a", "+b", " …", " c", "+d"][1..]);
    }

    #[test]
    fn long_lines_are_cut_to_their_difference() {
        let old = "one two three four five six seven eight nine ten eleven twelve thirteen";
        let new = old.replace("seven", "SEVEN and more");
        let (old, new) = without_common(old, &new);
        assert_eq!(old, "… three four five six seven eight nine ten eleven …");
        assert_eq!(new, "… three four five six SEVEN and more eight nine ten eleven …");
        assert_eq!(without_common("a b c", "a x c"), ("a b c".to_owned(), "a x c".to_owned()));
    }
}
