//! Paths as text, also those that are not UTF-8, so that a file that git names can be found.
//!
//! Unix allows any bytes in a name, and trees from older systems have names in Latin-1 or CP 850.
//! Each byte that cannot be decoded becomes one of the last characters of Unicode's private use
//! planes, from U+10FF80 on, as Python does with surrogates (PEP 383), which Rust's text cannot hold.

use std::borrow::Cow;
use std::path::Path;

/// The character of an undecodable byte is this much larger.
const OFFSET: u32 = 0x10_ff00;

/// The text of a path.
pub fn decoded(bytes: &[u8]) -> String {
    // Text that can be decoded as a whole is checked much faster than piece by piece.
    if let Ok(text) = str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(
            chunk.invalid().iter().filter_map(|byte| char::from_u32(OFFSET + u32::from(*byte))),
        );
    }
    text
}

/// The path of a text, as the system knows it.
pub fn encoded(text: &str) -> Cow<'_, Path> {
    let plain = Cow::Borrowed(Path::new(text));
    if !text.contains(is_undecodable) {
        return plain;
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(OFFSET)) {
            Ok(byte) if is_undecodable(c) => bytes.push(byte),
            _ => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    // Bytes that can be decoded have another text, which was examined: `.g` and `it` with a character
    // between them that a file system ignores must not come from here.
    if decoded(&bytes) == text { on_disk(bytes).unwrap_or(plain) } else { plain }
}

/// A path in JSON, for `#[serde(with)]`; serde's own form of a path has to be UTF-8.
pub mod json {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Writes a path as text.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::decoded(path.as_os_str().as_encoded_bytes()))
    }

    /// Reads it.
    ///
    /// # Errors
    /// The deserializer's.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(from)?;
        Ok(super::encoded(&text).into_owned())
    }
}

/// Like [`json`], for a path that may be missing.
pub mod json_option {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct PathJson(#[serde(with = "super::json")] PathBuf);

    /// Writes a path as text.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.clone().map(PathJson).serialize(to)
    }

    /// Reads it.
    ///
    /// # Errors
    /// The deserializer's.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<PathJson>::deserialize(from)?.map(|text| text.0))
    }
}

/// Like [`json`], for a list of paths.
pub mod json_list {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct PathJson(#[serde(with = "super::json")] PathBuf);

    /// Writes paths as texts.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().cloned().map(PathJson))
    }

    /// Reads them.
    ///
    /// # Errors
    /// The deserializer's.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<PathJson>::deserialize(from)?.into_iter().map(|text| text.0).collect())
    }
}

/// A path for people and models: each undecodable byte is `U+FFFD`, as usual.
pub fn shown(text: &str) -> String {
    text.replace(is_undecodable, "\u{fffd}")
}

/// True for the character of an undecodable byte.
pub fn is_undecodable(c: char) -> bool {
    u32::from(c) >= OFFSET + 0x80
}

#[cfg(unix)]
fn on_disk(bytes: Vec<u8>) -> Option<Cow<'static, Path>> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(Cow::Owned(std::ffi::OsString::from_vec(bytes).into()))
}

#[cfg(not(unix))]
fn on_disk(_bytes: Vec<u8>) -> Option<Cow<'static, Path>> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn every_name_comes_back_as_it_was() {
        for name in [
            &b"plain"[..],
            b"b\xffd.db",
            b"sub/\x82t\x82",
            b"\xc3\xa9\xc3",
            b"\xe2\x80",
            "\u{fffd}".as_bytes(),
        ] {
            let text = decoded(name);
            assert_eq!(encoded(&text).as_os_str().as_bytes(), name, "{text:?}");
        }
        assert_ne!(decoded(b"\xff"), decoded(b"\xfe"), "two files must not have one text");
    }

    #[test]
    fn a_decodable_name_has_one_text_only() {
        let hidden: String = b"\xe2\x80\x8c"
            .iter()
            .map(|b| char::from_u32(OFFSET + u32::from(*b)).unwrap())
            .collect();
        let text = format!(".g{hidden}it");
        assert_eq!(encoded(&text), Path::new(&text));
    }
}
