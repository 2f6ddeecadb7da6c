//! The user's git configuration: git-cowork's own keys, the editor, the pager, colors.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::Error;
use crate::git::Git;
use crate::git::configuration::{as_bool, expanded, normal};
use crate::git::locate;

/// The key of git-cowork's own pager, which only [`own_pager`] reads.
const PAGER: &str = "cowork.pager";

/// Every `cowork.*` setting in the order git reads them, so the last value of a key counts. Keys
/// are normalized like git's: section and variable in lower case. A key without `=` is `true`.
///
/// # Errors
/// A configuration file is broken.
pub fn all(git: &Git) -> Result<Vec<(String, String)>> {
    beginning(git, &["cowork."])
}

/// Returns the user and system settings whose keys start with one of `with`, in the format of
/// [`all`]. `cwd` is outside any repository.
///
/// # Errors
/// Git cannot be started, or a configuration file is broken.
pub fn outside(cwd: &Path, with: &[&str]) -> Result<Vec<(String, String)>> {
    let output = locate::settings_at(cwd)?;
    if !output.success() {
        let message = format!("git config failed: {}", output.complaint());
        return Err(Error::repository(message).into());
    }
    let text = output.text();
    let settings = text.split('\0').map(|line| line.split_once('\n').unwrap_or((line, "true")));
    let matches = |key: &str| key != PAGER && with.iter().any(|start| key.starts_with(start));
    let matching = settings.filter(|(key, _)| matches(key));
    Ok(matching.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// Every setting whose key starts with one of `with`, in the format of [`all`].
///
/// # Errors
/// A configuration file is broken.
pub fn beginning(git: &Git, with: &[&str]) -> Result<Vec<(String, String)>> {
    let all = git.configuration()?;
    let matches = |key: &str| key != PAGER && with.iter().any(|start| key.starts_with(start));
    let matching = all.all().filter(|(key, _)| matches(key));
    let text = |value: Option<&str>| value.unwrap_or("true").to_owned();
    Ok(matching.map(|(key, value)| (key.to_owned(), text(value))).collect())
}

/// Adds trailers to a message file, except those it already has.
///
/// # Errors
/// Git fails, or the file cannot be written.
pub fn add_trailers(git: &Git, file: &Path, trailers: &[(&str, &str)]) -> Result<()> {
    // Git treats a key and a longer key that begins with it as the same, so it is told to compare
    // the values as well.
    let mut add = git.write(["interpret-trailers", "--in-place", "--if-exists=addIfDifferent"]);
    for (key, value) in trailers {
        add = add.arg(format!("--trailer={key}: {value}"));
    }
    add.arg(file).checked().map(|_| ())
}

/// The value of one key of git's configuration.
///
/// # Errors
/// The key is not valid, or a configuration file is broken.
pub fn get(git: &Git, key: &str) -> Result<Option<String>> {
    if let Some(key) = normal(key) {
        let all = git.configuration()?;
        return Ok(all.value(&key).map(|value| value.unwrap_or_default().to_owned()));
    }
    // The key is not valid: let git report that.
    let config = git.read(["config", "--null", "--get", key]);
    let output = config.output()?;
    match output.code {
        Some(0) => Ok(Some(output.text().trim_end_matches('\0').to_owned())),
        Some(1) if output.stderr.is_empty() => Ok(None),
        _ => Err(config.failure(&output).into()),
    }
}

/// The time that a text means to `git reflog expire --expire`, in Unix seconds: `30 days ago`,
/// `2.weeks`, `2026-01-31`, `now`, `never` (0). `None` if git does not understand it.
///
/// # Errors
/// Git cannot be started.
pub fn expiry_date(git: &Git, text: &str) -> Result<Option<i64>> {
    const KEY: &str = "cowork.prune.olderthan";
    let config = git.read(["-c", &format!("{KEY}={text}"), "config", "--type=expiry-date"]);
    let output = config.args(["--get", KEY]).output()?;
    // For `now`, git prints the largest number there is.
    let seconds = output.text().trim().parse::<u64>().ok().filter(|_| output.success());
    Ok(seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)))
}

