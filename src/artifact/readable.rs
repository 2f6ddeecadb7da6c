//! Whether an artifact's bytes can be read at all: complete text that fits its schema. The contents
//! are checked elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value};

use super::files::LARGEST;
use super::{
    Artifact, ChangeRequest, DesignSpec, FeatureList, Feedback, Format, Plan, Requirements,
    SCHEMA_VERSION, SessionFile, raise,
};

/// Why an artifact cannot be read; printed behind the name of its file: `is empty`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// There is no such file.
    Missing,
    /// Git left a conflict in these lines, counted from 0.
    Conflict(Range<usize>),
    /// Something else, in words.
    Other(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("is missing"),
            Self::Conflict(lines) => {
                write!(f, "contains a merge conflict in lines {} to {}", lines.start + 1, lines.end)
            }
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// Returns why these bytes are not an artifact of this kind; `None` if they are.
pub fn unreadable(artifact: Artifact, bytes: &[u8]) -> Option<Flaw> {
    let other = |text: &str| Some(Flaw::Other(text.to_owned()));
    if bytes.len() > LARGEST {
        return other(&format!("is larger than {} MiB", LARGEST / 1024 / 1024));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return other("is not UTF-8 text") };
    if text.trim().is_empty() {
        return other("is empty");
    }
    if text.contains('\0') {
        return other("contains NUL bytes");
    }
    if let Some(lines) = conflict(text, !artifact.is_json()) {
        return Some(Flaw::Conflict(lines));
    }
    if !artifact.is_json() {
        return None;
    }
    schema(artifact, text).err().map(Flaw::Other)
}

/// Returns the lines, counted from 0, of the first conflict that git left in a text. In Markdown,
/// conflicts in code fences do not count, because a document may show what a conflict looks like.
fn conflict(text: &str, fences: bool) -> Option<Range<usize>> {
    let mut fence: Option<&str> = None;
    let mut begin = None;
    for (number, line) in text.lines().enumerate() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        if let (true, Some(mark)) = (fences, mark) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
        }
        if line.starts_with("<<<<<<< ") && fence.is_none() {
            begin = begin.or(Some(number));
        } else if let Some(begin) = begin.filter(|_| line.starts_with(">>>>>>> ")) {
            return Some(begin..number + 1);
        }
    }
    None
}

fn schema(artifact: Artifact, text: &str) -> Result<(), String> {
    let list = |key: &str| {
        let all: BTreeMap<String, IgnoredAny> = read(text)?;
        let there = all.contains_key(key);
        there.then_some(()).ok_or_else(|| format!("has no list '{key}'"))
    };
    match artifact {
        Artifact::Session => session(text),
        Artifact::Requirements => read::<Requirements>(text).and_then(|_| list("requirements")),
        Artifact::Features => read::<FeatureList>(text).and_then(|_| list("features")),
        Artifact::DesignSpec => read::<DesignSpec>(text).and_then(|_| list("components")),
        Artifact::ImplementationPlan => read::<Plan>(text).and_then(|_| list("tasks")),
        Artifact::Feedback => read::<Vec<Feedback>>(text).map(drop),
        Artifact::ChangeRequest => read::<ChangeRequest>(text).map(drop),
        _ => Ok(()),
    }
}

fn session(text: &str) -> Result<(), String> {
    let mut raw: Map<String, Value> = read(text)?;
    if let Format::Unknown(written) | Format::TooOld(written) = raise(&mut raw) {
        return Err(format!("has format {written}, but this git-cowork supports {SCHEMA_VERSION}"));
    }
    let file: SessionFile = serde_json::from_value(Value::Object(raw)).map_err(cannot)?;
    match file.problem() {
        Some(problem) => Err(format!("was not written by git-cowork: {problem}")),
        None => Ok(()),
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(cannot)
}

fn cannot(error: serde_json::Error) -> String {
    format!("cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_artifacts_are_reported_with_a_reason() {
        use Artifact::{Features, Feedback, ImplementationPlan, Prd, Requirements, Session};
        let session = r#"{"schema_version":"9.9","id":"a","name":"todo"}"#;
        let without_uuid = r#"{"schema_version":"1.1","id":"../x","name":"todo"}"#;
        for (artifact, bytes, why) in [
            (Requirements, &b"{\"requirements\": [{"[..], "cannot be read: EOF"),
            (Requirements, b"", "is empty"),
            (Requirements, b"{}", "has no list 'requirements'"),
            (Requirements, b"[]", "cannot be read"),
            (Features, b"{\"features\": \"many\"}", "cannot be read: invalid type"),
            (ImplementationPlan, b"{\"tasks\": [{\"title\": \"t\"}]}", "missing field `id`"),
            (Feedback, b"null", "cannot be read"),
            (Prd, b" \n", "is empty"),
            (Prd, b"# PRD\n\0\0", "NUL bytes"),
            (Prd, b"# \xff", "not UTF-8"),
            (Prd, b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\n", "in lines 2 to 6"),
            (Requirements, b"{\n<<<<<<< HEAD\n=======\n>>>>>>> x\n}", "in lines 2 to 4"),
            (Session, session.as_bytes(), "has format 9.9"),
            (Session, without_uuid.as_bytes(), "its id is not a UUID"),
            (Session, b"{\"id\": \"a\", \"name\": \"todo\"}", "has format (none)"),
        ] {
            let found = unreadable(artifact, bytes).unwrap().to_string();
            assert!(found.contains(why), "{why}: {found}");
        }
        let large = vec![b' '; LARGEST + 1];
        assert_eq!(unreadable(Features, &large).unwrap().to_string(), "is larger than 16 MiB");
    }

    #[test]
    fn valid_artifacts_pass() {
        let fence = "# PRD\n```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n";
        for (artifact, text) in [
            (Artifact::Requirements, r#"{"requirements": [], "owner": "ana"}"#),
            (Artifact::Feedback, "[]"),
            (Artifact::Session, r#"{"id": "0a-1", "name": "todo", "schema_version": "1.0"}"#),
            (Artifact::Prd, fence),
            (Artifact::Prd, "Heading\n=======\n"),
        ] {
            assert_eq!(unreadable(artifact, text.as_bytes()), None, "{text}");
        }
    }
}
