//! Detects rejections that repeat themselves, so that a person should look.
//!
//! Everything is read from the feedback history, so a run that was killed gets the same result as
//! one that was not. A person's feedback restarts the count.

use std::collections::{BTreeMap, BTreeSet};

use crate::artifact::{Feedback, FeedbackType, IdKind, Origin, number_of};
use crate::stage::Stage;

/// Above this similarity, two texts count as repetitions.
const SAME: f64 = 0.8;

/// The newest rejections of a stage that repeat one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    /// Number of similar rejections in a row, at least two.
    pub strikes: u32,
    /// What the rejections have in common.
    pub alike: Alike,
}

/// What rejections have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Alike {
    /// Their words.
    Words,
    /// A finding of one type about this id.
    Finding(String),
}

/// Returns the similarity of two texts, from 0 to 1: the share of words that both contain. Numbers
/// count as words, and case is ignored.
fn similarity(a: &str, b: &str) -> f64 {
    let (a, b) = (words(a), words(b));
    let total: usize = a.values().sum::<usize>() + b.values().sum::<usize>();
    if total == 0 {
        return 1.0;
    }
    let common: usize = a.iter().map(|(word, n)| (*n).min(b.get(word).copied().unwrap_or(0))).sum();
    #[expect(clippy::cast_precision_loss, reason = "counts of words are small")]
    let share = 2.0 * common as f64 / total as f64;
    share
}

/// Returns the newest repetition among a stage's rejections, if the last two are alike. A rejection
/// is all feedback on one draft, from any origin; drafts up to number `after` belong to an earlier
/// run of the stage.
pub(crate) fn circle(history: &[Feedback], stage: Stage, after: u32) -> Option<Circle> {
    let rejections = rejections(history, stage, after);
    let pairs = rejections.windows(2).rev();
    let in_words = 1 + pairs.take_while(|pair| alike(&pair[0].text, &pair[1].text)).count();
    let (last, earlier) = rejections.split_last()?;
    let by_finding = last.findings.iter().map(|finding| {
        let again = earlier.iter().rev().take_while(|other| other.findings.contains(finding));
        (1 + again.count(), finding)
    });
    let about = by_finding.max_by_key(|(strikes, _)| *strikes);
    let (strikes, alike) = match about {
        Some((strikes, finding)) if strikes > in_words => {
            (strikes, Alike::Finding(finding.0.clone()))
        }
        _ => (in_words, Alike::Words),
    };
    let strikes = u32::try_from(strikes).unwrap_or(u32::MAX);
    (strikes > 1).then_some(Circle { strikes, alike })
}

/// True if the previous draft already had this finding.
pub(crate) fn made_before(history: &[Feedback], new: &Feedback) -> bool {
    let earlier = |entry: &&Feedback| {
        let asks = entry.goto_stage().is_some();
        entry.stage == new.stage && entry.iteration < new.iteration && !asks && !entry.is_note()
    };
    let Some(before) = history.iter().filter(earlier).map(|entry| entry.iteration).max() else {
        return false;
    };
    history.iter().filter(earlier).any(|entry| {
        entry.iteration == before
            && entry.from != Origin::Human
            && (alike(&entry.details, &new.details)
                || (finding(entry).is_some() && finding(entry) == finding(new)))
    })
}

