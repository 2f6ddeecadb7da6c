//! Names of artifacts, the [`Files`] trait that reads and writes them, and the typed [`Store`].

use anyhow::Context as _;
use console::measure_text_width;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    ChangeRequest, DesignSpec, FeatureList, Feedback, IdFloors, Plan, Requirements, SessionFile,
    records_of,
};
use crate::error::Error;

/// The session that owns an artifact in a change request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The session that is changed: the file is edited in place.
    Parent,
    /// The change request itself.
    Change,
}

macro_rules! artifacts {
    ($($artifact:ident = $file_name:literal, $owner:ident, $tool:literal;)*) => {
        /// One file of a session's directory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Artifact {
            $(#[doc = concat!("`", $file_name, "`")] $artifact,)*
        }

        impl Artifact {
            /// Every artifact.
            pub const ALL: [Self; [$($file_name),*].len()] = [$(Self::$artifact),*];

            /// Returns the file's name inside the session's directory.
            pub const fn file_name(self) -> &'static str {
                match self {
                    $(Self::$artifact => $file_name,)*
                }
            }

            const fn owner(self) -> Owner {
                match self {
                    $(Self::$artifact => Owner::$owner,)*
                }
            }

            /// Returns the tool that saves the artifact, as a name or a description such as `the
            /// record tools`.
            pub const fn save_tool(self) -> &'static str {
                match self {
                    $(Self::$artifact => $tool,)*
                }
            }
        }
    };
}

// The artifacts in the order in which a session writes them, each with its file name, its owner in
// a change request, and the tool that saves it.
artifacts! {
    Session = "session.json", Change, "the record tools";
    Idea = "idea.md", Parent, "save_idea";
    Prd = "prd.md", Parent, "save_prd_doc";
    Requirements = "requirements.json", Parent, "the record tools";
    Features = "feature_list.json", Parent, "the record tools";
    Design = "design.md", Parent, "save_design_doc";
    DesignSpec = "design_spec.json", Parent, "the record tools";
    Plan = "plan.md", Parent, "save_plan_doc";
    ImplementationPlan = "implementation_plan.json", Parent, "the record tools";
    Feedback = "feedback_history.json", Change, "the record tools";
    CheckReport = "check_report.md", Change, "save_check_report";
    DeliveryReport = "delivery_report.md", Change, "save_delivery_report";
    ChangeRequest = "change_request.json", Change, "save_change_request";
}

impl Artifact {
    /// Returns the artifact with this file name.
    pub fn named(file_name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|artifact| artifact.file_name() == file_name)
    }

    /// Returns the document whose sections contain these records, in a session that has it.
    pub const fn document(self) -> Option<Self> {
        match self {
            Self::Requirements | Self::Features => Some(Self::Prd),
            Self::DesignSpec => Some(Self::Design),
            Self::ImplementationPlan => Some(Self::Plan),
            _ => None,
        }
    }

    /// True for records, false for documents.
    pub fn is_json(self) -> bool {
        self.file_name().ends_with(".json")
    }

    /// Returns the path of the artifact. `artifact_dir` and `record_dir` are the same directory,
    /// except in a change request.
    pub fn path_in(self, artifact_dir: &str, record_dir: &str) -> String {
        let dir = if self.owner() == Owner::Change { record_dir } else { artifact_dir };
        format!("{dir}/{}", self.file_name())
    }
}

/// The artifacts of one session, in a working tree, a commit or memory.
pub trait Files {
    /// Returns the text of an artifact, or `None` if it does not exist.
    fn read(&self, artifact: Artifact) -> anyhow::Result<Option<String>>;

    /// Replaces the text of an artifact atomically.
    fn write(&self, artifact: Artifact, text: &str) -> anyhow::Result<()>;
}

/// Formats JSON as git-cowork writes it: indented, in field order, with a final newline.
pub fn render_json<T: Serialize>(value: &T) -> anyhow::Result<String> {
    Ok(with_short_lists(&serde_json::to_string_pretty(value).context("writing JSON")?))
}

/// Columns that prettier fills.
const COLUMNS: usize = 80;

/// Pretty JSON with a list of plain values on one line where it fits, as prettier writes it: its
/// hook would change every file otherwise.
fn with_short_lists(pretty: &str) -> String {
    let lines: Vec<&str> = pretty.lines().collect();
    let mut out = String::with_capacity(pretty.len());
    let mut next = 0;
    while let Some(line) = lines.get(next) {
        let list = line.ends_with('[').then(|| &lines[next + 1..]);
        let is_plain = |item: &&str| !item.trim_end_matches(',').ends_with(['{', '[', ']', '}']);
        let end = list.and_then(|rest| rest.iter().position(|item| !is_plain(item)));
        let items = list.zip(end).filter(|(rest, end)| rest[*end].trim_start().starts_with(']'));
        let folded = items.map(|(rest, end)| {
            let items: Vec<&str> = rest[..end].iter().map(|item| item.trim_start()).collect();
            format!("{line}{}{}", items.join(" "), rest[end].trim_start())
        });
        match folded.filter(|folded| measure_text_width(folded) <= COLUMNS) {
            Some(folded) => {
                out.push_str(&folded);
                next += end.unwrap_or_default() + 2;
            }
            None => {
                out.push_str(line);
                next += 1;
            }
        }
        out.push('\n');
    }
    out
}

