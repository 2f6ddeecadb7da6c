//! Files that configure agent programs. They came with a clone, so an agent program sees them only
//! if the user accepted exactly these files.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::error::Error;
use crate::sha256::sha256;

/// Names, at the top of a tree, from which agent programs read their configuration. Hooks and
/// servers in these files would run with the agent program's login.
pub const AGENT_CONFIGURATION: [&str; 7] =
    [".claude", ".codex", ".gemini", ".mcp.json", ".opencode", "opencode.json", "opencode.jsonc"];

/// Maximum size of all files together, in bytes; nobody would review more.
const LARGEST: u64 = 4 * 1024 * 1024;

/// True if a path, relative to the top of a tree, configures agent programs.
pub fn configures_agents(path: &str) -> bool {
    AGENT_CONFIGURATION.contains(&path.split('/').next().unwrap_or_default())
}

/// Agent configuration files with hashes of their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentFiles(Vec<(String, String)>);

impl AgentFiles {
    /// Returns the agent configuration files among `paths`, which are relative to `top`, in their
    /// current state.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or the files are larger than configuration can be.
    pub fn among(paths: &[String], top: &Path) -> Result<Self> {
        let (mut all, mut size) = (Vec::new(), 0);
        for path in paths.iter().filter(|path| configures_agents(path)) {
            let at = top.join(path);
            let context = || format!("reading {path}");
            let metadata = match at.symlink_metadata() {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error).with_context(context),
            };
            size += metadata.len();
            if size > LARGEST {
                let limit = LARGEST / 1024 / 1024;
                return Err(Error::model(format!(
                    "the files that configure agent programs in this tree exceed {limit} MiB"
                ))
                .hint("configuration is never that large: check these files of the repository")
                .into());
            }
            let holds = match metadata.is_symlink() {
                true => {
                    let target = fs::read_link(&at).with_context(context)?;
                    format!("link {}", sha256(target.as_os_str().as_encoded_bytes()))
                }
                false if metadata.is_file() => {
                    let kind = if is_executable(&metadata) { "program" } else { "file" };
                    format!("{kind} {}", sha256(&fs::read(&at).with_context(context)?))
                }
                // A submodule.
                false => "folder".to_owned(),
            };
            all.push((path.clone(), holds));
        }
        all.sort();
        Ok(Self(all))
    }

    /// True if there are no such files.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the paths, sorted.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(path, _)| path.as_str())
    }

    /// Returns the text that the user accepts: equal for the same files, different for any others.
    pub fn text(&self) -> String {
        self.0.iter().map(|(path, holds)| format!("{holds} {path:?}\n")).collect()
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_found: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_equal_only_for_the_same_files() {
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
