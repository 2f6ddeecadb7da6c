//! Logins in the configuration of package managers, which the step with the network goes without.

/// Keys of cargo's configuration that hold a login or name a program that has one, wherever they are
/// (<https://doc.rust-lang.org/cargo/reference/config.html>).
const KEYS: [&str; 6] = [
    "token",
    "secret-key",
    "credential-provider",
    "global-credential-providers",
    "credential-alias",
    "env",
];

/// Whether an address in this text has a password in it.
pub(super) fn holds(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let host = rest.split(['/', '"', '\'', ' ', '\n']).next().unwrap_or_default();
        host.contains('@')
    })
}

/// Cargo's configuration without any; none where it cannot be read.
pub(super) fn without(text: &str) -> Option<String> {
    fn clear(table: &mut toml::Table) {
        table.retain(|key, value| !KEYS.contains(&key) && !value.as_str().is_some_and(holds));
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
    fn a_configuration_keeps_all_but_logins() {
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
        "#;
        let left = without(text).unwrap();
        for kept in ["sparse+https://r.example/", "cainfo", "replace-with"] {
            assert!(left.contains(kept), "{left}");
        }
        for gone in ["s3cret", "credential"] {
            assert!(!left.contains(gone), "{left}");
        }
        assert_eq!(without("token = "), None);
    }

    #[test]
    fn a_password_is_known_in_an_address() {
        assert!(holds("index-url = https://me:pw@r.example/simple"));
        assert!(!holds("index-url = https://r.example/simple\n# mail me@r.example"));
        assert!(!holds("https://r.example/@scope/x"));
    }
}
