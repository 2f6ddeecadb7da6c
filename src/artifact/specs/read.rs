//! Reads files as rows, by the marks of their kind.

use regex::{Captures, Regex};

use super::SpecFile;
use super::kinds::{Role, SpecKind};
use super::markdown::{Block, Form, blocks, check_box, plain};
use super::marks::{
    Becomes, Means, On, Pattern, Row, UNCLEAR, compiled, key_of, patterns, priority_named, row_of,
};

/// What was read from the files of a folder.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub rows: Vec<Row>,
    /// What is built, in one line; empty if no file says so.
    pub title: String,
    /// What is built, in a few sentences.
    pub summary: String,
    /// Sections of which no record was made.
    pub text_only: Vec<String>,
    /// Questions, in the words of the files.
    pub unclear: Vec<String>,
    /// Lines of files with tasks that are neither tasks nor text of one.
    pub lines: Vec<String>,
    /// Other things that a person should know.
    pub remarks: Vec<String>,
}

/// The end of the blocks that belong to a row.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scope {
    /// The next heading of this level or above.
    Heading(usize),
    /// The next block with this indent or less.
    Item(usize),
}

/// Where the text of a block goes to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Target {
    Row(usize),
    Summary,
}

/// What is above a block.
#[derive(Default)]
struct Place {
    headings: Vec<(usize, String)>,
    label: String,
    section: String,
}

impl Place {
    fn is_below(&self, pattern: &Regex) -> bool {
        let headings = self.headings.iter().map(|(_, title)| title.as_str());
        headings.chain([&*self.label, &*self.section]).any(|above| pattern.is_match(above))
    }
}

/// Reads one file.
pub(super) struct RowReader<'a> {
    pub out: &'a mut Reading,
    role: Role,
    pub patterns: Vec<Pattern>,
    folder: String,
    pub file: &'a str,
    place: Place,
    pub open: Vec<(Scope, Target)>,
    /// The row of a file that is one record.
    pub record: Option<usize>,
    /// The row of the heading over tasks, and its level.
    pub group: Option<(usize, usize)>,
    /// Lines of text that belong to a heading over tasks, with its row.
    pub prose: Vec<(usize, (usize, usize), String)>,
}

impl Reading {
    /// Reads a Markdown file. For a file that is one record, `fields` is its front matter, and
    /// `done` the state of finished ones.
    pub(super) fn markdown(
        &mut self,
        kind: &SpecKind,
        role: Role,
        file: &SpecFile,
        fields: Option<&serde_json::Map<String, serde_json::Value>>,
        done: &str,
    ) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let folder = folder.strip_prefix("specs/").unwrap_or_default().to_owned();
        let first = self.rows.len();
        let mut reader = RowReader {
            out: self,
            role,
            patterns: patterns(kind.marks, &file.path),
            folder,
            file: &file.path,
            place: Place::default(),
            open: Vec::new(),
            record: None,
            group: None,
            prose: Vec::new(),
        };
        if let (Role::Record(means), Some(fields)) = (role, fields) {
            let patterns = std::mem::take(&mut reader.patterns);
            let row = reader.out.object(&patterns, fields, (means, 1), "", done);
            reader.patterns = patterns;
            reader.record = Some(row);
        }
        if role == Role::Tasks {
            reader.begin_group(0, "");
        }
        for block in blocks(&file.text) {
            reader.split(&block);
        }
        if role == Role::Tasks {
            reader.finish_groups(first);
        }
        let record = reader.record;
        if let Some(row) = record.and_then(|at| self.rows.get_mut(at)) {
            let notes = std::mem::take(&mut row.notes);
            notes.iter().for_each(|note| row.add("\n\n", note));
        }
    }
}

