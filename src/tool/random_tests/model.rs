//! What a document and its records should hold after a sequence of steps.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::artifact::sections::{self, Document, Record};
use crate::artifact::{IdKind, Ledger};

/// A record, by what makes it the same one after updates.
#[derive(Clone, Debug)]
pub(super) struct Rec {
    pub birth: usize,
    pub kind: IdKind,
    pub title: String,
    /// The description, one sentence.
    pub about: String,
    /// The requirements of a feature, the features of a component, the tasks before a task.
    pub refs: Vec<String>,
}

impl Rec {
    fn fields(&self) -> Value {
        let (title, about, refs) = (&self.title, &self.about, &self.refs);
        match self.kind {
            IdKind::Requirement => json!({"title": title, "description": about,
                "acceptance_criteria": ["it works"]}),
            IdKind::Feature => json!({"name": title, "description": about,
                "requirement_ids": refs}),
            IdKind::Component => json!({"name": title, "description": about,
                "component_type": "module", "technology": "sh", "responsibilities": ["work"],
                "related_features": refs}),
            IdKind::Task => json!({"title": title, "description": about,
                "feature_id": "FEAT-001", "component_id": "COMP-001", "dependencies": refs,
                "files_to_create": ["a.sh"], "acceptance_criteria": ["it works"]}),
        }
    }

    /// The call that creates it.
    pub fn creation(&self) -> (&'static str, Value) {
        let name = match self.kind {
            IdKind::Requirement => "create_requirement",
            IdKind::Feature => "add_feature",
            IdKind::Component => "create_design_component",
            IdKind::Task => "create_task",
        };
        (name, self.fields())
    }

    /// The call that makes this of the record with an id.
    pub fn update(&self, id: &str) -> (&'static str, Value) {
        let (name, of_id) = match self.kind {
            IdKind::Requirement => ("update_requirement", "id"),
            IdKind::Feature => ("update_feature", "id"),
            IdKind::Component => ("update_design_component", "id"),
            IdKind::Task => ("update_task", "task_id"),
        };
        let mut fields = self.fields();
        (fields[of_id], fields["reason"]) = (json!(id), json!("r"));
        (name, fields)
    }
}

/// A record as a section of a document.
pub(super) fn record_text(id: &str, one: &Rec) -> String {
    let mut codes = match one.kind {
        IdKind::Requirement => vec!["high", "functional"],
        IdKind::Feature => Vec::new(),
        IdKind::Component => vec!["module", "sh"],
        IdKind::Task => vec!["FEAT-001", "COMP-001", "a.sh"],
    };
    codes.extend(one.refs.iter().map(String::as_str));
    if codes.is_empty() {
        codes.push("-");
    }
    let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
    let (title, about) = (&one.title, &one.about);
    format!("### {id} {title}\n\n{}\n\n{about}\n\n- it works\n", codes.join(" "))
}

/// The section of a record in a document.
pub(super) fn section_of(text: &str, id: &str) -> String {
    let start = text.find(&format!("### {id} ")).unwrap();
    let ends = ["\n#", "\n---\n"].into_iter().filter_map(|end| text[start + 1..].find(end));
    let end = ends.min().map_or(text.len(), |end| start + 1 + end);
    text[start..end].to_owned()
}

/// The sentences below a heading, up to the next one, or behind the rule that ends a record.
fn sentences_of(text: &str, heading: &str) -> Vec<String> {
    let Some(start) = text.lines().position(|line| line.starts_with(heading)) else {
        return Vec::new();
    };
    let below = text.lines().skip(start + 1).take_while(|line| !line.starts_with('#'));
    let is_record = heading.starts_with("###");
    let below = below.skip_while(|line| is_record && *line != "---");
    below.filter(|line| line.starts_with("Sentence")).map(str::to_owned).collect()
}

/// True if a sentence stands behind the rule that ends a record.
pub(super) fn has_behind(text: &str, id: &str) -> bool {
    !sentences_of(text, &format!("### {id} ")).is_empty()
}

/// The text outside records that a save sends: a sentence or nothing below each heading, and
/// sentences behind records.
#[derive(Clone, Debug, Default)]
pub(super) struct Chapters {
    pub title: Option<String>,
    pub below: BTreeMap<u8, String>,
    pub behind: BTreeMap<String, String>,
}

impl Chapters {
    /// A document of these chapters, with the records below them.
    pub fn with(&self, records: &[(String, Rec)]) -> String {
        let mut text = String::new();
        let mut records = records.iter().map(|(id, one)| {
            let behind = self.behind.get(id).map(|sentence| format!("\n---\n\n{sentence}\n"));
            record_text(id, one) + &behind.unwrap_or_default() + "\n"
        });
        if let Some(sentence) = &self.title {
            text += &format!("# What it is\n\n{sentence}\n\n");
        }
        for (number, sentence) in &self.below {
            text += &format!("## Chapter {number}\n\n{sentence}\n\n");
            text += &records.next().unwrap_or_default();
        }
        text + &records.collect::<String>()
    }

    pub fn sentences(&self) -> BTreeSet<String> {
        let all = self.title.iter().chain(self.below.values()).chain(self.behind.values());
        all.filter(|sentence| !sentence.is_empty()).cloned().collect()
    }
}

