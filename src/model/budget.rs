//! The budget of a session: its limits, whether one is reached, and the messages about them.

use super::ModelError;
use crate::config::Budget;
use crate::spent::{Spent, dollars, exact_dollars};

/// Beginning of a hint; a command follows it.
const RAISE: &str = "raise it: ";

/// The unit of money is a millionth of a dollar.
const MICROS: f64 = 1e6;

/// Dollars in millionths.
pub(super) fn micros(usd: f64) -> u64 {
    (usd.max(0.0) * MICROS).round() as u64
}

/// One limit and the amount used.
struct LimitRow {
    /// The key in `git config`.
    key: &'static str,
    limit: u64,
    used: u64,
    /// Minimum amount that the next request will use.
    next: u64,
}

/// The limits that are set. `next` is the minimum amount that the next request will use.
fn rows(budget: &Budget, used: &Spent, next: &Spent) -> impl Iterator<Item = LimitRow> {
    let row = |key, limit, used, next| LimitRow { key, limit, used, next };
    let seconds = 1000;
    [
        row("tokens", budget.tokens, used.tokens(), next.tokens()),
        row("usd", micros(budget.usd), used.micros, next.micros),
        row("requests", budget.requests, used.requests, next.requests),
        row("walls", budget.wall_s.saturating_mul(seconds), used.millis, 0),
    ]
    .into_iter()
    .filter(|row| row.limit > 0)
}

impl LimitRow {
    /// `81000 of 100000 tokens`
    fn words(&self) -> String {
        let (used, limit) = (self.used, self.limit);
        match self.key {
            "tokens" => format!("{used} of {limit} tokens"),
            "usd" => share(used, limit),
            "requests" => format!("{used} of {limit} requests"),
            _ if used < 10_000 => {
                format!("{}.{} of {} seconds", used / 1000, used % 1000 / 100, limit / 1000)
            }
            _ => format!("{} of {} seconds", used / 1000, limit / 1000),
        }
    }

    /// Twice the limit, as a value for `git config`.
    fn more(&self) -> String {
        let twice = self.limit.saturating_mul(2);
        match self.key {
            "usd" => dollars(twice).trim_start_matches('$').to_owned(),
            "walls" => (twice / 1000).to_string(),
            _ => twice.to_string(),
        }
    }

    fn name(&self) -> &'static str {
        match self.key {
            "usd" => "money",
            "walls" => "wall time",
            key => key,
        }
    }
}

/// `$0.31 of $2.00`; with more digits where cents would make two different sums look the same.
fn share(used: u64, limit: u64) -> String {
    let (some, whole) = (dollars(used), dollars(limit));
    if some == whole && used != limit {
        return format!("{} of {}", exact_dollars(used), exact_dollars(limit));
    }
    format!("{some} of {whole}")
}

/// The reason why the next request may not be sent, if there is one.
pub(super) fn refusal(budget: &Budget, used: &Spent, next: &Spent) -> Option<ModelError> {
    let row = rows(budget, used, next)
        .find(|row| row.used.saturating_add(row.next) > row.limit)
        .or_else(|| rows(budget, used, next).find(|row| row.used >= row.limit))?;
    let message = if row.used >= row.limit {
        format!("the session's budget of {} is reached: {} used", row.name(), row.words())
    } else {
        format!(
            "the next request would exceed the session's budget of {}: {} used",
            row.name(),
            row.words()
        )
    };
    let hint = format!("{RAISE}git config cowork.budget.{} {}", row.key, row.more());
    Some(ModelError::Budget { message, hint })
}

/// If money is limited and the price of the model is unknown: the reason why no request may be
/// sent, and the key of that price.
fn unpriced(budget: &Budget, model: &str) -> Option<(String, String)> {
    if budget.usd <= 0.0 || budget.prices.contains_key(model) {
        return None;
    }
    let budget = "cannot enforce the session's budget of money";
    let key = format!("git config cowork.budget.prices.{model}");
    Some((format!("{budget}: the price of {model} is not known"), key))
}

/// Returns the reason from [`unpriced`] as an error.
pub(super) fn unpriced_error(budget: &Budget, model: &str) -> Option<ModelError> {
    let (message, key) = unpriced(budget, model)?;
    let hint = format!("set the price per million tokens: {key}.in 2.0 && {key}.out 8.0");
    Some(ModelError::Budget { message, hint })
}

/// The reason why the next request would be refused, and the command that allows it. It depends on
/// the amount used and on the last refused request (its model, and the minimum it would use).
pub fn standing(
    budget: &Budget,
    used: &Spent,
    refusal_of_request: Option<&(String, Spent)>,
) -> Option<(String, String)> {
    let priceless = refusal_of_request.filter(|_| used.unpriced > 0);
    if let Some((why, key)) = priceless.and_then(|(model, _)| unpriced(budget, model)) {
        return Some((why, format!("{key}.in DOLLARS && {key}.out DOLLARS")));
    }
    let one = Spent { requests: 1, ..Spent::default() };
    let next = refusal_of_request.map_or(&one, |(_, next)| next);
    let ModelError::Budget { message, hint } = refusal(budget, used, next)? else { return None };
    Some((message, hint.trim_start_matches(RAISE).to_owned()))
}

