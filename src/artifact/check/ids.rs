//! Ids in running text, and whether documents and JSON contain the same ids.

use std::collections::BTreeSet;

use super::{Finding, Report};
use crate::artifact::sections::{RecordFiles, without_sections};
use crate::artifact::{Artifact, IdKind, Store, TaskStatus, number_of};

/// Returns the ids of a kind that a text mentions, in canonical form (`REQ-1` is `REQ-001`).
pub fn mentioned_ids(kind: IdKind, text: &str) -> BTreeSet<String> {
    let prefix = kind.prefix();
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices(prefix) {
        let glued = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '-');
        if glued {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        let mut end = digits(rest);
        while kind == IdKind::Task && end > 0 && rest[end..].starts_with('.') {
            match digits(&rest[end + 1..]) {
                0 => break,
                more => end += 1 + more,
            }
        }
        if end > 0 {
            found.insert(canonical(kind, &format!("{prefix}{}", &rest[..end])));
        }
    }
    found
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Returns an id in canonical form; a text that is not an id of this kind stays unchanged.
fn canonical(kind: IdKind, id: &str) -> String {
    let Some(number) = number_of(kind, id) else { return id.to_owned() };
    let rest = id.split_once('.').map(|(_, rest)| format!(".{rest}")).unwrap_or_default();
    kind.format(number) + &rest
}

/// True when two spellings name the same record (`req-1`, `REQ-001`).
pub(crate) fn same_id(kind: IdKind, a: &str, b: &str) -> bool {
    name_of(kind, a) == name_of(kind, b)
}

/// Returns the canonical form of an id in any spelling.
pub(crate) fn name_of(kind: IdKind, id: &str) -> String {
    canonical(kind, &id.trim().to_ascii_uppercase())
}

/// Returns every id of a kind in its JSON file.
pub(crate) fn known_ids(store: &Store<'_>, kind: IdKind) -> anyhow::Result<Vec<String>> {
    let mut json = RecordFiles::default();
    if let Some(text) = store.text(kind.artifact())? {
        json.read(kind.artifact(), &text)?;
    }
    Ok(json.records().ids().map(str::to_owned).collect())
}

/// Compares a document with the JSON. Records of `own` kinds must be in both; records of `others`
/// can be missing in the document, but must exist if it mentions them.
pub(super) fn agree(
    report: &mut Report,
    store: &Store<'_>,
    document: Artifact,
    own: &[IdKind],
    others: &[IdKind],
) {
    let text = report.load(store.text(document)).filter(|text| !text.trim().is_empty());
    let Some(text) = text else { return };
    let name = document.file_name();
    // What completed tasks mention may have been removed since: they are history.
    let plan = report.load(store.plan());
    let is_done = |id: &str| {
        plan.tasks.iter().any(|task| task.id == id && task.status == TaskStatus::Completed)
    };
    let (open_text, _) = without_sections(&text, &is_done);
    report.rule(&format!("{name} and JSON agree"), |report| {
        for kind in own.iter().chain(others) {
            let known = report.load(known_ids(store, *kind));
            let mentioned = mentioned_ids(*kind, &text);
            let names: BTreeSet<String> = known.iter().map(|id| name_of(*kind, id)).collect();
            let mentioned_openly = mentioned_ids(*kind, &open_text);
            for id in mentioned_openly.iter().filter(|id| !names.contains(*id)) {
                let details =
                    format!("{name} mentions {id}, which is not among the {}", kind.plural());
                report.find(
                    Finding::wrong("unknown-id-in-document", details)
                        .fix(format!("create the record or take {id} out of {name}"))
                        .about(id),
                );
            }
            if !own.contains(kind) {
                continue;
            }
            // A sub-task is a detail of its parent, so the document need not mention it.
            for id in known.iter().filter(|id| !id.contains('.')) {
                if !mentioned.contains(&canonical(*kind, id)) {
                    let details = format!("{name} never mentions {id}");
                    report.find(
                        Finding::missing("id-not-in-document", details)
                            .fix(format!("describe {id} in {name}, or delete the record"))
                            .about(id),
                    );
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::check::testing::Memory;

    fn ids(kind: IdKind, text: &str) -> Vec<String> {
        mentioned_ids(kind, text).into_iter().collect()
    }

    #[test]
    fn ids_are_found_in_prose() {
        let text = "See **REQ-001**, (REQ-2), xREQ-003, REQ-XXX and REQ-004.";
        assert_eq!(ids(IdKind::Requirement, text), ["REQ-001", "REQ-002", "REQ-004"]);
        let text = "TASK-001.2 ends. TASK-003. Then `TASK-010.1.1`, PRE-TASK-004";
        assert_eq!(ids(IdKind::Task, text), ["TASK-001.2", "TASK-003", "TASK-010.1.1"]);
    }

    #[test]
    fn both_directions_are_compared() {
        let files = Memory::valid();
        files.put(Artifact::Design, "# Design\nCOMP-001, COMP-009, serves FEAT-007\n");
        let mut report = Report::default();
        let store = Store::new(&files);
        agree(&mut report, &store, Artifact::Design, &[IdKind::Component], &[IdKind::Feature]);
        let found: Vec<_> =
            report.findings.iter().map(|f| (f.code, f.about.clone().unwrap())).collect();
        assert_eq!(
            found,
            [
                ("unknown-id-in-document", "COMP-009".to_owned()),
                ("id-not-in-document", "COMP-002".to_owned()),
                ("unknown-id-in-document", "FEAT-007".to_owned()),
            ]
        );
    }
}