/// The user's pager for text, as a shell command, in git's order: `GIT_PAGER`, `core.pager`,
/// `PAGER`, `less`. `cat` if there is no pager.
///
/// # Errors
/// Git cannot be started.
pub fn pager(git: &Git) -> Result<String> {
    pager_with(git, None)
}

/// The user's pager for differences: like [`pager`], but a command in `pager.diff` replaces
/// `core.pager`, and `false` means no pager.
///
/// # Errors
/// Git cannot be started.
pub fn diff_pager(git: &Git) -> Result<String> {
    named_pager(git, "pager.diff")
}

/// The pager for the output of git-cowork's commands: like [`diff_pager`], but configured by
/// `cowork.pager`, otherwise by `pager.cowork`, which git itself obeys if it starts git-cowork.
///
/// # Errors
/// Git cannot be started.
pub fn own_pager(git: &Git) -> Result<String> {
    match get(git, PAGER)? {
        Some(_) => named_pager(git, PAGER),
        None => named_pager(git, "pager.cowork"),
    }
}

fn named_pager(git: &Git, key: &str) -> Result<String> {
    let setting = get(git, key)?;
    match setting.as_deref().map(|setting| setting.trim().to_lowercase()).as_deref() {
        Some("" | "0" | "false" | "no" | "off") => Ok("cat".to_owned()),
        None | Some("1" | "true" | "yes" | "on") => pager(git),
        Some(_) => pager_with(git, setting.as_deref()),
    }
}

fn pager_with(git: &Git, configured: Option<&str>) -> Result<String> {
    let configured = configured.map(|command| format!("core.pager={command}"));
    let options = configured.iter().flat_map(|setting| ["-c", setting.as_str()]);
    // With `--no-pager`, every answer would be `cat`. `--paginate` starts no pager here, because
    // this output does not go to a terminal.
    let output = git.read(options.chain(["--paginate", "var", "GIT_PAGER"])).output()?;
    Ok(if output.success() { output.text().trim().to_owned() } else { "cat".to_owned() })
}

/// True if the user signs off by default (`format.signOff`).
///
/// # Errors
/// Git fails.
pub fn signs_off(git: &Git) -> Result<bool> {
    config_bool(git, "format.signoff")
}

/// The editor as a shell command, in git's order; `None` if there is none (a dumb terminal).
///
/// # Errors
/// Git cannot be started.
pub fn editor(git: &Git) -> Result<Option<String>> {
    let output = git.read(["var", "GIT_EDITOR"]).output()?;
    let text = output.text().trim_end().to_owned();
    Ok(Some(text).filter(|text| output.success() && !text.is_empty()))
}

/// True if git would color git-cowork's output (`color.cowork`, otherwise `color.ui`).
///
/// # Errors
/// The setting is not a valid color mode.
pub fn color(git: &Git, stdout_is_tty: bool) -> Result<bool> {
    let all = git.configuration()?;
    let value = all.value("color.cowork").or_else(|| all.value("color.ui"));
    match value.map(|value| value.map(str::to_lowercase)) {
        Some(Some(never)) if never == "never" => return Ok(false),
        Some(Some(always)) if always == "always" => return Ok(true),
        Some(Some(auto)) if auto == "auto" => {}
        Some(value) => match as_bool(value.as_deref()) {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => {
                let text = value.unwrap_or_default();
                return Err(Error::repository(format!(
                    "'{text}' is not a valid value for color.ui"
                ))
                .hint("one of: auto, always, never")
                .into());
            }
        },
        None => {}
    }
    let dumb = git.variable("TERM").is_none_or(|term| term == "dumb");
    let is_paged = || git.variable("GIT_PAGER_IN_USE").is_some_and(|used| used == "true");
    Ok(!dumb && (stdout_is_tty || is_paged()))
}

