//! How long to wait before the next try. The only owner of retries: the HTTP layers below have
//! none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Waiting times between tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Before the first retry; doubled for each further one.
    pub base: Duration,
    /// The longest wait, whatever a server asks for.
    pub ceiling: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { base: Duration::from_secs(1), ceiling: Duration::from_secs(60) }
    }
}

impl RetryPolicy {
    /// The wait before retry number `retry` (from 1): doubling, up to a quarter more by chance so
    /// that several runs do not come back together, and no less than the server asked for.
    /// `chance` is from 0 to 1.
    pub fn delay(&self, retry: u32, retry_after: Option<Duration>, chance: f64) -> Duration {
        let doubled = self.base.saturating_mul(2_u32.saturating_pow(retry.saturating_sub(1)));
        let jittered = doubled + doubled.mul_f64(chance.clamp(0.0, 1.0) / 4.0).min(self.ceiling);
        jittered.max(retry_after.unwrap_or_default()).min(self.ceiling)
    }
}

/// Reads a `Retry-After` header: seconds, or an HTTP date seen from `now`.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    let at = UNIX_EPOCH + Duration::from_secs(http_date(value)?);
    Some(at.duration_since(now).unwrap_or_default())
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, the one form servers may still send.
fn http_date(text: &str) -> Option<u64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, rest) = text.split_once(", ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [day, month, year, clock, "GMT"] = words[..] else { return None };
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = MONTHS.find(month).filter(|at| at % 3 == 0 && month.len() == 3)? as u64 / 3 + 1;
    let year: u64 = year.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut parts = clock.split(':').map(str::parse::<u64>);
    let mut next = || parts.next()?.ok().filter(|n| *n < 61);
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    // Days of the civil calendar, counted from March so that the leap day is a year's last.
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_bend_to_the_server_up_to_the_ceiling() {
        let policy = RetryPolicy::default();
        let seconds = |retry, asked: Option<u64>, chance| {
            policy.delay(retry, asked.map(Duration::from_secs), chance).as_secs_f64()
        };
        assert_eq!([1, 2, 3].map(|n| seconds(n, None, 0.0)), [1.0, 2.0, 4.0]);
        assert_eq!(seconds(3, None, 1.0), 5.0);
        assert_eq!(seconds(1, Some(0), 0.0), 1.0);
        assert_eq!(seconds(1, Some(30), 0.0), 30.0);
        assert_eq!(seconds(1, Some(3600), 0.0), 60.0);
        assert_eq!(seconds(4_000_000_000, None, 1.0), 60.0);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777 - 5);
        let seconds = |text: &str| retry_after(text, now).map(|d| d.as_secs());
        assert_eq!(seconds("7"), Some(7));
        assert_eq!(seconds("-7"), Some(0));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(5));
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0));
        for wrong in ["", "soon", "NaN, 06", "Sun, 06 anF 1994 08:49:37 GMT", "inf"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
        assert_eq!(http_date("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
    }
}
