//! Things that models often build although nobody asked for them. Prompts use this table to say
//! what to leave out; checks use it to find words that hint at such things. A word is evidence for
//! the critic and never rejects a draft, because "performance" may be exactly what the idea is
//! about.

use serde::Serialize;

/// Where a thing is unwanted: in what the product does, or in how it is built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Product,
    Structure,
}

/// A thing to leave out unless somebody asks for it.
struct Excess {
    part: Part,
    /// The name that prompts use.
    name: &'static str,
    /// Lower-case words and phrases that hint at the thing; a match starts at the start of a word
    /// and may end with more letters. At least one of them is in the name.
    words: &'static [&'static str],
}

const fn excess(part: Part, name: &'static str, words: &'static [&'static str]) -> Excess {
    Excess { part, name, words }
}

const EXCESSES: [Excess; 13] = [
    excess(
        Part::Product,
        "performance work",
        &["performance", "benchmark", "optimi", "scalab", "load balanc"],
    ),
    excess(Part::Product, "test infrastructure", &["test infrastructure"]),
    excess(Part::Product, "deployment", &["deployment", "docker", "kubernetes"]),
    excess(Part::Product, "CI/CD", &["ci/cd", "continuous integration"]),
    excess(Part::Product, "monitoring", &["monitoring", "observability", "telemetry", "analytics"]),
    excess(Part::Product, "accounts", &["account", "authentication"]),
    excess(Part::Product, "sync", &["sync"]),
    excess(Part::Structure, "microservices", &["microservice"]),
    excess(Part::Structure, "caches", &["cache", "caching"]),
    excess(Part::Structure, "message queues", &["message queue", "event bus", "kafka", "redis"]),
    excess(Part::Structure, "plugin systems", &["plugin"]),
    excess(Part::Structure, "extra layers", &["extra layer", "abstraction layer"]),
    excess(Part::Structure, "class hierarchies", &["class hierarch", "abstract factory"]),
];

/// Things to leave out unless the user asks for them, as comma-separated lists for prompts.
#[derive(Clone, Debug, Serialize)]
pub struct Unasked {
    /// Things that a product does or comes with.
    pub product: String,
    /// Things in the structure of the code.
    pub structure: String,
    /// Work that must not be a task of its own.
    pub tasks: &'static str,
    /// Constructs in the code itself, such as design patterns.
    pub code: &'static str,
}

impl Default for Unasked {
    fn default() -> Self {
        let names = |part: Part| -> String {
            let names = EXCESSES.iter().filter(|excess| excess.part == part);
            names.map(|excess| excess.name).collect::<Vec<_>>().join(", ")
        };
        Self {
            product: names(Part::Product),
            structure: names(Part::Structure),
            tasks: "test, optimise, document or deploy",
            code: "design patterns, abstractions with one use, options",
        }
    }
}

/// Returns the words of the table that a text contains, each with its first line: `"monitoring"
/// (line 12: - monitoring of all requests)`.
pub fn word_evidence(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let lines: Vec<(&str, String)> = text.lines().map(|line| (line, line.to_lowercase())).collect();
    for word in EXCESSES.iter().flat_map(|excess| excess.words) {
        let hit = lines.iter().enumerate().find_map(|(number, (line, lower))| {
            let starts =
                |at: usize| !lower[..at].chars().next_back().is_some_and(char::is_alphanumeric);
            let (at, _) = lower.match_indices(word).find(|(at, _)| starts(*at))?;
            let whole: String = lower[at..]
                .char_indices()
                .take_while(|(i, c)| *i < word.len() || c.is_alphanumeric())
                .map(|(_, c)| c)
                .collect();
            Some((number + 1, whole, line.trim().chars().take(80).collect::<String>()))
        });
        if let Some((number, whole, line)) = hit {
            found.push(format!("\"{whole}\" (line {number}: {line})"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_once_with_their_line() {
        let found = word_evidence("# PRD\n- CI/CD pipeline\n- Microservices, and microservices\n");
        assert_eq!(
            found,
            [
                "\"ci/cd\" (line 2: - CI/CD pipeline)",
                "\"microservices\" (line 3: - Microservices, and microservices)"
            ]
        );
    }

    #[test]
    fn words_match_only_at_the_start_of_a_word() {
        assert!(word_evidence("geocache hunting; no such thing").is_empty());
    }

    #[test]
    fn every_name_that_prompts_use_is_found() {
        let Unasked { product, structure, .. } = Unasked::default();
        for name in format!("{product}, {structure}").split(", ") {
            assert_eq!(word_evidence(name).len(), 1, "{name}");
        }
    }
}
