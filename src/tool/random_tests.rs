//! Random sequences of saves, edits and deletes by tool, document, agent and person: no record and
//! no sentence is lost that no one deleted, and no reference changes its meaning.
//!
//! `COWORK_RANDOM_CASES=100000 cargo test --locked --release --lib tool::random_tests`

mod model;
mod saves;

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::testing::{Bench, Run};
use super::{Answer, Numbers};
use crate::artifact::sections::{Document, Writer};
use crate::artifact::{Artifact, DraftIds, IdKind, Ledger};
use crate::model::ToolCall;
use crate::stage::Stage;
use crate::test_random;
use model::{Model, Rec, record_text};

/// One case: the program, and what should be there.
struct Case<'a, 'b> {
    random: &'a mut Rng,
    bench: &'b Bench,
    run: Run<'b>,
    model: Model,
    document: Document,
    kinds: &'static [IdKind],
    calls: u32,
    /// How many steps of each kind were accepted.
    done: &'a mut BTreeMap<&'static str, u32>,
}

#[test]
fn nothing_is_lost_that_no_one_deleted_and_no_reference_changes_its_meaning() {
    let mut done = BTreeMap::new();
    let mut count = 0;
    test_random::few_cases(1_000, |random| {
        count += 1;
        let (stage, document, kinds): (_, _, &[IdKind]) = match random.u8(..3) {
            0 => (Stage::Prd, Document::Prd, &[IdKind::Requirement, IdKind::Feature]),
            1 => (Stage::Design, Document::Design, &[IdKind::Component]),
            _ => (Stage::Plan, Document::Plan, &[IdKind::Task]),
        };
        let bench = Bench::new(stage);
        if random.bool() {
            // Its first draft: later documents are not there either.
            let all = [
                [Artifact::Prd, Artifact::Requirements, Artifact::Features].as_slice(),
                &[Artifact::Design, Artifact::DesignSpec],
                &[Artifact::Plan, Artifact::ImplementationPlan],
            ];
            all[document as usize..].iter().for_each(|later| bench.files.remove(later));
        }
        let run = bench.context();
        let model = Model::of(&run.0.ledger, document);
        let mut case =
            Case { random, bench: &bench, run, model, document, kinds, calls: 0, done: &mut done };
        for _ in 0..case.random.usize(1..8) {
            case.step();
            case.check();
        }
    });
    // Whatever is done was also accepted, in many cases.
    if count >= 1_000 {
        // Each kind of step was accepted often enough to say something.
        let kinds = [
            "agent", "created", "deleted", "edited", "killed", "part", "person", "sent", "updated",
            "whole",
        ];
        for kind in kinds {
            assert!(done.get(kind).is_some_and(|times| *times > count / 20), "{kind}: {done:?}");
        }
    }
}

impl Case<'_, '_> {
    fn step(&mut self) {
        match self.random.u8(..10) {
            0..3 => self.answer(),
            3 => self.update(),
            4 => self.delete(),
            5 => self.save_part(),
            6 => self.save_whole(),
            7 => self.edit(),
            8 => self.person(),
            _ => self.killed(),
        }
    }

    fn call(&mut self, name: &str, arguments: &Value) -> Answer {
        self.calls += 1;
        self.call_again(name, arguments)
    }

    /// Makes the newest call, as a run does that was killed during it.
    fn call_again(&mut self, name: &str, arguments: &Value) -> Answer {
        let before = self.bench.files.texts();
        let (id, name) = (format!("call_{}", self.calls), name.to_owned());
        let call = ToolCall { id, name, arguments: arguments.to_string() };
        let all: Vec<_> = super::all().iter().map(|tool| tool.name()).collect();
        let answer = self.run.make(&all, &call);
        if !answer.ok {
            assert_eq!(self.bench.files.texts(), before, "{call:?}: {}", answer.text);
        }
        answer
    }

