//! Tools that control the run: verdicts, going back, asking a person, opening the gate.

use serde::{Deserialize, Serialize};

use super::data::word;
use super::plain::{Argument, Kind, Plain, arguments, some};
use super::{Answer, Context, Effect, GoBack, Question, Tool};
use crate::artifact::{Feedback, FeedbackType, Origin, Severity};
use crate::stage::{Role, Stage};
use crate::stages::{DRAFT_NAMES, for_issue, issues, row};

/// The word with which the model names the draft that a person should review.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Reviewed(String);

impl Argument for Reviewed {
    const KIND: Kind = Kind::Choice(&DRAFT_NAMES);
}

arguments! {
    ProvideFeedback {
        feedback_type: FeedbackType,
        severity: Severity,
        details: String,
        suggested_fix: Option<String>,
    }

    ExitLoop {
        summary: Option<String>,
    }

    RequestReplanning {
        target_stage: Option<Stage>,
        /// requirement_mismatch, design_flaw, architecture_conflict or missing_dependency
        issue_type: String,
        severity: Severity,
        details: String,
        affected_features: Option<Vec<String>>,
        suggested_approach: Option<String>,
    }

    GotoStage {
        stage: Stage,
        reason: String,
    }

    RequestHumanReview {
        reason: String,
        details: Option<String>,
        suspected_issue: Option<String>,
    }

    AskUser {
        question: String,
        options: Option<Vec<String>>,
    }

    OpenGate {
        artifact: Reviewed,
    }
}

/// The tools of this file.
pub(super) static TOOLS: [&dyn Tool; 8] = [
    &Plain {
        name: "provide_feedback",
        description: "Reject the draft: one call per problem.",
        effect: Effect::Looks,
        run: provide_feedback,
    },
    &Plain {
        name: "exit_loop",
        description: "Approve the draft.",
        effect: Effect::Looks,
        run: exit_loop,
    },
    &Plain {
        name: "request_replanning",
        description: "Ask to go back because an earlier stage is wrong.",
        effect: Effect::Looks,
        run: request_replanning,
    },
    &Plain {
        name: "goto_stage",
        description: "Ask to go back to an earlier stage.",
        effect: Effect::Looks,
        run: goto_stage,
    },
    &Plain {
        name: "request_human_review",
        description: "Stop and let a person look.",
        effect: Effect::Looks,
        run: request_human_review,
    },
    &Plain {
        name: "ask_user",
        description: "Ask the person what only they know.",
        effect: Effect::Acts,
        run: ask_user,
    },
    &Plain {
        name: "review_and_edit_content",
        description: "Let the person edit the draft now.",
        effect: Effect::Acts,
        run: open_gate,
    },
    &Plain {
        name: "review_with_feedback_content",
        description: "Let the person comment on the draft now.",
        effect: Effect::Acts,
        run: open_gate,
    },
];

fn provide_feedback(context: &mut Context<'_>, args: ProvideFeedback) -> anyhow::Result<Answer> {
    let details = args.details.trim();
    anyhow::ensure!(!details.is_empty(), "details is empty");
    let fix = some(args.suggested_fix.as_ref());
    reject(context, args.feedback_type, args.severity, details, fix)
}

/// Records feedback that rejects the draft.
fn reject(
    context: &mut Context<'_>,
    feedback_type: FeedbackType,
    severity: Severity,
    details: &str,
    suggested_fix: Option<&str>,
) -> anyhow::Result<Answer> {
    let from = match context.role {
        Role::Critic => Origin::Critic,
        Role::Challenger => Origin::Challenger,
        Role::SelfReview => Origin::SelfReview,
        // This stage has no critic: its only agent only reads and gives the verdict, so its
        // feedback counts as the critic's.
        Role::Actor if row(context.stage).judges => Origin::Critic,
        Role::Actor => anyhow::bail!("only the critic gives feedback; fix the draft yourself"),
    };
    let withdrawn = context.outcome.approved.take().is_some();
    let feedback = Feedback {
        at: context.now.to_owned(),
        stage: context.stage,
        iteration: context.iteration,
        from,
        feedback_type,
        severity,
        details: details.to_owned(),
        suggested_fix: suggested_fix.map(str::to_owned),
        extra: serde_json::Map::new(),
    };
    let same = |other: &Feedback| other.details == feedback.details;
    if context.outcome.feedback.iter().any(same) {
        return Ok(Answer::ok("This feedback is recorded already."));
    }
    context.outcome.feedback.push(feedback);
    let number = context.outcome.feedback.len();
    let withdrawn = if withdrawn { " Your earlier approval is withdrawn." } else { "" };
    Ok(Answer::ok(format!("Feedback {number} recorded; the actor gets it.{withdrawn}")))
}

