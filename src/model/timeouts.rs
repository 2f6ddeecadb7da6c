//! Time limits for a connection, the first token, the next byte and a whole answer.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use super::failure::{FailedAt, Failure};
use super::transport::Pulse;

/// How long a server may be silent, and how long an answer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection is established.
    pub connect: Duration,
    /// Since the last byte, before the first token.
    pub first: Duration,
    /// Since the last byte, after the first token.
    pub silence: Duration,
    /// For one answer as a whole, even if the server keeps sending; none = no limit.
    pub answer: Option<Duration>,
}

impl Timeouts {
    /// The limits from the configuration: `timeout_s` of silence (0 = one day), and at most
    /// `answer_s` for a whole answer (0 = no limit). Before the first token, the silence may be ten
    /// times as long, since a slow machine may read a long prompt for minutes.
    pub fn from_seconds(timeout_s: u64, answer_s: u64) -> Self {
        let day = 86_400;
        let silence = if timeout_s == 0 { day } else { timeout_s.min(day) };
        Self {
            connect: Duration::from_secs(silence.min(10)),
            first: Duration::from_secs(silence.saturating_mul(10)),
            silence: Duration::from_secs(silence),
            answer: (answer_s > 0).then(|| Duration::from_secs(answer_s)),
        }
    }

    /// The time limit of an answer if the session may still work for `work`; true if the session's
    /// time is the limit.
    pub(super) fn of_answer(&self, work: Option<Duration>) -> (Option<Duration>, bool) {
        match (self.answer, work) {
            (Some(answer), Some(work)) if answer <= work => (Some(answer), false),
            (_, Some(work)) => (Some(work), true),
            (answer, None) => (answer, false),
        }
    }
}

/// The result of a future, or none if it takes longer than `limit`.
pub(super) async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

/// Waits for a future as long as the server sends a byte at least every `limit`; otherwise it is too
/// long silent, in its answer if that has `begun`.
pub(super) async fn with_idle_timeout<F: Future>(
    future: F,
    pulse: &Pulse,
    limit: Duration,
    begun: bool,
) -> Result<F::Output, Failure> {
    let mut future = pin!(future);
    loop {
        tokio::select! {
            biased;
            output = &mut future => return Ok(output),
            () = tokio::time::sleep_until(pulse.last_byte() + limit) => {}
        }
        if pulse.last_byte() + limit <= Instant::now() {
            let message = format!("silent for {:.0} s", limit.as_secs_f64());
            return Err(Failure::transient(FailedAt::Silence { begun }, message));
        }
    }
}
