//! Another terminal, from which a gate may be answered while it is open here.

use crate::choice::Chosen;
use crate::gate::Decision;

/// What the gate asks of it.
pub trait Elsewhere {
    /// Whether somebody there has answered the gate that is open.
    fn has_answered(&self) -> bool;

    /// Decides the gate here: from now on nobody else can. What was decided there, where that was first.
    fn decide(&self) -> Option<Decision>;

    /// The same of a menu: the key that was pressed there.
    fn choose(&self) -> Option<Chosen>;
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

    fn choose(&self) -> Option<Chosen> {
        None
    }
}
