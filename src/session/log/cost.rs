//! The usage of a step, for `log --json`.

use serde::Serialize;

use crate::spent::Spent;

/// The usage of a step, in the format of `log --json`.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    tokens: Tokens,
    requests: u64,
    millis: u64,
    /// `None` if it is not known.
    usd: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct Tokens {
    #[serde(rename = "in")]
    input: u64,
    out: u64,
    cached: u64,
}

impl Cost {
    /// Converts counted usage.
    pub(super) fn of(spent: &Spent) -> Self {
        let usage = spent.usage;
        let known = spent.micros > 0 || spent.unpriced == 0 && spent.requests > 0;
        Self {
            tokens: Tokens { input: usage.input, out: usage.output, cached: usage.cached },
            requests: spent.requests,
            millis: spent.millis,
            usd: known.then_some(spent.micros as f64 / 1e6),
        }
    }
}
