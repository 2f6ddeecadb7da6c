//! How long to wait before the next try. All retries are decided here: the HTTP layers below have
//! none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::ModelError;
use super::dialect::Refusals;

/// The longest wait chosen by git-cowork.
const OWN: Duration = Duration::from_secs(60);
/// The longest wait that a server may request; if it requests more, git-cowork gives up.
pub const LONGEST: Duration = Duration::from_secs(600);
/// The minimum total time to wait for a busy server.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waiting times between tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The length of a second: waits are in seconds, and tests shorten them.
    pub second: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { second: Duration::from_secs(1) }
    }
}

impl RetryPolicy {
    /// The actual time to sleep for a wait.
    pub fn sleep(&self, wait: Duration) -> Duration {
        wait.mul_f64(self.second.as_secs_f64())
    }
}

/// The wait before retry number `retry` (from 1): it doubles each time, plus up to a quarter at
/// random so that several runs do not retry together, and is at least what the server requested.
/// `chance` is from 0 to 1.
pub fn delay(retry: u32, server_wait: Option<Duration>, chance: f64) -> Duration {
    let base = own(retry);
    let wait = base + base.mul_f64(chance.clamp(0.0, 1.0) / 4.0);
    wait.min(OWN).max(server_wait.unwrap_or_default())
}

fn own(retry: u32) -> Duration {
    let seconds = 2_u64.saturating_pow(retry.saturating_sub(1));
    Duration::from_secs(seconds).min(OWN)
}

/// The number of retries: `configured`, or more for a busy server, which gets at least a minute
/// unless retries are switched off.
pub fn tries_again(configured: u32, busy: bool, server_wait: Option<Duration>) -> u32 {
    if !busy || configured == 0 {
        return configured;
    }
    let mut total = Duration::ZERO;
    let mut retries = 0;
    while total < PATIENCE {
        retries += 1;
        total += delay(retries, server_wait, 0.0);
    }
    retries.max(configured)
}

/// The failures of one turn so far.
#[derive(Default)]
pub(super) struct Tries {
    pub(super) failures: u32,
    pub(super) endless: u32,
    /// A refusal without a reason, and the refusals before it.
    pub(super) unexplained: Option<(ModelError, Refusals)>,
    /// The time limit of the current answer; true if the session's budget sets it.
    pub(super) limit: (Option<Duration>, bool),
    /// The server wants an API other than the configured one.
    pub(super) elsewhere: bool,
}

/// Waiting times in a response's headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitHeaders {
    /// The server requests this wait.
    pub after: Option<Duration>,
    /// Time until the exhausted limit is reset.
    pub reset: Option<Duration>,
}

impl WaitHeaders {
    /// Reads headers that were received at `now`; their names are in lower case.
    pub fn read<'a>(headers: impl Iterator<Item = (&'a str, &'a str)>, now: SystemTime) -> Self {
        let headers: Vec<(&str, &str)> = headers.collect();
        let find = |header: &str| {
            headers.iter().find(|(name, _)| *name == header).map(|(_, value)| value.trim())
        };
        // A gateway passes the header of the server behind it on under a longer name.
        let find_suffix = |suffix: &str| {
            let mut longer = headers.iter().filter(|(name, _)| name.ends_with(suffix));
            find(suffix).or_else(|| longer.next().map(|(_, value)| value.trim()))
        };
        let millis = find_suffix("retry-after-ms").and_then(|value| value.parse::<f64>().ok());
        let millis = millis.and_then(|ms| Duration::try_from_secs_f64(ms.max(0.0) / 1000.0).ok());
        let after = millis.or_else(|| retry_after(find_suffix("retry-after")?, now));
        let limits = headers.iter().filter(|(name, _)| {
            name.contains("ratelimit") && name.contains("reset") && !name.starts_with("anthropic")
        });
        let (mut exhausted_limits, mut other) = (Vec::new(), Vec::new());
        for (name, value) in limits {
            let Some(wait) = reset(value, now) else { continue };
            match find(&name.replace("reset", "remaining")).map(str::parse::<f64>) {
                Some(Ok(remaining)) if remaining <= 0.0 => exhausted_limits.push(wait),
                _ => other.push(wait),
            }
        }
        // If a limit was not reached, its reset time only tells when its usage is back at zero.
        let other = other.into_iter().min().filter(|wait| *wait <= LONGEST);
        Self { after, reset: exhausted_limits.into_iter().max().or(other) }
    }
}

/// Reads the time until a limit is reset: a span, or seconds or milliseconds since 1970.
pub fn reset(value: &str, now: SystemTime) -> Option<Duration> {
    let since = |seconds: f64| {
        let at = UNIX_EPOCH + Duration::try_from_secs_f64(seconds).ok()?;
        Some(at.duration_since(now).unwrap_or_default())
    };
    match value.trim().parse::<f64>() {
        Ok(number) if number > 1e11 => since(number / 1000.0),
        Ok(number) if number > 1e8 => since(number),
        _ => span(value),
    }
}

