//! Turns a model error into the error that ends a run, with a hint for each kind of failure.

use crate::error::Error;
use crate::model::ModelError;

/// Returns the hint for a server that refuses for good.
fn refused_hint(status: Option<u16>) -> &'static str {
    match status {
        Some(401 | 403) => "check the key: COWORK_LLM_API_KEY or [llm] api_key",
        Some(402 | 429) => "check the account's quota, or use another model",
        Some(400 | 422) => {
            "use another model, or keep this one: the next run starts the conversation from scratch"
        }
        Some(404) => "check the model's name and COWORK_LLM_BASE_URL",
        _ => "check the key, the model's name and the quota",
    }
}

/// Converts a model's failure to the error that ends the run; `then` is the hint for resuming.
pub(super) fn model_failure(error: ModelError, then: &str) -> anyhow::Error {
    let hint = match &error {
        ModelError::Budget { hint, .. } | ModelError::Agent { hint, .. } => {
            let hint = hint.clone();
            return Error::model(error.to_string()).hint(hint).hint(then).into();
        }
        ModelError::Unavailable { .. } if error.status() == Some(429) => {
            "wait a while, or send fewer requests: git config cowork.llm.ratelimit 10/m"
        }
        ModelError::Unavailable { .. } if error.status().is_some() => {
            "the server runs but cannot answer: check its log for the cause (loading, overload, \
             a gateway whose server is down)"
        }
        ModelError::Unavailable { .. } => {
            "check that the server runs and COWORK_LLM_BASE_URL is right"
        }
        ModelError::Endless { .. } => {
            "allow more time (in seconds; 0: no limit): git config cowork.llm.answers 3600"
        }
        ModelError::Refused { status, .. } => refused_hint(*status),
        ModelError::Declined { .. } => "reword the idea or the documents, or use another model",
        ModelError::TooLong { .. } => {
            "use a model with a larger window, or set the server's context size in tokens: \
             git config cowork.llm.contextwindow N"
        }
        ModelError::Replay { .. } => {
            "record again with --record, or use the model of the recording"
        }
    };
    Error::model(error.to_string()).hint(format!("{hint}; {then}")).into()
}
