//! Patterns of reference names, matched by the rules of `git for-each-ref`.

use anyhow::{Result, ensure};

/// Prefixes of the references that are separate in each working tree.
const PER_WORKTREE: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// Returns the pattern if [`matches`] can match it.
///
/// # Errors
/// Only git can match it, or it may match per-worktree references.
pub(super) fn check(pattern: &str) -> Result<String> {
    ensure!(!pattern.contains(['?', '[', '\\']), "only git can match {pattern}");
    let fixed = pattern.split('*').next().unwrap_or_default();
    ensure!(is_shared(fixed), "{pattern} matches per-worktree references");
    Ok(pattern.to_owned())
}

/// True if all working trees share all references that start with `beginning`.
pub(super) fn is_shared(beginning: &str) -> bool {
    let own = |own: &&str| own.starts_with(beginning) || beginning.starts_with(*own);
    beginning.starts_with("refs/") && !PER_WORKTREE.iter().any(own)
}

/// True if a name matches a pattern by the rules of `git for-each-ref`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if pattern.contains('*') {
        let (mut parts, mut segments) = (name.split('/'), pattern.split('/'));
        return loop {
            match (segments.next(), parts.next()) {
                (None, None) => break true,
                (Some(segment), Some(part)) if fits(segment, part) => {}
                _ => break false,
            }
        };
    }
    let rest = name.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || pattern.ends_with('/'))
        && !(pattern.ends_with('/') && name == pattern)
}

/// True if a name without slashes matches a pattern, in which each `*` matches any text.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}
