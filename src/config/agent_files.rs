//! Files of a tree by which agent programs are configured: they came with a clone, so such a program sees
//! them only where a user has accepted exactly these.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};
use ring::digest::{SHA256, digest};

use crate::error::Error;

/// What agent programs read to be configured, at the top of a tree: hooks and servers in it would run with
/// the program's login.
pub const AGENT_CONFIGURATION: [&str; 7] =
    [".claude", ".codex", ".gemini", ".mcp.json", ".opencode", "opencode.json", "opencode.jsonc"];

/// Bytes of all files; a person would not read more.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Whether a path, relative to the top of a tree, configures agent programs.
pub fn configures_agents(path: &str) -> bool {
    AGENT_CONFIGURATION.contains(&path.split('/').next().unwrap_or_default())
}

/// Such files, with what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentFiles(Vec<(String, String)>);

impl AgentFiles {
    /// Those among these paths, which are relative to `top`, as they are there now.
    ///
    /// # Errors
    /// A file cannot be read, or they are larger than configuration is.
    pub fn among(paths: &[String], top: &Path) -> Result<Self> {
        let (mut all, mut size) = (Vec::new(), 0);
        for path in paths.iter().filter(|path| configures_agents(path)) {
            let at = top.join(path);
            let read = || format!("reading {path}");
            let found = match at.symlink_metadata() {
                Ok(found) => found,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error).with_context(read),
            };
            size += found.len();
            if size > LARGEST {
                let limit = LARGEST / 1024 / 1024;
                return Err(Error::model(format!(
                    "what configures agent programs in this tree is larger than {limit} MiB"
                ))
                .hint("no configuration is: look at what the repository put there")
                .into());
            }
            let holds = match found.is_symlink() {
                true => {
                    let target = fs::read_link(&at).with_context(read)?;
                    format!("link {}", hash(target.as_os_str().as_encoded_bytes()))
                }
                false if found.is_file() => {
                    let kind = if is_executable(&found) { "program" } else { "file" };
                    format!("{kind} {}", hash(&fs::read(&at).with_context(read)?))
                }
                // A submodule.
                false => "folder".to_owned(),
            };
            all.push((path.clone(), holds));
        }
        all.sort();
        Ok(Self(all))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(path, _)| path.as_str())
    }

    /// What is accepted: the same text for the same files, and for no others.
    pub fn text(&self) -> String {
        self.0.iter().map(|(path, holds)| format!("{holds} {path:?}\n")).collect()
    }
}

fn hash(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn is_executable(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    found.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_found: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_and_no_others_have_the_same_text() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put(".claude/settings.json", "{}");
        put(".mcp.json", "{}");
        put("lib/.mcp.json", "{}");
        let all = [".mcp.json", ".claude/settings.json", "lib/.mcp.json", ".gemini/gone"];
        let all = all.map(str::to_owned);
        let now = || AgentFiles::among(&all, dir.path()).unwrap();
        let first = now();
        assert_eq!(first.paths().collect::<Vec<_>>(), [".claude/settings.json", ".mcp.json"]);
        assert_eq!(now().text(), first.text());
        assert!(!configures_agents(".claudex/a") && configures_agents(".claude/a"));
        put(".mcp.json", "{ }");
        assert_ne!(now().text(), first.text());
        put(".mcp.json", "{}");
        put(".gemini/gone", "");
        assert_ne!(now().text(), first.text());
        fs::remove_file(dir.path().join(".gemini/gone")).unwrap();
        assert_eq!(now().text(), first.text());
        put(".mcp.json", &"x".repeat(5 * 1024 * 1024));
        assert!(AgentFiles::among(&all, dir.path()).is_err());
    }
}
