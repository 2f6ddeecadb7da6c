//! Decides whether a text asks for tests. Words are weak evidence: a text may be in any language,
//! and "test" may be what a program is about. So there are four results, and only a clear request
//! suppresses a warning.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::test_finder::{is_test_path, knows};
use crate::languages;

/// The words that decide whether a text asks for tests, in lower case.
struct Words {
    /// Words for tests.
    mentions: &'static str,
    /// Words before a mention that show that software tests are meant: `unit tests`.
    kinds: &'static str,
    /// Words that ask for tests by themselves, besides the test frameworks of the languages.
    tools: &'static str,
    /// Words before a mention that ask for tests, besides the programs that run tests.
    asking: &'static str,
    /// Words that refuse tests.
    refusing: &'static str,
    /// Words shortly after a mention that refuse tests.
    refused_after: &'static str,
    /// Words right after a mention that expect tests.
    expected: &'static str,
    /// Words allowed between an asking word and the mention.
    articles: &'static str,
    /// Words that end the reach of a refusing word.
    joining: &'static str,
}

const WORDS: Words = Words {
    mentions: "test tests testing tested",
    kinds: "unit integration regression e2e end-to-end automated automatic",
    tools: "tdd test-driven testsuite",
    asking: "with have has having add adds adding write writes writing include includes including \
             need needs want wants wanted plus covered make mit avec con com met med",
    refusing: "no not without never none nor neither skip omit avoid dont don't doesn't needn't \
               shouldn't aren't kein keine keinen nicht ohne pas sans aucun sin senza nessun sem \
               geen zonder utan inga ikke uden bez без",
    refused_after: "not none no never unnecessary unneeded unwanted aren't",
    expected: "pass passes cover covers for",
    articles: "a an the some all by of any more own good des de les",
    joining: "and but with und et",
};

/// The reach of a refusing word, in words.
const REACH: usize = 3;
/// Maximum characters of a quoted sentence.
const QUOTED: usize = 80;

/// What a text says about tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// It asks for tests.
    Asked,
    /// The request says, in this sentence, that no tests are wanted.
    Refused(String),
    /// It mentions tests, in this sentence.
    Unclear(String),
    /// It does not mention tests.
    Nothing,
}

impl Request {
    /// What the text says about tests.
    pub(crate) fn of(text: &str) -> Self {
        let sentences = text.split(['\n', '!', '?', ';']).flat_map(|line| line.split(". "));
        sentences.map(sentence).fold(Self::Nothing, Self::and)
    }

    /// The combined statement of two texts of equal importance.
    pub(crate) fn and(self, other: Self) -> Self {
        let weight = |request: &Self| match request {
            Self::Asked => 3,
            Self::Refused(_) => 2,
            Self::Unclear(_) => 1,
            Self::Nothing => 0,
        };
        if weight(&other) > weight(&self) { other } else { self }
    }
}

/// True if a list of words contains a word.
fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|other| other == word)
}

/// Words that ask for tests by themselves; a set, because every word of every document is looked
/// up.
static TOOLS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let frameworks = languages::ALL.iter().flat_map(|language| language.programs.test_frameworks);
    WORDS.tools.split_whitespace().chain(frameworks.copied()).collect()
});

/// `cargo test`, `npm test`.
fn runs_tests(word: &str) -> bool {
    languages::ALL.iter().any(|language| language.programs.run_tests.contains(&word))
}

fn sentence(text: &str) -> Request {
    let lower = text.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || "-'_./".contains(c)))
        .map(|word| word.trim_matches(['.', '\'', '-', '/']))
        .filter(|word| !word.is_empty())
        .collect();
    let is = |list: &str, at: Option<usize>| {
        at.and_then(|at| words.get(at)).is_some_and(|word| has(list, word))
    };
    let quote = || {
        let text = text.trim().trim_start_matches(['-', '*', '#', ' ']);
        text.chars().take(QUOTED).collect::<String>()
    };
    let mut said = Request::Nothing;
    for (at, word) in words.iter().enumerate() {
        let path = word.contains(['/', '.']) && is_test_path(word) && knows(word);
        let tool = TOOLS.contains(word) || path;
        if !tool && !has(WORDS.mentions, word) {
            continue;
        }
        let mut before = at.checked_sub(1);
        let kind = is(WORDS.kinds, before);
        while is(WORDS.kinds, before) || is(WORDS.articles, before) {
            before = before.and_then(|at| at.checked_sub(1));
        }
        let asking = is(WORDS.asking, before)
            || before.and_then(|at| words.get(at)).is_some_and(|word| runs_tests(word));
        let reach = &words[at.saturating_sub(REACH + usize::from(kind))..at];
        let refused = reach.iter().rposition(|word| has(WORDS.refusing, word));
        // `no server and with tests`: the last word decides.
        let asked_since =
            refused.is_some_and(|from| reach[from..].iter().any(|word| has(WORDS.joining, word)));
        let after = &words[(at + 1).min(words.len())..(at + 1 + REACH).min(words.len())];
        let refused_after = after.iter().any(|word| has(WORDS.refused_after, word));
        let elsewhere = words.iter().any(|word| has(WORDS.refusing, word));
        let first = before.is_none() || is(WORDS.joining, before);
        let expected = is(WORDS.expected, Some(at + 1)) && (kind || asking || first);
        said = said.and(if refused.is_some() && !asked_since {
            Request::Refused(quote())
        } else if asking {
            Request::Asked
        } else if refused_after {
            Request::Refused(quote())
        } else if !elsewhere && (kind || tool || expected) {
            Request::Asked
        } else {
            Request::Unclear(quote())
        });
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_asked_for() {
        for text in [
            "kept in one plain text file, with tests",
            "Write unit tests.",
            "- Have tests for all of this, so that nothing is lost",
            "a CLI; TDD please",
            "Every command is covered by tests",
            "WHEN I run `cargo test` THEN it passes",
            "tests/test_add.py shows it",
            "No server, with unit tests",
            "no dependencies, but add tests",
            "Unit tests cover adding and listing",
            "mit Tests",
            "avec des tests unitaires, sans réseau",
        ] {
            assert_eq!(Request::of(text), Request::Asked, "{text}");
        }
    }

    #[test]
    fn tests_are_refused() {
        for text in [
            "a todo list, no tests please",
            "without any tests",
            "Don't write tests",
            "do not add unit tests",
            "Tests are not needed.",
            "Testing: none",
            "no unit or integration tests",
            "skip the tests",
            "ohne Tests",
            "keine Tests",
            "sans tests",
            "pas de tests",
            "sin tests",
        ] {
            assert!(
                matches!(Request::of(text), Request::Refused(_)),
                "{text}: {:?}",
                Request::of(text)
            );
        }
    }

    #[test]
    fn a_mention_is_not_a_request() {
        for text in [
            "Tested on Linux",
            "a speed test for home networks",
            "shows the results of blood tests",
            "No docs, and unit tests",
            "I test it by hand",
        ] {
            assert!(
                matches!(Request::of(text), Request::Unclear(_)),
                "{text}: {:?}",
                Request::of(text)
            );
        }
        for text in ["the latest news", "a contest", "to attest", "含测试"] {
            assert_eq!(Request::of(text), Request::Nothing, "{text}");
        }
    }

    #[test]
    fn a_clear_request_takes_precedence() {
        let text = "Tested on Linux.\nNo integration tests.\nAdd unit tests.";
        assert_eq!(Request::of(text), Request::Asked);
        let text = "Tested on Linux.\nNo tests, please.";
        assert_eq!(Request::of(text), Request::Refused("No tests, please.".into()));
    }
}
