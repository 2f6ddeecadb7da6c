//! Turns a model error into the error that ends a run, with what can be done about it.

use crate::config::ModelConfig;
use crate::error::Error;
use crate::model::{Model, ModelError};

/// Converts a model's failure to the error that ends the run; `then` is the hint for resuming.
pub(super) fn model_failure(model: &dyn Model, error: &ModelError, then: &str) -> anyhow::Error {
    let unknown = ModelConfig::default();
    let remedies = error.remedies(model.config().unwrap_or(&unknown));
    let failure = remedies.into_iter().fold(Error::model(error.to_string()), Error::hint);
    failure.hint(then).into()
}
