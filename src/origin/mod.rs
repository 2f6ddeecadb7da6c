//! Where the lines of a file come from, and what has become of a requirement: from a line to its commit,
//! task, feature, requirement and idea, and back. Everything is read from commits and records; nothing
//! is stored for it.
//!
//! A commit of a session names its task. A squash does not: where the commits it was made of are still
//! here, they are asked; else the tasks whose files are in the plan. What neither tells is not guessed.

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
