//! Tests of changing, saving and converting documents, and of their JSON.

use serde_json::json;

use super::*;

const PRD: &str = include_str!("prd.md");
const DESIGN: &str = include_str!("design.md");
const PLAN: &str = include_str!("plan.md");

/// Applies changes to a document whose records are known.
fn applied(
    text: &str,
    change: impl FnOnce(&Records) -> Vec<Change>,
) -> Result<String, Vec<Remark>> {
    let present = read_all(text).records();
    let used = BTreeMap::new();
    let floors = IdFloors::default();
    let (in_base, by) = (&|_: &str| false, Writer::Model);
    let context = Context { kinds: &ALL, used: &used, floors, present: &present, in_base, by };
    apply(text, &change(&present), &context)
}

fn put(record: Record) -> Vec<Change> {
    vec![Change::Put(record)]
}

#[test]
fn only_the_bytes_of_changed_fields_change() {
    type Changed = fn(&Records) -> Record;
    let cases: &[(&str, Changed, &str, &str)] = &[
        (
            PRD,
            |all| {
                Record::Requirement(crate::artifact::Requirement {
                    title: "Add one".into(),
                    ..all.requirements[0].clone()
                })
            },
            "REQ-001 Add a reading",
            "REQ-001 Add one",
        ),
        (
            PRD,
            |all| {
                Record::Requirement(crate::artifact::Requirement {
                    priority: crate::artifact::Priority::Low,
                    ..all.requirements[1].clone()
                })
            },
            "`medium`",
            "`low`",
        ),
        (
            PRD,
            |all| {
                let mut one = all.requirements[0].clone();
                one.acceptance_criteria[1] = "it fails".into();
                Record::Requirement(one)
            },
            "- WHEN the number is smaller than the last one THEN the exit code is 2",
            "- it fails",
        ),
        (
            PRD,
            |all| {
                let mut one = all.requirements[0].clone();
                one.acceptance_criteria.insert(1, "between".into());
                Record::Requirement(one)
            },
            "`tests/add.rs::appends`\n",
            "`tests/add.rs::appends`\n- between\n",
        ),
        (
            PRD,
            |all| {
                let mut one = all.requirements[0].clone();
                one.acceptance_criteria.remove(0);
                Record::Requirement(one)
            },
            "- WHEN I run `meter add 1523` THEN the last line ends in `1523` `tests/add.rs::appends`\n",
            "",
        ),
        (
            PRD,
            |all| {
                let mut one = all.features[0].clone();
                one.requirement_ids = vec!["REQ-001".into(), "REQ-003".into(), "REQ-002".into()];
                Record::Feature(one)
            },
            "`REQ-001` `REQ-003`",
            "`REQ-001` `REQ-003` `REQ-002`",
        ),
        (
            PRD,
            |all| {
                let mut one = all.features[0].clone();
                one.requirement_ids = vec!["REQ-003".into()];
                Record::Feature(one)
            },
            "`REQ-001` `REQ-003`",
            "`REQ-003`",
        ),
        (
            PRD,
            |all| {
                let mut one = all.features[1].clone();
                one.requirement_ids = Vec::new();
                Record::Feature(one)
            },
            "`REQ-002`\n\nSee",
            "`-`\n\nSee",
        ),
        (
            PRD,
            |all| {
                let mut one = all.features[1].clone();
                one.description = "See what was used.\n\nAnd when.".into();
                Record::Feature(one)
            },
            "See what was used.\n",
            "See what was used.\n\nAnd when.\n",
        ),
        (
            DESIGN,
            |all| {
                let mut one = all.components[0].clone();
                one.interfaces[0] = "pub fn load();".into();
                Record::Component(one)
            },
            "pub fn load(path: &Path) -> Vec<Reading>;",
            "pub fn load();",
        ),
        (
            DESIGN,
            |all| {
                let mut one = all.components[0].clone();
                one.technology = "Go".into();
                Record::Component(one)
            },
            "`Rust, csv 1`",
            "`Go`",
        ),
        (
            PLAN,
            |all| {
                let mut one = all.tasks[1].clone();
                one.files_to_create = vec!["tests/store.rs".into(), "src/lock.rs".into()];
                one.files_to_change = vec!["src/store.rs".into()];
                Record::Task(one)
            },
            "`src/store.rs` `tests/store.rs`",
            "`src/store.rs` `tests/store.rs` `src/lock.rs`",
        ),
        (
            PLAN,
            |all| {
                let mut one = all.tasks[2].clone();
                one.component_id = "COMP-001".into();
                Record::Task(one)
            },
            "`COMP-002`",
            "`COMP-001`",
        ),
    ];
    for (text, change, from, to) in cases {
        for text in [(*text).to_owned(), text.replace('\n', "\r\n")] {
            let crlf = text.contains('\r');
            let lines =
                |part: &str| if crlf { part.replace('\n', "\r\n") } else { part.to_owned() };
            let after = applied(&text, |all| put(change(all))).unwrap();
            assert_eq!(after, text.replacen(&lines(from), &lines(to), 1));
        }
    }
}

