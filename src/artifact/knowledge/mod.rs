//! Facts that sessions learned about the project (`.cowork/knowledge.md`): one fact a line, under a
//! few headings. The file belongs to no session: sessions propose facts, a person accepts or drops
//! them, and later sessions read them.

mod compare;
mod file;
mod proposal;
#[cfg(test)]
mod tests;

pub use compare::{contradictions, duplicates};
pub use file::KnowledgeFile;
pub use proposal::{PROPOSALS_MAX, Proposal, ProposalKind, take_proposals};

/// Path of the file, from the top of the working tree.
pub const KNOWLEDGE: &str = ".cowork/knowledge.md";
/// Maximum size of the file in bytes.
pub const KNOWLEDGE_MAX: usize = 64 * 1024;
/// The headings of a new file.
pub const HEADINGS: [&str; 4] = ["Conventions", "Commands", "Decisions", "Traps"];

/// A fact about the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The fact's heading; empty if a person wrote the fact above all headings.
    pub heading: String,
    /// One line.
    pub text: String,
}

impl Fact {
    /// True if two facts agree, apart from case, white space, code marks and a final period.
    pub fn is_same(&self, other: &Self) -> bool {
        self.heading.eq_ignore_ascii_case(&other.heading) && self.says(&other.text)
    }

    /// True if the fact has this text, under any heading.
    pub fn says(&self, text: &str) -> bool {
        folded(&self.text) == folded(text)
    }
}

/// `HEADING: TEXT`.
impl std::fmt::Display for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.heading.as_str() {
            "" => f.write_str(&self.text),
            heading => write!(f, "{heading}: {}", self.text),
        }
    }
}

/// Normalizes a text for comparison.
fn folded(text: &str) -> String {
    let words = text.replace('`', "").to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// Puts a text on one line, without control characters and characters that hide others.
fn one_line(text: &str) -> String {
    let clean = crate::clean::sanitize(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}
