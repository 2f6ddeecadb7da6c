//! Parses `spec.md` of GitHub's spec-kit: user stories with priorities and scenarios, and numbered
//! requirements.

use super::markdown::{Part, is_label, items, joined, parts, plain};
use crate::artifact::{Category, Priority};

/// The contents of the file.
#[derive(Debug, Default)]
pub(super) struct Spec {
    /// Title of the feature; empty if it is still the template's.
    pub title: String,
    /// The stories, in order.
    pub stories: Vec<Story>,
    /// The requirements `FR-001` and `NFR-001`, in order.
    pub requirements: Vec<Numbered>,
    /// Sections that contain only text.
    pub text_only: Vec<String>,
    /// Places that need a decision, in the words of the file.
    pub unclear: Vec<String>,
}

/// A user story.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub title: String,
    /// P1 is high, P2 medium, all others are low.
    pub priority: Priority,
    /// The description of the user journey.
    pub text: String,
    /// Given, when, then.
    pub scenarios: Vec<String>,
}

/// A numbered requirement.
#[derive(Debug)]
pub(super) struct Numbered {
    /// `FR-001`
    pub id: String,
    /// The text of the requirement.
    pub text: String,
    /// The story that contains the requirement, if any.
    pub story: Option<u32>,
    /// MUST is high, SHOULD medium, MAY low.
    pub priority: Priority,
    /// `NFR` is non-functional.
    pub category: Category,
}

/// Marker of a place that needs a decision.
const UNCLEAR: &str = "[NEEDS CLARIFICATION";

/// Reads `spec.md`.
pub(super) fn read(text: &str) -> Spec {
    let mut spec = Spec::default();
    let mut story_level = None;
    for part in parts(text) {
        if part.level == 1 && spec.title.is_empty() {
            spec.title = title(&part.title);
        }
        if let Some(story) = story(&part) {
            story_level = Some(part.level);
            spec.stories.push(story);
        } else if story_level.is_some_and(|level| part.level <= level && part.level > 0) {
            story_level = None;
        }
        let inside = story_level.and(spec.stories.last().map(|story| story.number));
        let before = spec.requirements.len();
        spec.requirements.extend(numbered(&part, inside));
        spec.unclear.extend(unclear(&part));
        let told = scenarios(&part);
        let is_text = spec.requirements.len() == before && told.is_empty() && inside.is_none();
        match spec.stories.last_mut() {
            Some(story) => story.scenarios.extend(told),
            None if !told.is_empty() => {
                // Earlier templates have one story without a number.
                let scenarios = told;
                spec.stories.push(Story { number: 1, scenarios, ..Story::default() });
            }
            None => {}
        }
        if is_text && part.level > 1 && !joined(&part.lines).is_empty() {
            spec.text_only.push(part.title.split(" *(").next().unwrap_or_default().to_owned());
        }
    }
    spec
}

/// Returns the title without the type of document: `Feature Specification: Todo list`.
fn title(text: &str) -> String {
    let text = text.strip_prefix("Feature Specification:").unwrap_or(text).trim();
    if text.starts_with('[') { String::new() } else { text.to_owned() }
}

/// Parses a story's heading: `User Story 1 - Add a todo (Priority: P1)`.
fn story(part: &Part) -> Option<Story> {
    let lower = part.title.to_ascii_lowercase();
    let primary = lower == "primary user story";
    if !primary && !lower.starts_with("user story ") {
        return None;
    }
    let rest =
        part.title.get("user story ".len()..).filter(|_| !primary).unwrap_or_default().trim();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = rest.get(..digits).and_then(|number| number.parse().ok());
    let name = rest.get(digits..).unwrap_or_default();
    let (name, priority) = name.split_once("(Priority").unwrap_or((name, ""));
    let priority = match priority.chars().find(char::is_ascii_digit) {
        Some('0' | '1') => Priority::High,
        Some('2') | None => Priority::Medium,
        Some(_) => Priority::Low,
    };
    let text =
        part.lines.iter().take_while(|line| !is_label(&line.text)).cloned().collect::<Vec<_>>();
    Some(Story {
        number: number.or(primary.then_some(1))?,
        title: plain(name.trim_matches(|c: char| c.is_whitespace() || "-–—:".contains(c))),
        priority,
        text: joined(&text),
        scenarios: Vec::new(),
    })
}

/// Returns the scenarios of a part: in a story, the items below the label for scenarios; if the
/// part's own heading is that label, all items.
fn scenarios(part: &Part) -> Vec<String> {
    let is_start = |text: &str| plain(text).to_ascii_lowercase().starts_with("acceptance scenario");
    let lines =
        match part.lines.iter().position(|line| is_label(&line.text) && is_start(&line.text)) {
            Some(at) => part.lines.get(at + 1..).unwrap_or_default(),
            None if is_start(&part.title) => &part.lines,
            None => return Vec::new(),
        };
    let end = lines.iter().position(|line| is_label(&line.text) && !is_given(&line.text));
    let own = lines.get(..end.unwrap_or(lines.len())).unwrap_or_default();
    items(own).into_iter().map(|item| plain(&item.text)).collect()
}

fn is_given(line: &str) -> bool {
    plain(line).to_ascii_lowercase().starts_with("given")
}

/// Returns the items of a part that start with the number of a requirement.
fn numbered(part: &Part, story: Option<u32>) -> Vec<Numbered> {
    let found = items(&part.lines).into_iter().filter_map(|item| {
        let text = plain(&item.text);
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))?;
        let (id, rest) = text.split_at(end);
        let (kind, number) = id.split_once('-')?;
        let category = match kind {
            "FR" => Category::Functional,
            "NFR" => Category::NonFunctional,
            _ => return None,
        };
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ":-–—".contains(c));
        let is_number = number.starts_with(|c: char| c.is_ascii_digit());
        let named = is_number && !rest.is_empty();
        named.then(|| Numbered {
            id: id.to_owned(),
            text: rest.to_owned(),
            story,
            priority: priority(rest),
            category,
        })
    });
    found.collect()
}