#[test]
fn a_rewritten_section_keeps_comments_and_info_strings() {
    let text = DESIGN.replace("Keeps the file.\n", "Keeps the file.\n\n<!-- ask Ana -->\n");
    let after = applied(&text, |all| {
        let mut one = all.components[0].clone();
        one.related_features = vec!["FEAT-002".into(), "FEAT-001".into()];
        one.responsibilities = Vec::new();
        put(Record::Component(one))
    });
    let after = after.unwrap();
    assert!(
        after.contains("<!-- ask Ana -->") && after.contains("```rust\npub fn load"),
        "{after}"
    );
}

#[test]
fn new_records_come_after_the_last_of_their_kind() {
    let new = |id: &str| {
        Record::Requirement(crate::artifact::Requirement {
            id: id.into(),
            title: "Export".into(),
            ..Default::default()
        })
    };
    let after = applied(PRD, |_| put(new("REQ-004"))).unwrap();
    let section = "### REQ-004 Export\n\n`medium` `functional`\n\n## Features";
    assert!(after.contains(&format!("less than a second\n\n{section}")), "{after}");
    let task = |id: &str| {
        Record::Task(crate::artifact::Task {
            id: id.into(),
            title: "Part".into(),
            ..Default::default()
        })
    };
    let two = vec![Change::Put(task("TASK-001.1")), Change::Put(task("TASK-001.2"))];
    let after = applied(PLAN, |_| two).unwrap();
    let ids: Vec<String> = read_all(&after).records().ids().map(str::to_owned).collect();
    assert_eq!(ids, ["TASK-001", "TASK-001.1", "TASK-001.2", "TASK-002", "TASK-003"]);
    let prose = "# PRD\n\nNothing yet.\n";
    let after = applied(prose, |_| put(new("REQ-001"))).unwrap();
    assert_eq!(after, format!("{prose}\n### REQ-001 Export\n\n`medium` `functional`\n"));
}

#[test]
fn deleting_a_section_changes_nothing_else() {
    let delete = |id: &str| vec![Change::Delete(id.to_owned())];
    let after = applied(PRD, |_| delete("REQ-002")).unwrap();
    let reading = read_all(PRD);
    let range = reading.section("REQ-002").unwrap().range.clone();
    assert_eq!(after, format!("{}{}", &PRD[..range.start], &PRD[range.end..]));
    let refused = applied(PRD, |_| delete("REQ-009")).unwrap_err();
    assert_eq!(refused[0].text, "REQ-009 has no section");
}

#[test]
fn changes_that_read_back_differently_are_refused() {
    let refused = applied(PRD, |all| {
        let mut one = all.requirements[0].clone();
        one.description = "a\n\n### REQ-009 b".into();
        put(Record::Requirement(one))
    });
    let said = "the description of REQ-001 contains the heading of a record: ### REQ-009 b";
    assert_eq!(refused.unwrap_err()[0].text, said);
    let refused = applied(PLAN, |all| {
        let mut one = all.tasks[0].clone();
        one.files_to_create = vec!["/etc/x".into()];
        put(Record::Task(one))
    });
    assert_eq!(refused.unwrap_err()[0].text, "'/etc/x' is not a path inside the repository");
    let refused = applied(PLAN, |all| {
        let mut one = all.tasks[0].clone();
        one.title = " ".into();
        put(Record::Task(one))
    });
    assert_eq!(refused.unwrap_err()[0].text, "TASK-001 has no title");
}

