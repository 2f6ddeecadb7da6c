//! The environment of commands: the variables that builds need, without secrets.

use std::ffi::{OsStr, OsString};

use crate::secret::{PLAIN_VARIABLES, Secrets};
use crate::workspace::sandbox::INSTALLED;

/// Variables passed on unchanged, in addition to [`PLAIN_VARIABLES`] and [`INSTALLED`].
const NAMES: [&str; 11] = [
    "XDG_CACHE_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_TOOLCHAIN",
    "GOCACHE",
    "GOFLAGS",
    "GOPROXY",
    "MAVEN_OPTS",
    "GRADLE_USER_HOME",
    "CC",
    "CXX",
];

/// Prefixes of other variables that are passed on.
const PREFIXES: [&str; 6] = ["LC_", "npm_config_", "NPM_CONFIG_", "PIP_", "UV_", "YARN_"];

/// Variables with these words in their names are never passed on.
const SECRET_WORDS: [&str; 7] =
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"];

/// Variables set for every command: no colors, no pagers, no prompts, no bytecode beside the
/// sources, where it would be committed, and no index lock in `git status`, which would conflict
/// with git-cowork's own git.
const SET: [(&str, &str); 7] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Returns the environment of a command. Variables with one of `secrets` in their value are
/// omitted.
pub(crate) fn scrubbed(
    env: &[(OsString, OsString)],
    secrets: &Secrets,
) -> Vec<(OsString, OsString)> {
    let safe = |(name, value): &&(OsString, OsString)| is_safe(name, value, secrets);
    let mut scrubbed: Vec<_> = env.iter().filter(safe).cloned().collect();
    scrubbed.extend(SET.map(|(name, value)| (name.into(), value.into())));
    scrubbed
}

fn is_safe(name: &OsStr, value: &OsStr, secrets: &Secrets) -> bool {
    let (Some(name), value) = (name.to_str(), value.to_string_lossy()) else {
        return false;
    };
    let wanted = [&PLAIN_VARIABLES[..], &INSTALLED, &NAMES].iter().any(|all| all.contains(&name))
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let upper = name.to_uppercase();
    let secret = SECRET_WORDS.iter().any(|word| upper.contains(word));
    // URLs of package indexes may contain a password.
    let login = value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    wanted && !secret && !login && !sets_a_secret(&value) && secrets.for_models(&value) == value
}

/// True if options in the value set a secret, such as `-DkeyStorePassword=…`.
fn sets_a_secret(value: &str) -> bool {
    let upper = value.to_uppercase();
    let mut names = upper.split('=').rev().skip(1);
    names.any(|text| SECRET_WORDS.iter().any(|word| text.ends_with(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_builds_need_gets_through() {
        let env = [
            ("PATH", "/bin"),
            ("LC_ALL", "C.UTF-8"),
            ("npm_config_cache", "/c"),
            ("npm_config__authToken", "x"),
            ("PIP_INDEX_URL", "https://me:pw@pypi.example/simple"),
            ("GOFLAGS", "-x sk-123456"),
            ("MAVEN_OPTS", "-Xmx1g -Djavax.net.ssl.keyStorePassword=hunter2"),
            ("OPENAI_API_KEY", "sk-1"),
            ("COWORK_LLM_API_KEY", "sk-1"),
            ("GITHUB_TOKEN", "t"),
            ("SSH_AUTH_SOCK", "/s"),
            ("GIT_DIR", "/g"),
            ("DBUS_SESSION_BUS_ADDRESS", "unix:"),
            ("TERM", "xterm"),
        ];
        let env = env.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let names: Vec<_> = scrubbed(&env, &Secrets::new(["sk-123456".to_owned()]))
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(
            names,
            [
                "PATH=/bin",
                "LC_ALL=C.UTF-8",
                "npm_config_cache=/c",
                "TERM=dumb",
                "NO_COLOR=1",
                "PAGER=cat",
                "GIT_PAGER=cat",
                "GIT_TERMINAL_PROMPT=0",
                "GIT_OPTIONAL_LOCKS=0",
                "PYTHONDONTWRITEBYTECODE=1"
            ]
        );
    }
}
