//! Facts that an actor proposes: lines `Learned: HEADING: TEXT` and `Outdated: HEADING: TEXT` in
//! its output.

use super::{Fact, HEADINGS, one_line};

/// Maximum number of proposals of one session that a person is asked about.
pub const PROPOSALS_MAX: usize = 8;
/// Maximum number of characters of a proposed fact.
const TEXT_MAX: usize = 240;
/// Maximum number of characters of a heading.
const HEADING_MAX: usize = 40;

/// What a proposal does with a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// Adds a new fact.
    Learned,
    /// Removes a fact that is no longer true.
    Outdated,
}

impl ProposalKind {
    const ALL: [Self; 2] = [Self::Learned, Self::Outdated];

    /// Returns the name in history.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Learned => "learned",
            Self::Outdated => "outdated",
        }
    }

    /// Returns the label that an actor writes.
    const fn label(self) -> &'static str {
        match self {
            Self::Learned => "Learned",
            Self::Outdated => "Outdated",
        }
    }
}

/// A proposed change of the facts; a person accepts or drops it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What to do with the fact.
    pub kind: ProposalKind,
    /// The fact.
    pub fact: Fact,
}

/// `learned HEADING: TEXT`, as in history.
impl std::fmt::Display for Proposal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.fact)
    }
}

impl Proposal {
    /// Reads `learned HEADING: TEXT`.
    pub fn parse(value: &str) -> Option<Self> {
        let (kind, words) = value.trim().split_once(' ')?;
        let kind = ProposalKind::ALL.into_iter().find(|known| known.name() == kind)?;
        Self::with_words(kind, words)
    }

    /// Returns the line with which an actor proposes the change.
    pub fn line(&self) -> String {
        format!("{}: {}", self.kind.label(), self.fact)
    }

    /// Returns `None` unless the words are a heading and a fact of reasonable length.
    fn with_words(kind: ProposalKind, words: &str) -> Option<Self> {
        let (heading, text) = words.split_once(':')?;
        let (heading, text) = (one_line(heading), one_line(text));
        let known = HEADINGS.iter().find(|known| known.eq_ignore_ascii_case(&heading));
        let heading = match (known, kind) {
            (Some(known), _) => (*known).to_owned(),
            // A person may have added other headings.
            (None, ProposalKind::Outdated) => heading,
            (None, ProposalKind::Learned) => return None,
        };
        let fits = (1..=HEADING_MAX).contains(&heading.chars().count())
            && (1..=TEXT_MAX).contains(&text.chars().count());
        fits.then_some(Self { kind, fact: Fact { heading, text } })
    }
}

/// Removes the proposals from an actor's output. Returns the rest, and the proposals in order, each
/// once. Several proposals on one line are found as well. Code blocks are left unchanged.
pub fn take_proposals(words: &str) -> (String, Vec<Proposal>) {
    let mut found: Vec<Proposal> = Vec::new();
    let (mut kept, mut fenced) = (String::new(), false);
    for line in words.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let starts = if fenced { Vec::new() } else { starts(line) };
        let Some(&first) = starts.first() else {
            kept += line;
            continue;
        };
        let mut rest = line[..first].to_owned();
        for (at, start) in starts.iter().enumerate() {
            let end = starts.get(at + 1).copied().unwrap_or(line.len());
            match proposal_in(&line[*start..end]) {
                Some(one) if found.iter().any(|known| known.fact.is_same(&one.fact)) => {}
                Some(one) => found.push(one),
                None => rest += &line[*start..end],
            }
        }
        let rest = rest.trim_end();
        if !rest.is_empty() && !["-", "*", "+"].contains(&rest.trim()) {
            kept += rest;
            kept.push('\n');
        }
    }
    if found.is_empty() {
        return (words.to_owned(), found);
    }
    let mut kept = kept.trim_end().to_owned();
    if words.ends_with('\n') && !kept.is_empty() {
        kept.push('\n');
    }
    (kept, found)
}

/// Returns where proposals start in a line: at its start, possibly after a list marker, or after a
/// space.
fn starts(line: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    for kind in ProposalKind::ALL {
        for (at, _) in line.match_indices(kind.label()) {
            let before = line[..at].trim_end_matches('*');
            let begins = before.is_empty() || before.ends_with(char::is_whitespace);
            let at_front = before.trim_matches([' ', '-', '+', '>', '\t']).is_empty();
            let names_heading = || {
                let rest = after_label(&line[at + kind.label().len()..]);
                let heading = rest.and_then(|rest| rest.split_once(':'));
                heading.is_some_and(|(heading, _)| {
                    HEADINGS.iter().any(|known| known.eq_ignore_ascii_case(heading.trim()))
                })
            };
            if begins && (at_front || names_heading()) {
                starts.push(before.len());
            }
        }
    }
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn after_label(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix("**").unwrap_or(rest).strip_prefix(':')?;
    Some(rest.strip_prefix("**").unwrap_or(rest))
}

fn proposal_in(piece: &str) -> Option<Proposal> {
    let piece = piece.trim_start_matches('*');
    let mut kinds = ProposalKind::ALL.into_iter();
    kinds.find_map(|kind| {
        Proposal::with_words(kind, after_label(piece.strip_prefix(kind.label())?)?)
    })
}
