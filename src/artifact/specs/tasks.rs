//! Parses `tasks.md` of either tool: checkboxes below headings.

use super::markdown::{Item, Part, items, labelled, parts, plain};

/// A heading with the tasks below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The heading; empty for tasks directly below the document's title.
    pub title: String,
    /// The goal, if the file names one.
    pub goal: Option<String>,
    /// How to see that the tasks are done, if the file says so.
    pub test: Option<String>,
    /// Tasks that are not ticked.
    pub open: Vec<Line>,
    /// Number of ticked tasks.
    pub ticked: usize,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// `T012`, `1.3`; empty if the task has none.
    pub id: String,
    /// Number of the user story.
    pub story: Option<u32>,
    /// What to do.
    pub text: String,
}

/// Groups the tasks by their outermost headings.
pub(super) fn groups(text: &str) -> Vec<Group> {
    let mut out: Vec<Group> = vec![Group::default()];
    for part in parts(text) {
        // The document's title does not start a group, nor does a heading inside a group.
        let begins =
            part.level == 2 || part.level > 2 && out.last().is_some_and(|one| one.title.is_empty());
        if begins {
            out.push(Group { title: title(&part.title), ..Group::default() });
        } else if part.level == 1 {
            out.push(Group::default());
        }
        if let Some(group) = out.last_mut() {
            fill(group, &part);
        }
    }
    out.retain(|group| !group.open.is_empty() || group.ticked > 0);
    out
}

fn fill(group: &mut Group, part: &Part) {
    let said = |label: &str| labelled(&part.lines, label);
    group.goal = group.goal.take().or_else(|| said("Goal")).or_else(|| said("Purpose"));
    group.test =
        group.test.take().or_else(|| said("Independent Test")).or_else(|| said("Checkpoint"));
    for Item { text, .. } in items(&part.lines) {
        match boxed(&text) {
            Some((true, _)) => group.ticked += 1,
            Some((false, rest)) => group.open.push(line(rest)),
            // A detail of the task above it.
            None => {
                if let Some(task) = group.open.last_mut() {
                    task.text = format!("{}; {text}", task.text);
                }
            }
        }
    }
}

/// Returns whether the checkbox is ticked, and the text after it.
fn boxed(text: &str) -> Option<(bool, &str)> {
    let rest = text.strip_prefix('[')?;
    let (mark, rest) = rest.split_once(']')?;
    match mark.trim() {
        "" => Some((false, rest.trim())),
        "x" | "X" => Some((true, rest.trim())),
        _ => None,
    }
}

fn line(text: &str) -> Line {
    let mut out = Line::default();
    let mut rest = plain(text);
    while let Some((word, behind)) = rest.split_once(' ') {
        let bare = word.trim_end_matches([':', '.']);
        if out.id.is_empty() && out.story.is_none() && is_id(bare) {
            bare.clone_into(&mut out.id);
        } else if let Some(label) = word.strip_prefix('[').and_then(|word| word.strip_suffix(']')) {
            let story = label.strip_prefix("US").or_else(|| label.strip_prefix("us"));
            match story.and_then(|number| number.parse().ok()) {
                Some(number) => out.story = Some(number),
                None if label.eq_ignore_ascii_case("P") => {}
                None => break,
            }
        } else {
            break;
        }
        rest = behind.trim().to_owned();
    }
    out.text = rest;
    out
}

/// True for a task's id: `T012`, `T012a`, `TXXX`, `1.3`.
fn is_id(word: &str) -> bool {
    let numbered = |rest: &str| {
        let digits = rest.trim_end_matches(|c: char| c.is_ascii_lowercase());
        !digits.is_empty()
            && rest.len() - digits.len() <= 1
            && digits.bytes().all(|b| b.is_ascii_digit())
    };
    let dotted = |word: &str| {
        word.contains('.')
            && word
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    word == "TXXX"
        || word.strip_prefix('T').is_some_and(numbered)
        || dotted(word)
        || numbered(word) && word.len() <= 3
}

/// Removes the parts of a heading that do not belong to its title.
fn title(text: &str) -> String {
    let text = text.split("🎯").next().unwrap_or_default();
    let text = text.split("(Priority").next().unwrap_or_default();
    plain(text).trim_end_matches([' ', '⚠', '\u{fe0f}']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_of_spec_kit_are_grouped_by_phase() {
        let text = "# Tasks: X\n\n## Format: `[ID] [P?] [Story] Description`\n\n- **[P]**: parallel\n\n\
            ## Phase 1: Setup (Shared)\n\n**Purpose**: begin\n\n- [ ] T001 Create a.txt\n- [x] T002 [P] Done\n\n\
            ## Phase 3: User Story 1 - Add (Priority: P1) 🎯 MVP\n\n**Goal**: add\n\n**Independent Test**: try it\n\n\
            ### Tests\n\n- [ ] T010 [P] [US1] Test in tests/a.py\n  and more\n### Implementation\n\
            - [ ] **T011** [US1] Write src/a.py\n  - detail\n\n## Notes\n\n- [P] tasks = different files\n";
        let found = groups(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!((found[0].title.as_str(), found[0].ticked), ("Phase 1: Setup (Shared)", 1));
        assert_eq!(found[0].goal.as_deref(), Some("begin"));
        let story = &found[1];
        assert_eq!(story.title, "Phase 3: User Story 1 - Add");
        assert_eq!(story.test.as_deref(), Some("try it"));
        let texts: Vec<_> =
            story.open.iter().map(|one| (one.id.as_str(), one.story, one.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("T010", Some(1), "Test in tests/a.py and more"),
                ("T011", Some(1), "Write src/a.py; detail")
            ]
        );
    }

    #[test]
    fn tasks_of_openspec_are_numbered() {
        let found = groups(
            "## 1. Core\n\n- [ ] 1.1 Do `a.rs`\n- [ ] 1.2 Test it\n\n## 2. More\n- [ ] 2.1 X\n",
        );
        assert_eq!(
            found.iter().map(|one| one.title.as_str()).collect::<Vec<_>>(),
            ["1. Core", "2. More"]
        );
        assert_eq!(
            (found[0].open[0].id.as_str(), found[0].open[0].text.as_str()),
            ("1.1", "Do `a.rs`")
        );
    }

    #[test]
    fn a_list_without_headings_has_no_group() {
        let found = groups("# Tasks\n- [ ] T1 a\n- [ ] write 3 files\n* [X] c\n- [link](x) d\n");
        assert_eq!((found.len(), found[0].title.as_str(), found[0].ticked), (1, "", 1));
        assert_eq!(found[0].open[1].id, "");
        assert!(groups("").is_empty() && groups("- nothing\n").is_empty());
    }
}