fn saved(present: Option<&str>, sent: &str, extent: Extent<'_>) -> Result<Saved, Vec<Remark>> {
    let records = present.map(|text| read_all(text).records()).unwrap_or_default();
    let used = BTreeMap::new();
    let floors = floors_of(["REQ-003", "FEAT-002"]);
    let kinds = &[IdKind::Requirement, IdKind::Feature];
    let (in_base, by) = (&|_: &str| false, Writer::Model);
    let context = Context { kinds, used: &used, floors, present: &records, in_base, by };
    save(present, sent, extent, &context, &mut floors.clone())
}

#[test]
fn sent_sections_replace_sections_with_the_same_ids() {
    let sent = "```markdown\n### REQ-002 List all\n\n`medium` `functional`\n\nAll readings, the newest first.\n\n\
                - WHEN there are none THEN it prints `no readings`\n\n### REQ-? Export\n\n`low` `functional`\n\nAs csv.\n\n- it is csv\n```";
    let saved = saved(Some(PRD), sent, Extent::Parts).unwrap();
    let export =
        "### REQ-004 Export\n\n`low` `functional`\n\nAs csv.\n\n- it is csv\n\n## Features";
    let expected = PRD.replace("List readings", "List all").replace("## Features", export);
    assert_eq!(saved.text, expected);
    assert_eq!(saved.deleted, [""; 0]);
}

#[test]
fn a_whole_document_without_sections_keeps_those_that_exist() {
    let sent = "# Meter\n\nNew prose.\n\n## Requirements\n\nWhat it does.\n\n## Risks\n\nNone.\n";
    let saved = saved(Some(PRD), sent, Extent::Parts).unwrap();
    let before = read_all(PRD);
    assert_eq!(saved.reading.records().written(), before.records().written());
    assert!(saved.text.starts_with("# Meter\n\nNew prose.\n\n## Requirements\n\nWhat it does.\n"));
    assert!(saved.text.contains("## Risks\n\nNone.\n"), "{}", saved.text);
    assert!(saved.unsent.contains(&"REQ-001".to_owned()), "{:?}", saved.unsent);
}

#[test]
fn a_part_with_a_heading_of_its_own_loses_nothing() {
    let new = "### REQ-? Export\n\n`low` `functional`\n\nAs csv.\n\n- it is csv\n";
    let sent = format!("## Requirements\n\n{new}");
    let after = saved(Some(PRD), &sent, Extent::Parts).unwrap();
    let number = new.replace("REQ-?", "REQ-004");
    let expected = PRD.replacen("## Features", &format!("{number}\n## Features"), 1);
    assert_eq!(after.text, expected);
    assert_eq!((after.deleted, after.unsent), (Vec::new(), Vec::new()));
    // Records first, then a section: both are saved.
    let sent = format!("{new}\n## Out of scope\n\nCharts.\n");
    let after = saved(Some(PRD), &sent, Extent::Parts).unwrap();
    assert!(after.text.contains("### REQ-004 Export") && after.text.contains("Charts."));
    // The second of two equal headings is the second one there.
    let twice = format!("{PRD}\n## Notes\n\nOne.\n\n## Notes\n\nTwo.\n");
    let sent = "## Notes\n\nOne.\n\n## Notes\n\nThree.\n";
    let after = saved(Some(&twice), sent, Extent::Parts).unwrap();
    assert_eq!(after.text, twice.replace("Two.", "Three."));
    let refused = saved(Some(PRD), "Here it is:\n\n### REQ-001 Add\n", Extent::Parts).unwrap_err();
    assert!(refused[0].text.contains("edit_file") || refused[0].text.contains("priority"));
}

