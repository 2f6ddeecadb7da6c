//! Another terminal, from which a gate may be answered while it is open here.

use crate::gate::Decision;

/// What the gate asks of it.
pub trait Elsewhere {
    /// Whether somebody there has answered the gate that is open.
    fn has_answered(&self) -> bool;

    /// Decides the gate here: from now on nobody else can. What was decided there, where that was first.
    fn decide(&self) -> Option<Decision>;
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug)]
pub struct NobodyElse;

impl Elsewhere for NobodyElse {
    fn has_answered(&self) -> bool {
        false
    }

    fn decide(&self) -> Option<Decision> {
        None
    }
}
