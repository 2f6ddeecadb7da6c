//! Whether the user accepted the project's file: by the hash of its content, saved outside the
//! tree.
//!
//! A clone brings the file, but never these records: they are in the state directory, which git
//! does not copy and which all linked working trees of a repository share.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::fields::Rule;
use super::layer::LayerSettings;
use super::schema;
use crate::clock;
use crate::replace_file::replace_file;
use crate::sha256::sha256;

/// Maximum number of ignored keys that a warning names.
const NAMED: usize = 20;

/// A setting of the project's file that counts only if the file is trusted.
#[derive(Clone, Debug)]
pub struct Restricted {
    /// The dotted key, as it was written.
    pub key: String,
    /// The key in the shortened form that warnings use.
    pub(super) brief: String,
    /// The value for messages; a server's API key is not shown.
    pub value: String,
    /// The file and line of the setting.
    pub origin: String,
    /// Whether the setting would count if it were stricter.
    pub(super) loosens: bool,
}

/// Whether the user has accepted the project's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// No version was accepted.
    #[default]
    None,
    /// A different version was accepted.
    Changed,
    /// Exactly this version was accepted.
    Given,
}

/// The accepted versions of a file: `trusted` in the state directory, one line each (SHA-256,
/// time).
#[derive(Clone, Debug)]
pub struct TrustRecords {
    path: PathBuf,
}

impl TrustRecords {
    /// Opens the records of the repository whose state directory is `j`.
    pub fn for_project(state_dir: &Path) -> Self {
        Self { path: state_dir.join("trusted") }
    }

    /// Opens the records of agent configuration files: `trusted-agents` in the state directory.
    pub fn for_agents(state_dir: &Path) -> Self {
        Self { path: state_dir.join("trusted-agents") }
    }

    /// Returns whether this text was accepted.
    ///
    /// # Errors
    ///
    /// If the records exist but cannot be read.
    pub fn about(&self, text: &str) -> Result<Trust> {
        let records = self.read()?;
        let hash = sha256(text.as_bytes());
        Ok(if records.lines().any(|line| line.split(' ').next() == Some(&hash)) {
            Trust::Given
        } else if records.is_empty() {
            Trust::None
        } else {
            Trust::Changed
        })
    }

    /// Accepts this text and returns its hash.
    ///
    /// # Errors
    ///
    /// If the records cannot be written.
    pub fn give(&self, text: &str) -> Result<String> {
        let hash = sha256(text.as_bytes());
        if self.about(text)? == Trust::Given {
            return Ok(hash);
        }
        let records = self.read()?;
        let now = clock::rfc3339(clock::now());
        self.write(&format!("{records}{hash} {now}\n"))?;
        Ok(hash)
    }

    /// Removes every accepted version; returns whether there was one.
    ///
    /// # Errors
    ///
    /// If the records cannot be removed.
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

    /// Writes the file atomically.
    fn write(&self, text: &str) -> Result<()> {
        let context = || format!("writing {}", self.path.display());
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(context)?;
        replace_file(&self.path, text.as_bytes()).with_context(context)
    }
}

/// Returns the settings of the project's file that are ignored: each key once, under the name that
/// was written, with its value for messages. A server's API key is not shown.
pub(super) fn restricted(
    file_settings: &LayerSettings,
    rejects: &LayerSettings,
) -> Vec<Restricted> {
    let names: BTreeSet<&schema::Path> =
        rejects.values().map(|setting| &setting.spelling).collect();
    let restriction = |path: &schema::Path| {
        let setting = file_settings.get(path)?;
        let secret = path.last().is_some_and(|key| key == "api_key");
        let value = match &setting.value {
            _ if secret => "(not shown)".to_owned(),
            Ok(value) => value.shown(),
            Err(problem) => problem.clone(),
        };
        let loosens = setting.key.rule != Rule::Trust;
        let (key, brief, origin) =
            (schema::dotted(path), schema::brief(path), setting.origin.clone());
        Some(Restricted { key, brief, value, origin, loosens })
    };
    names.into_iter().filter_map(restriction).collect()
}

/// Returns the warning that settings of the project's file are ignored, if there are any.
pub(super) fn ignored(file: &str, restrictions: &[Restricted], trust: Trust) -> Option<String> {
    let key_list = |loosens: bool| {
        let keys: Vec<&str> = restrictions
            .iter()
            .filter(|r| r.loosens == loosens)
            .map(|r| r.brief.as_str())
            .collect();
        let mut names = keys.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        if keys.len() > NAMED {
            names.push_str(&format!(", {} more", keys.len() - NAMED));
        }
        names
    };
    let effect = match (key_list(false), key_list(true)) {
        (keys, looser) if keys.is_empty() && looser.is_empty() => return None,
        (keys, looser) if looser.is_empty() => format!("these keys in it are ignored: {keys}"),
        (keys, looser) if keys.is_empty() => {
            format!("these keys in it, which loosen a rule, are ignored: {looser}")
        }
        (keys, looser) => format!(
            "these keys in it are ignored: {keys}; and these, which loosen a rule: {looser}"
        ),
    };
    let why = match trust {
        Trust::Changed => "has changed since you trusted it",
        _ => "came with the repository",
    };
    Some(format!(
        "{file} {why}, so {effect}; set them yourself with git config cowork.KEY VALUE, or read the \
         file and accept it as it is: git cowork trust"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_accepted_text_is_trusted() {
        let j = tempfile::tempdir().unwrap();
        let records = TrustRecords::for_project(&j.path().join("not/there/yet"));
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
}