#[test]
fn text_behind_a_rule_below_a_record_is_kept_or_refused() {
    let section = read_all(PRD).section("REQ-002").unwrap().range.clone();
    let with = |behind: &str| {
        let (record, after) = (PRD[..section.end].trim_end(), &PRD[section.end..]);
        format!("{record}\n\n---\n\n{behind}\n\n{after}")
    };
    let present = with("Charts wait.");
    let after = saved(Some(&present), PRD, Extent::Parts).unwrap();
    assert_eq!(after.text, present);
    let text = saved(Some(&present), &with("Charts come."), Extent::Parts).unwrap().text;
    assert!(text.contains("Charts come.") && !text.contains("Charts wait."), "{text}");
    // Without a title there is a place for it only where some text stands already.
    let part =
        with("Charts come.")[section.start..].split("## Features").next().unwrap().to_owned();
    let text = saved(Some(&present), &part, Extent::Parts).unwrap().text;
    assert_eq!(text, with("Charts come."));
    let refused = saved(Some(PRD), &part, Extent::Parts).unwrap_err();
    assert!(refused[0].text.contains("behind the --- below a record"), "{refused:?}");
    let rule = part.replace("Charts come.\n", "");
    assert_eq!(saved(Some(PRD), &rule, Extent::Parts).unwrap().text, PRD);
}

#[test]
fn a_record_is_deleted_only_where_the_call_says_so() {
    let range = read_all(PRD).section("FEAT-002").unwrap().range.clone();
    let sent = format!("{}{}", &PRD[..range.start], &PRD[range.end..]);
    let parts = saved(Some(PRD), &sent, Extent::Parts).unwrap();
    assert_eq!((parts.deleted, parts.unsent), (Vec::new(), vec!["FEAT-002".to_owned()]));
    assert_eq!(saved(Some(PRD), &sent, Extent::Whole).unwrap().deleted, ["FEAT-002"]);
    let named = ["FEAT-002".to_owned()];
    let whole = Extent::WholeDeleting(&named);
    assert_eq!(saved(Some(PRD), &sent, whole).unwrap().deleted, ["FEAT-002"]);
    let refused = saved(Some(PRD), &sent, Extent::WholeDeleting(&[])).unwrap_err();
    let words = "FEAT-002 has no section here; restore it; to delete it call delete_feature, or \
                 without tools add the line `DELETED: FEAT-002`";
    assert_eq!(refused[0].text, words);
    assert_eq!(saved(None, PRD, Extent::Parts).unwrap().text, PRD);
}

#[test]
fn a_document_agrees_only_with_the_records_of_its_sections() {
    let records = read_all(PRD).records();
    let kinds = &[IdKind::Requirement, IdKind::Feature];
    let other =
        "# PRD\n\n### REQ-001 Add\n\nSome words on it.\n\n## REQ-002: List\n\n- REQ-002 lists\n";
    assert!(gives(PRD, &records, kinds) && !gives(other, &records, kinds));
    assert!(gives("# Plan\n", &Records::default(), &[IdKind::Task]));
}

#[test]
fn json_is_derived_in_the_order_of_the_document() {
    let mut records = read_all(PLAN).records();
    let mut files = RecordFiles::default();
    files.plan.tasks = records.tasks.clone();
    files.plan.tasks[0].status = crate::artifact::TaskStatus::Completed;
    files.plan.tasks[0].files_to_change = vec!["src/store.rs".into()];
    files.plan.tasks[0].files_to_create = Vec::new();
    files.plan.tasks[1].extra.insert("owner".into(), json!("ana"));
    files.plan.extra.insert("theirs".into(), json!(1));
    records.tasks.reverse();
    let derived = files.derived(&records, &[IdKind::Task]);
    let ids: Vec<&str> = derived.plan.tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["TASK-003", "TASK-002", "TASK-001"]);
    assert_eq!(derived.plan.tasks[2].status, crate::artifact::TaskStatus::Completed);
    assert_eq!(derived.plan.tasks[2].files_to_change, ["src/store.rs"]);
    assert_eq!(derived.plan.tasks[1].extra["owner"], json!("ana"));
    assert_eq!(derived.plan.extra["theirs"], json!(1));
}

#[test]
fn existing_files_determine_the_records_of_a_document() {
    let without = Documents { prd: false, design: false, plan: true };
    assert_eq!(without.kinds(Document::Plan), [IdKind::Requirement, IdKind::Feature, IdKind::Task]);
    assert_eq!(without.holding(IdKind::Component), None);
    assert_eq!(Documents { prd: true, ..without }.kinds(Document::Plan), [IdKind::Task]);
}
