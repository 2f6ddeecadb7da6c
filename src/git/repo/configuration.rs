//! Git's configuration, listed by one child and cached until a file that it was read from, or could
//! be read from, changes: a process for every key would be too slow.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use anyhow::Result;

use crate::git::Git;
use crate::git::file_stamp::{Stamp, stamp_of};
use crate::git::locate::{self, CallersGitDir};
use crate::git::output::{lossy, nul_texts, path_buf};
use crate::moment::Moment;

/// A file that was just written may appear to be this old, because the clock of a file system is
/// coarse.
const COARSE_CLOCK: Duration = Duration::from_millis(50);

/// The cached configuration, shared by all users of a repository, and the time at which its files
/// were last checked; empty before the first listing.
pub(crate) type Kept = Mutex<Option<(Moment, Arc<Configuration>)>>;

/// All settings in the order git reads them.
pub(crate) struct Configuration {
    settings: Vec<Setting>,
    /// The state of each file that was read, or that could be read and did not exist.
    files: BTreeMap<PathBuf, Option<Stamp>>,
}

/// A key as git normalizes it, and its value if it has one.
pub(crate) type KeyAndValue = (String, Option<String>);

struct Setting {
    /// `file:PATH`, with a path that may be relative to the top, or `command line:`.
    origin: Vec<u8>,
    key: String,
    value: Option<String>,
}

impl Configuration {
    /// Reads the configuration; false if it must not be cached: a file has just been written, so a
    /// later change of that file may go unnoticed. Calls `meanwhile` while git is listing it.
    pub(crate) fn read(git: &Git, meanwhile: &dyn Fn()) -> Result<(Self, bool)> {
        let begin = SystemTime::now();
        let mut files: BTreeMap<PathBuf, Option<Stamp>> = usual_files(git)
            .into_iter()
            .chain(branch_files(git))
            .map(|path| (path.clone(), stamp_at(&path)))
            .collect();
        let list = git.read(["config", "--list", "--null", "--show-origin"]).meanwhile(meanwhile);
        let output = list.output()?;
        if !output.success() {
            // This is usually the first command in a repository: if git refuses the repository,
            // report that.
            locate::locate(&git.top, &git.env, CallersGitDir::Ignored)?;
            return Err(list.failure(&output).into());
        }
        let fields: Vec<&[u8]> = output.stdout.split(|&b| b == 0).collect();
        let settings: Vec<Setting> = fields
            .chunks_exact(2)
            .map(|pair| {
                let (key, value) = key_and_value(&lossy(pair[1]));
                Setting { origin: pair[0].to_owned(), key, value }
            })
            .collect();
        if !settings.iter().any(|setting| setting.key.starts_with("includeif.onbranch:")) {
            for path in branch_files(git) {
                files.remove(&path);
            }
        }
        let mut keep = true;
        for path in settings.iter().flat_map(|setting| files_of(git, setting)) {
            files.entry(path).or_insert_with_key(|path| {
                let stamp = stamp_at(path);
                let time = stamp.map(|(time, ..)| time);
                keep &= time.is_none_or(|time| time + COARSE_CLOCK < begin);
                stamp
            });
        }
        Ok((Self { settings, files }, keep))
    }

    pub(crate) fn is_current(&self) -> bool {
        self.files.iter().all(|(path, stamp)| stamp_at(path) == *stamp)
    }

    /// Every key as git normalizes it, with its value if it has one.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.settings.iter().map(|setting| (setting.key.as_str(), setting.value.as_deref()))
    }

    /// Every setting that a file contains, with that file; a relative path starts at the top.
    pub(crate) fn with_origins(&self) -> impl Iterator<Item = (PathBuf, &str, Option<&str>)> {
        self.settings.iter().filter_map(|setting| {
            let path = origin(&setting.origin)?;
            Some((path, setting.key.as_str(), setting.value.as_deref()))
        })
    }

    /// The last value of a key, which is given as git normalizes it. `Some(None)` for a key without
    /// `=`.
    pub(crate) fn value(&self, key: &str) -> Option<Option<&str>> {
        let last = self.settings.iter().rev().find(|setting| setting.key == key);
        last.map(|setting| setting.value.as_deref())
    }

    /// The files that contain settings; a relative path starts at the top.
    pub(crate) fn origins(&self) -> impl Iterator<Item = PathBuf> {
        self.settings.iter().filter_map(|setting| origin(&setting.origin))
    }
}

