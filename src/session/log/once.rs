//! Removes repetitions from steps for display.

use super::Step;

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
