//! The rate limit: requests go evenly, and a few of them at once.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::Instant;

use super::ModelError;
use super::meter::{Meter, Notice};

const MINUTE: Duration = Duration::from_secs(60);
/// The part of a minute's requests that may come at once. A whole minute's would let twice the limit
/// through in the first minute, which servers that count by the minute answer with 429.
const AT_ONCE: u32 = 6;
/// Shorter waits are not worth a line.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// A bucket of tokens that starts full: a sixth of the limit, and 30 a minute bring one back every
/// 2 s.
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

    /// Takes a token, waiting for one if need be; says so to `waiting`.
    ///
    /// # Errors
    /// The session may not work so long.
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

    /// Takes a token, or says how long there will be none.
    fn take(&self, now: Instant) -> Option<Duration> {
        let per_minute = self.per_minute?;
        let interval = MINUTE / per_minute;
        let size = (per_minute / AT_ONCE).max(1);
        let full = self.full.get().map_or(now, |at| at.max(now));
        // Tokens are missing for as long as it takes to fill it up.
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

    /// When each of so many requests is let through, asked for as early as may be, in seconds.
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
    fn what_is_not_used_comes_back_up_to_the_few() {
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
