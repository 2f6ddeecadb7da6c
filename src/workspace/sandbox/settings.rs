//! Settings in the home of commands: the git settings that commands need, and package managers'
//! settings without credentials.
//!
//! Commands can write to that home, so any entry in it may be a link to anywhere: nothing here
//! follows links.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

use super::logins;

/// Variables passed only to the fetch step, besides its certificates.
pub(super) const OF_NETWORK: [&str; 10] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "GOPRIVATE",
    "GONOSUMDB",
];

/// Variables that tell tools there is no network, so that they use their caches and fail
/// immediately.
pub(super) const OFFLINE: [(&str, &str); 4] = [
    ("CARGO_NET_OFFLINE", "true"),
    ("npm_config_offline", "true"),
    ("PIP_NO_INDEX", "1"),
    ("UV_OFFLINE", "1"),
];

/// Settings files of package managers in a home.
const IN_HOME: [&str; 3] = [".npmrc", ".bunfig.toml", ".gemrc"];
/// Settings files that a variable can name: the default path, and the variable.
const NAMED: [(&str, &str); 3] = [
    (".config/pip/pip.conf", "PIP_CONFIG_FILE"),
    (".config/uv/uv.toml", "UV_CONFIG_FILE"),
    (".config/go/env", "GOENV"),
];
/// Prefixes of the git settings that commands get from the user's configuration.
pub const OF_GIT: [&str; 3] = ["user.", "init.", "safe."];

/// The home of commands.
pub(super) struct Home(Dir);

impl Home {
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self(Dir::open_ambient_dir(path, ambient_authority())?))
    }

    /// Creates and opens a directory in the home; a file or link with that name is removed.
    pub(super) fn own(&self, name: &str) -> std::io::Result<Dir> {
        if self.0.symlink_metadata(name).is_ok_and(|found| !found.is_dir()) {
            self.0.remove_file(name)?;
        }
        match self.0.create_dir(name) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
            _ => self.0.open_dir_nofollow(name),
        }
    }

    /// Writes git's configuration, and the package managers' settings from the home `real`.
    pub(super) fn write(&self, real: Option<&Path>, git: &[(String, String)]) {
        put(&self.0, ".gitconfig", Some(of_git(git)));
        for name in IN_HOME {
            let text = real.and_then(|real| std::fs::read_to_string(real.join(name)).ok());
            put(&self.0, name, text.map(|text| logins::lines_without(&text)));
        }
    }
}

/// Replaces `name` by a file with this text, or removes it if `None`; a link with that name is
/// removed, not followed.
pub(super) fn put(dir: &Dir, name: &str, text: Option<String>) {
    if dir.symlink_metadata(name).is_ok_and(|found| found.is_dir()) {
        let _ = dir.remove_dir_all(name);
    } else {
        let _ = dir.remove_file(name);
    }
    let Some(text) = text else { return };
    let mut new = cap_std::fs::OpenOptions::new();
    let made = dir.open_with(name, new.write(true).create_new(true));
    let written = made.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
    if let Err(error) = written {
        tracing::info!("{name} could not be written for commands: {error}");
    }
}

/// Makes `name` in `dir` a link to `to`, or removes the link. Files that tools created there are
/// renamed, not deleted.
pub(super) fn relink(to: Option<PathBuf>, dir: &Dir, name: &str) -> std::io::Result<()> {
    let found = dir.symlink_metadata(name).ok();
    if found.as_ref().is_some_and(Metadata::is_symlink) {
        dir.remove_file(name)?;
    }
    #[cfg(unix)]
    if let Some(to) = to.filter(|to| to.exists()) {
        if found.is_some_and(|found| !found.is_symlink()) {
            let aside = format!("{name}.own");
            let _ = dir.remove_dir_all(&aside);
            dir.rename(name, dir, aside)?;
        }
        dir.symlink_contents(to, name)?;
    }
    #[cfg(not(unix))]
    let _ = to;
    Ok(())
}

/// Writes the settings files that variables name into `dir`, where commands cannot write.
pub(super) fn named(
    dir: &Path,
    real: Option<&Path>,
    env: &BTreeMap<OsString, OsString>,
) -> std::io::Result<Vec<(&'static str, PathBuf)>> {
    std::fs::create_dir_all(dir)?;
    let mut written = Vec::new();
    for (usual, variable) in NAMED {
        let set = env.get(OsStr::new(variable)).map(PathBuf::from);
        let Some(from) = set.or_else(|| Some(real?.join(usual))) else { continue };
        let Ok(text) = std::fs::read_to_string(from) else { continue };
        let file = dir.join(variable);
        std::fs::write(&file, logins::lines_without(&text))?;
        written.push((variable, file));
    }
    Ok(written)
}

/// Returns a git configuration file with these settings.
fn of_git(settings: &[(String, String)]) -> String {
    let mut text = String::new();
    for (key, value) in settings {
        let Some((section, name)) = key.rsplit_once('.') else { continue };
        let section = match section.split_once('.') {
            Some((section, sub)) => format!("{section} \"{}\"", escaped(sub)),
            None => section.to_owned(),
        };
        let _ = writeln!(text, "[{section}]\n\t{name} = \"{}\"", escaped(value));
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_not_followed_when_writing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for made in ["real/.cargo", "own/.npmrc/x"] {
            std::fs::create_dir_all(at(made)).unwrap();
        }
        std::fs::write(at("real/.gitconfig"), "theirs").unwrap();
        symlink(at("real/.gitconfig"), at("own/.gitconfig")).unwrap();
        symlink(at("real/.cargo"), at("own/.cargo")).unwrap();
        std::fs::write(at("real/.npmrc"), "save=true\ntoken=x\n").unwrap();
        let home = Home::open(&at("own")).unwrap();
        home.write(Some(&at("real")), &[("user.name".into(), "Ada \"A\" \\".into())]);
        put(&home.own(".cargo").unwrap(), "config.toml", Some("ours".into()));
        let read = |path: &str| std::fs::read_to_string(at(path)).unwrap();
        assert_eq!(read("real/.gitconfig"), "theirs");
        assert_eq!(read("own/.gitconfig"), "[user]\n\tname = \"Ada \\\"A\\\" \\\\\"\n");
        assert_eq!(read("own/.npmrc"), "save=true\n");
        assert_eq!(read("own/.cargo/config.toml"), "ours");
        assert!(!at("real/.cargo/config.toml").exists());
    }
}
