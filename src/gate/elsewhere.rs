//! Another terminal, from which a gate may be answered while it is open here.

use anyhow::Result;

use crate::choice::Chosen;
use crate::gate::Decision;
use crate::gate::menu::say;
use crate::gate::terminal::Terminal;

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

/// Says what was answered elsewhere, and that it was first where somebody has answered here, too.
pub(super) fn answered_elsewhere(terminal: &dyn Terminal, what: &str, late: bool) -> Result<()> {
    if !late {
        terminal.write("\n")?;
    }
    let late = if late { "; your answer came later" } else { "" };
    say(terminal, &format!("answered from another terminal: {what}{late}"))
}