/// The stamp of a file; `None` if it cannot be read.
fn stamp_at(path: &Path) -> Option<Stamp> {
    stamp_of(&path.metadata().ok()?)
}

/// A setting as `git config --list --null` prints it.
fn key_and_value(text: &str) -> KeyAndValue {
    match text.split_once('\n') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    }
}

/// The settings in one file, without those it includes; `None` if git cannot list it.
///
/// # Errors
/// Git cannot be started.
pub(crate) fn of_file(git: &Git, file: &Path) -> Result<Option<Vec<KeyAndValue>>> {
    let list = git.read(["config", "--null", "--no-includes", "--list", "--file"]).arg(file);
    let output = list.output()?;
    let settings = || nul_texts(&output.stdout).map(|text| key_and_value(&text)).collect();
    Ok(output.success().then(settings))
}

/// The files in which git looks for the branch that `includeIf.onbranch` compares.
fn branch_files(git: &Git) -> [PathBuf; 3] {
    let list = "reftable/tables.list";
    [git.git_dir.join("HEAD"), git.git_dir.join(list), git.common_dir.join(list)]
}

/// The files in which git looks for settings.
fn usual_files(git: &Git) -> Vec<PathBuf> {
    let mut files = vec![
        git.common_dir.join("config"),
        git.git_dir.join("config.worktree"),
        PathBuf::from("/etc/gitconfig"),
    ];
    let variables = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];
    files.extend(variables.iter().filter_map(|name| git.variable(name)).map(PathBuf::from));
    let below =
        [("XDG_CONFIG_HOME", "git/config"), ("HOME", ".config/git/config"), ("HOME", ".gitconfig")];
    for (name, file) in below {
        files.extend(git.variable(name).map(|folder| PathBuf::from(folder).join(file)));
    }
    files
}

/// The file of a setting, and the file that it includes, which need not exist.
fn files_of(git: &Git, setting: &Setting) -> impl Iterator<Item = PathBuf> {
    let from = origin(&setting.origin).map(|path| git.top.join(path));
    let included = included(git, from.as_deref(), &setting.key, setting.value.as_deref());
    [from, included].into_iter().flatten()
}

/// The file that a setting of the file `from` includes, whether it exists and its condition holds or
/// not; `None` if the setting includes nothing.
pub(crate) fn included(
    git: &Git,
    from: Option<&Path>,
    key: &str,
    value: Option<&str>,
) -> Option<PathBuf> {
    let includes =
        key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"));
    let path = value.filter(|_| includes)?;
    match (path.strip_prefix("~/"), from) {
        (Some(path), _) => git.variable("HOME").map(|home| PathBuf::from(home).join(path)),
        (None, Some(from)) => from.parent().map(|folder| folder.join(path)),
        (None, None) => Some(PathBuf::from(path)),
    }
}

fn origin(text: &[u8]) -> Option<PathBuf> {
    text.strip_prefix(b"file:").map(path_buf)
}

/// A key as git normalizes it: section and variable in lower case. `None` if it is not a key.
pub(crate) fn normal(key: &str) -> Option<String> {
    let (section, rest) = key.split_once('.')?;
    let (of, variable) = rest.rsplit_once('.').map_or((None, rest), |(of, v)| (Some(of), v));
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let begins = variable.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    if section.is_empty() || !plain(section) || !plain(variable) || !begins || key.contains('\n') {
        return None;
    }
    let (section, variable) = (section.to_ascii_lowercase(), variable.to_ascii_lowercase());
    Some(match of {
        Some(of) => format!("{section}.{of}.{variable}"),
        None => format!("{section}.{variable}"),
    })
}

/// A value as a boolean, by git's rules; `None` if it is not a boolean.
pub(crate) fn as_bool(value: Option<&str>) -> Option<bool> {
    let Some(value) = value else { return Some(true) };
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" | "" => Some(false),
        number => {
            let digits = number.strip_suffix(['k', 'm', 'g']).unwrap_or(number);
            digits.trim_start().parse::<i64>().ok().map(|number| number != 0)
        }
    }
}

