//! Git's configuration files as commands of a model see them: without logins. The checkout of a CI
//! runner, for example, keeps its push credential in `.git/config` (`http.*.extraheader`), or
//! includes a file that holds it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Error;
use crate::git::Git;
use crate::git::configuration::{self, KeyAndValue};
use crate::git::output::lossy;
use crate::secret::{has_secret_word, of_git_config};
use crate::shell_quote::quoted;

/// Parts of a text that may hold a login, in lower case. A file without them is not parsed.
const SIGNS: [&str; 5] = ["@", "extraheader", "credential", "include", "cowork"];
/// Maximum depth of submodules in submodules.
const DEEPEST: usize = 8;

/// The configuration files in git's directories that hold logins, each with its text without them.
///
/// # Errors
/// A configuration file is broken.
pub fn files(git: &Git) -> Result<Vec<(PathBuf, String)>> {
    let mut by_file: BTreeMap<PathBuf, Vec<KeyAndValue>> = BTreeMap::new();
    let configuration = git.configuration()?;
    for (origin, key, value) in configuration.with_origins() {
        let path = git.top.join(origin);
        by_file.entry(path).or_default().push((key.to_owned(), value.map(str::to_owned)));
    }
    for path in unlisted(git) {
        if !by_file.contains_key(&path) && may_hold_a_login(&path) {
            let settings = configuration::of_file(git, &path)?.ok_or_else(|| {
                let file = path.display();
                Error::repository(format!("git cannot read the configuration file {file}")).hint(
                    format!("look at it: git config --list --file {}", quoted(&file.to_string())),
                )
            })?;
            by_file.insert(path, settings);
        }
    }
    let with_logins: Vec<&PathBuf> = by_file
        .iter()
        .filter(|(_, all)| all.iter().any(holds_a_login))
        .map(|(path, _)| path)
        .collect();
    let is_hidden = |path: &Path| with_logins.iter().any(|other| same_file(other, path));
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dirs = [real(&git.git_dir), real(&git.common_dir)];
    let in_git = |path: &Path| dirs.iter().any(|dir| real(path).starts_with(dir));
    let mut files = Vec::new();
    for (path, settings) in by_file.iter().filter(|(path, _)| in_git(path)) {
        let includes = |(key, value): &KeyAndValue| {
            let file = configuration::included(git, Some(path), key, value.as_deref());
            file.is_some_and(|file| is_hidden(&file))
        };
        if settings.iter().any(|setting| holds_a_login(setting) || includes(setting)) {
            let others = settings.iter().filter(|setting| !includes(setting));
            files.push((path.clone(), text(others.filter_map(without_login))));
        }
    }
    Ok(files)
}

/// Files in git's directories that are none of git's and look like logins: `credentials` of `git
/// credential-store --file`, or a copy of the configuration.
pub fn copies_of_logins(git: &Git) -> Vec<PathBuf> {
    const PARTS: [&str; 5] = ["cred", "token", "secret", "passw", "netrc"];
    let mut logins = Vec::new();
    for dir in [&git.git_dir, &git.common_dir] {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().to_lowercase();
            let is_copy =
                name.starts_with("config") && !["config", "config.worktree"].contains(&&*name);
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && (is_copy || PARTS.iter().any(|part| name.contains(part))) {
                logins.push(entry.path());
            }
        }
    }
    logins.sort();
    logins.dedup();
    logins
}

