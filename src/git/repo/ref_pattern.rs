//! The patterns of `git for-each-ref`: which names match one, and the folders in which those are.

/// The name or folder of all that matches a pattern.
pub(crate) fn place_of(pattern: &str) -> String {
    let place = match pattern.split_once('*') {
        Some((fixed, _)) => fixed.rsplit_once('/').unwrap_or_default().0,
        None => pattern.trim_end_matches('/'),
    };
    place.to_owned()
}

/// All these places, without those in another.
pub(crate) fn joined(had: &[String], new: Vec<String>) -> Vec<String> {
    let others = had.iter().filter(|place| !is_in(place, &new)).cloned();
    others.chain(new.iter().cloned()).collect()
}

/// True if a place is one of these, or in one of these folders.
pub(crate) fn is_in(place: &str, places: &[String]) -> bool {
    let below = |folder: &String| {
        let rest = place.strip_prefix(folder.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    places.iter().any(below)
}

/// True if a name matches a pattern by the rules of `git for-each-ref`.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
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
fn fits(pattern: &str, name: &str) -> bool {
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
