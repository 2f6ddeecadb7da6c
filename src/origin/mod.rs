//! Traces lines of a file to their commit, task, feature, requirement and idea, and requirements to
//! their lines. Everything is read from commits and records; nothing is stored for it.
//!
//! A session's commit names its task; a squash does not. If the squashed commits are still in this
//! repository, they are used, else the tasks whose files in the plan match. Nothing else is
//! guessed.

mod answer;
mod around;
mod hook;
mod line_source;
mod records;
mod sessions;
mod source;
mod squash;
mod standing;
mod upwards;

pub use answer::{
    ApprovalDetails, CommitPosition, CriterionResult, During, LineOrigin, RecordTitle,
    RejectedDraft, RequirementDetails, SessionDetails, answers,
};
pub use around::Around;
pub use line_source::{Certainty, LineSource, SourceKind, Unknown};
pub use records::{Records, Served};
pub use sessions::{SessionView, Sessions};
pub use source::Origins;
pub use standing::{FileLines, SurvivingLines, TaskLines, count, surviving_lines};
pub use upwards::{FeatureTrace, RequirementTrace, TaskTrace, TraceQuery, trace};
