//! How much a random search tries: a part of it in `cargo test`, more in `.ci/run`, as much as somebody
//! likes by hand.

/// The number that a variable of the environment has, or the default.
pub fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
