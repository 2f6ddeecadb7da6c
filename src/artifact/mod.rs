//! The documents and records of a session under `.cowork/sessions/S/`: their types, their files,
//! and their checks.
//!
//! This module does not use git, models or the terminal. It reads and writes through [`Files`], so
//! the same code works for the working tree, a commit and a test.

mod agreement;
mod change;
mod derived;
mod draft_ids;
mod feedback;
mod files;
mod format;
mod id;
pub mod knowledge;
mod ledger;
mod merged_files;
mod path_shape;
mod pieces;
pub mod plan_parts;
mod readable;
mod records;
mod renumber;
mod session_file;

pub mod check;
pub(crate) mod record_diff;
pub mod sections;
pub mod specs;

pub use agreement::is_settled;
pub use change::{ChangeRequest, Risk, Scope};
pub use derived::{Compared, EditedJson, RECORDS, RecordProblem, document_of, is_plainly_same};
pub use draft_ids::DraftIds;
pub use feedback::{BY_HAND, DROPPED, Feedback, FeedbackType, Origin, Severity, UNCHANGED};
pub use files::{Artifact, Files, Store, read_json, render_json};
pub use format::{Format, raise};
pub use id::{IdFloors, IdKind, number_of};
pub use ledger::{History, Ledger, Saved, Settled, records_of};
pub use merged_files::{MergedFiles, RenumberedFiles, merge_files};
pub use pieces::pieces;
pub use readable::{Flaw, unreadable};
pub use records::{
    Category, Component, Criterion, DesignSpec, Feature, FeatureList, FeatureStatus, Plan,
    Priority, Requirement, Requirements, Task, TaskStatus,
};
pub use renumber::{Renumbered, Side, collided, renumber, renumber_text, repeats_ids};
pub use session_file::{
    AdoptedTask, Base, Parent, SCHEMA_VERSION, SessionFile, SessionKind, SessionOrigin,
};
