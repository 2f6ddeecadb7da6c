//! A person's edit of a draft.

use std::str::FromStr as _;

use crate::artifact::{Artifact, BY_HAND, Feedback};
use crate::git::Oid;

/// Stands in the trailer for edits of the code.
const CODE: &str = "code";

/// What a person edited in the newest draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// What the person was shown before their first edit of this draft.
    pub since: Oid,
    /// What they were shown before their last: what they did not touch is as it was there.
    pub base: Oid,
    /// What they changed, by more than white space; none where it is the code.
    pub files: Vec<Artifact>,
    /// The other side was brought in line, or nothing had to be.
    pub aligned: bool,
    /// The person was told that the checks refuse it: what they decide then is done.
    pub told: bool,
}

impl Edit {
    /// For the trailer of a kept draft: `prd.md since=1a2b… base=1a2b… aligned`, with `code` in the
    /// place of files where it is that.
    pub fn render(&self) -> String {
        let mut files: Vec<&str> = self.files.iter().map(|file| file.file_name()).collect();
        if files.is_empty() {
            files.push(CODE);
        }
        let aligned = if self.aligned { " aligned" } else { "" };
        let (since, base) = (self.since.as_str(), self.base.as_str());
        format!("{} since={since} base={base}{aligned}", files.join(" "))
    }

    /// Reads that back.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let commit = |key: &str| {
            let value = words.iter().find_map(|word| word.strip_prefix(key))?;
            Oid::from_str(value).ok()
        };
        let (since, base) = (commit("since=")?, commit("base=")?);
        let files: Vec<Artifact> = words.iter().filter_map(|word| Artifact::named(word)).collect();
        let aligned = words.contains(&"aligned");
        let any = !files.is_empty() || words.contains(&CODE);
        any.then_some(Self { since, base, files, aligned, told: false })
    }

    pub fn names(&self) -> String {
        if self.files.is_empty() { "the code".to_owned() } else { names(&self.files) }
    }
}

pub(crate) fn names(files: &[Artifact]) -> String {
    files.iter().map(|file| file.file_name()).collect::<Vec<_>>().join(" and ")
}

/// True for the entry that tells the actor what a person edited: nobody refused anything by it.
pub(crate) fn tells_edit(entry: &Feedback) -> bool {
    entry.extra.contains_key(BY_HAND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_reads_back_from_its_trailer() {
        let edit = Edit {
            since: "0123456789012345678901234567890123456789".parse().unwrap(),
            base: "1123456789012345678901234567890123456789".parse().unwrap(),
            files: vec![Artifact::Prd, Artifact::Features],
            aligned: false,
            told: false,
        };
        assert_eq!(Edit::parse(&edit.render()), Some(edit.clone()));
        let aligned = Edit { aligned: true, ..edit };
        assert_eq!(Edit::parse(&aligned.render()), Some(aligned.clone()));
        let of_code = Edit { files: Vec::new(), ..aligned };
        assert_eq!(Edit::parse(&of_code.render()), Some(of_code));
        assert_eq!(Edit::parse("prd.md"), None);
        assert_eq!(Edit::parse(""), None);
    }
}
