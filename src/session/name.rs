//! Session names.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Folder of all sessions, relative to the top of the working tree.
pub const SESSIONS: &str = ".cowork/sessions";

/// Longest session name, in characters.
const MAX_NAME: usize = 64;
/// Longest slug made from an idea, in characters.
const MAX_SLUG: usize = 40;
/// The slug of an idea that contains no usable characters.
const NAMELESS: &str = "session";

/// A valid session name: `todo-cli`, or `todo-cli--due-dates` for a change request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

impl SessionName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// For `todo-cli--due-dates`: the session `todo-cli` and the change `due-dates`.
    pub fn patch_parts(&self) -> Option<(&str, &str)> {
        self.0.split_once("--")
    }

    /// Folder of the session's documents, relative to the top of the working tree. A change request
    /// works on its parent's documents.
    pub fn artifact_dir(&self) -> String {
        let owner = self.patch_parts().map_or(self.as_str(), |(parent, _)| parent);
        format!("{SESSIONS}/{owner}")
    }

    /// Folder of the session's own records.
    pub fn record_dir(&self) -> String {
        match self.patch_parts() {
            Some((parent, change)) => format!("{SESSIONS}/{parent}/changes/{change}"),
            None => self.artifact_dir(),
        }
    }

    /// The name of a change request for this session. A change request for a change request becomes
    /// its sibling.
    ///
    /// # Errors
    /// Exit 2: the combined name is too long, or `change` has a double dash.
    pub fn change(&self, change: &Self) -> Result<Self, Error> {
        let parent = self.patch_parts().map_or(self.as_str(), |(parent, _)| parent);
        let change = match change.patch_parts() {
            // The full name of the change request was given.
            Some((same, change)) if same == parent => change,
            _ => change.as_str(),
        };
        format!("{parent}--{change}").parse()
    }

    /// Like [`Self::change`], from a description that is cut at a word boundary if it is too long.
    ///
    /// # Errors
    /// Exit 2: the session's name is so long that no change's name fits after it.
    pub fn change_named_after(&self, words: &str) -> Result<Self, Error> {
        let parent = self.patch_parts().map_or(self.as_str(), |(parent, _)| parent);
        let room = MAX_NAME.saturating_sub(parent.len() + "--".len());
        let mut change = slug(words).0;
        while change.len() > room {
            match change.rsplit_once('-') {
                Some((head, _)) => change = head.to_owned(),
                None => change.truncate(room),
            }
        }
        self.change(&Self(change)).map_err(|_| {
            Error::usage(format!("'{parent}' is too long: a change's name does not fit after it"))
                .hint("start the change as a session of its own: git cowork new")
        })
    }

    /// The same name with the suffix `-2`, `-3`, …
    pub fn numbered(&self, number: u32) -> Self {
        if number < 2 {
            return self.clone();
        }
        let suffix = format!("-{number}");
        let keep = self.0.len().min(MAX_NAME - suffix.len());
        Self(format!("{}{suffix}", self.0[..keep].trim_end_matches('-')))
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn is_slug(s: &str) -> bool {
    !s.is_empty()
        && s.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

impl FromStr for SessionName {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        let valid = match s.split_once("--") {
            Some((parent, change)) => is_slug(parent) && is_slug(change),
            None => is_slug(s),
        };
        if valid && s.len() <= MAX_NAME {
            Ok(Self(s.to_owned()))
        } else {
            Err(Error::usage(format!("'{s}' is not a session name")).hint(
                "use lower-case letters, digits and single dashes, at most 64 characters: todo-cli",
            ))
        }
    }
}

/// True if [`slug`] finds usable characters in these words.
pub fn makes_a_name(words: &str) -> bool {
    slug(words).as_str() != NAMELESS
}

/// A session name for an idea: ASCII-folded, lower case, everything else a dash, cut at a word.
pub fn slug(idea: &str) -> SessionName {
    let mut out = String::new();
    for c in idea.chars() {
        match fold(c) {
            Some(folded) => out.push_str(folded),
            None if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            None => {
                if !out.is_empty() && !out.ends_with('-') {
                    out.push('-');
                }
            }
        }
        // Long enough to contain the end of the word at the limit.
        if out.len() > 4 * MAX_SLUG {
            break;
        }
    }
    let mut cut = out.trim_end_matches('-');
    if cut.len() > MAX_SLUG {
        let head = &cut[..MAX_SLUG];
        cut = if cut.as_bytes()[MAX_SLUG] == b'-' {
            head
        } else {
            head.rsplit_once('-').map_or(head, |(words, _)| words)
        };
    }
    let cut = cut.trim_matches('-');
    SessionName(if cut.is_empty() { NAMELESS.to_owned() } else { cut.to_owned() })
}

/// ASCII spelling of the most common accented Latin letters; other characters become dashes.
fn fold(c: char) -> Option<&'static str> {
    Some(match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'Ä' | 'å' | 'ā' | 'ą' | 'ă' | 'À' | 'Á' | 'Â' | 'Ã' | 'Å'
        | 'Ā' | 'Ą' => "a",
        'æ' | 'Æ' => "ae",
        'ç' | 'ć' | 'č' | 'Ç' | 'Ć' | 'Č' => "c",
        'ď' | 'đ' | 'ð' | 'Ď' | 'Đ' => "d",
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' | 'È' | 'É' | 'Ê' | 'Ë' | 'Ę' | 'Ě' => {
            "e"
        }
        'ğ' | 'Ğ' => "g",
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' | 'Ì' | 'Í' | 'Î' | 'Ï' | 'İ' => "i",
        'ł' | 'Ł' => "l",
        'ñ' | 'ń' | 'ň' | 'Ñ' | 'Ń' | 'Ň' => "n",
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'Ö' | 'ø' | 'ō' | 'ő' | 'Ò' | 'Ó' | 'Ô' | 'Õ' | 'Ø' | 'Ő' => {
            "o"
        }
        'œ' | 'Œ' => "oe",
        'ř' | 'Ř' => "r",
        'ś' | 'š' | 'ş' | 'Ś' | 'Š' | 'Ş' => "s",
        'ß' => "ss",
        'ť' | 'ţ' | 'Ť' | 'Ţ' => "t",
        'ù' | 'ú' | 'û' | 'ü' | 'Ü' | 'ū' | 'ů' | 'ű' | 'Ù' | 'Ú' | 'Û' | 'Ů' | 'Ű' => {
            "u"
        }
        'ý' | 'ÿ' | 'Ý' => "y",
        'ź' | 'ż' | 'ž' | 'Ź' | 'Ż' | 'Ž' => "z",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_valid() {
        for good in ["a", "todo-cli", "v2", "todo--due-dates", &"a".repeat(64)] {
            assert!(good.parse::<SessionName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a--b--c", "a---b", "../x", &"a".repeat(65), "ä"] {
            assert!(bad.parse::<SessionName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_slug_is_readable_and_cut_at_a_word() {
        assert_eq!(slug("A todo list for the terminal!").as_str(), "a-todo-list-for-the-terminal");
        assert_eq!(slug("  Größe & Übersicht — déjà vu").as_str(), "grosse-ubersicht-deja-vu");
        assert_eq!(slug("日本語").as_str(), "session");
        assert_eq!(
            slug("an extraordinarily long description of something simple").as_str(),
            "an-extraordinarily-long-description-of"
        );
        assert_eq!(slug(&"x".repeat(100)).as_str(), "x".repeat(40));
        assert!(slug("--leading").as_str().parse::<SessionName>().is_ok());
    }

    #[test]
    fn numbers_never_make_a_name_too_long() {
        let long: SessionName = "a".repeat(64).parse().unwrap();
        assert_eq!(long.numbered(12).as_str().len(), 64);
        assert_eq!(slug("todo").numbered(2).as_str(), "todo-2");
    }

    #[test]
    fn changes_are_named_after_their_session() {
        let name = |text: &str| text.parse::<SessionName>().unwrap();
        let todo = name("todo");
        assert_eq!(todo.change(&name("due")).unwrap().as_str(), "todo--due");
        assert_eq!(todo.change(&name("todo--due")).unwrap().as_str(), "todo--due");
        assert_eq!(name("todo--due").change(&name("sort")).unwrap().as_str(), "todo--sort");
        assert!(todo.change(&name("other--due")).is_err());
        let change = |parent: &SessionName, words: &str| parent.change_named_after(words);
        assert_eq!(change(&todo, "Add due dates!").unwrap().as_str(), "todo--add-due-dates");
        let long = name(&"a".repeat(40));
        let cut = change(&long, "an extraordinarily long description").unwrap();
        assert_eq!(cut.as_str(), format!("{long}--an-extraordinarily"));
        assert_eq!(change(&name(&"a".repeat(60)), "due dates").unwrap().as_str().len(), 64);
        assert!(change(&name(&"a".repeat(63)), "due dates").is_err());
    }

    #[test]
    fn a_patch_works_in_its_parents_directory() {
        let name: SessionName = "todo--due".parse().unwrap();
        assert_eq!(name.artifact_dir(), ".cowork/sessions/todo");
        assert_eq!(name.record_dir(), ".cowork/sessions/todo/changes/due");
    }
}
