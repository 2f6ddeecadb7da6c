//! `Cowork-…` trailer keys.

/// Session name.
pub const SESSION: &str = "Cowork-Session";
/// Session UUID.
pub const SESSION_ID: &str = "Cowork-Session-Id";
/// The event, on commits that do not complete a stage or task.
pub const EVENT: &str = "Cowork-Event";
/// The stage that a stage, draft or review commit belongs to.
pub const STAGE: &str = "Cowork-Stage";
/// The session's depth from this commit on.
pub const DEPTH: &str = "Cowork-Depth";
/// On a stage commit of a change request: the scope from this commit on, wider than its
/// triage's: `prd, plan and code`.
pub const SCOPE: &str = "Cowork-Scope";
/// Task id.
pub const TASK: &str = "Cowork-Task";
/// Feature id.
pub const FEATURE: &str = "Cowork-Feature";
/// Number of drafts by the actor.
pub const ITERATIONS: &str = "Cowork-Iterations";
/// The verdict of the review.
pub const REVIEW: &str = "Cowork-Review";
/// The approved bytes.
pub const APPROVED: &str = "Cowork-Approved";
/// With `Cowork-Approved` of code: digest of the files the session changed, so that the
/// approval survives a rebase.
pub const CODE: &str = "Cowork-Code";
/// The person who approved it.
pub const REVIEWED_BY: &str = "Reviewed-by";
/// Model names.
pub const MODEL: &str = "Cowork-Model";
/// Token counts.
pub const TOKENS: &str = "Cowork-Tokens";
/// With `Cowork-Tokens`: requests, milliseconds, and dollars if known.
pub const COST: &str = "Cowork-Cost";
/// The results of the checks that git-cowork ran.
pub const CHECKS: &str = "Cowork-Checks";
/// With `Cowork-Checks`, one per command: exit code, blob of its log, tree it ran on.
pub const EVIDENCE: &str = "Cowork-Evidence";
/// With `Cowork-Checks`: how many of the tests that criteria name passed, and the log with the
/// result of each. Older sessions have one per test, with its result.
pub const TESTS: &str = "Cowork-Tests";
/// With `Cowork-Review: auto`: the command that decided.
pub const DECIDED_BY: &str = "Cowork-Decided-By";
/// One per proposed fact: `learned Commands: TEXT` or `outdated …`; on a decision:
/// `taken Commands: TEXT` or `dropped …`.
pub const KNOWLEDGE: &str = "Cowork-Knowledge";
/// On a waiting draft: `approved` if the critic has approved these bytes (critic-first order),
/// `asks` if it requests a person's decision. On a saved draft: `approved` and the bytes, or
/// `asks` and the question.
pub const CRITIC: &str = "Cowork-Critic";
/// On a saved draft: the critic's comment when it approved.
pub const CRITIC_SAID: &str = "Cowork-Critic-Said";
/// Like `Cowork-Critic`, for the challenger; `asks` if the challenger rejected the draft; a
/// person who approves the draft overrules the challenger.
pub const CHALLENGER: &str = "Cowork-Challenger";
/// On a saved draft: the challenger's comment when it approved.
pub const CHALLENGER_SAID: &str = "Cowork-Challenger-Said";
/// On a draft: the actor's closing message, on one line.
pub const ACTOR_SAID: &str = "Cowork-Actor-Said";
/// On a draft: what the actor said about the code, `whole: …` and `corrected: …`.
pub const CODE_SAID: &str = "Cowork-Code-Said";
/// On a draft: the model a person chose for the next drafts, by its name in the configuration,
/// followed by the server's name for the model if it is not the configured one.
pub const ACTOR_MODEL: &str = "Cowork-Actor-Model";
/// On a saved draft: a person's question to the actor about it; the body is the answer.
pub const ASKED: &str = "Cowork-Asked";
/// On a saved draft: the number of calls that a guard refused in the stage.
pub const REFUSALS: &str = "Cowork-Refusals";
/// On a saved or waiting draft: why the run ended and cannot continue without a person.
pub const STUCK: &str = "Cowork-Stuck";
/// On a saved draft: the actor had not finished it.
pub const PARTIAL: &str = "Cowork-Partial";
/// On a saved draft: a person's edits, as `prd.md since=COMMIT` (the commit shown before).
pub const EDITED: &str = "Cowork-Edited";
/// On a saved draft: the commit last viewed by a person.
pub const SEEN: &str = "Cowork-Seen";
/// On the commit that follows a commit to which a hook added files: the hook and the path, one
/// trailer per file.
pub const HOOK: &str = "Cowork-Hook";
/// On a merge: the merged tip of the session.
pub const TIP: &str = "Cowork-Tip";
/// On a commit of `verify --fix`: a change request, the id that it assigned, and the record's
/// new id.
pub const RENUMBERED: &str = "Cowork-Renumbered";
/// On a start commit that completes a stage: the stage it copies from another session, and the
/// commit that completed it there: `todo@prd 1a2b3c4d5e6f`.
pub const FROM: &str = "Cowork-From";
/// With `Cowork-From`: the highest ids used in that session until then: `REQ-004 FEAT-002`.
pub const IDS: &str = "Cowork-Ids";
/// On an attempt whose draft was discarded by going back: the stage to repeat, the commit it
/// starts from, the stage in progress before, the role that requested it, and the draft of the
/// latter stage that the request was about: `design 1a2b… coding actor 1`. On a review: the stage
/// to go back to.
pub const BACK: &str = "Cowork-Back";
/// On a review: the number of further drafts that a person allows.
pub const MORE: &str = "Cowork-More";
/// With `Cowork-Back`: the reason. With `Cowork-Task`, on a commit that changes no code: why
/// the task needs no change.
pub const REASON: &str = "Cowork-Reason";
/// On a saved draft: the commit last read by the critic.
pub const READ: &str = "Cowork-Read";
/// The outcome of the actor's self-review: `revised`, `passed` or `needs_revision` (it could
/// not fix its findings). On a saved draft also `begun` and the commit under review.
pub const SELF_REVIEW: &str = "Cowork-Self-Review";
