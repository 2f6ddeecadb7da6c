//! Where an agent program runs, and which files and variables of the user it needs there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;

use crate::host::Host;
use crate::model::ModelError;
use crate::model::meter::Notice;
use crate::shell_quote;

/// Where an agent program runs, and what confines it there.
#[derive(Clone, Debug, Default)]
pub struct Workplace {
    /// The folder it runs in.
    pub folder: PathBuf,
    /// The confining command, put before the program's; empty if nothing confines the program.
    pub before: Vec<OsString>,
    /// All the variables it sees.
    pub env: Vec<(OsString, OsString)>,
    /// How it reaches servers, if it has its own network namespace.
    pub way_out: Option<Rc<dyn ServerAccess>>,
}

/// How a confined program reaches its allowed servers.
pub trait ServerAccess: std::fmt::Debug {
    /// Opens a connection for one run; `before` is the confining command. `report` is called for each
    /// refused server.
    ///
    /// # Errors
    /// The connection cannot be opened.
    fn open(&self, before: &[OsString], report: Notice) -> std::io::Result<OpenAccess>;
}

/// Confines the programs that only answer.
pub trait Confines {
    /// Returns how a program with these needs runs in this empty folder.
    ///
    /// # Errors
    /// It cannot be confined, and the user does not allow it to run unconfined.
    fn place(&self, needs: &AgentNeeds, folder: &Path) -> Result<Workplace, ModelError>;
}

/// An open connection for one run.
pub struct OpenAccess {
    /// The command to put before the program to use this connection.
    pub before: Vec<OsString>,
    /// The number of the descriptor that the first process of this command inherits.
    pub descriptor: i32,
    /// Forwards the traffic; polled while the program runs.
    pub serving: Pin<Box<dyn Future<Output = ()>>>,
}

/// The servers that an agent program may reach if commands have no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All: the user has configured this.
    All,
    /// Only the servers in the program's row, and those that the user lists.
    Some {
        /// All allowed servers.
        hosts: Vec<Host>,
        /// The servers that the user lists, as the user wrote them.
        listed: Vec<String>,
    },
}

impl Default for Reach {
    fn default() -> Self {
        Self::Some { hosts: Vec::new(), listed: Vec::new() }
    }
}

/// What an agent program needs to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentNeeds {
    /// The name to show to the user.
    pub title: String,
    /// The variables it may see.
    pub env: Vec<(String, String)>,
    /// The program's own files and folders: its login, settings and conversations.
    pub stores: Vec<OwnStore>,
    /// The program itself, with links resolved; for an npm package, the `node_modules` folder,
    /// which also contains the packages that it needs.
    pub program: Option<PathBuf>,
    /// The servers it may reach.
    pub reach: Reach,
}

/// A file or folder that belongs to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnStore {
    /// Path of the file or folder.
    pub at: PathBuf,
    /// Which changes to it are kept.
    pub keeps: &'static Keeps,
}

/// Which of a confined program's changes to one of its own files or folders are kept. Everything
/// else stays as the user left it: settings, hooks, commands, plugins and other things that are
/// later run as the user.
#[derive(Debug, PartialEq, Eq)]
pub struct Keeps {
    /// True for a file, false for a folder.
    pub is_file: bool,
    /// Names in it whose changes are kept: credentials, conversations. Folders end with a slash; an
    /// empty name stands for everything.
    pub lasting: &'static [&'static str],
    /// Names of folders without valuable content: they start empty and are discarded.
    pub fresh: &'static [&'static str],
    /// Folders of programs in the `lasting` folders: no changes to them are kept.
    pub sealed: &'static [&'static str],
}

impl Reach {
    /// The command that allows the server in `url`, if `url` is an address and the server is not
    /// allowed yet.
    pub(super) fn lacks(&self, url: &str) -> Option<String> {
        let Self::Some { hosts, listed } = self else { return None };
        let url: http::Uri = url.parse().ok()?;
        let usual = match url.scheme_str()? {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = url.authority()?;
        let host = Host::new(authority.host(), authority.port_u16().unwrap_or(usual))?;
        if hosts.contains(&host) {
            return None;
        }
        let all: Vec<String> = listed.iter().cloned().chain([host.to_string()]).collect();
        Some(format!("git config cowork.sandbox.hosts {}", shell_quote::quoted(&all.join(", "))))
    }
}

/// The program's file, or the first `node_modules` folder in its path if there is one.
pub(super) fn package_path(program: &Path) -> PathBuf {
    const PACKAGES: &str = "node_modules";
    let names: Vec<_> = program.components().collect();
    match names.iter().position(|name| name.as_os_str() == PACKAGES) {
        Some(at) => names[..=at].iter().collect(),
        None => program.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::presets::named;
    use super::*;

    fn places(name: &str, env: &[(&str, &str)]) -> Vec<String> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let places = named(name).own_stores(&env.collect());
        places.into_iter().map(|store| store.at.display().to_string()).collect()
    }

    #[test]
    fn an_unreachable_server_in_a_passed_variable_is_reported() {
        let hosts = vec!["a.example:443".parse().unwrap()];
        let reach = Reach::Some { hosts, listed: vec!["b.example:1".to_owned()] };
        assert_eq!(reach.lacks("https://A.example/v1"), None);
        assert_eq!(reach.lacks("sk-ant-key"), None);
        let command = reach.lacks("http://127.0.0.1:8765");
        let all = "git config cowork.sandbox.hosts 'b.example:1, 127.0.0.1:8765'";
        assert_eq!(command.as_deref(), Some(all));
        assert_eq!(Reach::All.lacks("http://127.0.0.1:8765"), None);
    }

    #[test]
    fn a_package_includes_its_node_modules() {
        let of = |path: &str| package_path(Path::new(path)).display().to_string();
        assert_eq!(of("/h/.local/share/claude/2.1"), "/h/.local/share/claude/2.1");
        let packages = "/h/.npm/lib/node_modules";
        assert_eq!(of(&format!("{packages}/@openai/codex/bin/codex.js")), packages);
        assert_eq!(of(&format!("{packages}/a/node_modules/b/bin/b")), packages);
    }

    #[test]
    fn a_store_is_at_its_variable_or_in_the_home() {
        let home = ("HOME", "/h");
        assert_eq!(places("claude", &[home]), ["/h/.claude", "/h/.claude.json"]);
        let set = [home, ("CODEX_HOME", "/c")];
        assert_eq!(places("codex", &set), ["/c"]);
        assert_eq!(places("codex", &[home, ("CODEX_HOME", "")]), ["/h/.codex"]);
        let set = [home, ("XDG_DATA_HOME", "/d")];
        let opencode = ["/h/.config/opencode", "/d/opencode", "/h/.local/state/opencode"];
        assert_eq!(places("opencode", &set), opencode);
        assert!(places("gemini", &[]).is_empty());
        assert!(places("codex", &[home, ("CODEX_HOME", "/h")]).is_empty());
        assert!(places("", &[home]).is_empty());
    }
}
