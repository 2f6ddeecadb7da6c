//! A model that cannot be asked: what a person should look at, by what went wrong.

use crate::error::Error;
use crate::model::ModelError;

/// What to look at when a server refuses for good.
fn refused_hint(status: Option<u16>) -> &'static str {
    match status {
        Some(401 | 403) => {
            "check the key: COWORK_LLM_API_KEY or [llm] api_key; then: git cowork resume"
        }
        Some(402 | 429) => {
            "check the account's quota, or use another model; then: git cowork resume"
        }
        Some(400 | 422) => {
            "the next run starts this conversation again; or use another model; then: git cowork resume"
        }
        Some(404) => "check the model's name and COWORK_LLM_BASE_URL; then: git cowork resume",
        _ => "check the key, the model's name and the quota; then: git cowork resume",
    }
}

/// A model's failure as the end of a run, with the way on.
pub(super) fn model_failure(error: ModelError) -> anyhow::Error {
    let hint = match &error {
        ModelError::Budget { hint, .. } => {
            let hint = hint.clone();
            let error = Error::model(error.to_string()).hint(hint);
            return error.hint("then: git cowork resume; the draft is kept").into();
        }
        ModelError::Unavailable { .. } if error.status() == Some(429) => {
            "wait a while, or ask less often: git config cowork.llm.ratelimit 10/m; then: git cowork resume"
        }
        ModelError::Unavailable { .. } if error.status().is_some() => {
            "it runs and cannot serve: look at its own log (loading, overloaded, a gateway whose \
             server is away); then: git cowork resume"
        }
        ModelError::Unavailable { .. } => {
            "check that the server runs and COWORK_LLM_BASE_URL is right; then: git cowork resume"
        }
        ModelError::Endless { .. } => {
            "give it more time, 0 is no limit: git config cowork.llm.answers 3600; then: git cowork resume"
        }
        ModelError::Refused { status, .. } => refused_hint(*status),
        ModelError::Declined { .. } => {
            "say it in other words in the idea or the documents, or use another model; then: git cowork resume"
        }
        ModelError::TooLong { .. } => {
            "say how many tokens the server holds: git config cowork.llm.contextwindow N, or use a \
             model with a larger window; then: git cowork resume"
        }
        ModelError::Replay { .. } => {
            "record again with --record, or use the model it was made with"
        }
    };
    Error::model(error.to_string()).hint(hint).into()
}
