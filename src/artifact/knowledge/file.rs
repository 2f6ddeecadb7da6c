//! Reads the knowledge file line by line, so that it stays readable after any edit, merge or
//! formatting. Changes single lines, so that no byte of the other lines changes.

use std::ops::Range;

use super::{Fact, HEADINGS, KNOWLEDGE_MAX, Proposal, ProposalKind};

/// The first line of a new file.
const TITLE: &str = "# Project knowledge";

/// The text of the file with its facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeFile {
    text: String,
    facts: Vec<(Fact, Range<usize>)>,
    /// Each heading with its line number.
    headings: Vec<(String, usize)>,
}

impl KnowledgeFile {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// The reason why they cannot be read, worded to follow the file's name.
    pub fn read(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.len() > KNOWLEDGE_MAX {
            return Err("is larger than 64 KiB");
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(Self::parse(text)),
            _ => Err("is not UTF-8 text"),
        }
    }

    /// Reads a text. Facts are the items of its lists; everything else is prose.
    pub fn parse(text: &str) -> Self {
        let mut file = Self { text: text.to_owned(), ..Self::default() };
        let mut fenced = false;
        let mut open = false;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start_matches('\u{feff}').trim_end();
            if line.trim_start().starts_with("```") {
                (fenced, open) = (!fenced, false);
            } else if fenced {
                continue;
            } else if let Some(heading) = heading(line) {
                file.headings.push((heading.to_owned(), at));
                open = false;
            } else if let Some(item) = item(line) {
                let heading = file.headings.last().map(|(name, _)| name.clone());
                let heading = heading.unwrap_or_default();
                file.facts.push((Fact { heading, text: item.to_owned() }, at..at + 1));
                open = true;
            } else if open
                && line.starts_with(' ')
                && let Some((fact, lines)) = file.facts.last_mut()
            {
                // A formatter wrapped the item.
                fact.text = format!("{} {}", fact.text, line.trim());
                lines.end = at + 1;
            } else {
                open = false;
            }
        }
        file.facts.retain(|(fact, _)| !fact.text.is_empty());
        file
    }

    /// Returns the file's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the facts, in order.
    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.facts.iter().map(|(fact, _)| fact)
    }

    /// True if the file contains this fact under any heading.
    pub fn says(&self, text: &str) -> bool {
        self.facts().any(|fact| fact.says(text))
    }

    /// Returns the fact given as `HEADING: TEXT`, or by its text alone.
    pub fn find(&self, words: &str) -> Option<&Fact> {
        let named = words.split_once(':').map(|(heading, text)| Fact {
            heading: heading.trim().to_owned(),
            text: text.trim().to_owned(),
        });
        let named = named.and_then(|named| self.facts().find(|fact| fact.is_same(&named)));
        named.or_else(|| self.facts().find(|fact| fact.says(words)))
    }

    /// True if accepting a proposal would change the file.
    pub fn is_changed_by(&self, proposal: &Proposal) -> bool {
        match proposal.kind {
            ProposalKind::Learned => !self.says(&proposal.fact.text),
            ProposalKind::Outdated => self.facts().any(|fact| fact.is_same(&proposal.fact)),
        }
    }

    /// Returns the file with these proposals accepted; no other line changes.
    #[must_use]
    pub fn with(&self, proposals: &[Proposal]) -> Self {
        let mut file = self.clone();
        for proposal in proposals.iter().filter(|one| one.kind == ProposalKind::Outdated) {
            file = file.without(&proposal.fact);
        }
        for proposal in proposals.iter().filter(|one| one.kind == ProposalKind::Learned) {
            if file.is_changed_by(proposal) {
                file = file.with_fact(&proposal.fact);
            }
        }
        file
    }

    fn without(&self, gone: &Fact) -> Self {
        let same = self.facts.iter().filter(|(fact, _)| fact.is_same(gone));
        let dropped: Vec<&Range<usize>> = same.map(|(_, lines)| lines).collect();
        let lines = self.text.lines().enumerate();
        let mut kept: Vec<String> = Vec::new();
        for (at, line) in lines {
            if dropped.iter().any(|lines| lines.contains(&at)) {
                continue;
            }
            // The removed fact had an empty line on both sides; keep only one.
            let follows = dropped.iter().any(|lines| lines.end == at);
            let blank = kept.last().is_some_and(|last| last.trim().is_empty());
            if !(follows && blank && line.trim().is_empty()) {
                kept.push(line.to_owned());
            }
        }
        Self::of_lines(kept)
    }

    fn with_fact(&self, fact: &Fact) -> Self {
        // The first fact adds all headings: if two sessions then add facts under different
        // headings, the lines are far enough apart for a merge without a conflict.
        let mut base = match self.headings.is_empty() {
            true => {
                let begun = if self.text.trim().is_empty() { TITLE } else { self.text.trim_end() };
                let headings = HEADINGS.map(|heading| format!("\n## {heading}\n")).concat();
                Self::parse(&format!("{begun}\n{headings}"))
            }
            false => self.clone(),
        };
        let has = |name: &str| name.eq_ignore_ascii_case(&fact.heading);
        if !base.headings.iter().any(|(name, _)| has(name)) {
            base = Self::parse(&format!("{}\n\n## {}\n", base.text.trim_end(), fact.heading));
        }
        let mut lines: Vec<String> = base.text.lines().map(str::to_owned).collect();
        let item = format!("- {}", fact.text);
        let last = base.facts.iter().rfind(|(known, _)| has(&known.heading));
        if let Some((_, range)) = last {
            lines.insert(range.end, item);
        } else if let Some((_, at)) = base.headings.iter().find(|(name, _)| has(name)) {
            let blank = lines.get(at + 1).is_some_and(|line| line.trim().is_empty());
            if blank {
                lines.insert(at + 2, item);
            } else {
                lines.splice(at + 1..at + 1, [String::new(), item]);
            }
            let after = at + 3;
            if lines.get(after).is_some_and(|line| !line.trim().is_empty()) {
                lines.insert(after, String::new());
            }
        }
        Self::of_lines(lines)
    }

    fn of_lines(lines: Vec<String>) -> Self {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        Self::parse(&format!("{}\n", text.trim_end()))
    }
}

/// Returns the name of a heading.
fn heading(line: &str) -> Option<&str> {
    let name = line.trim_start_matches('#');
    let level = line.len() - name.len();
    ((2..=6).contains(&level) && name.starts_with(' '))
        .then(|| name.trim().trim_end_matches('#').trim())
}

/// Returns the text of a list item.
fn item(line: &str) -> Option<&str> {
    ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}
