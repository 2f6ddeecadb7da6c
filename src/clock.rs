//! The current time, and its text form. Depends on no other module.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time.
pub fn now() -> SystemTime {
    SystemTime::now()
}

/// Formats a time as `2026-11-21T10:04:05Z`: RFC 3339 in UTC, whole seconds. A time before 1970 is
/// shown as 1970.
pub fn rfc3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(seconds / 86_400);
    let of_day = seconds % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Parses a time in the format of [`rfc3339`] to Unix seconds; `None` for another format.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "Z")];
    let has_marks = marks.iter().all(|(at, mark)| text.get(*at..at + 1) == Some(mark));
    if !has_marks || text.len() != 20 {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    // The inverse of `civil`; here, too, years start in March.
    let (y, m) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Converts days since 1970-01-01 to year, month and day in the Gregorian calendar.
///
/// Years start in March in the calculation, so that the leap day is the last of its year
/// (<https://howardhinnant.github.io/date_algorithms.html>, `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_match_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (68_169_600, "1972-02-29T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_795_257_845, "2026-11-21T10:44:05Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
            assert_eq!(parse_rfc3339(text), i64::try_from(seconds).ok());
        }
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(9)), "1970-01-01T00:00:00Z");
        for wrong in ["", "2026-11-21", "2026-11-21T10:44:05+01:00", "2026-11-21 10:44:05Z"] {
            assert_eq!(parse_rfc3339(wrong), None, "{wrong}");
        }
        assert!(now() > UNIX_EPOCH);
    }
}
