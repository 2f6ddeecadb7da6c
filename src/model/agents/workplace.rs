//! Where an agent program works on files, and what of the user's it needs there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;

use super::presets::{Keeps, Preset};
use crate::host::Host;
use crate::model::ModelError;
use crate::model::meter::Notice;
use crate::shell_quote;

/// Where an agent program works on files, and what confines it there.
#[derive(Clone, Debug, Default)]
pub struct Workplace {
    /// The folder it runs in.
    pub folder: PathBuf,
    /// What confines it, put before its own command; empty where nothing does.
    pub before: Vec<OsString>,
    /// All the variables it sees.
    pub env: Vec<(OsString, OsString)>,
    /// How it reaches servers, where it has a network of its own.
    pub way_out: Option<Rc<dyn WayOut>>,
}

/// How a confined program reaches the servers it may reach.
pub trait WayOut: std::fmt::Debug {
    /// Opens it for one run, before which stands `before`. `told` hears of each server that was refused.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self, before: &[OsString], told: Notice) -> std::io::Result<OpenWay>;
}

/// Who confines the programs that only answer.
pub trait Confines {
    /// How a program with these needs runs in this empty folder.
    ///
    /// # Errors
    /// It cannot be confined, and nobody allows that.
    fn place(&self, needs: &AgentNeeds, folder: &Path) -> Result<Workplace, ModelError>;
}

/// One run's way.
pub struct OpenWay {
    /// What stands before the program, so that it has this way.
    pub before: Vec<OsString>,
    /// The number of the descriptor that its first process inherits.
    pub descriptor: i32,
    /// Lets it through; polled while it runs.
    pub serving: Pin<Box<dyn Future<Output = ()>>>,
}

/// Which servers an agent program reaches where commands have no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All: the user has said so.
    All,
    /// Those that its row names, and those that the user lists, which are repeated as they are written.
    Some {
        /// All of them.
        hosts: Vec<Host>,
        /// The user's.
        listed: Vec<String>,
    },
}

impl Default for Reach {
    fn default() -> Self {
        Self::Some { hosts: Vec::new(), listed: Vec::new() }
    }
}

/// What an agent program needs to work on files by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentNeeds {
    /// What people call it.
    pub title: String,
    /// The variables it may see.
    pub env: Vec<(String, String)>,
    /// Files and folders of its own: its login, its settings, its conversations.
    pub stores: Vec<OwnStore>,
    /// The program itself, with links resolved; where it is a package of npm's, the folder with those it
    /// needs.
    pub program: Option<PathBuf>,
    /// The servers it may reach.
    pub reach: Reach,
}

/// A file or folder of a program's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnStore {
    /// Where it is.
    pub at: PathBuf,
    /// What of it lasts.
    pub keeps: &'static Keeps,
}

impl Reach {
    /// The command that lets a program reach the server of this address, where it is one and is not reached.
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

/// What a program consists of, as far as that is known by where it is.
pub(super) fn installed(program: &Path) -> PathBuf {
    const PACKAGES: &str = "node_modules";
    let names: Vec<_> = program.components().collect();
    match names.iter().position(|name| name.as_os_str() == PACKAGES) {
        Some(at) => names[..=at].iter().collect(),
        None => program.to_owned(),
    }
}

/// Where a program keeps what is its own.
pub(super) fn stores(row: &Preset, env: &BTreeMap<String, String>) -> Vec<OwnStore> {
    let home = env.get("HOME").map(PathBuf::from);
    let place = |store: &super::presets::Store| {
        let named = env.get(store.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let place = named.or_else(|| Some(home.as_ref()?.join(store.in_home)))?;
        Some(if store.then.is_empty() { place } else { place.join(store.then) })
    };
    let own = row.stores.iter().filter_map(|store| Some((place(store)?, &store.keeps)));
    let own = own.filter(|(place, _)| place.is_absolute() && Some(place) != home.as_ref());
    own.map(|(at, keeps)| OwnStore { at, keeps }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::presets::named;
    use super::*;

    fn places(name: &str, env: &[(&str, &str)]) -> Vec<String> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let places = stores(named(name), &env.collect());
        places.into_iter().map(|store| store.at.display().to_string()).collect()
    }

    #[test]
    fn a_server_whose_address_is_lent_is_named_where_it_is_not_reached() {
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
    fn a_package_is_read_with_those_beside_it() {
        let of = |path: &str| installed(Path::new(path)).display().to_string();
        assert_eq!(of("/h/.local/share/claude/2.1"), "/h/.local/share/claude/2.1");
        let packages = "/h/.npm/lib/node_modules";
        assert_eq!(of(&format!("{packages}/@openai/codex/bin/codex.js")), packages);
        assert_eq!(of(&format!("{packages}/a/node_modules/b/bin/b")), packages);
    }

    #[test]
    fn a_store_is_where_its_variable_says_else_in_the_home() {
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
