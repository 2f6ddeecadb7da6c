//! The sixteen kinds of merges: each side adds, edits, moves or deletes a record.

use super::{AFTER_REQUIREMENTS, DIR, Edit, WAYS, assert_whole, edit, solve};
use crate::support::{Sandbox, todo};
use serde_json::Value;

/// What a side does, its name, and the titles of requirements that come of it.
struct Side {
    what: &'static str,
    edits: Vec<(&'static str, String, String)>,
    adds: Option<&'static str>,
    renames: Option<(&'static str, &'static str)>,
    deletes: Option<&'static str>,
}

impl Side {
    /// The four kinds; `number` is that of the record it edits or moves.
    fn all(
        number: u32,
        title: &'static str,
        renamed: &'static str,
        added: &'static str,
    ) -> [Self; 4] {
        let side = |what, edits| Self { what, edits, adds: None, renames: None, deletes: None };
        let change = |from: &str, to: &str| ("prd.md", from.to_owned(), to.to_owned());
        let section = todo::requirement_section(&format!("REQ-00{number}"), title);
        let new = todo::requirement_section("REQ-004", added);
        let last = todo::requirement_section("REQ-003", "Tick a todo off");
        let add = change(AFTER_REQUIREMENTS, &format!("{new}{AFTER_REQUIREMENTS}"));
        let rename =
            change(&format!("REQ-00{number} {title}"), &format!("REQ-00{number} {renamed}"));
        let away = change(&section, "");
        let behind = change(AFTER_REQUIREMENTS, &format!("{section}{AFTER_REQUIREMENTS}"));
        let delete = vec![change("`REQ-002` `REQ-003`", "`REQ-002`"), change(&last, "")];
        [
            Self { adds: Some(added), ..side("add", vec![add]) },
            Self { renames: Some((title, renamed)), ..side("edit", vec![rename]) },
            side("move", vec![away, behind]),
            Self { deletes: Some("Tick a todo off"), ..side("delete", delete) },
        ]
    }

    fn done_to(&self, titles: &mut Vec<String>) {
        titles.extend(self.adds.map(str::to_owned));
        if let Some((from, to)) = self.renames {
            titles.iter_mut().filter(|title| *title == from).for_each(|title| to.clone_into(title));
        }
        titles.retain(|title| Some(title.as_str()) != self.deletes);
    }

    /// Makes it a branch of this name.
    fn commit(&self, sandbox: &Sandbox, branch: &str) {
        sandbox.git(&["reset", "-q", "--hard", "begun"]);
        let edits: Vec<Edit<'_>> =
            self.edits.iter().map(|(file, from, to)| (*file, from.as_str(), to.as_str())).collect();
        edit(sandbox, &edits);
        sandbox.git(&["branch", "-q", "-f", branch]);
    }
}

/// Two branches meet on that of the session.
fn meet(sandbox: &Sandbox, way: &str, ours: &str, theirs: &str) -> bool {
    let at = if way == "rebase" { theirs } else { ours };
    sandbox.git(&["reset", "-q", "--hard", at]);
    let picked = format!("begun..{theirs}");
    let args: &[&str] = match way {
        "merge" => &["merge", "-q", "--no-ff", "-m", "Merge theirs", theirs],
        "rebase" => &["rebase", "-q", ours],
        _ => &["cherry-pick", &picked],
    };
    sandbox.git_outcome(args).code == 0
}

#[test]
fn sixteen_kinds_of_two_sides_meet_by_merge_rebase_and_cherry_pick() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.git(&["branch", "begun"]);
    let ours = Side::all(1, "Add a todo", "Add one", "Export");
    let theirs = Side::all(2, "List todos", "List all", "Import");
    for side in &ours {
        side.commit(&sandbox, &format!("ours-{}", side.what));
    }
    for side in &theirs {
        side.commit(&sandbox, &format!("theirs-{}", side.what));
    }
    let all = ours.iter().flat_map(|our| theirs.iter().map(move |their| (our, their)));
    for (our, their) in all {
        let mut expected =
            ["Add a todo", "List todos", "Tick a todo off"].map(str::to_owned).to_vec();
        our.done_to(&mut expected);
        their.done_to(&mut expected);
        expected.sort();
        for way in WAYS {
            let name = format!("{} and {}", our.what, their.what);
            let branches = [format!("ours-{}", our.what), format!("theirs-{}", their.what)];
            if !meet(&sandbox, way, &branches[0], &branches[1]) {
                solve(&sandbox, &name, way);
            }
            sandbox.cowork(&["verify", "--fix"]);
            let json = sandbox.blob("HEAD", &format!("{DIR}/requirements.json"));
            let json: Value = serde_json::from_str(&json).unwrap();
            let records = json["requirements"].as_array().unwrap();
            let field = |name: &str| -> Vec<String> {
                records.iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
            };
            let (mut titles, mut ids) = (field("title"), field("id"));
            let prd = sandbox.blob("HEAD", &format!("{DIR}/prd.md"));
            for (id, title) in ids.iter().zip(&titles) {
                assert_eq!(
                    prd.matches(&format!("### {id} {title}\n")).count(),
                    1,
                    "{name} by {way}: {prd}"
                );
            }
            titles.sort();
            assert_eq!(titles, expected, "{name} by {way}: {prd}");
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), expected.len(), "{name} by {way}: {prd}");
            assert_whole(&sandbox);
        }
    }
}