impl RowReader<'_> {
    /// Reads a block, or each of its lines if each is a record.
    fn split(&mut self, block: &Block) {
        let each = |line: &str| {
            let is_record = |one: &&Pattern| {
                one.on == On::Text
                    && matches!(
                        one.means,
                        Means::Requirement(_) | Means::Quality(_) | Means::Covers
                    )
            };
            self.patterns.iter().filter(is_record).any(|one| self.applies(one, &plain(line)))
        };
        if block.form == Form::Text && block.text.contains('\n') && block.text.lines().all(each) {
            for line in block.text.lines() {
                self.block(&Block { text: line.to_owned(), ..block.clone() });
            }
        } else {
            self.block(block);
        }
    }

    fn applies(&self, pattern: &Pattern, text: &str) -> bool {
        pattern.below.as_ref().is_none_or(|below| self.place.is_below(below))
            && pattern.text.is_match(text)
    }

    fn block(&mut self, block: &Block) {
        match block.form {
            Form::Begin => return self.place.section.clone_from(&block.text),
            Form::End => return self.place.section.clear(),
            Form::Heading(level) => {
                self.place.headings.retain(|(above, _)| *above < level);
                self.place.label.clear();
                self.open.retain(|(scope, _)| matches!(scope, Scope::Heading(own) if *own < level));
            }
            _ => {
                let is_list = matches!(block.form, Form::Item | Form::Box);
                self.open.retain(|(scope, _)| match scope {
                    Scope::Item(own) => *own < block.indent || !is_list && block.indent > 0,
                    Scope::Heading(_) => true,
                });
            }
        }
        let text = match (block.form, check_box(&block.text)) {
            (Form::Box, Some((_, _, text))) => plain(text),
            _ => plain(&block.text),
        };
        if block.form != Form::Code {
            let questions = block.text.lines().filter(|line| line.contains(UNCLEAR)).map(plain);
            self.out.unclear.extend(questions);
        }
        let form =
            self.patterns.iter().position(|one| one.on.is(block.form) && self.applies(one, &text));
        let begins = self.role == Role::Tasks && self.begins_group(block);
        match form.and_then(|at| self.patterns.get(at)).map(|one| (one.means, one.text.clone())) {
            _ if begins => self.begin_group(level_of(block), &text),
            Some((means, pattern)) => {
                if let Some(found) = pattern.captures(&text) {
                    self.take(means, &found, block, &text);
                }
            }
            None => self.text(block, &text),
        }
        match block.form {
            Form::Heading(level) => {
                if level == 1 && self.out.title.is_empty() && self.names_the_whole() {
                    self.out.title = title_of(&text);
                }
                self.place.headings.push((level, text));
            }
            Form::Label => {
                text.split(':').next().unwrap_or_default().clone_into(&mut self.place.label);
            }
            _ => {}
        }
    }

    /// True if the title of the file is the title of the whole.
    fn names_the_whole(&self) -> bool {
        self.role == Role::Requirements && self.folder.is_empty() || self.file == "proposal.md"
    }

    fn take(&mut self, means: Means, found: &Captures<'_>, block: &Block, text: &str) {
        let part = |name| found.name(name).map_or("", |part| part.as_str().trim());
        match means {
            Means::Title if self.out.title.is_empty() => {
                part("title").clone_into(&mut self.out.title)
            }
            Means::Summary => self.open.push((Scope::Heading(level_of(block)), Target::Summary)),
            Means::Feature(form)
            | Means::Story(form)
            | Means::Requirement(form)
            | Means::Quality(form)
            | Means::Removal(form) => {
                let mut row = Row { form, folder: self.folder.clone(), ..row_of(means) };
                row.key = key_of(form, part("key"), row.is_story);
                row.title = part("title")
                    .trim_matches(|c: char| c.is_whitespace() || "-–—:".contains(c))
                    .to_owned();
                row.text = part("text").to_owned();
                row.priority = priority_named(part("priority"));
                row.within = self.feature_above();
                self.push(row, block);
            }
            Means::Criterion => {
                self.criterion(block, if part("text").is_empty() { text } else { part("text") })
            }
            Means::More => {
                if let Some(row) =
                    self.out.rows.iter_mut().rfind(|row| row.becomes == Becomes::Criterion)
                {
                    row.add(" ", text);
                }
            }
            Means::Task => self.task(block, found, text, None),
            Means::LeftOut(why) => self.task(block, found, text, Some(why)),
            Means::Goal | Means::Test | Means::Body => {
                let said = if part("text").is_empty() { text } else { part("text") };
                let target = self.open.iter().rev().find_map(|(_, target)| match target {
                    Target::Row(row) => Some(*row),
                    Target::Summary => None,
                });
                if let Some(row) = target.or(self.record).and_then(|at| self.out.rows.get_mut(at)) {
                    match means {
                        Means::Test => row.tests.push(said.to_owned()),
                        Means::Body if block.form == Form::Item => row.add("; ", said),
                        _ => row.add("\n\n", said),
                    }
                }
            }
            Means::Covers => {
                let (key, within) = (part("key"), part("serves").to_owned());
                if let Some(row) = self.out.rows.iter_mut().find(|row| row.key == key) {
                    row.within = within;
                }
            }
            Means::Question => self.out.unclear.push(text.to_owned()),
            Means::Command => {
                let command = text.split('`').nth(1).unwrap_or(text);
                self.out
                    .remarks
                    .push(format!("named in {}, not run from there: {command}", self.file));
            }
            Means::Idea if matches!(block.form, Form::Heading(_)) => {}
            Means::Idea if self.open.is_empty() => self.is_text_only(),
            _ => {}
        }
    }

    /// Returns the key of the feature that a new requirement belongs to.
    fn feature_above(&self) -> String {
        let rows = self.open.iter().rev().filter_map(|(_, target)| match target {
            Target::Row(row) => self.out.rows.get(*row),
            Target::Summary => None,
        });
        let is_feature = |row: &&Row| row.is_story || row.becomes == Becomes::Feature;
        rows.into_iter().find(is_feature).map(|row| row.key.clone()).unwrap_or_default()
    }

    pub(super) fn push(&mut self, row: Row, block: &Block) -> usize {
        let scope = match block.form {
            Form::Heading(level) => Scope::Heading(level),
            _ => Scope::Item(block.indent),
        };
        self.out.rows.push(row);
        let at = self.out.rows.len() - 1;
        self.open.push((scope, Target::Row(at)));
        at
    }

    fn criterion(&mut self, block: &Block, text: &str) {
        let text = match block.form {
            Form::Cells => cells(text),
            Form::Box if matches!(check_box(&block.text), Some((Some('x' | 'X'), ..))) => {
                format!("{text} (already checked)")
            }
            _ => text.to_owned(),
        };
        let record = self.record.and_then(|at| self.out.rows.get_mut(at));
        if let Some(row) = record.filter(|row| row.is_task()) {
            return row.tests.push(text);
        }
        if !self.out.rows.iter().any(Row::is_requirement) {
            // Earlier templates of spec-kit have one story without a number.
            let story = Row {
                key: "US1".to_owned(),
                form: "US1 {title}",
                is_story: true,
                ..Row::default()
            };
            self.out.rows.push(story);
        }
        let at = self.out.rows.iter().rposition(Row::is_requirement).unwrap_or_default();
        let number = self.out.rows.get(at..).unwrap_or_default().len();
        let above = self.out.rows.get(at).map(|row| row.key.clone()).unwrap_or_default();
        // Only numbered requirements have criteria that tasks cite, by their place: 1.2.
        let is_number = !above.is_empty() && above.chars().all(|c| c.is_ascii_digit());
        let key = if is_number { format!("{above}.{number}") } else { String::new() };
        let is_scenario = matches!(block.form, Form::Heading(_));
        let form = if is_scenario { "{title}: " } else { "" };
        self.push(Row { becomes: Becomes::Criterion, key, text, form, ..Row::default() }, block);
    }

    /// Adds a block without a mark to what it belongs to.
    fn text(&mut self, block: &Block, text: &str) {
        let is_head = matches!(block.form, Form::Heading(_))
            || block.form == Form::Label && text.ends_with(':');
        if is_head {
            return;
        }
        let raw = match block.form {
            Form::Text | Form::Code => &block.text,
            _ => text,
        };
        let Some((_, target)) = self.open.last().copied() else { return self.is_text_only() };
        let Target::Row(at) = target else {
            // A template that nobody filled in.
            if raw.starts_with('[') {
                return;
            }
            let between = if self.out.summary.is_empty() { "" } else { "\n\n" };
            self.out.summary += &format!("{between}{raw}");
            return;
        };
        let Some(mut row) = self.out.rows.get_mut(at).map(std::mem::take) else { return };
        let between = match block.form {
            Form::Item | Form::Box | Form::Cells => "; ",
            _ => "\n\n",
        };
        match row.becomes {
            Becomes::Group => {
                let section = self.place.headings.last().map(|(_, title)| title.clone());
                self.prose.push((at, block.lines, section.unwrap_or_default()));
                row.add("\n\n", raw);
            }
            Becomes::Task => {
                let (left, reads) = self.details(&mut row, text);
                if !left.is_empty() {
                    row.add(between, if left == text { raw } else { &left });
                }
                if !reads && block.form != Form::Code {
                    row.naming += &format!("\n{left}");
                }
            }
            Becomes::Criterion if row.form.is_empty() => row.add(" ", text),
            Becomes::Criterion => {
                let between = if row.title.is_empty() { ": " } else { " " };
                row.add(between, text);
                "-".clone_into(&mut row.title);
            }
            _ => row.add(between, raw),
        }
        if let Some(place) = self.out.rows.get_mut(at) {
            *place = row;
        }
    }

    /// Names the section of a block of which no record is made.
    fn is_text_only(&mut self) {
        let Some((level, title)) = self.place.headings.last() else { return };
        let title = title.split(" *(").next().unwrap_or_default();
        let title = match self.folder.is_empty() {
            true => title.to_owned(),
            false => format!("{title} ({})", self.folder),
        };
        let is_named = matches!(self.role, Role::Requirements | Role::Record(_));
        if is_named && *level > 1 && !self.out.text_only.contains(&title) {
            self.out.text_only.push(title);
        }
    }
}

