//! Where the settings of a model were set, and the commands that change them.

use std::collections::BTreeMap;

/// Where the settings of a model were set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The model's section: `llm` or `models.NAME`.
    pub(super) section: String,
    /// By key: the dotted key that was set, and the file, variable or option that set it.
    pub(super) set: BTreeMap<&'static str, (String, String)>,
}

impl Default for Places {
    fn default() -> Self {
        Self { section: "llm".to_owned(), set: BTreeMap::new() }
    }
}

impl Places {
    /// The command that sets a key so that the new value takes effect: in the place where the key
    /// is set now, or in one with higher precedence.
    pub fn command(&self, key: &str, value: &str) -> String {
        let default = || (format!("{}.{key}", self.section), String::new());
        let (name, origin) = self.set.get(key).cloned().unwrap_or_else(default);
        let is_variable =
            !origin.is_empty() && origin.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        match origin.as_str() {
            option @ ("--model" | "--base-url") => format!("git cowork {option} {value} doctor"),
            variable if is_variable => format!("export {variable}={value}"),
            // Not in a file: a key is a secret.
            _ if name == "llm.api_key" => format!("export COWORK_LLM_API_KEY={value}"),
            _ => format!("git config cowork.{} {value}", name.replace('_', "")),
        }
    }
}