/// True if this switch of git's configuration is on.
///
/// # Errors
/// The configuration cannot be read.
pub fn config_bool(git: &Git, key: &str) -> Result<bool> {
    let all = git.configuration()?;
    let value = normal(key).and_then(|key| all.value(&key));
    Ok(value.and_then(as_bool).unwrap_or(false))
}

/// The files in which a user may keep a list for all repositories: the one that a setting names,
/// otherwise the default ones, whether they exist or not. `None` if only git can expand the setting.
pub(crate) fn users_files(git: &Git, key: &str, name: &str) -> Option<Vec<PathBuf>> {
    match git.configuration().ok()?.value(key) {
        Some(Some(file)) => Some(vec![git.top.join(expanded(git, file)?)]),
        Some(None) => None,
        None => {
            let in_folder = |variable: &str, folder: &str| {
                let base = git.variable(variable).filter(|base| !base.is_empty());
                base.map(|base| Path::new(&base).join(folder).join(name))
            };
            let places = [in_folder("XDG_CONFIG_HOME", "git"), in_folder("HOME", ".config/git")];
            Some(places.into_iter().flatten().collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    #[test]
    fn settings_of_every_origin() {
        let repo = Repo::with_commit();
        let git = repo.git();
        assert!(all(&git).unwrap().is_empty());
        repo.run(&["config", "cowork.llm.baseUrl", "a\nb"]);
        repo.file(
            ".git/config",
            &format!("{}[cowork]\n\tflag\n", repo.text(".git/config").unwrap()),
        );
        let git = git.with_env(vec![("GIT_CONFIG_PARAMETERS".into(), "'cowork.model'='m'".into())]);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            all(&git).unwrap(),
            [
                pair("cowork.llm.baseurl", "a\nb"),
                pair("cowork.flag", "true"),
                pair("cowork.model", "m")
            ]
        );
        assert_eq!(get(&git, "cowork.model").unwrap().as_deref(), Some("m"));
        assert_eq!(get(&git, "cowork.nope").unwrap(), None);
        assert!(get(&git, "nonsense").is_err());
    }

    #[test]
    fn the_pager_is_found_as_git_finds_it() {
        let repo = Repo::with_commit();
        let unset = |name: &str| (name.into(), std::ffi::OsString::new());
        // An empty variable means no pager, and overrides the one in the environment of the tests.
        assert_eq!(pager(&repo.git().with_env(vec![unset("GIT_PAGER")])).unwrap(), "cat");
        let with = |value: &str| repo.git().with_env(vec![("GIT_PAGER".into(), value.into())]);
        assert_eq!(pager(&with("less -S")).unwrap(), "less -S");
        repo.run(&["config", "pager.diff", "delta --dark"]);
        assert_eq!(diff_pager(&with("less -S")).unwrap(), "less -S");
    }

    #[test]
    fn editor_and_colour() {
        let repo = Repo::with_commit();
        let git = repo.git();
        repo.run(&["config", "core.editor", "my 'edi tor'"]);
        let git = git.with_env(vec![("GIT_EDITOR".into(), "ed -x".into())]);
        assert_eq!(editor(&git).unwrap().as_deref(), Some("ed -x"));
        repo.run(&["config", "color.ui", "always"]);
        assert!(color(&git, false).unwrap());
        repo.run(&["config", "color.cowork", "never"]);
        assert!(!color(&git, true).unwrap());
        let both = ["GIT_PAGER_IN_USE", "TERM"].map(|name| (name.into(), "true".into()));
        for (git, name) in [(git.clone(), "dumb"), (git.with_env(both.to_vec()), "paged")] {
            for value in ["auto", "Always", "true", "no", "0", "7", "", "false", "never", "x"] {
                repo.run(&["config", "color.cowork", value]);
                for (tty, word) in [(true, "true"), (false, "false")] {
                    let ask = git.read(["config", "--get-colorbool", "color.cowork", word]);
                    let said = ask.capture().map(|said| said == "true").ok();
                    assert_eq!(color(&git, tty).ok(), said, "{value:?}, {name}, {tty}");
                }
            }
        }
    }
}
