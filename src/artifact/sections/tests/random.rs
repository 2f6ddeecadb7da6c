//! Random texts, records and documents (see [`test_random`]).

use std::fmt::Write as _;

use super::super::*;
use crate::artifact::{
    Category, Component, Criterion, Feature, Priority, Requirement, Task, TaskStatus,
};
use crate::test_random;

/// Runs a test with many random generators; a failure prints the seed of its case.
pub(super) fn cases(mut test: impl FnMut(&mut Random)) {
    test_random::cases(|random| test(&mut Random(random.clone())));
}

pub(super) struct Random(pub fastrand::Rng);

/// Pieces of text with a meaning in Markdown.
const WILD: [&str; 64] = [
    "a",
    "the reader",
    "meter",
    "`code`",
    "``a ` b``",
    "**bold**",
    "*",
    "_",
    "\n",
    "\n\n",
    "\n",
    " ",
    "- ",
    "* ",
    "+ ",
    "1. ",
    "2) ",
    "# ",
    "## ",
    "#### ",
    "#",
    "```",
    "\n```\n",
    "~~~",
    "> ",
    "|",
    "\n| a | b |\n|---|---|\n| c | d |\n",
    "---",
    "\n---\n",
    "***",
    "===",
    "<!-- x -->",
    "<!-- -->",
    "<!--",
    "-->",
    "<div>",
    "</div>",
    "<a\nb>",
    "<script>",
    "[x](y)",
    "[a]: /url",
    "[^1]",
    "[^1]: n",
    "[ ] ",
    "[x] ",
    "\\",
    "\\-",
    "  \n",
    "\\\n",
    "    ",
    "\t",
    ":",
    "Note:",
    "读数",
    "。",
    "é",
    "`",
    "!",
    "&amp;",
    "~~s~~",
    "\r\n",
    "high",
    "`-`",
    "1986. ",
];

