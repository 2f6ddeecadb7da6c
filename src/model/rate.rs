//! The rate limit: so many requests in any minute, and no waiting below it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// A bucket of tokens that starts full; a token comes back a minute after it was taken.
///
/// A bucket that refills evenly would let twice the limit through in its first minute, which
/// servers that count by the minute answer with 429.
#[derive(Debug)]
pub struct Rate {
    per_minute: Option<usize>,
    taken: RefCell<VecDeque<Instant>>,
}

impl Rate {
    /// A limit in requests per minute; none or 0 = no limit.
    pub fn new(per_minute: Option<u32>) -> Self {
        let per_minute = per_minute.filter(|n| *n > 0).map(|n| n as usize);
        Self { per_minute, taken: RefCell::default() }
    }

    /// Takes a token, waiting for one if need be.
    pub async fn acquire(&self) {
        while let Some(wait) = self.take(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a token, or says how long there will be none.
    fn take(&self, now: Instant) -> Option<Duration> {
        let limit = self.per_minute?;
        let mut taken = self.taken.borrow_mut();
        while taken.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) {
            taken.pop_front();
        }
        if taken.len() < limit {
            taken.push_back(now);
            return None;
        }
        taken.front().map(|at| MINUTE.saturating_sub(now.duration_since(*at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_requests_do_not_wait_and_the_minute_holds() {
        let rate = Rate::new(Some(3));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(rate.take(at(0)), None);
        assert_eq!(rate.take(at(1)), None);
        assert_eq!(rate.take(at(2)), None);
        assert_eq!(rate.take(at(10)), Some(Duration::from_secs(50)));
        assert_eq!(rate.take(at(60)), None);
        assert_eq!(rate.take(at(60)), Some(Duration::from_secs(1)));
    }

    #[test]
    fn no_limit_never_waits() {
        for rate in [Rate::new(None), Rate::new(Some(0))] {
            let now = Instant::now();
            assert!((0..1000).all(|_| rate.take(now).is_none()));
        }
    }
}
