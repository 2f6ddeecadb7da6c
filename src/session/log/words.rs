//! Describes a step in words, and removes repetitions from steps for display.

use super::Step;

impl Step {
    /// The attempt a step was abandoned with; `None` if the step is on the branch, or is a saved
    /// draft beside the branch's tip.
    pub fn lane(&self) -> Option<u32> {
        self.attempt.or(self.left)
    }

    /// Describes the event on one line; quoted reasons may have more lines.
    pub fn words(&self) -> String {
        let draft = self.iteration.map(|n| format!("draft {n}")).unwrap_or_default();
        let who = person(&self.actor);
        let why = if self.reason.is_empty() { String::new() } else { format!(": {}", self.reason) };
        match self.event {
            "feedback" if self.decision == Some("edited") => {
                format!("{draft}, {who} edited {}", self.reason)
            }
            "feedback" if self.from != self.to => {
                format!(
                    "{draft}, {who} asked to go back to {}{why}",
                    self.to.as_deref().unwrap_or("?")
                )
            }
            "feedback" if self.decision == Some("feedback") && who == "self-review" => {
                format!("{draft}, {who} could not fix{why}")
            }
            "feedback" if self.decision == Some("feedback") => format!("{draft}, {who} said{why}"),
            "feedback" => format!("{draft} rejected by {who}{why}"),
            "draft_kept" => draft,
            "question_answered" => format!("{draft}, {who} asked{why}"),
            "review_requested" => format!("{draft} waits for review{why}"),
            "review_answered" => {
                let how = if self.claimed { "claimed" } else { self.decision.unwrap_or_default() };
                format!("{draft} {how} by {who}{why}")
            }
            "went_back" | "copy_kept" => match self.attempt {
                Some(number) => format!("attempt {number}{why}"),
                None => self.reason.clone(),
            },
            _ => self.summary.clone(),
        }
    }

    /// Details: the decision, the checks, the usage.
    pub fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        let who = person(&self.actor);
        match self.event {
            "stage_completed" => {
                let drafts = self.iteration.unwrap_or(1);
                facts.push(if drafts == 1 {
                    "1 draft".to_owned()
                } else {
                    format!("{drafts} drafts")
                });
                facts.push(match self.decision {
                    Some(_) if self.claimed => format!("claimed by {who}"),
                    Some(how @ ("passed" | "edited")) => format!("{how} by {who}"),
                    Some(how) => how.to_owned(),
                    None => who.to_owned(),
                });
                facts.extend(
                    self.self_review
                        .as_ref()
                        .map(|outcome| format!("self-review {}", outcome.replace('_', " "))),
                );
            }
            "went_back" => {
                let stage = |stage: &Option<String>| stage.clone().unwrap_or_default();
                let by = match (self.decision, self.stage, self.iteration) {
                    (Some("auto"), Some(stage), Some(draft)) => {
                        format!("the {stage} {who} (draft {draft})")
                    }
                    (Some("auto"), ..) => "a model".to_owned(),
                    _ => who.to_owned(),
                };
                let (from, to) = (stage(&self.from), stage(&self.to));
                facts.push(match from == to {
                    true if from == "completed" => format!("after completion, by {by}"),
                    true => format!("while at {from}, by {by}"),
                    false => format!("from {from} to {to}, by {by}"),
                });
            }
            _ => {}
        }
        facts.extend(self.checks.clone().filter(|checks| checks != "none"));
        if self.spent.tokens() > 0 {
            facts.push(self.spent.words());
            facts.extend(self.spent.cost());
        }
        if self.cost.is_some() {
            facts.push(self.models.join(", "));
        }
        facts
    }
}

/// A name without its email address.
fn person(actor: &str) -> &str {
    actor.split(" <").next().unwrap_or(actor)
}

/// Removes repeated steps: a draft saved again, feedback repeated by a review, further findings
/// about the same draft. Each remaining step has the number of findings left out.
pub fn once(steps: &[Step]) -> Vec<(&Step, usize)> {
    let about = |step: &Step| (step.stage, step.iteration, step.attempt);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let repeated = |step: &Step| {
        step.event == "feedback"
            && step.decision == Some("feedback")
            && steps.iter().any(|other| {
                other.event == "review_answered"
                    && (other.stage, other.iteration) == (step.stage, step.iteration)
                    && words(&other.reason).contains(&words(&step.reason))
            })
    };
    let mut out: Vec<(&Step, usize)> = Vec::new();
    for step in steps.iter().filter(|step| !repeated(step)) {
        match out.last_mut().filter(|(last, _)| about(last) == about(step)) {
            Some((last, _)) if last.event == "draft_kept" && step.event == "draft_kept" => {
                *last = step;
            }
            Some((last, more))
                if step.decision == Some("rejected")
                    && last.decision == step.decision
                    && last.actor == step.actor =>
            {
                *more += 1;
            }
            _ => out.push((step, 0)),
        }
    }
    out
}
