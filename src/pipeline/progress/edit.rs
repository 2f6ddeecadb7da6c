//! A person's edit of a draft.

use std::str::FromStr as _;

use crate::artifact::{Artifact, BY_HAND, Feedback};
use crate::git::Oid;

/// The word in the trailer that marks edits of the code.
const CODE: &str = "code";

/// A person's edits of the newest draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The commit the person was shown before their first edit of this draft.
    pub since: Oid,
    /// The files in which more than white space changed; empty if the edit is in the code.
    pub files: Vec<Artifact>,
    /// Whether the person was told that checks refuse the edit: if so, their decision counts.
    pub told: bool,
}

impl Edit {
    /// The value of a saved draft's trailer: `prd.md since=1a2b…`, with `code` in place of the
    /// files for edits of the code. Older versions of git-cowork, whose documents had no record
    /// sections, wrote more words, which are ignored.
    pub fn render(&self) -> String {
        let mut files: Vec<&str> = self.files.iter().map(|file| file.file_name()).collect();
        if files.is_empty() {
            files.push(CODE);
        }
        format!("{} since={}", files.join(" "), self.since.as_str())
    }

    /// Parses the output of [`render`](Self::render).
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let since = words.iter().find_map(|word| word.strip_prefix("since="))?;
        let since = Oid::from_str(since).ok()?;
        let files: Vec<Artifact> = words.iter().filter_map(|word| Artifact::named(word)).collect();
        let any = !files.is_empty() || words.contains(&CODE);
        any.then_some(Self { since, files, told: false })
    }

    pub fn names(&self) -> String {
        if self.files.is_empty() { "the code".to_owned() } else { names(&self.files) }
    }
}

pub(crate) fn names(files: &[Artifact]) -> String {
    files.iter().map(|file| file.file_name()).collect::<Vec<_>>().join(" and ")
}

/// True for the feedback entry that describes a person's edit: it refuses nothing.
pub(crate) fn tells_edit(entry: &Feedback) -> bool {
    entry.extra.contains_key(BY_HAND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_parsed_from_its_trailer() {
        let edit = Edit {
            since: "0123456789012345678901234567890123456789".parse().unwrap(),
            files: vec![Artifact::Prd, Artifact::Features],
            told: false,
        };
        assert_eq!(Edit::parse(&edit.render()), Some(edit.clone()));
        let older =
            format!("{} base=1123456789012345678901234567890123456789 aligned", edit.render());
        assert_eq!(Edit::parse(&older), Some(edit.clone()));
        let of_code = Edit { files: Vec::new(), ..edit };
        assert_eq!(Edit::parse(&of_code.render()), Some(of_code));
        assert_eq!(Edit::parse("prd.md"), None);
        assert_eq!(Edit::parse(""), None);
    }
}
