//! Traces lines of a file to their commit, task, feature, requirement and idea, and requirements to
//! their lines. Everything is read from commits and records; nothing is stored for it.
//!
//! A session's commit names its task; a squash does not. If the squashed commits are still in this
//! repository, they are used, else the tasks whose files in the plan match. Nothing else is
//! guessed.

mod answer;
mod around;
mod hook;
mod records;
mod sessions;
mod source;
mod squash;
mod standing;
mod upwards;

pub use answer::{Answer, During, Named, Passed, Rejected, Shown, Told, Wanted, Where, answers};
pub use around::Around;
pub use records::{Records, Served};
pub use sessions::{Known, Sessions};
pub use source::{Certainty, Origins, Source, SourceKind, Unknown};
pub use standing::{FileLines, OfTask, Standing, count, standing};
pub use upwards::{Asked, Branch, Leaf, OfFeature, trace};
