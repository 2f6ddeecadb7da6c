//! Git's names: object ids and full reference names, checked when they are read.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// An object id: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal digits. They are stored in place,
/// because a run handles many thousands of ids.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid {
    /// Followed by zeros.
    digits: [u8; 64],
    length: u8,
}

impl Oid {
    /// All digits.
    pub fn as_str(&self) -> &str {
        let digits = &self.digits[..usize::from(self.length)];
        // They are ASCII.
        str::from_utf8(digits).unwrap_or_default()
    }

    /// The id of these 20 or 32 bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let (mut digits, mut length) = ([0; 64], 0);
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
            length += 2;
        }
        Self { digits, length }
    }

    /// The number of bytes that it has in an object: 20 or 32.
    pub(crate) fn bytes(&self) -> usize {
        usize::from(self.length / 2)
    }

    /// The first 7 digits, for display.
    pub fn short(&self) -> &str {
        &self.as_str()[..7]
    }

    /// The first 12 digits, for trailers and documents, in which they have to stay unique for long.
    pub fn abbreviated(&self) -> &str {
        &self.as_str()[..12]
    }

    /// The null id of the same length, which git uses to mean "must not exist".
    pub fn zero_like(&self) -> Self {
        Self::of_bytes(&[0; 32][..usize::from(self.length / 2)])
    }

    /// True for the null id.
    pub fn is_zero(&self) -> bool {
        self.as_str().bytes().all(|b| b == b'0')
    }
}

impl Hash for Oid {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // An id is already a hash, so some of its digits are enough.
        self.digits[..16].hash(state);
    }
}

impl FromStr for Oid {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let length = match text.len() {
            40 => 40,
            64 => 64,
            _ => 0,
        };
        if length == 0 || !text.bytes().all(hex) {
            return Err(Error::repository(format!("'{text}' is not an object id")));
        }
        let mut digits = [0; 64];
        digits[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { digits, length })
    }
}

impl TryFrom<String> for Oid {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.as_str().to_owned()
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({:?})", self.as_str())
    }
}

/// A full reference name such as `refs/heads/main`, valid by `git check-ref-format`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

impl RefName {
    /// Checks a full name.
    ///
    /// # Errors
    /// Git would not accept it, or it does not begin with `refs/`.
    pub fn new(name: impl Into<String>) -> Result<Self, Error> {
        let name = name.into();
        if name.starts_with("refs/") && is_valid(&name) {
            return Ok(Self(name));
        }
        Err(Error::repository(format!("'{name}' is not a valid full reference name")))
    }

    /// A name built from parts that are always valid, such as session names.
    pub(crate) const fn trusted(name: String) -> Self {
        Self(name)
    }

    /// `refs/heads/<short>`.
    ///
    /// # Errors
    /// Git would not accept it.
    pub fn branch(short: &str) -> Result<Self, Error> {
        if short.starts_with('-') || short == "HEAD" {
            return Err(Error::repository(format!("'{short}' is not a valid branch name")));
        }
        Self::new(format!("refs/heads/{short}"))
    }

    /// `refs/tags/<short>`.
    ///
    /// # Errors
    /// Git would not accept it.
    pub fn tag(short: &str) -> Result<Self, Error> {
        Self::new(format!("refs/tags/{short}"))
    }

    /// The full name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without `refs/heads/`, `refs/tags/` or `refs/remotes/`; other names stay whole.
    pub fn short(&self) -> &str {
        ["refs/heads/", "refs/tags/", "refs/remotes/"]
            .iter()
            .find_map(|prefix| self.0.strip_prefix(prefix))
            .unwrap_or(&self.0)
    }
}

impl Borrow<str> for RefName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// The rules of `git check-ref-format`.
fn is_valid(name: &str) -> bool {
    let bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !name.contains(bad)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && name.split('/').count() > 1
        && name
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_ids_of_both_formats() {
        for len in [40, 64] {
            let oid: Oid = "a1".repeat(len / 2).parse().unwrap();
            assert_eq!((oid.abbreviated().len(), oid.zero_like().as_str().len()), (12, len));
            assert_eq!(Oid::of_bytes(&[0xa1].repeat(len / 2)), oid);
        }
        for bad in ["", "HEAD", "abc", &"A".repeat(40), &"g".repeat(40), &"a".repeat(41)] {
            assert!(bad.parse::<Oid>().is_err(), "{bad}");
        }
    }

    #[test]
    fn reference_names_as_git_takes_them() {
        for good in ["refs/heads/main", "refs/heads/cowork/a--b", "refs/tags/ä", "refs/heads/@"] {
            assert!(RefName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "main",
            "refs/",
            "refs/heads/a b",
            "refs/heads/a..b",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a.lock/b",
            "refs/heads/a@{1}",
            "refs/heads//a",
            "refs/heads/a.",
            "refs/heads/a\n",
            "refs/heads/a:b",
            "refs/heads/a*",
        ] {
            assert!(RefName::new(bad).is_err(), "{bad}");
        }
        assert!(RefName::branch("-d").is_err());
        assert_eq!(RefName::branch("cowork/x").unwrap().short(), "cowork/x");
    }
}
