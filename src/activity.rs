//! What goes on at this moment of a run, told to whoever watches: a model that writes, a command
//! that runs. Nothing of it is kept; what has happened is an [`Event`](crate::event::Event).

use std::rc::Rc;
use std::time::Duration;

/// What goes on at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A request was sent, and nothing of the answer is here.
    Asks {
        /// Name of the model.
        model: String,
        /// Where it is asked: a server's name and port, or a program.
        server: String,
        /// How long nothing may come; zero is no limit.
        gives_up: Duration,
    },
    /// The model thinks.
    Thinks {
        /// About so many tokens.
        tokens: u64,
    },
    /// The model writes a text.
    Answers {
        /// About so many tokens.
        tokens: u64,
    },
    /// The model writes the arguments of a tool.
    Calls {
        /// Name of the tool.
        tool: String,
        /// What it names: a path, as far as it is written.
        path: String,
        /// Lines of its text so far.
        lines: usize,
        /// The last of these.
        tail: Vec<String>,
        /// About so many tokens.
        tokens: u64,
    },
    /// The answer is complete.
    Answered,
    /// A command was started.
    Runs {
        /// As the shell gets it.
        command: String,
    },
    /// It printed a line.
    Prints {
        /// The line, control characters not yet removed.
        line: String,
        /// The test that failed, where that is what it says.
        failed: Option<String>,
    },
    /// The command has ended.
    Ran,
    /// A file was changed.
    Changed {
        /// From the top of the working tree.
        path: String,
        /// Lines that came.
        added: usize,
        /// Lines that went.
        removed: usize,
    },
}

/// Told what goes on.
pub type Watch = Rc<dyn Fn(Activity)>;
