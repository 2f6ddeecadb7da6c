//! Keys in what a user configures under names of their own: headers, parameters, fields of a body.

use super::patterns;

/// Words in the name of something secret.
const WORDS: [&str; 15] = [
    "key",
    "apikey",
    "token",
    "secret",
    "auth",
    "authorization",
    "authentication",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "credentials",
    "cookie",
    "signature",
    "sig",
];

/// Random characters in a row that nobody writes who means words.
const LONG: usize = 20;

/// What of a named value is a key: all of it where its name says so, else the words that look like
/// one. Schemes such as `Bearer` are none.
pub fn of_setting(name: &str, value: &str) -> Vec<String> {
    let named = is_secret_name(name);
    let words = value.split(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '='));
    let mut keys: Vec<String> = words
        .filter(|word| !word.is_empty() && (named && !is_scheme(word) || looks_random(word)))
        .map(str::to_owned)
        .collect();
    if named && keys.len() != 1 {
        keys.push(value.to_owned());
    }
    keys
}

/// What of a value of git's configuration is a key: the password of an address, a header, a value
/// whose name says so. `name` is as git has it: `remote.origin.url`.
pub fn of_git_config(name: &str, value: &str) -> Vec<String> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let mut keys = Vec::new();
    if name.starts_with("cowork.") {
        // Those that are keys are known already.
        return keys;
    }
    for text in [name, value] {
        let login = text.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        let login = login.map(|(login, _)| login).filter(|login| !login.contains('/'));
        keys.extend(login.map(|login| match login.split_once(':') {
            Some((_, password)) => password.to_owned(),
            // A bare name is one, unless it is as long as tokens are.
            None if login.len() >= LONG => login.to_owned(),
            None => String::new(),
        }));
    }
    if last == "extraheader" {
        if let Some((header, value)) = value.split_once(':') {
            keys.extend(of_setting(header, value.trim()));
        }
    } else if is_secret_name(last) || last.ends_with("pass") {
        keys.push(value.to_owned());
    }
    keys
}

/// `prompt_cache_key` and the like are names.
fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    has_secret(&words) && !words.iter().any(|word| word == "cache")
}

/// Whether one of the words of a text, however they are joined, means something secret.
pub fn has_secret_word(text: &str) -> bool {
    has_secret(&words(text))
}

fn has_secret(words: &[String]) -> bool {
    words.iter().any(|word| WORDS.contains(&word.as_str()))
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower_before = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && lower_before {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        lower_before = c.is_lowercase();
    }
    words
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "digest", "token", "key"].contains(&word.to_lowercase().as_str())
}

fn looks_random(word: &str) -> bool {
    let mut runs = word.split(|c: char| !c.is_ascii_alphanumeric());
    let random = |run: &str| {
        let has = |kind: fn(&char) -> bool| run.chars().any(|c| kind(&c));
        run.len() >= LONG && has(char::is_ascii_digit) && has(char::is_ascii_alphabetic)
    };
    runs.any(random) || !patterns::find(word.as_bytes()).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_like_a_key_is_one() {
        assert_eq!(of_setting("Authorization", "Bearer abc123def"), ["abc123def"]);
        assert_eq!(of_setting("api-key", "abc123def"), ["abc123def"]);
        for name in ["x-api-key", "cfAccessClientSecret", "helicone-auth", "X_TOKEN", "apiKey"] {
            assert_eq!(of_setting(name, "abc123def"), ["abc123def"], "{name}");
        }
        let cookie = of_setting("cookie", "session=abc123def; theme=dark");
        assert!(cookie.contains(&"abc123def".to_owned()), "{cookie:?}");
        let phrase = of_setting("password", "two words");
        assert!(phrase.contains(&"two words".to_owned()), "{phrase:?}");
    }

    #[test]
    fn ordinary_settings_are_none() {
        for (name, value) in [
            ("api-version", "2024-10-21"),
            ("anthropic-beta", "interleaved-thinking-2025-05-14,context-1m-2025-08-07"),
            ("accept", "application/json"),
            ("x-title", "git-cowork"),
            ("tokenizer", "cl100k_base"),
            ("monkey", "see"),
            ("max_tokens", "4096"),
            ("prompt_cache_key", "my-project"),
        ] {
            assert!(of_setting(name, value).is_empty(), "{name}");
        }
    }

    #[test]
    fn what_looks_like_a_key_is_one_whatever_its_name() {
        let random = "9f86d081884c7d659a2feaa0c55ad015";
        assert_eq!(of_setting("x-team", random), [random]);
        let hosted = format!("sk-ant-{}", "api03-abcDEF_ghi-JKL456-mno789-pqr012-stu345");
        assert_eq!(of_setting("x-team", &hosted), [hosted]);
    }
}
