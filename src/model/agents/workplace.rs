//! Where an agent program works on files, and what of the user's it needs there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::presets::Preset;

/// Where an agent program works on files, and what confines it there.
#[derive(Clone, Debug, Default)]
pub struct Workplace {
    /// The folder it runs in.
    pub folder: PathBuf,
    /// What confines it, put before its own command; empty where nothing does.
    pub before: Vec<OsString>,
    /// All the variables it sees.
    pub env: Vec<(OsString, OsString)>,
}

/// What an agent program needs to work on files by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentNeeds {
    /// What people call it.
    pub title: String,
    /// The variables it may see.
    pub env: Vec<(String, String)>,
    /// Files and folders of its own that it reads and writes: its login, its settings, its
    /// conversations.
    pub stores: Vec<PathBuf>,
    /// The program itself, with links resolved.
    pub program: Option<PathBuf>,
}

/// Where a program keeps what is its own.
pub(super) fn stores(row: &Preset, env: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let home = env.get("HOME").map(PathBuf::from);
    let place = |store: &super::presets::Store| {
        let named = env.get(store.variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let place = named.or_else(|| Some(home.as_ref()?.join(store.in_home)))?;
        Some(if store.then.is_empty() { place } else { place.join(store.then) })
    };
    row.stores.iter().filter_map(place).filter(|place| place.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::presets::named;
    use super::*;

    fn places(name: &str, env: &[(&str, &str)]) -> Vec<String> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let places = stores(named(name), &env.collect());
        places.into_iter().map(|place| place.display().to_string()).collect()
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
        assert!(places("", &[home]).is_empty());
    }
}
