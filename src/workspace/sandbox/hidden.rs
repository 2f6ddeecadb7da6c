//! Paths that look empty to commands: keys, credentials, and well-known sockets of other programs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Keys and credentials in a home directory; needed if the home is not closed as a whole (`homes`),
/// or a setting makes too much of it readable.
const SECRETS: [&str; 49] = [
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/opencode",
    ".local/share/opencode",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".mozilla",
    ".config/cowork",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/google-chrome",
    ".config/chromium",
    ".config/git/credentials",
    ".local/share/keyrings",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".bash_history",
    ".bundle/config",
    ".bunfig.toml",
    ".composer/auth.json",
    ".condarc",
    ".config/composer/auth.json",
    ".config/go/env",
    ".config/pip",
    ".config/pypoetry",
    ".gem/credentials",
    ".gradle/gradle.properties",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    ".nuget/NuGet",
    ".pgpass",
    ".pip/pip.conf",
    ".yarnrc.yml",
    ".Xauthority",
    ".ICEauthority",
];

/// System files that only root can read, and system keys. Commands that run as root could read
/// them.
const OF_SYSTEM: [&str; 10] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
];
/// Directory of the SSH host keys.
const HOST_KEYS: &str = "/etc/ssh";

/// Sockets through which other programs would act on behalf of a command.
const DOORS: [&str; 8] = [
    "/run/user",
    "/run/dbus",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/docker.sock",
    "/run/snapd.socket",
    "/run/systemd/private",
];

/// Variables that name such sockets.
const DOOR_NAMES: [&str; 3] = ["SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST"];

/// Variables of CI runners that name a folder with their own files: actions leave credentials there,
/// and orders for the runner.
const RUNNERS_FOLDERS: [&str; 1] = ["RUNNER_TEMP"];
/// Variables of CI runners that name a file with orders for the runner; the files of other steps lie
/// beside it.
const RUNNERS_FILES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// Returns the existing paths to hide, given the environment `env`. Excludes paths that contain or
/// are in one of `needed`, and paths that contain one of `named`.
pub(super) fn among(
    env: &BTreeMap<OsString, OsString>,
    needed: &[PathBuf],
    named: &[PathBuf],
) -> Vec<PathBuf> {
    let value = |name: &str| env.get(OsStr::new(name));
    let home = value("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let config = value("XDG_CONFIG_HOME").map(PathBuf::from);
    let cargo = value("CARGO_HOME").map(PathBuf::from).into_iter();
    let cargo =
        cargo.flat_map(|dir| ["credentials.toml", "credentials"].map(|name| dir.join(name)));
    let secrets = SECRETS.iter().filter_map(|path| Some(home.as_ref()?.join(path)));
    let config = config.into_iter().map(|dir| dir.join("cowork"));
    let sockets = DOOR_NAMES.iter().filter_map(|name| {
        let value = value(name)?.to_str()?;
        let path = value.find('/').map(|_| value.trim_start_matches("unix:"))?;
        let path = path.trim_start_matches("path=").split(',').next()?;
        Some(Path::new("/").join(path.trim_start_matches("//")))
    });
    let absolute = |name: &&str| value(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // Near the root, or a home: the folder is not the runner's own.
    let is_own = |folder: &Path| folder.components().count() > 3 && home.as_deref() != Some(folder);
    let folder = |name: &&str| {
        let file = absolute(name)?;
        let folder = file.parent().filter(|folder| is_own(folder)).map(Path::to_owned);
        Some(folder.unwrap_or(file))
    };
    let of_runner = RUNNERS_FOLDERS.iter().filter_map(absolute);
    let of_runner = of_runner.chain(RUNNERS_FILES.iter().filter_map(folder));
    let doors = DOORS.iter().map(PathBuf::from).chain(sockets);
    let of_system = of_system().into_iter().filter(|path| is_readable(path));
    let mut hidden: Vec<PathBuf> = secrets
        .chain(cargo)
        .chain(config)
        .chain(doors)
        .chain(of_runner)
        .chain(of_system)
        .filter_map(|path| path.canonicalize().ok())
        .filter(|path| {
            path != Path::new("/dev/null")
                && !needed.iter().any(|inner| inner.starts_with(path) || path.starts_with(inner))
                && !named.iter().any(|inner| inner.starts_with(path))
        })
        .collect();
    hidden.sort();
    hidden.dedup_by(|a, b| a.starts_with(&*b));
    hidden
}

fn of_system() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = OF_SYSTEM.iter().map(PathBuf::from).collect();
    let beside = std::fs::read_dir(HOST_KEYS).into_iter().flatten().flatten();
    paths.extend(beside.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    }));
    paths
}

fn is_readable(path: &Path) -> bool {
    File::open(path).is_ok()
}
