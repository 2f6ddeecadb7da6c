//! Keys in settings with user-chosen names: headers, parameters, fields of a request body.

use super::patterns;

/// Words in the names of secret settings.
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

/// Minimum length of a run of random characters; ordinary words are shorter.
const LONG: usize = 20;

/// Returns the keys in a named value: the whole value if its name is that of a secret, otherwise
/// the words that look like a key. Schemes such as `Bearer` are not keys.
pub fn of_setting(name: &str, value: &str) -> Vec<String> {
    let is_secret = is_secret_name(name);
    let words = value.split(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '='));
    let mut keys: Vec<String> = words
        .filter(|word| !word.is_empty() && (is_secret && !is_scheme(word) || looks_random(word)))
        .map(str::to_owned)
        .collect();
    if is_secret && keys.len() != 1 {
        keys.push(value.to_owned());
    }
    keys
}

/// Returns the keys in a git setting: the password in a URL, a header's value, or the value of a
/// setting with a secret's name. `name` is the full name: `remote.origin.url`.
pub fn of_git_config(name: &str, value: &str) -> Vec<String> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let mut keys = Vec::new();
    if name.starts_with("cowork.") {
        // The keys among git-cowork's own settings are already known.
        return keys;
    }
    for text in [name, value] {
        let login = text.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
        let login = login.map(|(login, _)| login).filter(|login| !login.contains('/'));
        keys.extend(login.map(|login| match login.split_once(':') {
            Some((_, password)) => password.to_owned(),
            // A login without a password is a user name, unless it is as long as a token.
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

/// True for the name of a secret; `prompt_cache_key` and the like name no secrets.
fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    has_secret(&words) && !words.iter().any(|word| word == "cache")
}

/// True if one of the words in a text, however they are joined, names a secret.
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
    fn settings_named_like_keys_are_keys() {
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
    fn ordinary_settings_are_not_keys() {
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
    fn values_that_look_like_keys_are_keys_under_any_name() {
        let random = "9f86d081884c7d659a2feaa0c55ad015";
        assert_eq!(of_setting("x-team", random), [random]);
        let hosted = format!("sk-ant-{}", "api03-abcDEF_ghi-JKL456-mno789-pqr012-stu345");
        assert_eq!(of_setting("x-team", &hosted), [hosted]);
    }
}