fn exit_loop(context: &mut Context<'_>, args: ExitLoop) -> anyhow::Result<Answer> {
    anyhow::ensure!(
        context.role != Role::Actor,
        "only the critic approves; a draft ends when you answer without a tool call"
    );
    anyhow::ensure!(
        context.outcome.feedback.is_empty(),
        "you gave feedback, so this draft is not approved"
    );
    context.outcome.approved = Some(some(args.summary.as_ref()).unwrap_or_default().to_owned());
    Ok(Answer::ok("Approved."))
}

fn request_replanning(
    context: &mut Context<'_>,
    args: RequestReplanning,
) -> anyhow::Result<Answer> {
    let issue = &args.issue_type;
    let named = for_issue(&issue.trim().to_lowercase().replace([' ', '-'], "_"));
    let wanted = match (args.target_stage, named) {
        (Some(stage), _) => Some(stage),
        (None, Some(stage)) if context.earlier.contains(&stage) => Some(stage),
        // A patch session can lack that stage; then use the last stage before the current one.
        (None, Some(_)) => context.earlier.last().copied(),
        (None, None) => anyhow::bail!(
            "unknown issue_type '{issue}': use {}, or name the target_stage",
            issues().join(", ")
        ),
    };
    let mut reason = format!("{issue} ({}): {}", word(args.severity), args.details.trim());
    let affected = args.affected_features.unwrap_or_default();
    if !affected.is_empty() {
        reason.push_str(&format!("; affected: {}", affected.join(", ")));
    }
    if let Some(approach) = some(args.suggested_approach.as_ref()) {
        reason.push_str(&format!("; suggested: {approach}"));
    }
    go_back(context, wanted, reason, args.severity)
}

fn goto_stage(context: &mut Context<'_>, args: GotoStage) -> anyhow::Result<Answer> {
    let reason = args.reason.trim().to_owned();
    go_back(context, Some(args.stage), reason, Severity::default())
}

/// Checks that a model may go back to `stage` from here.
fn earlier(context: &Context<'_>, stage: Option<Stage>) -> anyhow::Result<Stage> {
    let names: Vec<_> = context.earlier.iter().map(|stage| stage.name()).collect();
    let now = context.stage;
    anyhow::ensure!(!names.is_empty(), "no stage comes before {now}");
    let stage = stage.unwrap_or(now);
    anyhow::ensure!(
        context.earlier.contains(&stage),
        "{stage} does not come before {now} here; you can go back to {}",
        names.join(", ")
    );
    Ok(stage)
}

/// A critic or challenger that asks to go back has given its verdict: if there is no earlier stage
/// to go back to, the draft is rejected instead.
fn go_back(
    context: &mut Context<'_>,
    stage: Option<Stage>,
    reason: String,
    severity: Severity,
) -> anyhow::Result<Answer> {
    if let Some(wish) = &context.outcome.go_back {
        anyhow::bail!("going back to {} was already requested", wish.stage);
    }
    let stage = match earlier(context, stage) {
        Ok(stage) => stage,
        Err(why) if matches!(context.role, Role::Critic | Role::Challenger) => {
            let mut answer = reject(context, FeedbackType::QualityIssue, severity, &reason, None)?;
            answer.text = format!("{why}, so this draft is rejected instead. {}", answer.text);
            return Ok(answer);
        }
        Err(why) => return Err(why),
    };
    context.outcome.go_back = Some(GoBack { stage, reason });
    Ok(Answer::ok(format!("Noted: your request to go back to {stage} is decided after this turn.")))
}

fn request_human_review(
    context: &mut Context<'_>,
    args: RequestHumanReview,
) -> anyhow::Result<Answer> {
    let mut text = args.reason.trim().to_owned();
    if let Some(issue) = some(args.suspected_issue.as_ref()) {
        text.push_str(&format!(" ({})", issue.replace('_', " ")));
    }
    if let Some(details) = some(args.details.as_ref()) {
        text.push_str(&format!(": {details}"));
    }
    context.outcome.human_review = Some(text);
    Ok(Answer::ok("A person will look at it after this turn."))
}