/// Maximum size of a record file in bytes; even in the longest sessions, such a file has only a few
/// hundred kilobytes.
pub(super) const LARGEST: usize = 16 * 1024 * 1024;

/// Parses an artifact's JSON; the error names the file and the position.
pub fn read_json<T: DeserializeOwned>(artifact: Artifact, text: &str) -> anyhow::Result<T> {
    if text.len() > LARGEST {
        let (name, limit) = (artifact.file_name(), LARGEST / 1024 / 1024);
        return Err(Error::repository(format!("{name} is larger than {limit} MiB: not read"))
            .hint("this file is unexpectedly large; check who committed it: git log -- <file>")
            .into());
    }
    serde_json::from_str(text).map_err(|error| {
        Error::repository(format!("{} cannot be read: {error}", artifact.file_name()))
            .hint("fix the file by hand, or restore the last committed one: git checkout -- <file>")
            .into()
    })
}

/// Typed access to a session's artifacts.
#[derive(Clone, Copy)]
pub struct Store<'a> {
    files: &'a dyn Files,
}

impl<'a> Store<'a> {
    /// Returns a store for these files.
    pub fn new(files: &'a dyn Files) -> Self {
        Self { files }
    }

    /// Returns the text of any artifact.
    pub fn text(&self, artifact: Artifact) -> anyhow::Result<Option<String>> {
        self.files.read(artifact)
    }

    /// Replaces a document. Returns true if it changed.
    pub fn save_text(&self, artifact: Artifact, text: &str) -> anyhow::Result<bool> {
        let mut text = text.to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        if self.files.read(artifact)?.as_deref() == Some(text.as_str()) {
            return Ok(false);
        }
        self.files.write(artifact, &text)?;
        Ok(true)
    }

    fn load<T: DeserializeOwned + Default>(&self, artifact: Artifact) -> anyhow::Result<T> {
        Ok(self.load_if_present(artifact)?.unwrap_or_default())
    }

    fn load_if_present<T: DeserializeOwned>(
        &self,
        artifact: Artifact,
    ) -> anyhow::Result<Option<T>> {
        let text = self.files.read(artifact)?;
        text.map(|text| read_json(artifact, &text)).transpose()
    }

    /// Writes a record file. Returns true if its bytes changed.
    pub fn save<T: Serialize>(&self, artifact: Artifact, value: &T) -> anyhow::Result<bool> {
        self.save_text(artifact, &render_json(value)?)
    }

    /// Reads `session.json`, if it exists.
    pub fn session(&self) -> anyhow::Result<Option<SessionFile>> {
        self.load_if_present(Artifact::Session)
    }

    /// Reads `requirements.json`; empty if missing.
    pub fn requirements(&self) -> anyhow::Result<Requirements> {
        self.load(Artifact::Requirements)
    }

    /// Reads `feature_list.json`; empty if missing.
    pub fn features(&self) -> anyhow::Result<FeatureList> {
        self.load(Artifact::Features)
    }

    /// Reads `design_spec.json`; empty if missing.
    pub fn design(&self) -> anyhow::Result<DesignSpec> {
        self.load(Artifact::DesignSpec)
    }

    /// Reads `implementation_plan.json`; empty if missing.
    pub fn plan(&self) -> anyhow::Result<Plan> {
        self.load(Artifact::ImplementationPlan)
    }

    /// Reads `feedback_history.json`; empty if missing.
    pub fn feedback(&self) -> anyhow::Result<Vec<Feedback>> {
        self.load(Artifact::Feedback)
    }

    /// Adds entries to `feedback_history.json`.
    pub fn add_feedback(&self, entries: &[Feedback]) -> anyhow::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let mut all = self.feedback()?;
        all.extend_from_slice(entries);
        self.save(Artifact::Feedback, &all).map(|_| ())
    }

    /// Reads `change_request.json`, if it exists.
    pub fn change_request(&self) -> anyhow::Result<Option<ChangeRequest>> {
        self.load_if_present(Artifact::ChangeRequest)
    }

    /// Raises `floors` to the highest ids in these files.
    pub fn see_ids(&self, floors: &mut IdFloors) -> anyhow::Result<()> {
        records_of(self.files)?.ids().for_each(|id| floors.see_all(id));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::check::testing::Memory;

    #[test]
    fn unknown_fields_survive_and_come_last() {
        let files = Memory::default();
        let store = Store::new(&files);
        files
            .write(
                Artifact::Requirements,
                r#"{"owner":"ana","requirements":[{"zeta":1,"id":"REQ-001","title":"t"}]}"#,
            )
            .unwrap();
        let requirements = store.requirements().unwrap();
        assert!(store.save(Artifact::Requirements, &requirements).unwrap());
        let text = store.text(Artifact::Requirements).unwrap().unwrap();
        let at = |needle: &str| text.find(needle).unwrap_or_else(|| panic!("{needle}: {text}"));
        assert!(at("\"id\"") < at("\"title\"") && at("\"acceptance_criteria\"") < at("\"zeta\""));
        assert!(at("\"requirements\"") < at("\"owner\"") && text.ends_with("}\n"));
        assert!(!store.save(Artifact::Requirements, &requirements).unwrap());
    }

    #[test]
    fn an_error_in_json_names_the_file() {
        let files = Memory::default();
        files.write(Artifact::Features, "{").unwrap();
        let error = Store::new(&files).features().unwrap_err();
        assert!(error.to_string().contains("feature_list.json"), "{error}");
    }
}