const KEY: &str = r"\b(?:[A-Za-z]+-?)?\d+(?:\.\d+)*[a-z]?\b|\b(?i:all)\b";

/// Returns the keys in a list: `1.2, 3.1`, `T012 and T013`, `All`.
pub(super) fn keys(text: &str) -> impl Iterator<Item = String> {
    let found = |pattern: Regex| -> Vec<String> {
        pattern.find_iter(text).map(|key| key.as_str().to_owned()).collect()
    };
    compiled(KEY).map(found).unwrap_or_default().into_iter()
}

fn level_of(block: &Block) -> usize {
    if let Form::Heading(level) = block.form { level } else { 0 }
}

/// Returns the title of a document, unless it is only the kind of document.
fn title_of(text: &str) -> String {
    let kinds = ["Feature Specification:", "Change:", "Proposal:", "Spec:", "Requirements:"];
    let text = text.strip_suffix(" - Epic Breakdown").unwrap_or(text);
    let text = kinds.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text).trim();
    let generic = [
        "requirements",
        "requirements document",
        "specification",
        "spec",
        "proposal",
        "change proposal",
        "why",
    ];
    let is_generic = generic.contains(&&*text.to_ascii_lowercase());
    if is_generic || text.starts_with(['[', '{']) { String::new() } else { text.to_owned() }
}

/// Returns a row of a table as a sentence: its first cell, and the others that say something.
fn cells(text: &str) -> String {
    let cells = text.trim_matches('|').split('|').map(str::trim);
    let mut said = cells.filter(|cell| !cell.is_empty() && !["N/A", "-", "—"].contains(cell));
    let first = said.next().unwrap_or_default().to_owned();
    format!("{first}: {}", said.collect::<Vec<_>>().join(" → "))
}
