//! The rate limit: requests are spread evenly, with a few at once at the start.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::Instant;

use super::ModelError;
use super::meter::{Meter, Notice};

const MINUTE: Duration = Duration::from_secs(60);
/// A minute's requests divided by this number may be sent at once. A whole minute's requests would
/// allow twice the limit in the first minute, and servers that count by the minute return 429.
const AT_ONCE: u32 = 6;
/// Shorter waits are not reported.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// A token bucket that starts full with a sixth of the limit; at 30 requests a minute, one token is
/// added every 2 s.
#[derive(Debug)]
pub struct Rate {
    /// Requests in a minute.
    per_minute: Option<u32>,
    /// When the bucket will be full again.
    full: Cell<Option<Instant>>,
}

impl Rate {
    /// A limit in requests per minute; none or 0 = no limit.
    pub fn new(per_minute: Option<u32>) -> Self {
        Self { per_minute: per_minute.filter(|n| *n > 0), full: Cell::default() }
    }

    /// Takes a token, if necessary after a wait that is reported to `waiting`.
    ///
    /// # Errors
    /// The session's time limit ends the wait.
    pub async fn acquire(&self, meter: &Meter, waiting: Option<&Notice>) -> Result<(), ModelError> {
        while let Some(wait) = self.take(Instant::now()) {
            if wait >= WORTH_TELLING {
                let rate = self.per_minute.unwrap_or_default();
                let seconds = wait.as_secs_f64().ceil();
                let line = format!("waiting {seconds:.0} s for the rate limit of {rate} a minute");
                tracing::info!("{line}");
                if let Some(waiting) = waiting {
                    waiting(&line);
                }
            }
            meter.pause(wait).await?;
        }
        Ok(())
    }

    /// Takes a token, or returns the time until there is one.
    fn take(&self, now: Instant) -> Option<Duration> {
        let per_minute = self.per_minute?;
        let interval = MINUTE / per_minute;
        let size = (per_minute / AT_ONCE).max(1);
        let full = self.full.get().map_or(now, |at| at.max(now));
        // The time to fill the bucket gives the number of missing tokens.
        let wait = (full - now).saturating_sub(interval * (size - 1));
        if wait.is_zero() {
            self.full.set(Some(full + interval));
            return None;
        }
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times in seconds at which each of `count` requests is allowed, if sent as early as
    /// possible.
    fn times(rate: &Rate, count: usize) -> Vec<u64> {
        let start = Instant::now();
        let mut now = start;
        let mut times = Vec::new();
        while times.len() < count {
            match rate.take(now) {
                Some(wait) => now += wait,
                None => times.push((now - start).as_secs()),
            }
        }
        times
    }

    #[test]
    fn a_few_come_at_once_and_all_others_evenly() {
        let rate = Rate::new(Some(30));
        let times = times(&rate, 65);
        assert_eq!(times[..5], [0; 5]);
        let evenly: Vec<u64> = (1..=60).map(|n| n * 2).collect();
        assert_eq!(times[5..], evenly, "no burst where a minute ends");
    }

    #[test]
    fn unused_tokens_return_up_to_the_bucket_size() {
        let rate = Rate::new(Some(12));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!([rate.take(at(0)), rate.take(at(0))], [None, None]);
        assert_eq!(rate.take(at(1)), Some(Duration::from_secs(4)));
        assert_eq!(rate.take(at(5)), None);
        assert_eq!([rate.take(at(900)), rate.take(at(900))], [None, None]);
        assert_eq!(rate.take(at(900)), Some(Duration::from_secs(5)));
    }

    #[test]
    fn the_smallest_limit_lets_one_through_and_then_one_a_minute() {
        assert_eq!(times(&Rate::new(Some(1)), 3), [0, 60, 120]);
    }

    #[test]
    fn no_limit_never_waits() {
        for rate in [Rate::new(None), Rate::new(Some(0))] {
            assert_eq!(times(&rate, 1000), [0; 1000]);
        }
    }
}
