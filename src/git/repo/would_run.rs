//! Finds what git would run in another repository because of its configuration and hooks.

use std::path::Path;

use anyhow::Result;

use crate::git::Git;
use crate::git::configuration::{self, as_bool};

/// Maximum size of a configuration file that is checked, in bytes. One that `git init` or a clone
/// made is much smaller.
pub(crate) const CONFIG_MAX: u64 = 256 * 1024;

/// Sections in which no setting names a program.
const HARMLESS: [&str; 22] = [
    "advice",
    "author",
    "branch",
    "checkout",
    "clone",
    "color",
    "commit",
    "committer",
    "extensions",
    "feature",
    "fetch",
    "gc",
    "index",
    "init",
    "log",
    "maintenance",
    "pack",
    "pull",
    "push",
    "receive",
    "status",
    "user",
];
const HARMLESS_OF_CORE: [&str; 20] = [
    "abbrev",
    "autocrlf",
    "bare",
    "bigfilethreshold",
    "commitgraph",
    "compression",
    "eol",
    "filemode",
    "ignorecase",
    "logallrefupdates",
    "longpaths",
    "precomposeunicode",
    "protecthfs",
    "protectntfs",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "symlinks",
    "worktree",
];
const HARMLESS_OF_REMOTE: [&str; 10] = [
    "fetch",
    "followremotehead",
    "mirror",
    "partialclonefilter",
    "promisor",
    "prune",
    "prunetags",
    "push",
    "skipdefaultupdate",
    "tagopt",
];

