//! Removes credentials from package managers' configuration for the fetch step, which has network
//! access.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::secret::has_secret_word;

/// Variables that name files with credentials; the fetch step does not get them.
const CONFIGURED: [&str; 6] = [
    "npm_config_userconfig",
    "npm_config_globalconfig",
    "NPM_CONFIG_USERCONFIG",
    "NPM_CONFIG_GLOBALCONFIG",
    "PIP_CONFIG_FILE",
    "UV_CONFIG_FILE",
];

/// Variables that keep the fetch step from using, asking for or storing credentials: git's
/// configuration names credential helpers and URLs with passwords, ssh finds its keys regardless of
/// `HOME`, and Python has keyrings.
const WITHOUT_LOGIN: [(&str, &str); 10] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ASKPASS", "true"),
    ("SSH_ASKPASS", "true"),
    ("GIT_SSH_COMMAND", "false"),
    ("PIP_KEYRING_PROVIDER", "disabled"),
    ("UV_KEYRING_PROVIDER", "disabled"),
    ("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring"),
    ("GOAUTH", "off"),
    ("CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS", "cargo:token"),
];

/// Pip's configuration file outside the home.
const PIP_CONFIGURATION: &str = "/etc/pip.conf";

/// Removes all access to credentials from an environment.
pub(super) fn take_out(env: &mut BTreeMap<OsString, OsString>) {
    for name in CONFIGURED {
        env.remove(OsStr::new(name));
    }
    env.extend(WITHOUT_LOGIN.map(|(name, value)| (name.into(), value.into())));
    if std::fs::read_to_string(PIP_CONFIGURATION).is_ok_and(|text| holds(&text)) {
        env.insert("PIP_CONFIG_FILE".into(), "/dev/null".into());
    }
}

/// Returns line-based settings without the lines that contain credentials and the lines indented
/// below them.
pub(super) fn lines_without(text: &str) -> String {
    let mut left = String::new();
    let mut gone: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let is_below = gone.is_some_and(|above| indent > above && !line.trim().is_empty());
        if !is_below {
            gone = (has_secret_word(line) || holds(line)).then_some(indent);
        }
        if gone.is_none() {
            left.push_str(line);
            left.push('\n');
        }
    }
    left
}

/// True if a URL in this text contains a password.
pub(super) fn holds(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '"', '\'', ' ', '\n']).next().unwrap_or_default();
        host.contains('@')
    })
}

/// Returns Cargo's configuration without credentials and credential providers; `None` if it is
/// invalid.
pub(super) fn without(text: &str) -> Option<String> {
    fn clear(table: &mut toml::Table) {
        table.retain(|key, value| !has_secret_word(key) && !value.as_str().is_some_and(holds));
        for (_, value) in table.iter_mut() {
            if let Some(inner) = value.as_table_mut() {
                clear(inner);
            }
        }
    }
    let mut table: toml::Table = text.parse().ok()?;
    clear(&mut table);
    toml::to_string(&table).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_credentials_are_removed_from_a_configuration() {
        let text = r#"
            [registries.private]
            index = "sparse+https://r.example/"
            token = "s3cret"
            credential-provider = ["/usr/bin/pass", "show"]
            [registry]
            global-credential-providers = ["cargo:libsecret"]
            [http]
            proxy = "http://me:s3cret@proxy.example:8080"
            cainfo = "/etc/ca.pem"
            [source.crates-io]
            replace-with = "mirror"
            [env]
            OPENSSL_DIR = "/opt/ssl"
            SIGNING_KEY = "s3cret"
        "#;
        let left = without(text).unwrap();
        for kept in ["sparse+https://r.example/", "cainfo", "replace-with", "OPENSSL_DIR"] {
            assert!(left.contains(kept), "{left}");
        }
        for gone in ["s3cret", "credential"] {
            assert!(!left.contains(gone), "{left}");
        }
        assert_eq!(without("token = "), None);
    }

    #[test]
    fn lines_with_credentials_and_their_indented_lines_are_removed() {
        let text = "registry=https://r.example/\n//r.example/:_authToken=s3cret\n\
                    npmScopes:\n  own:\n    npmAuthIdent:\n      me:s3cret\n    npmRegistryServer: r\n\
                    proxy=http://me:s3cret@p.example\n//cache.example/:_password=s3cret\nsave=true\n";
        let left = lines_without(text);
        assert_eq!(
            left,
            "registry=https://r.example/\nnpmScopes:\n  own:\n    npmRegistryServer: r\nsave=true\n"
        );
    }

    #[test]
    fn a_password_in_a_url_is_detected() {
        assert!(holds("index-url = https://me:pw@r.example/simple"));
        assert!(!holds("index-url = https://r.example/simple\n# mail me@r.example"));
        assert!(!holds("https://r.example/@scope/x"));
    }
}
