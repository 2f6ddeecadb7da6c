//! The recorder: the only place that turns the working tree into commits and moves refs.
//!
//! The order makes it safe to kill a run at any moment: first, a side ref saves what would be
//! abandoned; then comes the one update that counts (the commit on the session's branch, or the
//! reset); then the tags, which can be derived again ([`tags::add_missing`], run at every start).

pub mod archive;
pub mod attempt;
pub mod attributes;
pub mod depth;
pub mod draft_refs;
pub mod format;
pub mod from_files;
pub mod hook_additions;
pub mod knowledge;
pub mod leaks;
pub mod logs;
pub mod merge;
pub mod refused;
pub mod repair;
pub mod review;
pub mod stage;
pub mod start;
pub mod tags;
pub mod task;
pub mod unmerged;

mod abort;
mod approval;
mod changes;
mod commit;
mod commit_location;
mod credit;
mod delivery;
mod message_trial;
mod recorder;

pub use abort::{arm, point};
pub use approval::{Approval, ApprovedContent};
pub use archive::prune;
pub use changes::{Scope, Tracked, collect, in_session};
pub use commit::{Recorded, Refused};
pub use credit::Credit;
pub use delivery::Delivery;
pub use draft_refs::{DraftEnding, DraftNotes, RestoredDraft};
pub use leaks::Leak;
pub use logs::{LOGS, Published};
pub use merge::Obstacle;
pub use message_trial::MessageTrial;
pub use recorder::Recorder;
pub use review::ReviewRecord;
pub use stage::StageRecord;
pub use task::TaskRecord;
