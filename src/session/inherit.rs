//! Data for a session that starts from a completed stage of another session
//! (`git cowork new --from S@STAGE`).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::change_requests::known;
use super::{Entry, KnownRecords, RefNames, Session, SessionName, as_of, key, no_session};
use crate::artifact::Base;
use crate::error::Error;
use crate::git::{Git, Oid};
use crate::stage::{Depth, Stage};
use crate::stages::row;

/// Trailers about a stage's approval, which the start commit copies.
const TAKEN_OVER: [&str; 3] = [key::REVIEW, key::APPROVED, key::REVIEWED_BY];

/// A completed stage of a session: `todo@prd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageOf {
    /// The session.
    pub session: SessionName,
    /// The stage.
    pub stage: Stage,
}

impl FromStr for StageOf {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some((session, stage)) = text.split_once('@') else {
            return Err(Error::usage(format!("'{text}' names no stage"))
                .hint(format!("add it, as in {text}@prd")));
        };
        let stage = stage.parse().map_err(|_| {
            Error::usage(format!("there is no stage '{stage}'"))
                .hint(format!("one of: {}", Stage::ALL.map(Stage::name).join(", ")))
        })?;
        Ok(Self { session: session.parse()?, stage })
    }
}

/// What the new session inherits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inheritance {
    /// The other session's idea, as its user entered it.
    pub idea: String,
    /// The title of the idea.
    pub title: String,
    /// The other session's depth.
    #[serde(default)]
    pub depth: Depth,
    /// The base of the other session.
    pub base: Base,
    /// The commit that completed the stage.
    pub commit: Oid,
    /// Trailers of a start commit that completes the stage.
    pub trailers: Vec<(String, String)>,
    /// The models that generated the inherited documents.
    pub models: Vec<String>,
}

impl Inheritance {
    /// Reads what a session that starts from this stage inherits.
    ///
    /// # Errors
    /// Exit 5: there is no such session, it is a change request, it has no commit of the stage, or
    /// the stage does not come before coding; the message lists the stages the session has.
    pub fn read(git: &Git, refs: &RefNames, from: &StageOf) -> anyhow::Result<Self> {
        let StageOf { session: name, stage } = from;
        if let Some((parent, _)) = name.patch_parts() {
            return Err(Error::repository(format!("'{name}' is a change request"))
                .hint(format!(
                    "start from the session it changes: git cowork new --from {parent}@{stage}"
                ))
                .into());
        }
        let Some((session, _)) = known(git, refs, name)? else {
            return Err(no_session(name).into());
        };
        let stages: Vec<Stage> =
            session.order().into_iter().filter(|stage| row(*stage).is_before_code()).collect();
        let entry = session.stage_entry(*stage).filter(|_| stages.contains(stage));
        let Some(entry) = entry else {
            let has = stages.into_iter().filter(|stage| session.stage_entry(*stage).is_some());
            return Err(no_such_stage(from, &has.map(Stage::name).collect::<Vec<_>>()).into());
        };
        Ok(Self {
            idea: session.file.idea.clone(),
            title: session.file.title.clone(),
            depth: session.depth(),
            base: session.file.base.clone(),
            commit: entry.commit.clone(),
            trailers: trailers(git, &session, *stage, entry)?,
            models: models(&session, entry),
        })
    }
}

fn no_such_stage(from: &StageOf, has: &[&str]) -> Error {
    let StageOf { session, stage } = from;
    if has.is_empty() {
        return Error::repository(format!("'{session}' has completed no stage to start from"))
            .hint(format!("finish one first: git cowork resume {session} --stop-after idea"));
    }
    let newest = has.last().copied().unwrap_or_default();
    Error::repository(format!(
        "a session cannot start from {stage} of '{session}'; it can start from {}",
        has.join(", ")
    ))
    .hint(format!("git cowork new --from {session}@{newest}"))
}

/// The trailers of the start commit.
fn trailers(
    git: &Git,
    session: &Session,
    stage: Stage,
    entry: &Entry,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut trailers = vec![(key::STAGE.to_owned(), stage.to_string())];
    let from = format!("{}@{stage} {}", session.name, entry.commit.abbreviated());
    trailers.push((key::FROM.to_owned(), from));
    for name in TAKEN_OVER {
        let values = entry.trailers.all(name);
        trailers.extend(values.map(|value| (name.to_owned(), value.to_owned())));
    }
    // Ids of records deleted before the stage was completed remain used.
    let then = as_of(session, entry);
    trailers.push((key::IDS.to_owned(), KnownRecords::read(git, &then)?.floors.ids().join(" ")));
    Ok(trailers)
}

/// The models used in a session up to a commit.
fn models(session: &Session, until: &Entry) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for entry in &session.history {
        let named = entry.trailers.get(key::MODEL).unwrap_or_default();
        for model in named.split(", ").filter(|model| !model.is_empty()) {
            if !models.iter().any(|known| known == model) {
                models.push(model.to_owned());
            }
        }
        if entry.commit == until.commit {
            break;
        }
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_of_a_session_is_written_with_an_at_sign() {
        let from: StageOf = "todo@prd".parse().unwrap();
        assert_eq!((from.session.as_str(), from.stage), ("todo", Stage::Prd));
        for wrong in ["todo", "todo@", "@prd", "todo@prdx", "To Do@prd", "todo@prd@idea"] {
            assert!(wrong.parse::<StageOf>().is_err(), "{wrong}");
        }
    }
}
