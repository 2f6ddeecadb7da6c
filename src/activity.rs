//! Live progress of a run, reported to a watcher while a model writes or a command runs. It is not
//! recorded; what has happened is reported as an [`Event`](crate::event::Event).

use std::rc::Rc;
use std::time::Duration;

/// A step of live progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A request was sent, and no part of the response has arrived.
    Asks {
        /// Name of the model.
        model: String,
        /// Name and port of the server, or name of the agent program.
        server: String,
        /// Time without data after which the request is abandoned; zero means no limit.
        gives_up: Duration,
    },
    /// The model is thinking.
    Thinks {
        /// Approximate number of tokens so far.
        tokens: u64,
    },
    /// The model is writing text.
    Answers {
        /// Approximate number of tokens so far.
        tokens: u64,
    },
    /// The model is writing the arguments of a tool call.
    Calls {
        /// Name of the tool.
        tool: String,
        /// The path (or name, title or id) in its arguments; empty until it is complete.
        path: String,
        /// Number of lines of its text so far.
        lines: usize,
        /// The last few of these lines.
        tail: Vec<String>,
        /// Approximate number of tokens so far.
        tokens: u64,
    },
    /// The response is complete.
    Answered,
    /// A command was started.
    Runs {
        /// The command, as passed to the shell.
        command: String,
    },
    /// The command printed a line.
    Prints {
        /// The line; control characters are not removed.
        line: String,
        /// Name of the failed test, if the line reports one.
        failed: Option<String>,
    },
    /// The command has ended.
    Ran,
    /// A file was changed.
    Changed {
        /// Relative to the top of the working tree.
        path: String,
        /// Number of added lines.
        added: usize,
        /// Number of removed lines.
        removed: usize,
    },
}

/// Callback for live progress.
pub type Watch = Rc<dyn Fn(Activity)>;
