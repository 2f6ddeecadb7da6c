//! Directories where programs keep their sockets and what nobody else should see: a command has
//! them for itself. Some of what lies below comes back.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Each with the name of a command's own directory for it, on the disk; else it is in memory.
const ALL: [(&str, Option<&str>); 4] =
    [("/tmp", Some("tmp")), ("/var/tmp", Some("var-tmp")), ("/run", None), ("/var/run", None)];

/// Variables that say where something is installed.
const INSTALLED: [&str; 19] = [
    "HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "GRADLE_RO_DEP_CACHE",
    "NVM_DIR",
    "NODE_PATH",
    "PNPM_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "PYTHONPATH",
    "PYTHONUSERBASE",
    "POETRY_VIRTUALENVS_PATH",
    "GEM_HOME",
    "PKG_CONFIG_PATH",
    "GIT_CONFIG_GLOBAL",
];
/// Where the certificates of servers are, which matters to the step with the network.
pub(super) const CERTIFICATES: [&str; 6] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
];
/// Which servers have the addresses of names; often a link to below `/run`.
const NAME_SERVERS: &str = "/etc/resolv.conf";
/// A directory of this name is of little use without what is beside it.
const PROGRAMS: [&str; 3] = ["bin", "sbin", "shims"];

/// A directory that commands find empty, or find a directory of their own in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cover {
    pub(super) at: PathBuf,
    pub(super) with: Option<PathBuf>,
}

/// What is covered where `needed` is worked in; a command's own directories are made in `own`.
pub(super) fn make(needed: &[PathBuf], own: &Path) -> std::io::Result<Vec<Cover>> {
    let mut covers: Vec<Cover> = Vec::new();
    for (at, with) in ALL {
        let Some(at) = Path::new(at).canonicalize().ok().filter(|at| at.is_dir()) else { continue };
        // Who works on all of such a directory sees all of it.
        let is_needed = needed.iter().any(|needed| at.starts_with(needed));
        if is_needed || covers.iter().any(|cover| cover.at == at) {
            continue;
        }
        let with = with.map(|name| own.join(name));
        if let Some(dir) = &with {
            make_shared(dir)?;
        }
        covers.push(Cover { at, with });
    }
    Ok(covers)
}

/// A directory as such directories are. Only its owner gets into the one it is made in.
fn make_shared(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o1777))?;
    }
    Ok(())
}

/// What is installed below a cover, by the environment `env`; with the network also what that
/// takes. `more` may be below one, too.
pub(super) fn kept(
    covers: &[Cover],
    env: &BTreeMap<OsString, OsString>,
    network: bool,
    more: &[PathBuf],
) -> Vec<PathBuf> {
    let below = |path: &Path| covers.iter().any(|c| path != c.at && path.starts_with(&c.at));
    let named = |names: &[&str]| -> Vec<PathBuf> {
        let values = names.iter().filter_map(|name| env.get(OsStr::new(name)));
        values.flat_map(std::env::split_paths).collect()
    };
    let mut paths = named(&INSTALLED);
    paths.extend(more.iter().cloned());
    if network {
        paths.extend(named(&CERTIFICATES));
        paths.push(NAME_SERVERS.into());
    }
    for dir in named(&["PATH"]).iter().filter_map(|dir| dir.canonicalize().ok()) {
        let is_part = dir.file_name().is_some_and(|name| PROGRAMS.iter().any(|p| name == *p));
        let whole = dir.parent().filter(|whole| is_part && below(whole)).map(Path::to_owned);
        paths.push(whole.unwrap_or(dir));
    }
    let absolute = paths.into_iter().filter(|path| path.is_absolute());
    let real = absolute.filter_map(|path| path.canonicalize().ok());
    let mut kept: Vec<_> =
        real.filter(|path| below(path) && (path.is_dir() || path.is_file())).collect();
    kept.sort();
    kept.dedup_by(|a, b| a.starts_with(&*b));
    kept
}

/// Where a repository has objects from that it does not hold itself: `git clone --shared`.
/// Source: `gitrepository-layout(5)`, objects/info/alternates.
pub(super) fn lent(git_dir: &Path) -> Vec<PathBuf> {
    let objects = git_dir.join("objects");
    let list = std::fs::read_to_string(objects.join("info/alternates")).unwrap_or_default();
    list.lines().filter(|line| !line.starts_with('#')).map(|line| objects.join(line)).collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_below_a_cover_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let at = |path: &str| top.join(path);
        for path in ["c/tools/bin", "c/bin", "c/rustup", "outside/bin", "c/run/x"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        std::os::unix::fs::symlink(at("c/tools"), at("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("c/run/socket")).unwrap();
        let covers = [Cover { at: at("c"), with: None }];
        let path = ["c/bin", "link/bin", "outside/bin", "c", "c/none"].map(at);
        let env = BTreeMap::from([
            ("PATH".into(), std::env::join_paths(path).unwrap()),
            ("RUSTUP_HOME".into(), at("c/rustup").into()),
            ("HOME".into(), at("").into()),
            ("XDG_RUNTIME_DIR".into(), at("c/run").into()),
            ("GOPATH".into(), at("c/run/socket").into()),
            ("SSL_CERT_DIR".into(), at("c/run/x").into()),
        ]);
        let all = [at("c/bin"), at("c/rustup"), at("c/tools")];
        assert_eq!(kept(&covers, &env, false, &[]), all);
        let with_network = kept(&covers, &env, true, &[at("c/run")]);
        assert_eq!(with_network, [at("c/bin"), at("c/run"), at("c/rustup"), at("c/tools")]);
    }

    #[test]
    fn what_is_worked_in_is_not_covered() {
        let dir = tempfile::tempdir().unwrap();
        let covers = |needed: &str| -> Vec<PathBuf> {
            make(&[needed.into()], dir.path()).unwrap().into_iter().map(|cover| cover.at).collect()
        };
        let tmp = Path::new("/tmp").canonicalize().unwrap();
        assert!(covers("/tmp/tree").contains(&tmp));
        assert!(!covers(tmp.to_str().unwrap()).contains(&tmp));
        assert!(covers("/").is_empty());
    }
}
