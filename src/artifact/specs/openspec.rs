//! Parses a change of OpenSpec: `proposal.md`, and the deltas in `specs/**/spec.md`.

use super::markdown::{Part, items, joined, parts, plain};

/// What a delta does to a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Adds it; also used for files that are not deltas.
    Added,
    /// Changes it.
    Modified,
    /// Removes it.
    Removed,
}

/// A requirement of a specification.
#[derive(Debug)]
pub(super) struct Required {
    /// What the delta does to it.
    pub operation: Operation,
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its scenarios, each with its name.
    pub scenarios: Vec<String>,
}

/// The contents of a specification.
#[derive(Debug, Default)]
pub(super) struct Delta {
    /// The requirements, in order.
    pub requirements: Vec<Required>,
    /// Sections that contain only text.
    pub text_only: Vec<String>,
}

/// Reads `specs/NAME/spec.md`.
pub(super) fn read(text: &str) -> Delta {
    let mut delta = Delta::default();
    let mut operation = Some(Operation::Added);
    for part in parts(text) {
        if part.level <= 2 && part.level > 0 {
            operation = operation_of(&part);
            if operation.is_none() && !joined(&part.lines).is_empty() {
                delta.text_only.push(part.title.clone());
            }
            continue;
        }
        if let (Some(name), Some(operation)) = (named(&part.title, "Requirement:"), operation) {
            let text = joined(&part.lines);
            delta.requirements.push(Required { operation, name, text, scenarios: Vec::new() });
        } else if let Some(name) = named(&part.title, "Scenario:")
            && let Some(required) = delta.requirements.last_mut()
        {
            required.scenarios.push(scenario(&name, &part));
        }
    }
    delta
}

/// Returns the operation for the requirements below a heading; `None` if the heading is not about
/// requirements.
fn operation_of(part: &Part) -> Option<Operation> {
    let title = part.title.to_ascii_lowercase();
    match title.split_whitespace().next() {
        Some("added") => Some(Operation::Added),
        Some("modified") => Some(Operation::Modified),
        Some("removed") => Some(Operation::Removed),
        Some("requirements") => Some(Operation::Added),
        _ if part.level == 1 => Some(Operation::Added),
        _ => None,
    }
}

fn named(title: &str, label: &str) -> Option<String> {
    let start = title.get(..label.len())?;
    let name = title.get(label.len()..)?.trim();
    (start.eq_ignore_ascii_case(label) && !name.is_empty()).then(|| name.to_owned())
}

/// Formats a scenario: `Successful export: WHEN … THEN …`.
fn scenario(name: &str, part: &Part) -> String {
    let steps: Vec<String> = items(&part.lines).into_iter().map(|item| plain(&item.text)).collect();
    let steps = match steps.is_empty() {
        true => plain(&joined(&part.lines)),
        false => steps.join(" "),
    };
    if steps.is_empty() { name.to_owned() } else { format!("{name}: {steps}") }
}

/// Returns the title of a proposal; empty if it has only the template's title.
pub(super) fn title(proposal: &str) -> String {
    let parts = parts(proposal);
    let title = parts.iter().find(|part| part.level == 1).map(|part| part.title.as_str());
    let title = title.unwrap_or_default();
    let title =
        title.strip_prefix("Change:").or_else(|| title.strip_prefix("Proposal:")).unwrap_or(title);
    match title.trim() {
        "Proposal" | "Change Proposal" | "Why" => String::new(),
        title => title.to_owned(),
    }
}

/// Returns the section of a proposal that says why the change is made.
pub(super) fn why(proposal: &str) -> String {
    let parts = parts(proposal);
    let why = parts.iter().find(|part| part.title.eq_ignore_ascii_case("why"));
    why.map(|part| joined(&part.lines)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_is_read() {
        let text = "# Spec Delta\n\n## Purpose\n\nLets users export.\n\n## ADDED Requirements\n\n\
            ### Requirement: Export data\nThe system SHALL export.\n\n#### Scenario: Good\n- **WHEN** I click\n\
            - **THEN** a file comes\n- **AND** it is CSV\n\n#### Scenario: Bare\n\n\
            ## MODIFIED Requirements\n### Requirement: Login\nIt MUST ask.\n#### Scenario: Plain words\nIt asks.\n\n\
            ## REMOVED Requirements\n### Requirement: Legacy export\n**Reason**: Replaced\n\n\
            ## RENAMED Requirements\n- FROM: `### Requirement: A`\n- TO: `### Requirement: B`\n";
        let delta = read(text);
        let names: Vec<_> =
            delta.requirements.iter().map(|one| (one.operation, one.name.as_str())).collect();
        let expected = [
            (Operation::Added, "Export data"),
            (Operation::Modified, "Login"),
            (Operation::Removed, "Legacy export"),
        ];
        assert_eq!(names, expected);
        assert_eq!(
            delta.requirements[0].scenarios,
            ["Good: WHEN I click THEN a file comes AND it is CSV", "Bare"]
        );
        assert_eq!(delta.requirements[1].scenarios, ["Plain words: It asks."]);
        assert_eq!(delta.requirements[2].text, "**Reason**: Replaced");
        assert_eq!(delta.text_only, ["Purpose", "RENAMED Requirements"]);
    }

    #[test]
    fn a_proposal_may_have_no_title() {
        assert_eq!(title("## Why\nx\n"), "");
        assert_eq!(title("# Proposal\n## Why\n"), "");
        assert_eq!(title("# Change: Add export\n"), "Add export");
        assert_eq!(why("## Why\n\nBecause.\n\n## What Changes\n"), "Because.");
    }
}