/// Returns the priority of a sentence, by the keywords of RFC 2119.
pub(super) fn priority(text: &str) -> Priority {
    let has = |words: &[&str]| {
        text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| words.contains(&word))
    };
    if has(&["MUST", "SHALL", "REQUIRED"]) {
        Priority::High
    } else if has(&["MAY", "COULD", "OPTIONAL"]) {
        Priority::Low
    } else {
        Priority::Medium
    }
}

/// Returns the items and lines that need a decision.
fn unclear(part: &Part) -> Vec<String> {
    let marked = items(&part.lines).into_iter().map(|item| plain(&item.text));
    let mut found: Vec<String> = marked.filter(|text| text.contains(UNCLEAR)).collect();
    let in_items = found.join("\n");
    let others =
        part.lines.iter().filter(|line| line.text.contains(UNCLEAR)).map(|line| plain(&line.text));
    let is_told = |text: &String| {
        let mark = text.get(text.find(UNCLEAR).unwrap_or_default()..).unwrap_or_default();
        in_items.contains(mark)
    };
    found.extend(others.filter(|text| !is_told(text)));
    found
}

/// Returns the summary of the feature in `plan.md`.
pub(super) fn summary(plan: &str) -> Option<String> {
    let parts = parts(plan);
    let summary = parts.iter().find(|part| part.title == "Summary")?;
    let text = plain(&joined(&summary.lines));
    (!text.is_empty() && !text.starts_with('[')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: &str = "# Feature Specification: Todo list\n\n**Status**: Draft\n\n\
        ## User Scenarios & Testing *(mandatory)*\n\n\
        ### User Story 1 - Add a todo (Priority: P1)\n\nAna writes one down.\nIt is kept.\n\n\
        **Why this priority**: nothing without it\n\n**Acceptance Scenarios**:\n\n\
        1. **Given** an empty list, **When** I add one,\n   **Then** there is one\n\
        2. **Given** one, **When** I add it again, **Then** there are two\n\n---\n\n\
        ### User Story 2 - List (Priority: P3)\n\nText.\n\n**Acceptance Scenarios**:\n\n1. **Given** a, **When** b, **Then** c\n\n\
        ### Edge Cases\n\n- What happens when it is full?\n\n## Requirements *(mandatory)*\n\n### Functional Requirements\n\n\
        - **FR-001**: System MUST keep todos\n- **FR-002**: Users MAY sort [NEEDS CLARIFICATION: by what?]\n\
        - **NFR-001**: System SHOULD be fast\n\n## Success Criteria *(mandatory)*\n\n- **SC-001**: 9 of 10\n";

    #[test]
    fn a_spec_is_read() {
        let spec = read(SPEC);
        assert_eq!(spec.title, "Todo list");
        let stories: Vec<_> =
            spec.stories.iter().map(|s| (s.number, s.title.as_str(), s.priority)).collect();
        assert_eq!(stories, [(1, "Add a todo", Priority::High), (2, "List", Priority::Low)]);
        assert_eq!(spec.stories[0].text, "Ana writes one down.\nIt is kept.");
        assert_eq!(
            spec.stories[0].scenarios[0],
            "Given an empty list, When I add one, Then there is one"
        );
        assert_eq!((spec.stories[0].scenarios.len(), spec.stories[1].scenarios.len()), (2, 1));
        let ids: Vec<_> = spec
            .requirements
            .iter()
            .map(|one| (one.id.as_str(), one.priority, one.story))
            .collect();
        assert_eq!(
            ids,
            [
                ("FR-001", Priority::High, None),
                ("FR-002", Priority::Low, None),
                ("NFR-001", Priority::Medium, None)
            ]
        );
        assert_eq!(spec.requirements[2].category, Category::NonFunctional);
        assert_eq!(spec.unclear, ["FR-002: Users MAY sort [NEEDS CLARIFICATION: by what?]"]);
        assert_eq!(spec.text_only, ["Edge Cases", "Success Criteria"]);
    }

    #[test]
    fn requirements_inside_a_story_belong_to_it() {
        let text = "### User Story 1: A (Priority: P2)\n\nText\n\n**Functional Requirements**:\n\n- **FR-001**: x\n\n\
                    #### More\n\n- FR-002: y\n\n## Key Entities\n\n- **FR-003** - z\n";
        let spec = read(text);
        let found: Vec<_> =
            spec.requirements.iter().map(|one| (one.text.as_str(), one.story)).collect();
        assert_eq!(found, [("x", Some(1)), ("y", Some(1)), ("z", None)]);
    }

    #[test]
    fn an_earlier_template_has_one_story() {
        let text = "# Feature Specification: [FEATURE NAME]\n## User Scenarios\n### Primary User Story\nI want.\n\
                    ### Acceptance Scenarios\n1. **Given** a, **When** b, **Then** c\n### Edge Cases\n- d\n";
        let spec = read(text);
        assert_eq!((spec.title.as_str(), spec.stories.len()), ("", 1));
        assert_eq!(spec.stories[0].scenarios, ["Given a, When b, Then c"]);
        assert_eq!(spec.stories[0].text, "I want.");
    }

    #[test]
    fn a_summary_is_read_unless_it_is_the_templates() {
        assert_eq!(summary("# P\n## Summary\nOne file.\n").as_deref(), Some("One file."));
        assert_eq!(summary("## Summary\n\n[Extract from feature spec]\n"), None);
    }
}
