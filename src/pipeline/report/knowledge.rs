//! The report's section that lists proposed facts. It is read back from the report: a fact that a
//! person deletes there is not proposed.

use super::fit::Section;
use super::markdown::{WHOLE, cell, uncelled};
use crate::artifact::knowledge::Proposal;

/// Its heading.
pub(super) const PROPOSED: &str = "## Proposed knowledge";
/// The section; empty if there are no proposals.
pub(super) fn section(proposals: &[Proposal], session: &str) -> Section {
    if proposals.is_empty() {
        return Section::new(PROPOSED, "");
    }
    let items: Vec<String> =
        proposals.iter().map(|one| format!("- {}", cell(&one.to_string(), WHOLE))).collect();
    let lead = format!(
        "For `.cowork/knowledge.md`; a person decides, on a terminal: `git cowork resume {session}`.\n\n{}",
        items.join("\n")
    );
    Section::new(PROPOSED, &lead)
}

/// Parses the proposals that a report lists.
pub(crate) fn listed(report: &str) -> Vec<Proposal> {
    let mut items: Vec<String> = Vec::new();
    let mut is_own = false;
    for line in report.lines() {
        if line.starts_with("# ") || line.starts_with("## ") {
            is_own = line.trim_end().eq_ignore_ascii_case(PROPOSED);
        } else if let (true, Some(item)) = (is_own, line.strip_prefix("- ")) {
            items.push(item.to_owned());
        } else if is_own
            && line.starts_with("  ")
            && let Some(item) = items.last_mut()
        {
            *item = format!("{item} {}", line.trim());
        }
    }
    items.iter().filter_map(|item| Proposal::parse(&uncelled(item))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fit::fitted;
    use super::*;

    #[test]
    fn listed_proposals_are_parsed_back() {
        let long =
            format!("learned Commands: `make check` {}ends", "and a few words more ".repeat(9));
        let all = [
            "learned Traps: <b> @ana [x](y) | `a|b` \\ c `",
            "outdated Own: it lives in `lib/`",
            long.trim_end(),
        ];
        let all: Vec<Proposal> = all.iter().map(|one| Proposal::parse(one).unwrap()).collect();
        let text = fitted("Title", vec![section(&all, "todo")], 5);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(!text.contains("<b>") && !text.contains("@ana"), "{text}");
        assert_eq!(listed(&text), all);
        assert_eq!(fitted("Title", vec![section(&[], "todo")], 5), "Title\n");
        assert_eq!(listed("Title\n\n- learned Traps: x\n"), []);
    }
}
