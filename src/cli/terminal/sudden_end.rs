//! Ends of the process at which nothing is dropped: a second signal, and a panic (`panic = "abort"`).

use std::io::Write as _;

use crate::cli::terminal::signals;
use crate::gate::tty;
use crate::keyboard;
use crate::ui::above;
use crate::workspace;

/// Gives the terminal back as a shell wants it, and kills the commands that run. From any thread.
pub(crate) fn put_right() {
    tty::restore();
    keyboard::give_back_for_good();
    workspace::abandon_commands();
}

/// From now on a panic puts things right and says what is lost before the process aborts: nothing.
pub(crate) fn watch_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        put_right();
        // The message begins below a live status line.
        let _ = write!(std::io::stderr(), "{}", above(""));
        told(panic);
        let goes_on = match signals::is_session_held() {
            true => "; continue: git cowork resume",
            false => "",
        };
        let text = format!("this is a bug in git-cowork; nothing recorded is lost{goes_on}");
        // Nothing can be done about a terminal that is gone.
        let _ = writeln!(std::io::stderr(), "{text}");
        // Also in a build that would unwind: a thread that is gone would be waited for.
        std::process::abort();
    }));
}