fn ask_user(context: &mut Context<'_>, args: AskUser) -> anyhow::Result<Answer> {
    let question = args.question.trim().to_owned();
    anyhow::ensure!(!question.is_empty(), "question is empty");
    let question = Question { question, options: args.options.unwrap_or_default() };
    if context.outcome.question.is_some() {
        anyhow::bail!("a question is already waiting for an answer");
    }
    match context.person.ask(&question)? {
        Some(answer) if answer.trim().is_empty() => {
            Ok(Answer::ok("The person gave no answer; decide yourself, as simply as possible."))
        }
        Some(answer) => Ok(Answer::ok(format!("The person says: {}", answer.trim()))),
        None => {
            context.outcome.question = Some(question);
            Ok(Answer::ok("No person is available; the question waits for an answer."))
        }
    }
}

fn open_gate(context: &mut Context<'_>, args: OpenGate) -> anyhow::Result<Answer> {
    let now = context.stage;
    let spec = row(now);
    let artifact = spec.artifacts.first().filter(|_| !spec.writes_code());
    anyhow::ensure!(
        args.artifact.0 == spec.called,
        "the gate of {now} shows the draft of {now} only"
    );
    if let Some(artifact) = artifact {
        let text = context.store.text(*artifact)?.unwrap_or_default();
        let name = artifact.file_name();
        anyhow::ensure!(!text.trim().is_empty(), "there is no {name} to review yet; save it first");
    }
    context.outcome.gate_requested = true;
    Ok(Answer::ok("The person gets the draft after this turn."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;
    use crate::tool::testing::{Bench, NOW};

    const FEEDBACK: &str =
        r#"{"feedback_type":"Missing Requirement","severity":"critical","details":"no undo"}"#;

    #[test]
    fn approval_and_feedback_exclude_each_other() {
        let bench = Bench::new(Stage::Prd);
        let mut context = bench.context();
        assert!(!context.call("exit_loop", "{}").ok);
        assert!(!context.call("provide_feedback", FEEDBACK).ok);
        context.0.role = Role::Critic;
        assert!(context.call("exit_loop", r#"{"summary":"good"}"#).ok);
        assert_eq!(context.0.outcome.approved.as_deref(), Some("good"));
        let answer = context.call("provide_feedback", FEEDBACK);
        assert!(answer.text.contains("withdrawn"), "{}", answer.text);
        context.call("provide_feedback", FEEDBACK);
        assert!(!context.call("exit_loop", "{}").ok);
        let outcome = &context.0.outcome;
        assert!(outcome.approved.is_none() && outcome.ends_run(Role::Critic));
        let [feedback] = outcome.feedback.as_slice() else { panic!("{outcome:?}") };
        assert_eq!((feedback.from, feedback.at.as_str()), (Origin::Critic, NOW));
        assert_eq!(feedback.feedback_type, FeedbackType::MissingRequirement);
        assert_eq!((feedback.severity, feedback.iteration), (Severity::Critical, 2));
    }

    #[test]
    fn the_challenger_and_the_check_agent_say_who_they_are() {
        let bench = Bench::new(Stage::Check);
        let mut context = bench.context();
        assert!(context.call("provide_feedback", FEEDBACK).ok);
        context.0.role = Role::Challenger;
        assert!(context.call("provide_feedback", &FEEDBACK.replace("undo", "redo")).ok);
        let from: Vec<_> = context.0.outcome.feedback.iter().map(|f| f.from).collect();
        assert_eq!(from, [Origin::Critic, Origin::Challenger]);
    }

    #[test]
    fn going_back_is_only_possible_to_earlier_stages() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let answer = context.call("goto_stage", r#"{"stage":"coding","reason":"r"}"#);
        assert!(!answer.ok && answer.text.ends_with("you can go back to idea, prd, design"));
        let wish = r#"{"issue_type":"requirement_mismatch","severity":"major","details":"d"}"#;
        assert!(context.call("request_replanning", wish).ok);
        let go_back = context.0.outcome.go_back.clone().unwrap();
        assert_eq!(go_back.stage, Stage::Prd);
        assert_eq!(go_back.reason, "requirement_mismatch (major): d");
        assert!(!context.call("goto_stage", r#"{"stage":"idea","reason":"r"}"#).ok);
        context.0.outcome.go_back = None;
        let other = wish.replace("requirement_mismatch", "the API is not what we thought");
        let answer = context.call("request_replanning", &other);
        assert!(!answer.ok && answer.text.contains("requirement_mismatch, design_flaw"));
        let other = other.replace('{', r#"{"target_stage":"design","#);
        assert!(context.call("request_replanning", &other).ok);
        assert_eq!(context.0.outcome.go_back.clone().unwrap().stage, Stage::Design);
        context.0.outcome.go_back = None;
        context.0.earlier = &[Stage::Triage];
        assert!(context.call("request_replanning", wish).ok);
        assert_eq!(context.0.outcome.go_back.clone().unwrap().stage, Stage::Triage);
        context.0.earlier = &[];
        context.0.outcome.go_back = None;
        assert!(!context.call("request_replanning", wish).ok);
    }

    #[test]
    fn a_replanning_request_includes_all_arguments() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let wish = r#"{"issue_type":"design_flaw","severity":"major","details":"d",
            "affected_features":["FEAT-001","FEAT-002"],"suggested_approach":"one store"}"#;
        assert!(context.call("request_replanning", wish).ok);
        let reason = "design_flaw (major): d; affected: FEAT-001, FEAT-002; suggested: one store";
        assert_eq!(context.0.outcome.go_back.clone().unwrap().reason, reason);
    }

    #[test]
    fn a_critic_that_asks_to_replan_rejects_the_draft_if_it_cannot_go_back() {
        let own = r#"{"target_stage":"plan","issue_type":"design_flaw","severity":"critical",
            "details":"two stores"}"#;
        let later = r#"{"stage":"coding","reason":"two stores"}"#;
        let none = r#"{"issue_type":"design_flaw","severity":"critical","details":"two stores"}"#;
        let bench = Bench::new(Stage::Plan);
        for (tool, arguments, alone) in [
            ("request_replanning", own, false),
            ("goto_stage", later, false),
            ("request_replanning", none, true),
        ] {
            let mut context = bench.context();
            if alone {
                context.0.earlier = &[];
            }
            let refused = context.call(tool, arguments);
            assert!(
                !refused.ok && context.0.outcome.feedback.is_empty(),
                "an actor does it itself"
            );
            context.0.role = Role::Critic;
            let answer = context.call(tool, arguments);
            assert!(answer.ok && answer.text.contains("rejected instead"), "{answer:?}");
            let outcome = &context.0.outcome;
            assert!(outcome.ends_run(Role::Critic) && outcome.go_back.is_none());
            assert!(outcome.feedback[0].details.ends_with("two stores"), "{outcome:?}");
            let critical = outcome.feedback[0].severity == Severity::Critical;
            assert_eq!(critical, tool == "request_replanning");
        }
    }

    #[test]
    fn a_question_is_answered_or_waits() {
        let mut bench = Bench::new(Stage::Idea);
        let question = r#"{"question":"Which language?","options":["Rust","Go"]}"#;
        bench.answer = Some("Rust\n".to_owned());
        let mut context = bench.context();
        assert_eq!(context.call("ask_user", question).text, "The person says: Rust");
        assert!(!context.0.outcome.ends_run(Role::Actor));
        drop(context);
        bench.answer = None;
        let mut context = bench.context();
        context.call("ask_user", question);
        assert_eq!(context.0.outcome.question.clone().unwrap().options, ["Rust", "Go"]);
        assert!(context.0.outcome.ends_run(Role::Actor));
        assert!(!context.call("ask_user", question).ok);
    }

    #[test]
    fn a_person_is_called_with_the_reason() {
        let bench = Bench::new(Stage::Plan);
        let mut context = bench.context();
        let review =
            r#"{"reason":"stuck","suspected_issue":"infinite_loop","details":"same again"}"#;
        assert!(context.call("request_human_review", review).ok);
        let reason = context.0.outcome.human_review.as_deref();
        assert_eq!(reason, Some("stuck (infinite loop): same again"));
        let review = r#"{"reason":"stuck","suspected_issue":"a race"}"#;
        assert!(context.call("request_human_review", review).ok);
        assert_eq!(context.0.outcome.human_review.as_deref(), Some("stuck (a race)"));
    }

    #[test]
    fn the_gate_opens_for_a_draft_that_is_there() {
        let bench = Bench::empty(Stage::Idea);
        let mut context = bench.context();
        let artifact = r#"{"artifact":"idea"}"#;
        assert!(!context.call("review_and_edit_content", artifact).ok);
        bench.files.put(Artifact::Idea, "# A\n");
        assert!(context.call("review_with_feedback_content", artifact).ok);
        assert!(context.0.outcome.gate_requested);
        assert!(!context.call("review_and_edit_content", r#"{"artifact":"prd"}"#).ok);
    }
}
