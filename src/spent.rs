//! Token usage and cost: one sum for the budget, trailers and all displays.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::event::Usage;

/// The usage of requests, including failed ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Tokens, as counted by the server.
    pub usage: Usage,
    /// Requests, including retries.
    pub requests: u64,
    /// Requests whose tokens were estimated, because the server did not count them.
    pub guessed: u64,
    /// Answered requests with an unknown number of tokens.
    pub uncounted: u64,
    /// Cost in millionths of a US dollar: from the server, else from the configured price.
    pub micros: u64,
    /// Answered requests with unknown cost.
    pub unpriced: u64,
    /// Working time of the models and their tools in milliseconds, without waiting for a person.
    pub millis: u64,
}

impl Spent {
    /// Sum of input and output tokens.
    pub const fn tokens(&self) -> u64 {
        self.usage.input.saturating_add(self.usage.output)
    }

    /// The larger value of each field, for two counts of the same work.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.combined(other, u64::max)
    }

    /// The difference from an earlier count of the same work.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.combined(earlier, u64::saturating_sub)
    }

    fn combined(self, other: Self, combine: fn(u64, u64) -> u64) -> Self {
        Self {
            usage: Usage {
                input: combine(self.usage.input, other.usage.input),
                output: combine(self.usage.output, other.usage.output),
                cached: combine(self.usage.cached, other.usage.cached),
            },
            requests: combine(self.requests, other.requests),
            guessed: combine(self.guessed, other.guessed),
            uncounted: combine(self.uncounted, other.uncounted),
            micros: combine(self.micros, other.micros),
            unpriced: combine(self.unpriced, other.unpriced),
            millis: combine(self.millis, other.millis),
        }
    }

    /// Returns `182k tokens in (71% cached), 24k out`, with `, 1 request unknown` if the tokens of
    /// some requests are unknown; `tokens not reported` if there are no counts.
    pub fn words(&self) -> String {
        if self.tokens() == 0 {
            let unknown = if self.uncounted > 0 { "tokens unknown" } else { "tokens not reported" };
            return unknown.to_owned();
        }
        let unknown = match self.uncounted {
            0 => String::new(),
            1 => ", 1 request unknown".to_owned(),
            many => format!(", {many} requests unknown"),
        };
        let Usage { input, output, cached } = self.usage;
        let share = cached.saturating_mul(100).checked_div(input).unwrap_or(0);
        let about = if self.guessed > 0 { "about " } else { "" };
        let (input, output) = (tokens(input), tokens(output));
        format!("{about}{input} tokens in ({share}% cached), {output} out{unknown}")
    }

    /// Returns `$0.31`, or `at least $0.31` if some requests have no price; `None` if no cost is
    /// known.
    pub fn cost(&self) -> Option<String> {
        match (self.micros, self.unpriced) {
            (0, _) => None,
            (micros, 0) => Some(dollars(micros)),
            (micros, _) => Some(format!("at least {}", dollars(micros))),
        }
    }
}

impl AddAssign for Spent {
    // Saturating, because values may come from trailers in foreign commits.
    fn add_assign(&mut self, other: Self) {
        *self = self.combined(other, u64::saturating_add);
    }
}

/// Formats a count: `950`, `9.2k`, `182k`, `1.2M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Formats all digits of a sum, at least cents: `$0.0252`.
pub fn exact_dollars(micros: u64) -> String {
    let digits = format!("${}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let cents = digits.len() - 4;
    let (whole, rest) = digits.split_at(cents);
    format!("{whole}{}", rest.trim_end_matches('0'))
}

/// Formats a sum: `$0.31`; below a cent, with as many digits as needed.
pub fn dollars(micros: u64) -> String {
    if micros >= 10_000 || micros == 0 {
        let cents = micros.saturating_add(5_000) / 10_000;
        return format!("${}.{:02}", cents / 100, cents % 100);
    }
    let digits = format!("$0.{micros:06}");
    digits.trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [950, 9_249, 10_000, 182_999, 1_250_000].map(tokens);
        assert_eq!(counts, ["950", "9.2k", "10k", "182k", "1.2M"]);
        let sums = [0, 120, 310_000, 2_000_000, 12_345_678].map(dollars);
        assert_eq!(sums, ["$0.00", "$0.00012", "$0.31", "$2.00", "$12.35"]);
        let sums = [0, 25_200, 2_000_000, 12_345_678].map(exact_dollars);
        assert_eq!(sums, ["$0.00", "$0.0252", "$2.00", "$12.345678"]);
    }

    #[test]
    fn words_show_estimates_and_unknown_requests() {
        let usage = Usage { input: 182_000, output: 24_000, cached: 129_220 };
        let mut spent = Spent { usage, requests: 9, ..Spent::default() };
        assert_eq!(spent.words(), "182k tokens in (71% cached), 24k out");
        assert_eq!(spent.cost(), None);
        (spent.micros, spent.guessed) = (310_000, 1);
        assert_eq!(spent.cost().as_deref(), Some("$0.31"));
        assert!(spent.words().starts_with("about 182k"));
        assert_eq!(Spent { requests: 3, ..Spent::default() }.words(), "tokens not reported");
        spent.uncounted = 1;
        assert!(spent.words().ends_with("24k out, 1 request unknown"), "{}", spent.words());
        spent.unpriced = 1;
        assert_eq!(spent.cost().as_deref(), Some("at least $0.31"));
    }
}
