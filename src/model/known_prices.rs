//! List prices of well-known models, so that costs are shown without configured prices.
//!
//! List prices in US dollars for a million tokens, as charmbracelet/catwalk had them on 2026-08-21
//! (`gpt-4.1`: the vendor's own list).
//! Prices under `[budget] prices` take precedence, and a cost that the server reports with an
//! answer takes precedence over both. Charges for cache writes are not included: usage is not
//! counted in that detail.

use crate::config::Price;

/// Name, prompt, generated, cached prompt.
const PRICES: [(&str, f64, f64, f64); 19] = [
    ("claude-haiku-4-5", 1.0, 5.0, 0.1),
    ("claude-opus-5", 5.0, 25.0, 0.5),
    ("claude-sonnet-5", 2.0, 10.0, 0.2),
    ("deepseek-v4-flash", 0.14, 0.28, 0.0028),
    ("deepseek-v4-pro", 0.435, 0.87, 0.0036),
    ("gemini-2-5-flash", 0.3, 2.5, 0.03),
    ("gemini-3-1-pro", 2.0, 12.0, 0.2),
    ("gemini-3-7-flash", 0.75, 3.75, 0.075),
    ("glm-5-3", 1.4, 4.4, 0.26),
    ("gpt-4-1", 2.0, 8.0, 0.5),
    ("gpt-5-4", 2.5, 15.0, 0.25),
    ("gpt-5-6-luna", 1.0, 6.0, 0.1),
    ("gpt-5-6-sol", 5.0, 30.0, 0.5),
    ("gpt-5-mini", 0.25, 2.0, 0.025),
    ("grok-4-3", 1.25, 2.5, 0.2),
    ("grok-4-5", 2.0, 6.0, 0.3),
    ("kimi-k3", 3.0, 15.0, 0.3),
    ("minimax-m3", 0.6, 2.4, 0.12),
    ("mistral-large-2512", 0.5, 1.5, 0.05),
];

/// The list price of a model, by its name at the vendor or at a gateway (`openai/gpt-5-mini`), with
/// or without a date. A name that is only a prefix or an extension of a known name is another
/// model.
pub fn known(model: &str) -> Option<Price> {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase().replace('.', "-");
    let row = |price_name: &str| PRICES.iter().find(|(name, ..)| *name == price_name);
    let (_, input, output, cached) = row(&name).or_else(|| row(without_date(&name)))?;
    Some(Price { input: *input, output: *output, cached: *cached })
}

/// `gpt-5-mini` for `gpt-5-mini-2025-08-07` or `gpt-5-mini-20250807`.
fn without_date(name: &str) -> &str {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let date = |text: &str| match text.split('-').collect::<Vec<_>>()[..] {
        [whole] => whole.len() == 8 && digits(whole),
        [year, month, day] => {
            year.len() == 4 && month.len() == 2 && day.len() == 2 && digits(&text.replace('-', ""))
        }
        _ => false,
    };
    let ends = name.match_indices('-').find(|(at, _)| date(&name[at + 1..]));
    ends.map_or(name, |(at, _)| &name[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_by_its_names() {
        for name in ["gpt-5-mini", "openai/gpt-5-mini", "GPT-5-mini-2025-08-07"] {
            assert_eq!(known(name).unwrap().output, 2.0, "{name}");
        }
        for name in ["claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"] {
            assert_eq!(known(name).unwrap().cached, 0.1, "{name}");
        }
        for name in ["gpt-5-mini-high", "gpt-5", "claude-sonnet-5-5", "qwen2.5-coder:1.5b", ""] {
            assert_eq!(known(name), None, "{name}");
        }
    }

    #[test]
    fn the_table_is_in_order_and_cached_tokens_cost_less() {
        assert!(PRICES.is_sorted_by_key(|(name, ..)| *name));
        for (name, input, output, cached) in PRICES {
            assert!(cached < input && input < output, "{name}");
        }
    }
}