/// Configuration files that `git config --list` does not read here: those of submodules, and of
/// other working trees.
fn unlisted(git: &Git) -> Vec<PathBuf> {
    let entries = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let mut files: Vec<PathBuf> = entries(&git.common_dir.join("worktrees"))
        .into_iter()
        .chain([git.git_dir.clone(), git.common_dir.clone()])
        .map(|dir| dir.join("config.worktree"))
        .collect();
    // A submodule's name may contain slashes, so its folder may be deeper.
    let mut folders = vec![(git.common_dir.join("modules"), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for dir in entries(&folder).into_iter().filter(|_| depth < DEEPEST) {
            match dir.join("HEAD").exists() {
                true => {
                    files.extend(["config", "config.worktree"].map(|name| dir.join(name)));
                    folders.push((dir.join("modules"), depth + 1));
                }
                false => folders.push((dir, depth + 1)),
            }
        }
    }
    files
}

fn may_hold_a_login(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let text = lossy(&bytes).to_ascii_lowercase();
    SIGNS.iter().any(|sign| text.contains(sign))
}

fn holds_a_login(setting: &KeyAndValue) -> bool {
    without_login(setting).as_ref() != Some(setting)
}

/// The setting without a login; `None` if nothing of it can stay.
fn without_login(setting: &KeyAndValue) -> Option<KeyAndValue> {
    let (key, value) = setting;
    let value = value.as_deref().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    let is_own_key = key.starts_with("cowork.") && has_secret_word(last);
    if key.starts_with("credential.") || last == "extraheader" || is_own_key {
        return None;
    }
    let plain = (without_user(key), setting.1.as_deref().map(without_user));
    // What is left of a URL is no secret any more.
    let rest = plain.1.as_deref().unwrap_or(value);
    of_git_config(&plain.0, rest).iter().all(String::is_empty).then_some(plain)
}

/// A text without the user information of its URL: `https://ana:key@host/x` becomes
/// `https://host/x`.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let host_ends = rest.find('/').unwrap_or(rest.len());
    match rest[..host_ends].rfind('@') {
        // `ssh://git@host` names no secret, and nobody else.
        Some(at) if scheme.ends_with("ssh") && !rest[..at].contains(':') => text.to_owned(),
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => text.to_owned(),
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// The text of a configuration file with these settings, in their order.
fn text(settings: impl Iterator<Item = KeyAndValue>) -> String {
    let mut text = String::new();
    let mut in_section = None;
    for (key, value) in settings {
        let Some((section, rest)) = key.split_once('.') else { continue };
        let (of, variable) = rest.rsplit_once('.').map_or((None, rest), |(of, v)| (Some(of), v));
        let head = match of {
            Some(of) => format!("[{section} \"{}\"]", escaped(of)),
            None => format!("[{section}]"),
        };
        if in_section.as_ref() != Some(&head) {
            let _ = writeln!(text, "{head}");
            in_section = Some(head);
        }
        let _ = match value {
            Some(value) => {
                let value = escaped(&value).replace('\n', "\\n").replace('\t', "\\t");
                writeln!(text, "\t{variable} = \"{value}\"")
            }
            None => writeln!(text, "\t{variable}"),
        };
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    fn set(repo: &Repo, key: &str, value: &str) {
        repo.run(&["config", "--add", key, value]);
    }

    /// What git reads in the text that commands see: `key=value`, sorted.
    fn read(repo: &Repo, text: &str) -> Vec<String> {
        std::fs::write(repo.git().git_dir.join("shown"), text).unwrap();
        let list = repo.run(&["config", "--file", ".git/shown", "--list"]);
        let mut all: Vec<String> = list.lines().map(str::to_owned).collect();
        all.sort();
        all
    }

    #[test]
    fn a_configuration_without_logins_stays_as_it_is() {
        let repo = Repo::with_commit();
        set(&repo, "remote.origin.url", "git@example.org:ana/x.git");
        set(&repo, "remote.other.url", "ssh://git@example.org/x.git");
        set(&repo, "user.email", "ana@example.org");
        assert_eq!(files(&repo.git()).unwrap(), []);
    }

    #[test]
    fn only_logins_are_left_out() {
        let repo = Repo::with_commit();
        let before =
            read(&repo, &std::fs::read_to_string(repo.git().git_dir.join("config")).unwrap());
        for (key, value) in [
            (
                "http.https://example.org/.extraheader",
                "AUTHORIZATION: basic eC1hY2Nlc3M6aHVudGVyMg==",
            ),
            ("credential.helper", "!echo password=hunter2"),
            ("sendemail.smtppass", "hunter2hunter2"),
        ] {
            set(&repo, key, value);
        }
        set(&repo, "remote.origin.url", "https://ana:hunter2@example.org/x.git");
        set(&repo, "url.https://ana:hunter2@example.org/.insteadof", "work:");
        set(&repo, "alias.odd", "!echo \"a\\b\" # and\tmore");
        let [(path, text)] = files(&repo.git()).unwrap().try_into().unwrap();
        assert!(path.ends_with(".git/config"), "{path:?}");
        assert!(!text.contains("hunter2") && !text.contains("eC1h"), "{text}");
        let mut wanted = before;
        wanted.extend(
            [
                "remote.origin.url=https://example.org/x.git",
                "url.https://example.org/.insteadof=work:",
                "alias.odd=!echo \"a\\b\" # and\tmore",
            ]
            .map(str::to_owned),
        );
        wanted.sort();
        assert_eq!(read(&repo, &text), wanted);
    }

    #[test]
    fn files_of_submodules_and_included_ones_count() {
        let repo = Repo::with_commit();
        let login = "[http]\n\textraheader = \"Authorization: basic aHVudGVyMmh1bnRlcjI=\"\n";
        for name in ["modules/a/b", "modules/plain"] {
            let dir = repo.git().git_dir.join(name);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            std::fs::write(dir.join("config"), "[core]\n\tbare = false\n").unwrap();
        }
        std::fs::write(repo.git().git_dir.join("modules/a/b/config"), login).unwrap();
        std::fs::write(repo.git().top.join("../login.config"), login).unwrap();
        set(&repo, "include.path", "../../login.config");
        let found = files(&repo.git()).unwrap();
        let names: Vec<_> =
            found.iter().map(|(path, _)| path.strip_prefix(&repo.git().top)).collect();
        assert_eq!(
            names.into_iter().map(|name| name.unwrap().to_owned()).collect::<Vec<_>>(),
            [PathBuf::from(".git/config"), PathBuf::from(".git/modules/a/b/config")]
        );
        assert!(found.iter().all(|(_, text)| !text.contains("login.config")), "{found:?}");
        assert_eq!(found[1].1, "");
    }
}