    fn did(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    fn kind(&mut self) -> IdKind {
        self.kinds[self.random.usize(..self.kinds.len())]
    }

    /// An id of a record of this kind.
    fn some_id(&mut self, kind: IdKind) -> Option<String> {
        let ids: Vec<&String> =
            self.model.records.keys().filter(|id| IdKind::of_id(id) == Some(kind)).collect();
        self.random.choice(ids).cloned()
    }

    /// The kind of the records that those of a kind refer to.
    fn refers_to(kind: IdKind) -> Option<IdKind> {
        match kind {
            IdKind::Requirement => None,
            IdKind::Feature => Some(IdKind::Requirement),
            IdKind::Component => Some(IdKind::Feature),
            IdKind::Task => Some(IdKind::Task),
        }
    }

    /// A new record, with references to records that exist.
    fn new_record(&mut self, kind: IdKind) -> Rec {
        let mut refs = Vec::new();
        if let Some(to) = Self::refers_to(kind) {
            refs.extend(self.some_id(to));
        }
        self.model.new_record(kind, refs)
    }

    /// The next number, as the prompt and the answers of earlier calls tell it.
    fn next(&self, kind: IdKind) -> u32 {
        let context = &self.run.0;
        let records = context.ledger.records().unwrap();
        let ids = context.numbers.ids();
        let next = ids.next((kind, None), &records, context.ledger.history);
        next[kind.prefix().len()..].parse().unwrap()
    }

    /// An answer of several calls that create records, which counts the numbers itself. Some are
    /// refused, some are said twice, and documents between them bring records of their own.
    fn answer(&mut self) {
        self.run.0.numbers.begin_answer();
        let mut next: BTreeMap<IdKind, u32> =
            self.kinds.iter().map(|k| (*k, self.next(*k))).collect();
        // What each number of this answer should mean; none for refused calls.
        let mut meant: BTreeMap<String, Option<usize>> = BTreeMap::new();
        let mut newest: Option<(String, Rec)> = None;
        for _ in 0..self.random.usize(1..6) {
            let kind = self.kind();
            let number = next[&kind];
            let id = kind.format(number);
            next.insert(kind, number + 1);
            let mut new = self.new_record(kind);
            // A number of this answer, of a record that is there, was refused, or comes later.
            if let Some(to) = Self::refers_to(kind).filter(|to| next.contains_key(to))
                && self.random.bool()
            {
                let back = self.random.u32(0..4);
                new.refs = vec![to.format((next[&to] + 1).saturating_sub(back).max(1))];
            }
            let by_document = self.random.u8(..4) == 0;
            let breaks = self.random.u8(..4) == 0;
            let (name, arguments) = if by_document {
                let text = record_text(&id, &new);
                let text = if breaks {
                    text.replacen("\n\n", "\n\n`no such` ", 1) + "\n```\n"
                } else {
                    text
                };
                (self.document.artifact().save_tool(), json!({"content": text}))
            } else {
                let again = newest.clone().filter(|_| self.random.u8(..5) == 0);
                if let Some((_, same)) = again.filter(|(_, same)| same.kind == kind) {
                    new = same;
                }
                let (name, mut arguments) = new.creation();
                if breaks {
                    arguments.as_object_mut().unwrap().remove("description");
                    arguments.as_object_mut().unwrap().remove("technology");
                }
                (name, arguments)
            };
            let answer = self.call(name, &arguments);
            let is_made = answer.ok && !answer.text.contains("exists already");
            meant.insert(id.clone(), is_made.then_some(new.birth));
            if !is_made {
                continue;
            }
            if !by_document {
                let said = format!("Created {id} ");
                assert!(answer.text.starts_with(&said), "{said}: {}", answer.text);
            }
            self.model.put(&id, new.clone());
            for to in &new.refs {
                // A call that names a number of this answer means what the answer made of it.
                let is = self.model.records.get(to).unwrap_or_else(|| panic!("{to} is accepted"));
                if let Some(meant) = meant.get(to) {
                    assert_eq!(*meant, Some(is.birth), "{to}: {}", answer.text);
                }
            }
            newest = Some((id, new));
            self.did(if by_document { "sent" } else { "created" });
            self.check();
        }
    }

    /// A creating call that a killed run makes again, after it read its numbers back.
    fn killed(&mut self) {
        let kind = self.kind();
        let (id, mut new) = (kind.format(self.next(kind)), self.new_record(kind));
        if self.random.bool() {
            new.refs = Self::refers_to(kind).map(|to| to.format(999)).into_iter().collect();
        }
        let (name, arguments) = new.creation();
        let first = self.call(name, &arguments);
        let kept = serde_json::to_string(self.run.0.numbers.ids()).unwrap();
        let ids: DraftIds = serde_json::from_str(&kept).unwrap();
        self.run.0.numbers = Numbers::new(ids, &|_| Ok(()));
        let again = self.call_again(name, &arguments);
        assert_eq!(again.ok, first.ok);
        if again.ok {
            assert!(again.text.starts_with(&format!("Created {id} ")), "{}", again.text);
            self.model.put(&id, new);
            self.did("killed");
        }
    }

    fn update(&mut self) {
        let kind = self.kind();
        let Some(id) = self.some_id(kind) else { return };
        let new = self.new_record(kind);
        let (name, arguments) = new.update(&id);
        if self.call(name, &arguments).ok {
            let old = &self.model.records[&id];
            let new = Rec { birth: old.birth, ..new };
            self.model.put(&id, new);
            self.did("updated");
        }
    }

    fn delete(&mut self) {
        let kind = self.kind();
        let Some(id) = self.some_id(kind) else { return };
        let name = match kind {
            IdKind::Requirement => "delete_requirement",
            IdKind::Feature => "delete_feature",
            IdKind::Component => "delete_design_component",
            IdKind::Task => "delete_task",
        };
        let answer = self.call(name, &json!({"id": id, "reason": "r"}));
        assert!(answer.ok, "{}", answer.text);
        self.model.delete(&id, true);
        self.did("deleted");
        // Nobody makes another record of its number.
        let new = self.model.new_record(kind, Vec::new());
        let save = json!({"content": record_text(&id, &new)});
        let answer = self.call(self.document.artifact().save_tool(), &save);
        assert!(answer.text.contains("and was deleted; write"), "{}", answer.text);
    }

    /// A sentence that is changed or deleted by edit_file, or a record that it would delete.
    fn edit(&mut self) {
        let text = self.text();
        let path = format!(".cowork/sessions/todo/{}", self.document.artifact().file_name());
        self.bench.put(&path, &text);
        let edit = |old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
        let sentences: Vec<String> = self.model.sentences.iter().cloned().collect();
        if let Some(old) = self.random.choice(sentences).filter(|_| self.random.u8(..4) > 0) {
            let new = if self.random.bool() { String::new() } else { self.model.sentence() };
            if new.is_empty() && text.trim() == old {
                return;
            }
            let answer = self.call("edit_file", &edit(&old, &new));
            assert!(answer.ok, "{}\n{text}", answer.text);
            self.model.replace(&old, &new);
            return self.did("edited");
        }
        let kind = self.kind();
        let Some(id) = self.some_id(kind) else { return };
        let section = model::section_of(&text, &id);
        let answer = self.call("edit_file", &edit(&section, ""));
        assert!(!answer.ok, "{}", answer.text);
    }

    /// A person's edit of the Markdown is taken as it is, also if it deletes.
    fn person(&mut self) {
        let before = self.text();
        if before.is_empty() {
            return;
        }
        let mut text = before.clone();
        let kind = self.kind();
        let mut model = self.model.clone();
        let id =
            self.some_id(kind).filter(|id| text.matches(&model.records[id].about).count() == 1);
        match (self.random.u8(..5), id) {
            (4, Some(id)) => {
                let (section, behind) = (model::section_of(&text, &id), model.sentence());
                text =
                    text.replace(&section, &format!("{}\n\n---\n\n{behind}\n", section.trim_end()));
                model.sentences.insert(behind);
            }
            (0, Some(id)) => {
                text = text.replace(&model::section_of(&text, &id), "");
                model.delete(&id, false);
            }
            (1, Some(id)) => {
                let about = model.sentence();
                let one = model.records.get_mut(&id).unwrap();
                text = text.replace(&one.about, &about);
                one.about = about;
            }
            (2, _) => {
                let new = model.new_record(kind, Vec::new());
                let number = format!("{}?", kind.prefix());
                text = format!("{}\n\n{}", text.trim_end(), record_text(&number, &new));
                model.put(&kind.format(self.next(kind)), new);
            }
            _ => {
                let Some(old) = self.random.choice(&model.sentences).cloned() else { return };
                let new = if self.random.bool() { String::new() } else { model.sentence() };
                text = text.replace(&old, &new);
                model.replace(&old, &new);
            }
        }
        let artifact = self.document.artifact();
        self.bench.files.put(artifact, &text);
        let ledger = self.run.0.ledger;
        let history = self.run.0.numbers.ids().after(ledger.history, Writer::Person);
        let settled = Ledger { history: &history, ..ledger }.settle(Writer::Person).unwrap();
        if settled.refusals.is_empty() {
            let records = ledger.records().unwrap();
            self.run.0.numbers.note(|ids| ids.see(&records, ledger.history)).unwrap();
            self.model = model;
            self.did("person");
        } else {
            // Nothing was written; the person takes the edit back.
            assert_eq!(self.text(), text);
            self.bench.files.put(artifact, &before);
        }
    }

    fn check(&mut self) {
        self.model.check(&self.run.0.ledger, self.document);
    }
}
