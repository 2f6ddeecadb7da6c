//! Suggestions for mistyped words.

use strsim::osa_distance;

/// Returns the most likely intended candidate: the only one that starts with the word, or else the
/// one with the smallest edit distance, if that is at most half the number of the word's letters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    let mut begun = candidates.iter().filter(|one| !word.is_empty() && one.starts_with(word));
    if let (Some(only), None) = (begun.next(), begun.next()) {
        return Some(only);
    }
    let most = word.chars().count() / 2;
    let small = word.to_lowercase();
    let near = candidates.into_iter().map(|one| (osa_distance(&small, &one.to_lowercase()), one));
    near.filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|n| n.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_corrected_and_other_words_are_not() {
        let words = ["status", "show", "revert", "review", "restore"];
        let found = |word| nearest(word, words);
        assert_eq!(found("stauts"), Some("status"));
        assert_eq!(found("reviw"), Some("review"));
        assert_eq!(found("rest"), Some("restore"));
        assert_eq!(found("SHOW"), Some("show"));
        assert_eq!((found("lunch"), found("x"), found("")), (None, None, None));
    }
}
