//! What tokens cost.

use std::collections::BTreeMap;

use crate::config::Price;
use crate::event::Usage;

/// Cost in US dollars, with cached prompt tokens at their own price; none if the model has no
/// price.
pub fn cost(usage: Usage, model: &str, prices: &BTreeMap<String, Price>) -> Option<f64> {
    let price = prices.get(model)?;
    let cached_input = usage.cached.min(usage.input);
    let dollars = (usage.input - cached_input) as f64 * price.input
        + cached_input as f64 * price.cached
        + usage.output as f64 * price.output;
    Some(dollars / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_have_their_own_price() {
        let price = Price { input: 2.0, output: 8.0, cached: 0.5 };
        let prices = BTreeMap::from([("m".to_owned(), price)]);
        let usage = Usage { input: 1_000_000, output: 500_000, cached: 400_000 };
        let dollars = cost(usage, "m", &prices).unwrap();
        assert!((dollars - 5.4).abs() < 1e-9, "{dollars}");
        assert_eq!(cost(usage, "other", &prices), None);
    }
}
