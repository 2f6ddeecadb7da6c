//! What sessions learned about the project (`.cowork/knowledge.md`): one fact a line under a few headings.
//! It belongs to no session. Sessions propose facts, a person takes or drops them, later sessions read
//! them.

mod compare;
mod file;
mod proposal;
#[cfg(test)]
mod tests;

pub use compare::{contradictions, duplicates};
pub use file::KnowledgeFile;
pub use proposal::{PROPOSALS_MAX, Proposal, ProposalKind, take_proposals};

/// Where it lies, from the top of the working tree.
pub const KNOWLEDGE: &str = ".cowork/knowledge.md";
/// The largest file that is read, in bytes.
pub const KNOWLEDGE_MAX: usize = 64 * 1024;
/// The headings of a new file.
pub const HEADINGS: [&str; 4] = ["Conventions", "Commands", "Decisions", "Traps"];

/// Something known about the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it stands under; empty where a person wrote it above all headings.
    pub heading: String,
    /// One line.
    pub text: String,
}

impl Fact {
    /// Whether two facts say the same: case, white space, code marks and a final period do not count.
    pub fn is_same(&self, other: &Self) -> bool {
        self.heading.eq_ignore_ascii_case(&other.heading) && self.says(&other.text)
    }

    /// Whether it says this, under whatever heading.
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

/// The words of a text without what makes no difference.
fn folded(text: &str) -> String {
    let words = text.replace('`', "").to_lowercase();
    let words: Vec<&str> = words.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A text on one line without what a terminal would obey, and without characters that hide others.
fn one_line(text: &str) -> String {
    let clean = crate::clean::sanitize(text);
    clean.split_whitespace().collect::<Vec<_>>().join(" ")
}
