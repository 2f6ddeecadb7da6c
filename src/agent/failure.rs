//! A model that cannot be asked: what a person should look at, by what went wrong.

use crate::error::Error;
use crate::model::ModelError;

/// What to look at when a server refuses for good.
fn refused_hint(status: Option<u16>) -> &'static str {
    match status {
        Some(401 | 403) => "check the key: COWORK_LLM_API_KEY or [llm] api_key",
        Some(402 | 429) => "check the account's quota, or use another model",
        Some(400 | 422) => "the next run starts this conversation again; or use another model",
        Some(404) => "check the model's name and COWORK_LLM_BASE_URL",
        _ => "check the key, the model's name and the quota",
    }
}

/// A model's failure as the end of a run, with the way on; `then` is how it goes on.
pub(super) fn model_failure(error: ModelError, then: &str) -> anyhow::Error {
    let hint = match &error {
        ModelError::Budget { hint, .. } | ModelError::Agent { hint, .. } => {
            let hint = hint.clone();
            return Error::model(error.to_string()).hint(hint).hint(then).into();
        }
        ModelError::Unavailable { .. } if error.status() == Some(429) => {
            "wait a while, or ask less often: git config cowork.llm.ratelimit 10/m"
        }
        ModelError::Unavailable { .. } if error.status().is_some() => {
            "it runs and cannot serve: look at its own log (loading, overloaded, a gateway whose \
             server is away)"
        }
        ModelError::Unavailable { .. } => {
            "check that the server runs and COWORK_LLM_BASE_URL is right"
        }
        ModelError::Endless { .. } => {
            "give it more time, 0 is no limit: git config cowork.llm.answers 3600"
        }
        ModelError::Refused { status, .. } => refused_hint(*status),
        ModelError::Declined { .. } => {
            "say it in other words in the idea or the documents, or use another model"
        }
        ModelError::TooLong { .. } => {
            "say how many tokens the server holds: git config cowork.llm.contextwindow N, or use a \
             model with a larger window"
        }
        ModelError::Replay { .. } => {
            "record again with --record, or use the model it was made with"
        }
    };
    Error::model(error.to_string()).hint(format!("{hint}; {then}")).into()
}
