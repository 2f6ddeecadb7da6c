//! Whether a user accepted the project's file: by the hash of its bytes, kept outside the tree.
//!
//! A clone brings the file, and never what is written here: the records lie in J, which git does not
//! copy and all linked working trees of a repository share.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use ring::digest::{SHA256, digest};

use super::layer::{self, Expand, Settings};
use super::{PROJECT_FILE, schema};
use crate::clock;

/// How many ignored keys a warning names.
const NAMED: usize = 20;

/// What a user said about the project's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nothing.
    #[default]
    None,
    /// Another content of it was accepted.
    Changed,
    /// Exactly this content was accepted.
    Given,
}

/// The accepted contents of a repository: `trusted` in J, a line each (SHA-256, when).
#[derive(Clone, Debug)]
pub struct TrustRecords {
    path: PathBuf,
}

impl TrustRecords {
    /// Those of the repository whose J this is.
    pub fn of(j: &Path) -> Self {
        Self { path: j.join("trusted") }
    }

    /// What the user said about this content.
    ///
    /// # Errors
    /// The records are there and cannot be read.
    pub fn about(&self, text: &str) -> Result<Trust> {
        let records = self.read()?;
        let wanted = hash(text);
        Ok(if records.lines().any(|line| line.split(' ').next() == Some(&wanted)) {
            Trust::Given
        } else if records.is_empty() {
            Trust::None
        } else {
            Trust::Changed
        })
    }

    /// Accepts this content; answers with its hash.
    ///
    /// # Errors
    /// The records cannot be written.
    pub fn give(&self, text: &str) -> Result<String> {
        let hash = hash(text);
        if self.about(text)? == Trust::Given {
            return Ok(hash);
        }
        let records = self.read()?;
        let now = clock::rfc3339(clock::now());
        self.write(&format!("{records}{hash} {now}\n"))?;
        Ok(hash)
    }

    /// Forgets every content that was accepted; whether there was one.
    ///
    /// # Errors
    /// The records cannot be removed.
    pub fn revoke(&self) -> Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error).with_context(|| format!("removing {}", self.path.display())),
        }
    }

    fn read(&self) -> Result<String> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(error).with_context(|| format!("reading {}", self.path.display())),
        }
    }

    /// Whole or not at all.
    fn write(&self, text: &str) -> Result<()> {
        let failed = || format!("writing {}", self.path.display());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(failed)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
        file.write_all(text.as_bytes()).with_context(failed)?;
        file.persist(&self.path).with_context(failed)?;
        Ok(())
    }
}

fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the project's file sets that counts only when it is trusted: dotted keys with their values
/// as people read them. A key to a server is never among the values.
///
/// # Errors
/// Kind `Model` when the file is not valid.
pub fn restricted(text: &str) -> Result<Vec<(String, String)>> {
    let mut settings = layer::from_toml(text, PROJECT_FILE, Expand::Never)?;
    let shown = |(path, setting): (&schema::Path, &layer::Setting)| {
        let secret = path.last().is_some_and(|key| key == "api_key");
        let value = match &setting.value {
            _ if secret => "(not shown)".to_owned(),
            Ok(value) => value.shown(),
            Err(problem) => problem.clone(),
        };
        (schema::dotted(path), value)
    };
    Ok(layer::distrust(&mut settings).iter().map(shown).collect())
}

/// The warning that keys of the project's file do not count, if there are such keys.
pub(super) fn ignored(file: &str, restricted: &Settings, trust: Trust) -> Option<String> {
    let mut names: Vec<String> = restricted.keys().take(NAMED).map(|p| schema::brief(p)).collect();
    if names.is_empty() {
        return None;
    }
    if restricted.len() > NAMED {
        names.push(format!("{} more", restricted.len() - NAMED));
    }
    let why = match trust {
        Trust::Changed => "has changed since you trusted it",
        _ => "came with the repository",
    };
    Some(format!(
        "{file} {why}, so these keys in it are ignored: {}; read it and accept it as it is: git \
         cowork trust (or set them yourself: git config cowork.KEY VALUE)",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exactly_what_was_accepted_is_trusted() {
        let j = tempfile::tempdir().unwrap();
        let records = TrustRecords::of(&j.path().join("not/there/yet"));
        assert_eq!(records.about("a").unwrap(), Trust::None);
        assert!(!records.revoke().unwrap());
        records.give("a").unwrap();
        assert_eq!(records.about("a").unwrap(), Trust::Given);
        assert_eq!(records.about("a\n").unwrap(), Trust::Changed);
        assert_eq!(records.about("").unwrap(), Trust::Changed);
        records.give("b").unwrap();
        records.give("b").unwrap();
        assert_eq!(records.about("a").unwrap(), Trust::Given);
        assert_eq!(records.read().unwrap().lines().count(), 2);
        assert!(records.revoke().unwrap());
        assert_eq!(records.about("b").unwrap(), Trust::None);
    }

    #[test]
    fn what_would_count_is_shown_but_no_key_and_nothing_a_terminal_obeys() {
        let text = "[llm]\nmodel = \"m\"\napi_key = \"sk-secret\"\n[project]\ntest = \"a\\u001b[2Jb\"\n\
                    [sandbox]\nnetwork = true\nwritable = [\"/a\", \"/b\"]\n\
                    [models.\"x\\u001b\"]\nbase_url = \"http://a/v1\"\n";
        let shown = restricted(text).unwrap();
        let all = format!("{}", shown.iter().map(|(k, v)| format!("{k}={v};")).collect::<String>());
        assert!(!all.contains("sk-secret") && !all.contains('\u{1b}'), "{all}");
        assert!(all.contains("project.test=\"a\\u{1b}[2Jb\";"), "{all}");
        assert!(all.contains("sandbox.network=true;"), "{all}");
        assert!(all.contains("sandbox.writable=[\"/a\", \"/b\"];"), "{all}");
        assert!(!all.contains("llm.model"), "{all}");
    }
}
