//! What a model needs besides its configuration: limits, callbacks, the meter and the environment.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::agents::workplace::{Confines, Reach};
use super::meter::{Meter, Notice};
use super::retry::RetryPolicy;
use super::timeouts::Timeouts;
use crate::activity::Watch;

/// Options besides the configuration.
#[derive(Clone, Default)]
pub struct BuildOptions {
    /// Do not stream.
    pub no_stream: bool,
    /// Waiting times between tries.
    pub retry: RetryPolicy,
    /// Time limits to use instead of the configured `timeout_s` and `answer_s`.
    pub timeouts: Option<Timeouts>,
    /// Receives messages about retries.
    pub notice: Option<Notice>,
    /// Receives messages about waiting without an error.
    pub waiting: Option<Notice>,
    /// Receives the progress of an answer.
    pub watch: Option<Watch>,
    /// Checks each try against the budget, and counts it.
    pub meter: Rc<Meter>,
    /// The environment variable that sets the proxy for requests, if any.
    pub proxy: Option<String>,
    /// The user's environment, for agent programs.
    pub env: BTreeMap<String, String>,
    /// True if an agent program may be used although its usage is unknown.
    pub uncounted: bool,
    /// Confines an agent program that only answers; without it, the program is not confined.
    pub confines: Option<Rc<dyn Confines>>,
    /// The servers that an agent program may reach, besides its own.
    pub reach: Reach,
}