/// Reads `27s`, `2m59.56s`, `20ms`, `44 seconds` or `1 minute`, up to the first unknown part; a
/// number alone is in seconds.
pub fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = None;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..end].parse::<f64>() else { break };
        rest = rest[end..].trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let seconds = match &rest[..end] {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ if total.is_none() => 1.0,
            _ => break,
        };
        total = Some(total.unwrap_or(0.0) + number * seconds);
        rest = &rest[end..];
    }
    Duration::try_from_secs_f64(total?).ok()
}

/// Formats a wait for messages.
pub fn shown(wait: Duration) -> String {
    let seconds = wait.as_secs_f64();
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// Reads a `Retry-After` header: seconds, or an HTTP date relative to `now`.
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    let at = UNIX_EPOCH + Duration::from_secs(http_date(value)?);
    Some(at.duration_since(now).unwrap_or_default())
}

/// Seconds since 1970 for `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that servers may still
/// send.
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
    // Days of the civil calendar, counted from March so that the leap day is the last day of a
    // year.
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    Some((days - 719_468) * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_follow_the_server() {
        let seconds = |retry, asked: Option<u64>, chance| {
            delay(retry, asked.map(Duration::from_secs), chance).as_secs_f64()
        };
        assert_eq!([1, 2, 3].map(|n| seconds(n, None, 0.0)), [1.0, 2.0, 4.0]);
        assert_eq!(seconds(3, None, 1.0), 5.0);
        assert_eq!(seconds(1, Some(0), 0.0), 1.0);
        assert_eq!(seconds(1, Some(30), 0.0), 30.0);
        assert_eq!(seconds(1, Some(600), 0.0), 600.0);
        assert_eq!(seconds(4_000_000_000, None, 1.0), 60.0);
        let quick = RetryPolicy { second: Duration::from_millis(1) };
        assert_eq!(quick.sleep(Duration::from_secs(27)), Duration::from_millis(27));
    }

    #[test]
    fn retries_wait_a_minute_for_a_busy_server() {
        assert_eq!(tries_again(3, false, None), 3);
        assert_eq!(tries_again(3, true, None), 6);
        assert_eq!(tries_again(9, true, None), 9);
        assert_eq!(tries_again(3, true, Some(Duration::from_secs(27))), 3);
        assert_eq!(tries_again(1, true, Some(Duration::from_secs(27))), 3);
        assert_eq!(tries_again(0, true, None), 0);
        let waited: f64 = (1..=6).map(|n| delay(n, None, 0.0).as_secs_f64()).sum();
        assert!(waited >= 60.0, "{waited}");
    }

    #[test]
    fn spans_are_read_as_servers_write_them() {
        for (text, wanted) in [
            ("27s", 27.0),
            ("2m59.56s", 179.56),
            ("20ms", 0.02),
            ("44 seconds. Or not", 44.0),
            ("1 minute", 60.0),
            ("6m0s", 360.0),
            ("1h2m3s", 3723.0),
            ("7.5s.", 7.5),
            ("8", 8.0),
        ] {
            assert_eq!(span(text).map(|s| s.as_secs_f64()), Some(wanted), "{text}");
        }
        assert_eq!([span("soon"), span(""), span(".s")], [None; 3]);
    }

    #[test]
    fn the_limit_that_was_reached_says_when_it_is_back() {
        let now = UNIX_EPOCH + Duration::from_secs(1_741_305_600);
        let read = |headers: &[(&str, &str)]| WaitHeaders::read(headers.iter().copied(), now);
        let seconds = Duration::from_secs;
        let both = [
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "12s"),
            ("x-ratelimit-remaining-tokens", "900"),
            ("x-ratelimit-reset-tokens", "3s"),
        ];
        assert_eq!(read(&both).reset, Some(seconds(12)));
        assert_eq!(read(&both[2..]).reset, Some(seconds(3)));
        assert_eq!(read(&[("x-ratelimit-reset-requests", "6h")]).reset, None);
        let day = [("x-ratelimit-reset-requests", "6h"), ("x-ratelimit-remaining-requests", "0")];
        assert_eq!(read(&day).reset, Some(seconds(6 * 3600)));
        for at in ["1741305607000", "1741305607"] {
            assert_eq!(read(&[("x-ratelimit-reset", at)]).reset, Some(seconds(7)), "{at}");
        }
        let first = [("retry-after", "9"), ("retry-after-ms", "1500")];
        assert_eq!(read(&first).after, Some(Duration::from_millis(1500)));
        assert_eq!(read(&first[..1]).after, Some(seconds(9)));
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
