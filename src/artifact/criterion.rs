//! An acceptance criterion of a requirement, and the test for it.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A criterion of a requirement. In JSON, a criterion without a test is a plain string.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Criterion {
    /// The condition.
    pub text: String,
    /// `file::name` of the test for the condition.
    pub test: Option<String>,
    /// The test must fail on the base commit.
    pub fails_before: bool,
}

#[derive(Serialize, Deserialize)]
struct WithTest {
    #[serde(default)]
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    fails_before: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    Full(WithTest),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Serialize for Criterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.test.is_none() {
            return serializer.serialize_str(&self.text);
        }
        let (text, test) = (self.text.clone(), self.test.clone());
        WithTest { text, test, fails_before: self.fails_before }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Criterion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => text.into(),
            Either::Full(WithTest { text, test, fails_before }) => {
                let test = test.filter(|test| !test.trim().is_empty());
                let fails_before = fails_before && test.is_some();
                Self { text, test, fails_before }
            }
        })
    }
}

impl From<String> for Criterion {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Criterion {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_criterion_without_a_test_is_a_string() {
        for (json, text, test, fails_before) in [
            (r#""it ends""#, "it ends", None, false),
            (r#"{"text":"t","test":"a.rs::b"}"#, "t", Some("a.rs::b"), false),
            (r#"{"text":"t","test":"a.rs::b","fails_before":true}"#, "t", Some("a.rs::b"), true),
        ] {
            let read: Criterion = serde_json::from_str(json).unwrap();
            let test = test.map(str::to_owned);
            assert_eq!(read, Criterion { text: text.to_owned(), test, fails_before });
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
        }
        let bare: Criterion = serde_json::from_str(r#"{"text":"t","fails_before":true}"#).unwrap();
        assert_eq!(bare, "t".into());
    }
}