/// The id that a finding is about, and the finding's type.
type Finding = (String, &'static str);

struct Rejection {
    iteration: u32,
    text: String,
    findings: BTreeSet<Finding>,
}

fn rejections(history: &[Feedback], stage: Stage, after: u32) -> Vec<Rejection> {
    let mut rejections: Vec<Rejection> = Vec::new();
    for entry in history.iter().filter(|entry| entry.stage == stage && entry.iteration > after) {
        if entry.is_persons_word() {
            rejections.clear();
            continue;
        }
        // Entries like these do not reject a draft.
        if entry.from == Origin::SelfReview || entry.is_note() || entry.goto_stage().is_some() {
            continue;
        }
        match rejections.last_mut() {
            Some(last) if last.iteration == entry.iteration => {
                last.text.push('\n');
                last.text.push_str(&entry.details);
                last.findings.extend(finding(entry));
            }
            _ => rejections.push(Rejection {
                iteration: entry.iteration,
                text: entry.details.clone(),
                findings: finding(entry).into_iter().collect(),
            }),
        }
    }
    rejections
}

/// The first id in the text is the subject of a finding; other ids are only mentioned.
fn finding(entry: &Feedback) -> Option<Finding> {
    let kind = match entry.feedback_type {
        FeedbackType::BuildError => "build_error",
        FeedbackType::QualityIssue => "quality_issue",
        FeedbackType::MissingRequirement => "missing_requirement",
        FeedbackType::Suggestion => "suggestion",
    };
    first_id(&entry.details).map(|id| (id, kind))
}

fn first_id(text: &str) -> Option<String> {
    let kinds = [IdKind::Requirement, IdKind::Feature, IdKind::Component, IdKind::Task];
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
    words.map(str::to_uppercase).find_map(|word| {
        kinds.iter().find_map(|kind| number_of(*kind, &word).map(|number| kind.format(number)))
    })
}

fn alike(a: &str, b: &str) -> bool {
    similarity(a, b) > SAME
}

fn words(text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            *counts.entry(std::mem::take(word)).or_default() += 1;
        }
    };
    for c in text.chars() {
        // From this code point on, scripts have no spaces: each character counts as a word.
        let alone = c >= '\u{2e80}';
        if alone || !c.is_alphanumeric() {
            end(&mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        if alone {
            end(&mut word);
        }
    }
    end(&mut word);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::check::Finding;

    fn said(iteration: u32, from: Origin, details: &str) -> Feedback {
        Feedback { from, ..Finding::wrong("x", details).to_feedback("now", Stage::Prd, iteration) }
    }

    fn critic(details: &[&str]) -> Vec<Feedback> {
        (1..).zip(details).map(|(n, details)| said(n, Origin::Critic, details)).collect()
    }

    fn strikes(history: &[Feedback]) -> u32 {
        circle(history, Stage::Prd, 0).map_or(1, |circle| circle.strikes)
    }

    #[test]
    fn similar_words_of_any_origin_are_counted() {
        let mut history = critic(&[
            "nothing says when the list is full at all",
            "Nothing says, when the LIST is full at all.",
        ]);
        assert_eq!(strikes(&history[..1]), 1);
        assert_eq!(strikes(&history), 2);
        let hook = said(3, Origin::Hook, "nothing says when: the list is full at all!");
        history.push(hook);
        let found = circle(&history, Stage::Prd, 0).unwrap();
        assert_eq!((found.strikes, found.alike), (3, Alike::Words));
        assert_eq!(circle(&history, Stage::Plan, 0), None);
        assert_eq!(circle(&history, Stage::Prd, 1).map(|circle| circle.strikes), Some(2));
        history.push(said(3, Origin::Human, "keep going"));
        assert_eq!(strikes(&history), 1);
    }

    #[test]
    fn a_rejection_is_all_that_was_said_about_one_draft() {
        let mut history = Vec::new();
        for n in 1..=3 {
            history.push(said(n, Origin::Critic, "no user is named anywhere in it"));
            history.push(said(n, Origin::Critic, "the list may grow without any end"));
        }
        assert_eq!(strikes(&history), 3);
        assert_eq!(strikes(&critic(&["no undo", "too many features", "no undo"])), 1);
    }

    #[test]
    fn entries_that_reject_no_draft_are_not_counted() {
        let words = "REQ-003 does not say what ticking twice does";
        let mut history = vec![said(1, Origin::SelfReview, words), said(1, Origin::Critic, words)];
        assert_eq!(strikes(&history), 1);
        history.push(said(2, Origin::Actor, words).to_go_back(Stage::Idea));
        assert_eq!(strikes(&history), 1);
        assert!(!made_before(&history[2..], &said(3, Origin::Critic, words)));
    }

    #[test]
    fn a_note_of_a_person_neither_rejects_nor_restarts_the_count() {
        let mut history = critic(&["no user is named", "no user is named"]);
        let severity = crate::artifact::Severity::Minor;
        let words = "no user is named";
        history.push(Feedback { severity, ..said(2, Origin::Human, words) });
        assert_eq!(strikes(&history), 2);
        history.push(Feedback { severity, ..said(3, Origin::Human, words) });
        assert_eq!(strikes(&history), 2);
        assert!(made_before(&history, &said(4, Origin::Critic, words)), "in draft 2");
        history.push(said(3, Origin::Human, words));
        assert_eq!(strikes(&history), 1);
    }

    #[test]
    fn one_type_of_finding_about_one_id_is_a_repetition_in_other_words_too() {
        let history = critic(&[
            "REQ-002 is vague",
            "Nobody could try out REQ-002, see REQ-001",
            "what does req-2 mean?",
        ]);
        let found = circle(&history, Stage::Prd, 0).unwrap();
        assert_eq!((found.strikes, found.alike), (3, Alike::Finding("REQ-002".to_owned())));
        let other = critic(&["REQ-002 is vague", "REQ-003 is unclear", "REQ-002 lacks a unit"]);
        assert_eq!(strikes(&other), 1);
        let mut mixed = history.clone();
        mixed[1].feedback_type = FeedbackType::MissingRequirement;
        assert_eq!(strikes(&mixed), 1);
    }

    #[test]
    fn findings_of_the_previous_draft_are_recognized() {
        let history = critic(&["REQ-002 is vague", "no user is named"]);
        let new = |details| said(3, Origin::Validator, details);
        assert!(made_before(&history, &new("no user is named.")));
        assert!(!made_before(&history, &new("REQ-002 is vague")), "that was the draft before it");
        assert!(!made_before(&[], &new("no user is named")));
        let person = [said(2, Origin::Human, "no user is named")];
        assert!(!made_before(&person, &new("no user is named")));
    }

    #[test]
    fn similarity_compares_words() {
        assert!(similarity("REQ-002 has no title", "REQ-003 has no title") < 0.81);
        assert!(similarity("", "") > 0.99 && similarity("a", "b") < 0.01);
        assert!(similarity("没有说明谁使用它", "没有说明谁会使用它") > SAME);
        assert!(similarity("没有说明谁使用它", "列表太长") < 0.2);
    }
}
