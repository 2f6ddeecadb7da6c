//! Properties of all records and texts.

use super::random::{Random, cases};
use super::*;

fn any_kind(random: &mut Random) -> IdKind {
    *random.one(&ALL)
}

fn known_paths(text: &str, present: &Records) -> Reading {
    let context = Context {
        kinds: &ALL,
        used: &BTreeMap::new(),
        floors: IdFloors::default(),
        present,
        in_base: &|_| true,
        by: Writer::Person,
    };
    read(text, &context)
}

/// Returns all records of a text in their Markdown form.
fn written(reading: &Reading) -> Vec<Record> {
    reading.sections.iter().map(|section| section.record.written()).collect()
}

#[test]
fn a_rendered_record_reads_back_the_same() {
    cases(|random| {
        let kind = any_kind(random);
        let record = random.record(kind, 1, false);
        let text = render(&record, LEVEL);
        let reading = known_paths(&text, &Records::default());
        assert_eq!(reading.refusals, [], "{text}");
        assert_eq!(written(&reading), [record.written()], "{text}");
    });
}

#[test]
fn the_normal_form_is_stable() {
    cases(|random| {
        let level = 1 + random.0.u8(..6);
        let kind = any_kind(random);
        let record = random.record(kind, 1, true);
        let text = render(&record, level);
        let reading = known_paths(&text, &Records::default());
        assert_eq!(reading.refusals, [], "{record:#?}\n{text}");
        let [section] = &reading.sections[..] else { panic!("{record:#?}\n{text}") };
        let again = render(&section.record, level);
        let second = known_paths(&again, &Records::default());
        assert_eq!(written(&second), written(&reading), "{record:#?}\n{text}\n=====\n{again}");
        assert_eq!(section.record.id(), record.id());
    });
}

#[test]
fn several_records_are_read_from_one_document() {
    cases(|random| {
        let wild = random.0.bool();
        let kinds = [any_kind(random), any_kind(random)];
        let mut kinds = kinds.to_vec();
        kinds.sort();
        kinds.dedup();
        let records = random.records(&kinds, wild);
        let text = random.document(&records);
        let reading = known_paths(&text, &Records::default());
        assert_eq!(reading.refusals, [], "{records:#?}\n{text}");
        let level = reading.sections.first().unwrap().level;
        let expected = records.iter().map(|record| normal(record, level).written());
        assert_eq!(written(&reading), expected.collect::<Vec<_>>(), "{text}");
    });
}

#[test]
fn an_edit_changes_one_record_and_no_byte_outside_its_section() {
    cases(|random| {
        let kind = any_kind(random);
        let records = random.records(&[kind], false);
        let text = random.document(&records);
        let present: Records = records.iter().cloned().collect();
        let context = Context {
            kinds: &ALL,
            used: &BTreeMap::new(),
            floors: IdFloors::default(),
            present: &present,
            in_base: &|_| true,
            by: Writer::Person,
        };
        match random.below(4) {
            0 => an_edited_title_leaves_the_other_bytes_alone(random, &records, &text, &context),
            1 => a_deleted_record_is_gone(random, &records, &text, &context),
            _ => a_record_is_put(random, kind, &text, &context),
        }
    });
}

fn a_record_is_put(random: &mut Random, kind: IdKind, text: &str, context: &Context<'_>) {
    let (number, wild) = (1 + random.0.u32(..3), random.0.bool());
    let new = random.record(kind, number, wild);
    let before = read(text, context);
    let after = match apply(text, &[Change::Put(new.clone())], context) {
        Ok(after) => after,
        Err(refused) => panic!("{refused:?}\n{new:#?}\n{text}"),
    };
    let reading = read(&after, context);
    let section = reading.section(new.id()).unwrap();
    assert!(apply::same(&section.record, &normal(&new, section.level)), "{after}");
    for section in before.sections.iter().filter(|section| section.record.id() != new.id()) {
        assert!(after.contains(&text[section.range.clone()]), "{text}\n=====\n{after}");
    }
    if let Some(section) = before.section(new.id()) {
        assert!(after.starts_with(&text[..section.range.start]), "{text}\n=====\n{after}");
        assert!(after.ends_with(&text[section.range.end..]), "{text}\n=====\n{after}");
    }
}

fn a_deleted_record_is_gone(
    random: &mut Random,
    records: &[Record],
    text: &str,
    context: &Context<'_>,
) {
    let id = random.one(records).id();
    let range = read(text, context).section(id).unwrap().range.clone();
    let after = apply(text, &[Change::Delete(id.to_owned())], context).unwrap();
    assert!(after.starts_with(text[..range.start].trim_end()), "{text}\n=====\n{after}");
    assert!(after.ends_with(&text[range.end..]), "{text}\n=====\n{after}");
}

fn an_edited_title_leaves_the_other_bytes_alone(
    random: &mut Random,
    records: &[Record],
    text: &str,
    context: &Context<'_>,
) {
    let mut new = random.one(records).clone();
    let title = random.plain();
    let old = new.title().to_owned();
    match &mut new {
        Record::Requirement(one) => one.title.clone_from(&title),
        Record::Feature(one) => one.name.clone_from(&title),
        Record::Component(one) => one.name.clone_from(&title),
        Record::Task(one) => one.title.clone_from(&title),
    }
    let after = apply(text, &[Change::Put(new.clone())], context).unwrap();
    let (from, to) = (format!("{} {old}", new.id()), format!("{} {title}", new.id()));
    assert_eq!(after, text.replacen(&from, &to, 1), "{text}\n=====\n{after}");
}

#[test]
fn no_text_panics() {
    cases(|random| {
        let kind = any_kind(random);
        let records = random.records(&[kind], true);
        let mut text = random.document(&records);
        for _ in 0..random.below(6) {
            let mut at = random.below(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let wild = random.wild(4);
            let id =
                random.one(&["REQ-001", "### REQ-? ", "TASK-001.?", "`", "\n### FEAT-2", "REQ-"]);
            text.insert_str(at, if random.0.bool() { &wild } else { id });
        }
        let present: Records = records.iter().cloned().collect();
        let context = Context {
            kinds: &ALL,
            used: &BTreeMap::new(),
            floors: IdFloors::default(),
            present: &present,
            in_base: &|_| false,
            by: Writer::Person,
        };
        let mut floors = IdFloors::default();
        match random.below(4) {
            0 => {
                let taken = take(&text, &context, &mut floors);
                assert!(take(&taken.text, &context, &mut floors).numbered.is_empty());
            }
            1 => {
                let sent = random.wild(20);
                let _ = save(Some(&text), &sent, Extent::Parts, &context, &mut floors);
            }
            _ => {
                let change = random.record(IdKind::Task, 1, true);
                let _ = apply(&text, &[Change::Put(change)], &context);
            }
        }
    });
}