/// Pieces of ordinary text.
const PLAIN: [&str; 24] = [
    "the",
    "reader",
    "adds",
    "a",
    "number",
    "`meter add 1523`",
    "`x`",
    "**now**",
    "file.",
    "with,",
    "(and",
    "so)",
    "Größe",
    "读数",
    "12",
    "e.g.",
    "it's",
    "C#",
    "a|b",
    "[brackets]",
    "_it_",
    "$5",
    "50%",
    "don't",
];

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.0.usize(..of.len())]
    }

    /// Returns one line of words.
    pub(super) fn plain(&mut self) -> String {
        let count = 1 + self.below(6);
        let words: Vec<&str> = (0..count).map(|_| *self.one(&PLAIN)).collect();
        let text = words.join(" ");
        // Start with a plain word: a person would not start a text with Markdown syntax.
        format!("{} {text}", self.one(&["When", "Then", "Wenn", "Every"]))
    }

    /// Returns any text, with much Markdown syntax.
    pub(super) fn wild(&mut self, most: usize) -> String {
        let count = self.below(most + 1);
        (0..count).map(|_| *self.one(&WILD)).collect()
    }

    fn list<T>(&mut self, most: usize, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(most + 1);
        (0..count).map(|_| item(self)).collect()
    }

    pub(super) fn ids(&mut self, kind: IdKind, most: usize) -> Vec<String> {
        let mut ids = self.list(most, |random| kind.format(1 + random.0.u32(..8)));
        ids.sort();
        ids.dedup();
        if self.0.bool() {
            ids.reverse();
        }
        ids
    }

    fn criterion(&mut self, wild: bool) -> Criterion {
        let text = self.text(wild, 8);
        let test = (self.below(3) == 0).then(|| {
            (*self.one(&["tests/add.rs::appends", "a/b_test.go::TestX", "t.py::x[1-a b]"]))
                .to_owned()
        });
        let fails_before = test.is_some() && self.0.bool();
        Criterion { text, test, fails_before }
    }

    fn text(&mut self, wild: bool, most: usize) -> String {
        if wild { self.wild(most) } else { self.plain() }
    }

    fn title(&mut self, wild: bool) -> String {
        let text = self.text(wild, 6);
        if text.trim().is_empty() { "t".to_owned() } else { text }
    }

    fn description(&mut self, wild: bool) -> String {
        if wild {
            return self.wild(14);
        }
        self.list(2, Self::plain).join("\n\n")
    }

    /// Returns a record of a kind, with this number.
    pub(super) fn record(&mut self, kind: IdKind, number: u32, wild: bool) -> Record {
        let id = kind.format(number);
        let (title, description) = (self.title(wild), self.description(wild));
        let items = self.list(2, |random| random.text(wild, 8));
        match kind {
            IdKind::Requirement => Record::Requirement(Requirement {
                id,
                title,
                description,
                priority: *self.one(&[Priority::High, Priority::Medium, Priority::Low]),
                category: *self.one(&[Category::Functional, Category::NonFunctional]),
                acceptance_criteria: self.list(2, |random| random.criterion(wild)),
                ..Requirement::default()
            }),
            IdKind::Feature => Record::Feature(Feature {
                id,
                name: title,
                description,
                requirement_ids: self.ids(IdKind::Requirement, 3),
                completion_criteria: items,
                ..Feature::default()
            }),
            IdKind::Component => Record::Component(Component {
                id,
                name: title,
                description,
                component_type: self.word(wild),
                responsibilities: items,
                technology: self.word(wild),
                interfaces: self.list(2, |random| random.interface(wild)),
                related_features: self.ids(IdKind::Feature, 3),
                ..Component::default()
            }),
            IdKind::Task => {
                let feature_id = self.ids(IdKind::Feature, 1).pop().unwrap_or_default();
                let component_id = self.ids(IdKind::Component, 1).pop().unwrap_or_default();
                let mut paths = self.list(4, |random| {
                    let paths =
                        ["src/a.rs", "src/b.rs", "README.md", "Makefile", "a b.txt", "lib/é.py"];
                    (*random.one(&paths)).to_owned()
                });
                paths.sort();
                paths.dedup();
                Record::Task(Task {
                    id,
                    title,
                    description,
                    feature_id,
                    component_id,
                    requirement_ids: self.ids(IdKind::Requirement, 2),
                    dependencies: self.ids(IdKind::Task, 2),
                    files_to_create: paths,
                    acceptance_criteria: items,
                    status: TaskStatus::Pending,
                    ..Task::default()
                })
            }
        }
    }

    fn word(&mut self, wild: bool) -> String {
        let words = ["", "module", "Rust, csv 1", "a `b` c", "`", "high", "x: y", "端口"];
        if wild && self.0.bool() { self.wild(3) } else { (*self.one(&words)).to_owned() }
    }

    fn interface(&mut self, wild: bool) -> String {
        let code =
            ["fn a();", "load(path)\nsave(path)", "  indented\n\n  more", "```\nx\n```", "- a"];
        if wild && self.0.bool() { self.wild(6) } else { (*self.one(&code)).to_owned() }
    }

    /// Returns some records of these kinds, with ids in order.
    pub(super) fn records(&mut self, kinds: &[IdKind], wild: bool) -> Vec<Record> {
        let mut all = Vec::new();
        for kind in kinds {
            for number in 1..=1 + self.0.u32(..2) {
                all.push(self.record(*kind, number, wild));
            }
        }
        all
    }

    /// Returns a document with prose and these records, in canonical form or as people write it.
    pub(super) fn document(&mut self, records: &[Record]) -> String {
        let mut out =
            (*self.one(&["", "# PRD\n\n", "---\na: b\n---\n\nProse.\n\n", "\u{feff}Prose\n\n"]))
                .to_owned();
        let level = 2 + self.0.u8(..3);
        for record in records {
            if self.below(3) == 0 && level > 2 {
                let _ = write!(out, "## {}\n\n{}\n\n", self.plain(), self.plain());
            }
            out += &render(record, level);
            if self.below(4) == 0 {
                out += "\n<!-- a comment -->\n";
            }
            out += if self.below(6) == 0 { "\n---\n\nMore prose.\n\n" } else { "\n" };
        }
        let trimmed = out.trim_end().len();
        out.truncate(trimmed);
        out.push('\n');
        if self.below(4) == 0 { out.replace('\n', "\r\n") } else { out }
    }
}
