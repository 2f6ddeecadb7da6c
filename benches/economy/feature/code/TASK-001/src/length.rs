//! A limit of characters.

/// At most so many characters; any number without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MaxLength(Option<usize>);

impl MaxLength {
    pub(crate) fn new(max: usize) -> Self {
        Self(Some(max))
    }

    /// Whether a text of so many characters may get one more.
    pub(crate) fn has_room(self, length: usize) -> bool {
        self.0.map_or(true, |max| length < max)
    }

    /// The limit, if a text exceeds it.
    pub(crate) fn exceeded_by(self, text: &str) -> Option<usize> {
        self.0.filter(|max| text.chars().count() > *max)
    }

    /// The beginning of a text that fits.
    pub(crate) fn cut(self, text: &str) -> &str {
        let end = self.0.and_then(|max| text.char_indices().nth(max));
        match end {
            Some((end, _)) => &text[..end],
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_characters_are_counted() {
        let max = MaxLength::new(6);
        assert_eq!(max.exceeded_by("häuser"), None);
        assert_eq!(max.exceeded_by("häusern"), Some(6));
        assert!(max.has_room(5) && !max.has_room(6));
    }

    #[test]
    fn test_cut() {
        assert_eq!(MaxLength::new(3).cut("häuser"), "häu");
        assert_eq!(MaxLength::new(3).cut("hä"), "hä");
        assert_eq!(MaxLength::new(0).cut("hä"), "");
    }

    #[test]
    fn test_without_a_limit_everything_fits() {
        let max = MaxLength::default();
        assert_eq!(max.cut("häuser"), "häuser");
        assert!(max.has_room(usize::MAX) && max.exceeded_by("häuser").is_none());
    }
}