/// Sections and variables of the settings whose value is a command that git or git-cowork runs by
/// itself. An alias is run by name, as any program of the project is.
const COMMANDS: [(&str, &str); 39] = [
    ("browser", "cmd"),
    ("browser", "path"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("cowork", "decide"),
    ("cowork", "editor"),
    ("cowork", "notify"),
    ("cowork", "pager"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "cmd"),
    ("difftool", "path"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "defaultkeycommand"),
    ("gpg", "program"),
    ("hook", "command"),
    ("interactive", "difffilter"),
    ("lfs", "clean"),
    ("lfs", "path"),
    ("lfs", "smudge"),
    ("man", "cmd"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("mergetool", "path"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("sequence", "editor"),
    ("submodule", "update"),
    ("trailer", "cmd"),
    ("trailer", "command"),
];

/// True if the value of this setting, a key as git normalizes it, is a command.
pub(crate) fn is_command(key: &str) -> bool {
    let (section, variable) = section_and_variable(key);
    section == "pager" || COMMANDS.contains(&(section, variable))
}

fn section_and_variable(key: &str) -> (&str, &str) {
    let section = key.split('.').next().unwrap_or_default();
    (section, key.rsplit('.').next().unwrap_or_default())
}

/// The setting or hook that git would run in the repository of this git directory, or the reason
/// why that is unknown; `None` if git would run nothing. Nothing in the repository is started.
///
/// # Errors
/// Git cannot be started.
pub fn would_run(git: &Git, git_dir: &Path) -> Result<Option<String>> {
    let mut folders = vec![git_dir.to_owned()];
    if let Ok(common) = std::fs::read_to_string(git_dir.join("commondir")) {
        folders.push(git_dir.join(common.trim_end()));
    }
    for folder in folders {
        for name in ["config", "config.worktree"] {
            if let Some(setting) = setting_that_runs(git, &folder.join(name))? {
                return Ok(Some(setting));
            }
        }
        if let Some(name) = hook_in(&folder.join("hooks")) {
            return Ok(Some(format!("the hook {name}")));
        }
    }
    Ok(None)
}

fn setting_that_runs(git: &Git, file: &Path) -> Result<Option<String>> {
    let name = || file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match file.symlink_metadata() {
        Err(_) => return Ok(None),
        Ok(meta) if !meta.is_file() || meta.len() > CONFIG_MAX => {
            return Ok(Some(format!("the commands of an unchecked {}", name())));
        }
        Ok(_) => {}
    }
    let Some(settings) = configuration::of_file(git, file)? else {
        return Ok(Some(format!("the commands of a {} that cannot be listed", name())));
    };
    let setting = settings.into_iter().find(|(key, value)| runs(key, value.as_deref()));
    Ok(setting.map(|(key, _)| key))
}

/// True if a setting may name a program, or another file of settings. An unknown setting may.
fn runs(key: &str, value: Option<&str>) -> bool {
    let (section, variable) = section_and_variable(key);
    // `ext::sh -c …` is a valid address as well.
    let is_address = || !value.is_some_and(|value| value.contains("::") || value.starts_with('-'));
    let harmless = match (section, variable) {
        ("core", "fsmonitor") => as_bool(value).is_some(),
        ("core", _) => HARMLESS_OF_CORE.contains(&variable),
        ("remote", "url" | "pushurl") | ("submodule", "url") => is_address(),
        ("remote", _) => HARMLESS_OF_REMOTE.contains(&variable),
        ("submodule", "active" | "branch" | "ignore" | "recurse") => true,
        ("submodule", "update") => !value.is_some_and(|value| value.starts_with('!')),
        ("protocol", "version") => true,
        _ => HARMLESS.contains(&section),
    };
    !harmless
}

/// The name of a hook that git would start.
fn hook_in(folder: &Path) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut hooks = entries.filter(|entry| is_started(&entry.path()));
    hooks.next().map(|hook| hook.file_name().to_string_lossy().into_owned())
}

fn is_started(path: &Path) -> bool {
    #[cfg(unix)]
    let executable = |meta: std::fs::Metadata| {
        use std::os::unix::fs::PermissionsExt as _;
        meta.permissions().mode() & 0o111 != 0
    };
    #[cfg(not(unix))]
    let executable = |_: std::fs::Metadata| true;
    path.extension().is_none_or(|end| end != "sample")
        && path.metadata().is_ok_and(|meta| meta.is_file() && executable(meta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::Repo;

    #[test]
    fn repositories_as_git_creates_them_run_nothing() {
        let repo = Repo::with_commit();
        repo.run(&["clone", "-q", "--no-hardlinks", ".", "../clone"]);
        repo.run(&["clone", "-q", "--bare", ".", "../bare"]);
        let clone = repo.root().join("clone/.git");
        assert_eq!(would_run(&repo.git(), &clone).unwrap(), None);
        assert_eq!(would_run(&repo.git(), &repo.root().join("bare")).unwrap(), None);
        std::fs::write(clone.join("hooks/pre-commit"), "").unwrap();
        assert_eq!(would_run(&repo.git(), &clone).unwrap(), None, "it is not executable");
        let nowhere = repo.root().join("nowhere");
        assert_eq!(would_run(&repo.git(), &nowhere).unwrap(), None);
    }

    #[test]
    fn settings_that_name_programs_and_unknown_settings() {
        for (key, value, expected) in [
            ("core.fsmonitor", "true", false),
            ("core.fsmonitor", "./evil", true),
            ("core.hookspath", "x", true),
            ("core.sshcommand", "x", true),
            ("core.bare", "false", false),
            ("filter.x.clean", "x", true),
            ("alias.st", "!x", true),
            ("include.path", "../x", true),
            ("includeif.gitdir:/.path", "x", true),
            ("remote.origin.url", "https://example.com/x.git", false),
            ("remote.origin.url", "ext::sh -c x", true),
            ("remote.origin.uploadpack", "x", true),
            ("submodule.a.b.update", "!x", true),
            ("submodule.a.b.update", "checkout", false),
            ("gpg.program", "x", true),
            ("new.thing", "x", true),
            ("user.name", "x", false),
        ] {
            assert_eq!(runs(key, Some(value)), expected, "{key}={value}");
        }
        assert!(!runs("core.bare", None));
        for (section, variable) in COMMANDS {
            let key = format!("{section}.{variable}");
            assert!(is_command(&key) && runs(&key, Some("!x")), "{key}");
        }
        assert!(is_command("filter.a.b.clean") && is_command("pager.diff"));
        assert!(!is_command("alias.st") && !is_command("cowork.project.test"));
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_common_folders_are_not_followed_blindly() {
        let repo = Repo::with_commit();
        let dir = repo.root().join("x");
        std::fs::create_dir_all(dir.join("common")).unwrap();
        std::fs::write(dir.join("common/config"), "[core]\n\tfsmonitor = ./evil\n").unwrap();
        assert_eq!(would_run(&repo.git(), &dir).unwrap(), None);
        std::fs::write(dir.join("commondir"), "common\n").unwrap();
        let told = would_run(&repo.git(), &dir).unwrap();
        assert_eq!(told.as_deref(), Some("core.fsmonitor"));
        std::os::unix::fs::symlink("common/config", dir.join("config")).unwrap();
        let told = would_run(&repo.git(), &dir).unwrap().unwrap();
        assert!(told.contains("unchecked"), "{told}");
    }
}
