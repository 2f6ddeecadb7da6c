//! Reports how stages were approved. Before a merge and before a push, checks that somebody
//! approved the content of the session.

use crate::cli::context::Context;
use crate::config::Config;
use crate::error::Error;
use crate::git::Git;
use crate::session::{RefNames, Session, approval_of};
use crate::stage::Stage;
use crate::ui::one_line;
use crate::verify::{Approvals, StageApproval, words};

/// Prints how the session's gated stages were approved and what has changed since.
///
/// # Errors
/// Exit 5: a stage contains bytes that nobody approved, and `force` is not set or there is
/// no terminal.
pub(crate) fn require(
    context: &Context,
    git: &Git,
    session: &Session,
    force: bool,
) -> anyhow::Result<()> {
    let refs = context.refs()?;
    let approvals = Approvals { git, refs: &refs, session };
    let all = approvals.of_stages(context.config()?)?;
    let missing: Vec<&StageApproval> = all.iter().filter(|one| one.missing.is_some()).collect();
    let reasons: Vec<&str> = missing.iter().filter_map(|one| one.missing.as_deref()).collect();
    let warn = |text: String| context.warn(text);
    let is_forced = force && context.attended();
    if !reasons.is_empty() && !is_forced {
        let name = &session.name;
        let why = if force { " (--force works only on a terminal)" } else { "" };
        let mut error = Error::repository(format!(
            "'{name}' contains changes that nobody approved{why}: {}",
            reasons.join("; ")
        ));
        for one in missing {
            error = error.hint(format!(
                "approve it as it is now: git cowork review {name} --stage {} --pass",
                one.stage
            ));
        }
        return Err(error.into());
    }
    reasons.iter().for_each(|reason| warn(format!("not approved: {reason}")));
    let line = |one: &StageApproval| format!("{} {}", one.stage, one.how);
    let list: Vec<String> = all.iter().filter(|one| one.missing.is_none()).map(line).collect();
    if !list.is_empty() {
        context.note(format!("approvals: {}", list.join(", ")));
    }
    for change in approvals.changed_after()? {
        warn(change.to_string());
    }
    Ok(())
}

/// How each finished stage was approved; empty for other stages.
pub(crate) fn how_passed(
    git: &Git,
    config: &Config,
    session: &Session,
) -> anyhow::Result<Vec<(Stage, String)>> {
    let refs = RefNames::new(&config.project.branch_prefix);
    let approvals = Approvals { git, refs: &refs, session };
    let mut all = Vec::new();
    for stage in session.order() {
        let entry = session.stage_entry(stage).and_then(|_| approval_of(session, stage));
        let how = match entry {
            Some(entry) => words(entry, approvals.reviewer(config, entry)?.as_ref()),
            None => String::new(),
        };
        all.push((stage, one_line(&how, 60)));
    }
    Ok(all)
}
