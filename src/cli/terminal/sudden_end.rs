//! Cleanup when the process ends without running destructors: on a second signal, and on a panic
//! (`panic = "abort"`).

use std::io::Write as _;

use crate::cli::terminal::signals;
use crate::gate::tty;
use crate::keyboard;
use crate::ui::above;
use crate::workspace;

/// Resets the terminal for the shell, and kills running commands. Can be called from any thread.
pub(crate) fn put_right() {
    tty::restore();
    keyboard::give_back_for_good();
    workspace::abandon_commands();
}

/// From now on a panic cleans up, and prints that nothing recorded is lost, before the process
/// aborts.
pub(crate) fn watch_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        put_right();
        // Print the message below a live status line.
        let _ = write!(std::io::stderr(), "{}", above(""));
        told(panic);
        let goes_on = match signals::is_session_held() {
            true => "; continue: git cowork resume",
            false => "",
        };
        let text = format!("this is a bug in git-cowork; nothing recorded is lost{goes_on}");
        // If the terminal is gone, nothing can be done.
        let _ = writeln!(std::io::stderr(), "{text}");
        // Abort even in a build that would unwind: otherwise other threads could wait for this one.
        std::process::abort();
    }));
}