/// Everything that should be there.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub records: BTreeMap<String, Rec>,
    /// The sentences outside records.
    pub sentences: BTreeSet<String>,
    /// The record that each id was given to first.
    bound: BTreeMap<String, usize>,
    count: usize,
}

impl Model {
    /// The records that exist, and the first sentence of the document.
    pub fn of(ledger: &Ledger<'_>, document: Document) -> Self {
        let mut model = Self {
            records: BTreeMap::new(),
            sentences: BTreeSet::new(),
            bound: BTreeMap::new(),
            count: 0,
        };
        for record in ledger.records().unwrap().iter() {
            let mut one = model.new_record(record.kind(), refs_of(&record));
            record.title().clone_into(&mut one.title);
            record.description().clone_into(&mut one.about);
            model.put(record.id(), one);
        }
        if ledger.files.read(document.artifact()).unwrap().is_some() {
            model.sentences.insert("What it is about.".to_owned());
        }
        model
    }

    /// What a save of parts makes of a document: a text that is sent replaces the one at its place.
    pub fn merge(&mut self, before: &str, sent: &Chapters) {
        let mut replaced = Vec::new();
        if sent.title.is_some() {
            replaced.extend(sentences_of(before, "# "));
            replaced.push("What it is about.".to_owned());
        }
        for number in sent.below.iter().filter(|(_, text)| !text.is_empty()).map(|(n, _)| n) {
            replaced.extend(sentences_of(before, &format!("## Chapter {number}")));
        }
        for id in sent.behind.keys() {
            replaced.extend(sentences_of(before, &format!("### {id} ")));
        }
        self.sentences.retain(|sentence| !replaced.contains(sentence));
        self.sentences.extend(sent.sentences());
    }

    /// Replaces a sentence, or deletes it if the new one is empty.
    pub fn replace(&mut self, old: &str, new: &str) {
        self.sentences.remove(old);
        self.sentences.extend(Some(new.to_owned()).filter(|new| !new.is_empty()));
    }

    pub fn sentence(&mut self) -> String {
        self.count += 1;
        format!("Sentence s{}x.", self.count)
    }

    pub fn new_record(&mut self, kind: IdKind, refs: Vec<String>) -> Rec {
        let about = self.sentence();
        self.count += 1;
        Rec { birth: self.count, kind, title: format!("Title {}", self.count), about, refs }
    }

    pub fn put(&mut self, id: &str, one: Rec) {
        let first = *self.bound.entry(id.to_owned()).or_insert(one.birth);
        assert_eq!(first, one.birth, "{id} becomes another record");
        self.records.insert(id.to_owned(), one);
    }

    /// Deletes a record, with the references to it if the program takes them out.
    pub fn delete(&mut self, id: &str, with_references: bool) {
        self.records.remove(id);
        if with_references {
            self.records.values_mut().for_each(|one| one.refs.retain(|to| to != id));
        }
    }

    /// The records of these kinds.
    pub fn own(&self, kinds: &[IdKind]) -> BTreeMap<String, Rec> {
        let own = self.records.iter().filter(|(_, one)| kinds.contains(&one.kind));
        own.map(|(id, one)| (id.clone(), one.clone())).collect()
    }

    /// Compares with what is there.
    #[track_caller]
    pub fn check(&self, ledger: &Ledger<'_>, document: Document) {
        let text = ledger.files.read(document.artifact()).unwrap().unwrap_or_default();
        let records = ledger.records().unwrap();
        let ids: Vec<&str> = records.ids().collect();
        assert_eq!(ids.len(), self.records.len(), "{ids:?} {:?}\n{text}", self.records.keys());
        for (id, one) in &self.records {
            let there = records.get(id).unwrap_or_else(|| panic!("{id} is lost\n{text}"));
            assert_eq!(there.title(), one.title, "{id}\n{text}");
            assert_eq!(there.description(), one.about, "{id}\n{text}");
            let mut wanted = one.refs.clone();
            wanted.sort();
            wanted.dedup();
            assert_eq!(refs_of(&there), wanted, "{id}\n{text}");
        }
        for sentence in &self.sentences {
            assert_eq!(text.matches(sentence).count(), 1, "{sentence}\n{text}");
        }
        let kinds: Vec<IdKind> = self.records.values().map(|one| one.kind).collect();
        let is_own = |id: &&String| {
            let kind = IdKind::of_id(id).filter(|kind| kinds.contains(kind));
            kind.is_some_and(|kind| home(kind) == document)
        };
        let mut headings = sections::written(&text, &IdKind::ALL);
        headings.sort();
        let wanted: Vec<String> = self.records.keys().filter(is_own).cloned().collect();
        assert_eq!(headings, wanted, "{text}");
    }
}

const fn home(kind: IdKind) -> Document {
    match kind {
        IdKind::Requirement | IdKind::Feature => Document::Prd,
        IdKind::Component => Document::Design,
        IdKind::Task => Document::Plan,
    }
}

/// The references of a record that the model keeps, sorted.
fn refs_of(record: &Record) -> Vec<String> {
    let to = match record.kind() {
        IdKind::Requirement => return Vec::new(),
        IdKind::Feature => IdKind::Requirement,
        IdKind::Component => IdKind::Feature,
        IdKind::Task => IdKind::Task,
    };
    let own = record.references().into_iter().filter(|id| IdKind::of_id(id) == Some(to));
    let mut own: Vec<String> = own.collect();
    own.sort();
    own
}
