//! Reads tasks: checkboxes below headings, and the headings over them.

use regex::Captures;

use super::markdown::{Block, Form, check_box};
use super::marks::{Becomes, Means, On, Row, compiled};
use super::paths::listed_paths;
use super::read::{RowReader, Scope, Target, keys};

const STORY: &str = r"(?i)\buser story (\d+)";
/// Titles of a heading that says only that tasks follow.
const LIST: &str = r"(?i)^(?:tasks?|task list|to-?do|implementation(?: plan| tasks?)?)$";
const TASK_KEY: &str = r"^(?:TXXX|T\d+[a-z]?|\d+(?:\.\d+)+|\d{1,3}[a-z]?)[:.]?$";

fn is_match(pattern: &'static str, text: &str) -> bool {
    compiled(pattern).is_some_and(|pattern| pattern.is_match(text))
}

impl RowReader<'_> {
    pub(super) fn task(
        &mut self,
        block: &Block,
        found: &Captures<'_>,
        text: &str,
        why: Option<&str>,
    ) {
        let part = |name| found.name(name).map(|part| part.as_str().trim());
        let mut row = Row { becomes: Becomes::Task, ..Row::default() };
        let (mark, optional, _) = check_box(&block.text).unwrap_or_default();
        row.text = task_words(&mut row, part("text").unwrap_or(text));
        row.files.extend(part("files").map(str::to_owned));
        row.naming.clone_from(&row.text);
        row.title.clone_from(&row.text);
        let why = match (mark, optional) {
            (Some('x' | 'X'), _) => Some("ticked"),
            (_, true) => Some("optional"),
            _ => why,
        };
        row.left_out = why.map(str::to_owned);
        self.details(&mut row, text);
        let above = self.open.iter().rev().find_map(|(scope, target)| match (scope, target) {
            (Scope::Item(own), Target::Row(at)) if *own < block.indent => Some(*at),
            _ => None,
        });
        let first = self.group.map_or(0, |(row, _)| row);
        let by_key = || {
            let (above, _) = row.key.rsplit_once('.')?;
            self.out.rows.iter().skip(first).rposition(|one| one.is_task() && one.key == above)
        };
        let above = above.or_else(|| by_key().map(|at| at + first)).or(self.record);
        if let Some(one) = above.and_then(|at| self.out.rows.get(at)) {
            row.level = if one.is_task() { one.level + 1 } else { 1 };
            let key = Some(one.key.clone()).filter(|_| one.is_requirement());
            row.serves.extend(key);
        } else {
            row.level = 1;
        }
        self.push(row, block);
    }

    /// Takes what a block says about the task that it belongs to, and returns what is left of it.
    pub(super) fn details(&self, row: &mut Row, text: &str) -> (String, bool) {
        let (mut left, mut reads) = (text.to_owned(), false);
        for pattern in self.patterns.iter().filter(|one| one.on == On::Part) {
            for found in pattern.text.captures_iter(text) {
                let part = |name| found.name(name).map_or("", |part| part.as_str());
                match pattern.means {
                    Means::Serves => {
                        row.serves.extend(keys(part("serves")));
                        left = left.replace(found.get(0).map_or("", |all| all.as_str()), "");
                    }
                    Means::Needs => row.needs.extend(keys(part("needs"))),
                    Means::Files => row.files.extend(listed_paths(part("files"))),
                    Means::Reads => reads = true,
                    _ => {}
                }
            }
        }
        (left.trim().to_owned(), reads)
    }

    pub(super) fn begins_group(&self, block: &Block) -> bool {
        let Form::Heading(level) = block.form else { return false };
        let titled = self
            .group
            .filter(|(row, _)| self.out.rows.get(*row).is_some_and(|row| !row.title.is_empty()));
        titled.is_none_or(|(_, own)| level <= own)
    }

    pub(super) fn begin_group(&mut self, level: usize, title: &str) {
        let story = compiled(STORY).and_then(|story| {
            story.captures(title)?.get(1).map(|number| format!("US{}", number.as_str()))
        });
        let serves = story.into_iter().collect();
        let title =
            if level < 2 || is_match(LIST, title) { String::new() } else { group_title(title) };
        self.out.rows.push(Row { becomes: Becomes::Group, title, serves, ..Row::default() });
        let row = self.out.rows.len() - 1;
        self.group = Some((row, level));
        self.open = vec![(Scope::Heading(level), Target::Row(row))];
    }

    /// Makes tasks of the headings with several tasks and no sub-tasks, and names the text that no
    /// task has.
    pub(super) fn finish_groups(&mut self, first: usize) {
        let mut rows = self.out.rows.split_off(first);
        let mut groups: Vec<(usize, Vec<Row>)> = Vec::new();
        for (at, row) in rows.drain(..).enumerate() {
            match groups.last_mut() {
                Some((_, group)) if row.becomes != Becomes::Group => group.push(row),
                _ => groups.push((first + at, vec![row])),
            }
        }
        for (at, mut group) in groups {
            let is_open = |row: &&mut Row| row.is_task() && row.left_out.is_none();
            let open = group.iter().filter(|row| row.is_task() && row.left_out.is_none());
            let (open, is_flat) = (open.count(), !group.iter().any(|row| row.level > 1));
            let mut rows = group.split_off(1);
            let Some(mut head) = group.pop() else { continue };
            let is_used = match open {
                0 => !rows.is_empty(),
                _ if head.title.is_empty() => false,
                1 => {
                    if let Some(only) = rows.iter_mut().find(is_open) {
                        if !head.text.is_empty() {
                            only.add("\n\n", &head.text);
                        }
                        only.tests.append(&mut head.tests);
                        only.serves.append(&mut head.serves);
                    }
                    true
                }
                _ if is_flat => {
                    rows.iter_mut().for_each(|row| row.level += 1);
                    if head.text.is_empty() {
                        head.text = format!("{}.", head.title);
                    }
                    rows.insert(0, Row { becomes: Becomes::Task, level: 1, ..head });
                    true
                }
                _ => {
                    rows.iter_mut().for_each(|row| row.serves.extend(head.serves.iter().cloned()));
                    false
                }
            };
            if !is_used {
                self.name_lines(at);
            }
            self.out.rows.append(&mut rows);
        }
    }

    /// Names the lines of a heading that no task has: `lines 5 to 9 (Notes)`.
    fn name_lines(&mut self, group: usize) {
        let mut runs: Vec<((usize, usize), &str)> = Vec::new();
        for (_, lines, section) in self.prose.iter().filter(|(own, ..)| *own == group) {
            match runs.last_mut() {
                Some((run, last)) if *last == section => run.1 = lines.1,
                _ => runs.push((*lines, section)),
            }
        }
        for ((from, to), section) in runs {
            let lines =
                if from == to { format!("line {from}") } else { format!("lines {from} to {to}") };
            let section = if section.is_empty() { String::new() } else { format!(" ({section})") };
            self.out.lines.push(format!("{} {lines}{section}", self.file));
        }
    }
}

/// Takes id and labels from the start of a task (`T012 [P] [US1] …`), and returns the rest.
fn task_words(row: &mut Row, text: &str) -> String {
    let mut rest = text.to_owned();
    while let Some((word, behind)) = rest.split_once(' ') {
        let label = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        let label = label.unwrap_or_default().to_ascii_uppercase();
        let is_story = label.strip_prefix("US").is_some_and(|number| number.parse::<u32>().is_ok());
        if row.key.is_empty() && row.serves.is_empty() && is_match(TASK_KEY, word) {
            word.trim_end_matches([':', '.']).clone_into(&mut row.key);
        } else if is_story {
            row.serves.push(label);
        } else if label != "P" {
            break;
        }
        rest = behind.trim().to_owned();
    }
    rest
}

/// Removes the parts of a heading that do not belong to its title.
fn group_title(text: &str) -> String {
    let text = text.split("🎯").next().unwrap_or_default();
    let text = text.split("(Priority").next().unwrap_or_default();
    text.trim_end_matches([' ', '⚠', '\u{fe0f}']).to_owned()
}