/// Warnings for the limits whose usage has just reached four fifths.
pub(super) fn warnings(budget: &Budget, before: &Spent, after: &Spent) -> Vec<String> {
    let none = Spent::default();
    let is_high = |used: u64, limit: u64| used.saturating_mul(5) >= limit.saturating_mul(4);
    rows(budget, before, &none)
        .zip(rows(budget, after, &none))
        .filter(|(before, after)| {
            !is_high(before.used, before.limit) && is_high(after.used, after.limit)
        })
        .map(|(_, row)| format!("80% of the session's budget is used: {}", row.words()))
        .collect()
}

/// The amount used of each limit that is set: `57 of 200 requests`. The limit on money is left out:
/// it is shown with the cost.
pub fn limits(budget: &Budget, used: &Spent) -> Vec<String> {
    rows(budget, used, &Spent::default())
        .filter(|row| row.key != "usd")
        .map(|row| row.words())
        .collect()
}

/// `$0.31 of $2.00`; only the cost if there is no limit, nothing if neither is known.
pub fn money(budget: &Budget, used: &Spent) -> Option<String> {
    let limit = micros(budget.usd);
    match (used.cost(), limit) {
        (cost, 0) => cost,
        (None, _) if used.unpriced > 0 => Some(format!("cost unknown, limit {}", dollars(limit))),
        (_, _) if used.unpriced > 0 => Some(format!("at least {}", share(used.micros, limit))),
        (_, _) => Some(share(used.micros, limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Usage;

    fn tokens(input: u64) -> Spent {
        Spent { usage: Usage { input, ..Usage::default() }, requests: 1, ..Spent::default() }
    }

    fn said(budget: &Budget, used: &Spent, next: &Spent) -> Option<(String, String)> {
        match refusal(budget, used, next)? {
            ModelError::Budget { message, hint } => Some((message, hint)),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_limit_is_reached_or_known_to_be_exceeded() {
        let budget = Budget { tokens: 100, ..Budget::default() };
        assert_eq!(said(&budget, &tokens(99), &tokens(1)), None);
        let (message, hint) = said(&budget, &tokens(99), &tokens(2)).unwrap();
        assert!(message.contains("would exceed") && message.contains("99 of 100 tokens"));
        assert_eq!(hint, "raise it: git config cowork.budget.tokens 200");
        let (message, _) = said(&budget, &tokens(100), &Spent::default()).unwrap();
        assert!(message.contains("is reached: 100 of 100 tokens used"), "{message}");
        assert_eq!(said(&Budget::default(), &tokens(1 << 40), &tokens(1)), None);
    }

    #[test]
    fn every_limit_has_its_words() {
        let used = Spent { micros: 2_000_000, requests: 7, millis: 61_000, ..Spent::default() };
        let one = Spent { requests: 1, ..Spent::default() };
        for (budget, words, hint) in [
            (Budget { usd: 2.0, ..Budget::default() }, "$2.00 of $2.00", "budget.usd 4.00"),
            (Budget { requests: 7, ..Budget::default() }, "7 of 7 requests", "requests 14"),
            (Budget { wall_s: 60, ..Budget::default() }, "61 of 60 seconds", "walls 120"),
        ] {
            let (message, raise) = said(&budget, &used, &one).unwrap();
            assert!(message.contains(words) && raise.ends_with(hint), "{message} {raise}");
        }
    }

    #[test]
    fn eighty_percent_are_reported_once() {
        let budget = Budget { tokens: 100, requests: 10, ..Budget::default() };
        let warned = |a, b| warnings(&budget, &tokens(a), &tokens(b));
        assert!(warned(10, 79).is_empty() && warned(80, 90).is_empty());
        assert_eq!(warned(79, 85), ["80% of the session's budget is used: 85 of 100 tokens"]);
        let budget = Budget { wall_s: 1, ..Budget::default() };
        let used = Spent { millis: 870, ..Spent::default() };
        let said = warnings(&budget, &Spent::default(), &used);
        assert_eq!(said, ["80% of the session's budget is used: 0.8 of 1 seconds"]);
    }

    #[test]
    fn money_is_shown_with_its_limit() {
        let budget = Budget { usd: 2.0, tokens: 500, ..Budget::default() };
        let mut used = Spent { micros: 310_000, ..tokens(60) };
        assert_eq!(money(&budget, &used).as_deref(), Some("$0.31 of $2.00"));
        assert_eq!(money(&Budget::default(), &used).as_deref(), Some("$0.31"));
        used.micros = 1_996_000;
        assert_eq!(money(&budget, &used).as_deref(), Some("$1.996 of $2.00"));
        used.unpriced = 1;
        assert_eq!(money(&budget, &used).as_deref(), Some("at least $1.996 of $2.00"));
        assert_eq!(limits(&budget, &used), ["60 of 500 tokens"]);
        (used.micros, used.unpriced) = (0, 1);
        assert_eq!(money(&budget, &used).as_deref(), Some("cost unknown, limit $2.00"));
        assert_eq!(money(&Budget::default(), &used), None);
    }
}