/// A configured path; `None` if only git can expand it.
pub(crate) fn expanded(git: &Git, path: &str) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(path) => Some(Path::new(&git.variable("HOME")?).join(path)),
        None if path.starts_with(['~', '%', ':']) => None,
        None => Some(PathBuf::from(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::settings;
    use crate::git::test_repo::Repo;

    /// Compares the cached value of a key with git's own output.
    fn compared(git: &Git, key: &str) -> Option<String> {
        let ask = git.read(["config", "--null", "--get", key]).output().unwrap();
        let said = ask.success().then(|| ask.text().trim_end_matches('\0').to_owned());
        assert_eq!(settings::get(git, key).unwrap(), said, "{key}");
        let ask = git.read(["config", "--type=bool", "--get", key]).output().unwrap();
        assert_eq!(
            settings::config_bool(git, key).unwrap(),
            ask.text().trim() == "true",
            "{key}: {said:?}"
        );
        said
    }

    #[test]
    fn a_change_of_any_file_is_seen() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert_eq!(compared(&git, "x.y"), None);
        let set = |file: &str, value: &str| repo.file(file, &format!("[x]\n\ty = {value}\n"));
        set("../gitconfig", "global");
        assert_eq!(compared(&git, "x.y").as_deref(), Some("global"));
        repo.run(&["config", "x.y", "one"]);
        assert_eq!(compared(&git, "X.Y").as_deref(), Some("one"));
        repo.run(&["config", "x.y", "two"]);
        assert_eq!(compared(&git, "x.y").as_deref(), Some("two"));
        // A file is included before it exists, then created, then changed.
        repo.run(&["config", "include.path", "../of-tree"]);
        repo.run(&["config", "includeIf.onbranch:side.path", "of-branch"]);
        assert_eq!(compared(&git, "x.y").as_deref(), Some("two"));
        set("of-tree", "three");
        assert_eq!(compared(&git, "x.y").as_deref(), Some("three"));
        set("of-tree", "fours");
        assert_eq!(compared(&git, "x.y").as_deref(), Some("fours"));
        set(".git/of-branch", "side");
        assert_eq!(compared(&git, "x.y").as_deref(), Some("fours"));
        repo.run(&["checkout", "-q", "-b", "side"]);
        assert_eq!(compared(&git, "x.y").as_deref(), Some("side"));
        repo.run(&["config", "extensions.worktreeConfig", "true"]);
        set(".git/config.worktree", "own");
        assert_eq!(compared(&git, "x.y").as_deref(), Some("own"));
        let given =
            repo.git().with_env(vec![("GIT_CONFIG_PARAMETERS".into(), "'x.y'='given'".into())]);
        assert_eq!(compared(&given, "x.y").as_deref(), Some("given"));
        repo.file(".git/config", "[nonsense");
        assert!(settings::get(&git, "x.y").is_err());
    }

    #[test]
    fn values_are_what_git_says() {
        let repo = Repo::with_commit();
        let lines = [
            "yes",
            "On",
            "TRUE",
            "1",
            "0",
            "-1",
            "2k",
            "no",
            "off",
            "\"\"",
            "maybe",
            "1x",
            "\"a\\nb\"",
        ];
        let mut text = String::from("[v]\n\tbare\n");
        for (number, line) in lines.iter().enumerate() {
            text += &format!("\tv{number} = {line}\n");
        }
        text += "[branch \"A.b c\"]\n\tRemote = r\n\tremote = s\n[Old.Style]\n\tk = 1\n";
        let before = repo.text(".git/config").unwrap();
        repo.file(".git/config", &format!("{before}{text}"));
        let git = repo.git();
        assert_eq!(compared(&git, "v.bare").as_deref(), Some(""));
        for number in 0..lines.len() {
            assert!(compared(&git, &format!("v.v{number}")).is_some());
        }
        assert_eq!(compared(&git, "BRANCH.A.b c.REMOTE").as_deref(), Some("s"));
        assert_eq!(compared(&git, "branch.a.b c.remote"), None);
        assert_eq!(compared(&git, "old.style.k").as_deref(), Some("1"));
        for none in ["nonsense", "a.", ".a", "a.1b", "a b.c", "a.b\nc.d"] {
            assert!(normal(none).is_none() && settings::get(&git, none).is_err(), "{none}");
        }
    }
}
