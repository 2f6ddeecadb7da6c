//! Attempts: tips that a session abandoned, read from their refs.

use std::str::FromStr as _;

use super::{RefNames, SessionName, Verdict};
use super::{Trailers, key};
use crate::artifact::Origin;
use crate::git::{self, Git, Oid, RefInfo};
use crate::stage::Stage;

/// A return to an earlier stage, or a person's abort of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Back {
    /// The stage to repeat.
    pub to: Stage,
    /// The commit the stage starts from.
    pub target: Oid,
    /// The stage in progress before.
    pub from: Stage,
    /// Who requested it; `None` if no draft was discarded, or if the person aborted the draft.
    pub by: Option<Origin>,
    /// The draft of stage `from` that the request was about; 0 if a person went back.
    pub iteration: u32,
    /// The reason, on one line; may be empty.
    pub reason: String,
}

impl Back {
    /// Records it in an attempt's trailers.
    pub fn push(&self, trailers: &mut Trailers) {
        let Self { to, target, from, by, iteration, reason } = self;
        let by = by.map(|by| format!(" {} {iteration}", by.name())).unwrap_or_default();
        trailers.push(key::BACK, format!("{to} {target} {from}{by}"));
        trailers.push(key::REASON, reason);
    }

    /// Reads the trailers written by [`Back::push`].
    pub(super) fn parse(trailers: &Trailers) -> Option<Self> {
        let mut words = trailers.get(key::BACK)?.split(' ');
        Some(Self {
            to: Stage::from_str(words.next()?).ok()?,
            target: words.next()?.parse().ok()?,
            from: Stage::from_str(words.next()?).ok()?,
            by: words.next().and_then(Origin::named),
            iteration: words.next().and_then(|number| number.parse().ok()).unwrap_or_default(),
            reason: trailers.get(key::REASON).unwrap_or_default().to_owned(),
        })
    }
}

/// An abandoned tip.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The session.
    pub session: SessionName,
    /// Its number, from 1.
    pub number: u32,
    /// The commit of the ref: the tip itself, or a child of it with the uncommitted edits.
    pub commit: Oid,
    /// The abandoned tip.
    pub tip: Oid,
    /// Why it was abandoned.
    pub reason: String,
    /// The return to an earlier stage, or the abort, for which the tip was abandoned.
    pub back: Option<Back>,
    /// [`Verdict::Passed`] for a copy made although nothing was abandoned, [`Verdict::Edited`] for
    /// a person's undone edit of a draft, [`Verdict::Auto`] if no person requested the attempt.
    pub verdict: Option<Verdict>,
    /// Unix seconds.
    pub time: i64,
}

impl Attempt {
    /// Full name of its ref.
    pub fn ref_name(&self) -> String {
        RefNames::attempt(&self.session, self.number).to_string()
    }

    /// True if `undo` can restore abandoned work from it.
    pub fn can_be_undone(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Aborted | Verdict::Auto))
    }

    /// True if it contains a person's undone edit of a draft.
    pub fn holds_an_edit(&self) -> bool {
        self.verdict == Some(Verdict::Edited)
    }

    /// True if it equals the present state: a command was killed before it abandoned anything.
    ///
    /// # Errors
    /// Git cannot read the repository.
    pub fn is_here(&self, git: &Git, refs: &RefNames) -> anyhow::Result<bool> {
        if git.resolve(refs.branch(&self.session).as_str())?.as_ref() != Some(&self.tip) {
            return Ok(false);
        }
        let edits = git::paths::changed(git, &self.tip, &self.commit)?;
        let here = git::snapshot::tree(git, &self.tip, &edits)?;
        Ok(git::snapshot::tree_of(git, self.commit.as_str())? == Some(here))
    }
}

/// The attempts of one session, or of all, oldest first.
pub fn attempts(git: &Git, session: Option<&SessionName>) -> anyhow::Result<Vec<Attempt>> {
    let root = session.map_or_else(|| RefNames::ATTEMPTS.to_owned(), RefNames::attempts);
    let mut found = Vec::new();
    for info in git::refs::list(git, &[&root])? {
        found.extend(attempt(git, info)?);
    }
    found.sort_by_key(|attempt: &Attempt| (attempt.time, attempt.number));
    Ok(found)
}

fn attempt(git: &Git, info: RefInfo) -> anyhow::Result<Option<Attempt>> {
    let parts =
        info.name.as_str().strip_prefix(RefNames::ATTEMPTS).and_then(|rest| rest.rsplit_once('/'));
    let Some((Ok(session), Ok(number))) = parts.map(|(s, n)| (s.parse(), n.parse())) else {
        return Ok(None);
    };
    let trailers = Trailers::parse(&info.message);
    let child = trailers.get(key::EVENT) == Some("attempt");
    let parent = if child { git.resolve(&format!("{}^1", info.oid))? } else { None };
    let prefix = format!("attempt {number}: ");
    Ok(Some(Attempt {
        session,
        number,
        tip: parent.unwrap_or_else(|| info.oid.clone()),
        commit: info.oid,
        reason: info.subject.strip_prefix(&prefix).unwrap_or(&info.subject).to_owned(),
        back: Back::parse(&trailers).filter(|_| child),
        // If the attempt is the abandoned tip itself, the trailer is that commit's verdict on a
        // draft: it says nothing about the attempt.
        verdict: trailers.get(key::REVIEW).filter(|_| child).and_then(Verdict::parse),
        time: info.committer_time,
    }))
}
