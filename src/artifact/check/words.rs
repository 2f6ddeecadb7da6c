//! Words that often mean more was built than was asked for: evidence for the critic, never a
//! refusal, because "performance" may be just what the idea is about.

/// Words and phrases, lower-case; a match begins at a word's start and may end in more letters.
const WORDS: [&str; 24] = [
    "performance",
    "benchmark",
    "optimi",
    "scalab",
    "monitoring",
    "observability",
    "telemetry",
    "analytics",
    "deployment",
    "docker",
    "kubernetes",
    "ci/cd",
    "continuous integration",
    "microservice",
    "message queue",
    "event bus",
    "kafka",
    "redis",
    "cache",
    "caching",
    "load balanc",
    "plugin",
    "test infrastructure",
    "abstract factory",
];

/// The suspicious words in a text, each with the line where it stands first:
/// `"monitoring" (line 12: - monitoring of all requests)`.
pub fn word_evidence(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in WORDS {
        let hit = text.lines().enumerate().find_map(|(number, line)| {
            let lower = line.to_lowercase();
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
    fn only_at_the_start_of_a_word() {
        assert!(word_evidence("geocache hunting; no such thing").is_empty());
    }
}
