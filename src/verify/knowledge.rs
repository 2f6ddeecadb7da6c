//! Checks `.cowork/knowledge.md` for inconsistencies. They do no harm, so all of them are notes.

use super::problem::Problem;
use crate::artifact::knowledge::{Fact, KNOWLEDGE, contradictions, duplicates};
use crate::git::Git;
use crate::session::{Session, knowledge_at, knowledge_taken_out};

/// Maximum number of notes of each kind.
const MOST: usize = 10;

/// Notes about the file at the session's tip.
pub(super) fn problems(git: &Git, session: &Session) -> anyhow::Result<Vec<Problem>> {
    let note = |code, details: String, fix: &str| {
        Problem::new(session, code, KNOWLEDGE, details).fix(fix).note()
    };
    let file = match knowledge_at(git, &session.tip)? {
        Ok(file) => file,
        Err(why) => {
            let details = format!("{KNOWLEDGE} {why}, so no model gets its content");
            return Ok(vec![note(
                "knowledge-unreadable",
                details,
                "correct it by hand and commit it",
            )]);
        }
    };
    let facts: Vec<&Fact> = file.facts().collect();
    let mut problems = Vec::new();
    for fact in duplicates(&facts).into_iter().take(MOST) {
        let details = format!("'{fact}' is listed more than once");
        problems.push(note(
            "knowledge-duplicate",
            details,
            "delete all but one, then commit the change",
        ));
    }
    let which = "find out which one is true, delete the other one, then commit the change";
    for (one, other) in contradictions(&facts).into_iter().take(MOST) {
        let details = format!("'{one}' and '{other}' cannot both be true");
        problems.push(note("knowledge-contradiction", details, which));
    }
    let gone = knowledge_taken_out(session);
    for fact in gone.iter().map(|one| &one.fact).filter(|fact| file.says(&fact.text)).take(MOST) {
        let details = format!("'{fact}' is present, although this session removed it as outdated");
        problems.push(note("knowledge-contradiction", details, which));
    }
    Ok(problems)
}
