//! Saves of parts and of whole documents, by a model and from an agent program.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Case;
use super::model::{self, Chapters, Rec};
use crate::tool::documents::saving_call;

impl Case<'_, '_> {
    /// Some chapters and records of the document, with or without a title.
    fn part(&mut self) -> (Chapters, Vec<(String, Rec)>) {
        let mut chapters = Chapters::default();
        if self.random.bool() {
            chapters.title = Some(self.model.sentence());
        }
        for number in 0..4 {
            if self.random.bool() {
                let text =
                    if self.random.u8(..4) == 0 { String::new() } else { self.model.sentence() };
                chapters.below.insert(number, text);
            }
        }
        let mut records = Vec::new();
        for kind in self.kinds.iter().copied() {
            if let Some(id) = self.some_id(kind).filter(|_| self.random.bool()) {
                let birth = self.model.records[&id].birth;
                records.push((id, Rec { birth, ..self.new_record(kind) }));
            }
            if self.random.u8(..3) == 0 {
                let id = kind.format(self.next(kind));
                records.push((id, self.new_record(kind)));
            }
        }
        for (id, _) in &records {
            if self.random.u8(..4) == 0 {
                chapters.behind.insert(id.clone(), self.model.sentence());
            }
        }
        (chapters, records)
    }

    fn save(&mut self, arguments: &Value) -> bool {
        let name = self.document.artifact().save_tool();
        self.run.0.numbers.begin_answer();
        let answer = self.call(name, arguments);
        assert!(
            answer.ok || answer.text.contains("which has no section"),
            "{arguments}: {}\n{}",
            answer.text,
            self.text()
        );
        answer.ok
    }

    pub(super) fn text(&self) -> String {
        self.bench.store().text(self.document.artifact()).unwrap().unwrap_or_default()
    }

    pub(super) fn save_part(&mut self) {
        let (chapters, records) = self.part();
        let (before, text) = (self.text(), chapters.with(&records));
        if text.is_empty() {
            return;
        }
        let arguments = json!({"content": text});
        if chapters.title.is_none() && !chapters.behind.is_empty() && !before.is_empty() {
            let there = chapters
                .behind
                .keys()
                .all(|id| before.contains(&format!("### {id} ")) && model::has_behind(&before, id));
            if !there {
                let name = self.document.artifact().save_tool();
                let answer = self.call(name, &arguments);
                assert!(answer.text.contains("has no place in the document"), "{}", answer.text);
                return self.did("no place");
            }
        }
        if self.save(&arguments) {
            self.model.merge(&before, &chapters);
            records.into_iter().for_each(|(id, one)| self.model.put(&id, one));
            self.did("part");
        }
    }

    /// The whole document, by a model or from an agent program, without some of its records.
    pub(super) fn save_whole(&mut self) {
        let (mut chapters, changed) = self.part();
        let mut records: BTreeMap<String, Rec> = self.model.own(self.kinds);
        records.extend(changed);
        let gone: Vec<String> =
            records.keys().filter(|_| self.random.u8(..4) == 0).cloned().collect();
        let present = self.model.own(self.kinds);
        let mut kept: Vec<(String, Rec)> = Vec::new();
        for (id, mut one) in records {
            one.refs.retain(|to| !gone.contains(to));
            if !gone.contains(&id) {
                kept.push((id, one));
            }
        }
        chapters.behind.retain(|id, _| !gone.contains(id));
        let text = chapters.with(&kept);
        if text.is_empty() {
            return;
        }
        let of_agent = self.random.bool();
        let named: Vec<&String> = gone.iter().filter(|_| self.random.u8(..3) > 0).collect();
        let name = self.document.artifact().save_tool();
        let arguments = match of_agent {
            true => {
                let lines = named.iter().map(|id| format!("DELETED: {id}\n"));
                saving_call(name, &text, &lines.collect::<String>())
            }
            false => json!({"content": text, "whole": true}),
        };
        let is_named = gone.iter().all(|id| named.contains(&id) || !present.contains_key(id));
        if of_agent && !is_named && !self.text().is_empty() {
            let answer = self.call(name, &arguments);
            assert!(!answer.ok, "{}", answer.text);
            return self.did("agent refused");
        }
        if self.save(&arguments) {
            self.model.sentences = chapters.sentences();
            gone.iter().for_each(|id| self.model.delete(id, false));
            kept.into_iter().for_each(|(id, one)| self.model.put(&id, one));
            self.did(if of_agent { "agent" } else { "whole" });
        }
    }
}
