//! Finds duplicate and contradicting facts.

use super::{Fact, folded};

/// Verbs that separate the subject of a fact from its statement.
const VERBS: [&str; 12] = [
    " is ",
    " are ",
    " uses ",
    " use ",
    " lives in ",
    " live in ",
    " runs with ",
    " run with ",
    " must not ",
    " must ",
    " never ",
    " always ",
];
/// Pairs of opposite verbs.
const OPPOSITES: [(&str, &str); 2] = [(" must ", " must not "), (" always ", " never ")];
/// Two different statements about one subject contradict each other only if neither has more words
/// than this: longer statements can both be true.
const SHORT: usize = 4;

/// Returns the facts that occur more than once, under any heading; each once.
pub fn duplicates<'a>(facts: &[&'a Fact]) -> Vec<&'a Fact> {
    let again = |(at, fact): &(usize, &&Fact)| {
        facts[..*at].iter().filter(|other| other.says(&fact.text)).count() == 1
    };
    facts.iter().enumerate().filter(again).map(|(_, fact)| *fact).collect()
}

/// Returns pairs of facts that make different statements about the same subject: `tests use pytest`
/// and `tests use unittest`. Only short statements with the same verb, or equal statements with
/// opposite verbs, are compared.
pub fn contradictions<'a>(facts: &[&'a Fact]) -> Vec<(&'a Fact, &'a Fact)> {
    let said: Vec<_> = facts.iter().map(|fact| (*fact, statement(&folded(&fact.text)))).collect();
    let mut pairs = Vec::new();
    for (at, (one, first)) in said.iter().enumerate() {
        for (other, second) in &said[at + 1..] {
            if let (Some(first), Some(second)) = (first, second)
                && first.denies(second)
            {
                pairs.push((*one, *other));
            }
        }
    }
    pairs
}

struct Statement {
    about: String,
    verb: &'static str,
    says: String,
}

impl Statement {
    fn denies(&self, other: &Self) -> bool {
        let short = |one: &Self| one.says.split(' ').count() <= SHORT;
        let verbs = [(self.verb, other.verb), (other.verb, self.verb)];
        let opposite = verbs.iter().any(|pair| OPPOSITES.contains(pair));
        let imperative = OPPOSITES.iter().any(|(yes, no)| [*yes, *no].contains(&self.verb));
        self.about == other.about
            && match self.verb == other.verb {
                true => !imperative && self.says != other.says && short(self) && short(other),
                false => opposite && self.says == other.says,
            }
    }
}

/// Splits a fact at its first verb into subject and statement.
fn statement(text: &str) -> Option<Statement> {
    let found = VERBS.iter().filter_map(|verb| Some((text.find(verb)?, *verb)));
    // If two verbs start at the same place, the longer one counts.
    let (at, verb) = found.min_by_key(|(at, verb)| (*at, std::cmp::Reverse(verb.len())))?;
    let says = text[at + verb.len()..].to_owned();
    let about = text[..at].trim_start_matches("the ").to_owned();
    Some(Statement { about, verb, says })
}
