//! Facts that say the same twice, and facts that cannot both be true.

use super::{Fact, folded};

/// Words between what a fact is about and what it says of it.
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
/// Verbs of which one denies the other.
const OPPOSITES: [(&str, &str); 2] = [(" must ", " must not "), (" always ", " never ")];
/// Words of a statement that leaves no room for another one: a longer one may say something else beside.
const SHORT: usize = 4;

/// Facts that stand there more than once, under whatever heading; each once.
pub fn duplicates<'a>(facts: &[&'a Fact]) -> Vec<&'a Fact> {
    let again = |(at, fact): &(usize, &&Fact)| {
        facts[..*at].iter().filter(|other| other.says(&fact.text)).count() == 1
    };
    facts.iter().enumerate().filter(again).map(|(_, fact)| *fact).collect()
}

/// Pairs of facts about the same thing that say different things of it: `tests use pytest` and `tests use
/// unittest`. Only statements of the same form and few words are compared.
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

/// What a fact says of what, by the first verb in it.
fn statement(text: &str) -> Option<Statement> {
    let found = VERBS.iter().filter_map(|verb| Some((text.find(verb)?, *verb)));
    // Of two that begin at the same place the longer one is meant.
    let (at, verb) = found.min_by_key(|(at, verb)| (*at, std::cmp::Reverse(verb.len())))?;
    let says = text[at + verb.len()..].to_owned();
    let about = text[..at].trim_start_matches("the ").to_owned();
    Some(Statement { about, verb, says })
}
