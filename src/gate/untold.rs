//! What a person typed for the actor before a gate opened, and the actor was not told.

/// What the gate asks about it.
pub trait Untold {
    /// The text; possibly empty.
    fn text(&self) -> String;

    /// It was said at the gate, as it is or otherwise.
    fn said(&self);
}

/// Nobody has typed anything.
#[derive(Clone, Copy, Debug)]
pub struct NothingTyped;

impl Untold for NothingTyped {
    fn text(&self) -> String {
        String::new()
    }

    fn said(&self) {}
}
