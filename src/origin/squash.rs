//! Squashes of a whole session, or of several commits of a session: made by
//! `git cowork merge --without-artifacts`, by a forge or by hand. Their lines are traced to the
//! squashed commits if those are still in this repository.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::line_source::{CommitOrigin, LineSource, SessionPart, line_source};
use super::records::Records;
use super::sessions::{Sessions, named_by, session_file};
use crate::git::blame::Blamed;
use crate::git::{Commit, Git, Object, Oid};
use crate::session::{SESSIONS, SessionName, Trailers, key};

/// The parts of sessions that a squash contains; `None` if the commit is not a squash.
pub(super) fn parts(
    sessions: &Sessions<'_>,
    commit: &Commit,
    trailers: &Trailers,
) -> anyhow::Result<Option<Vec<SessionPart>>> {
    let is_start = trailers.get(key::EVENT) == Some("start");
    let mut session_ids = if is_start { Vec::new() } else { brought(sessions.git, commit)? };
    let is_merge = trailers.get(key::EVENT) == Some("merge");
    let quotes = quoted_commits(&commit.message);
    let trailer_session = named_by(trailers).map(|(name, id)| (name, id.to_owned()));
    let several = quotes.commits > 1;
    if session_ids.is_empty() && !is_merge && !several {
        return Ok(None);
    }
    let sessions_in_quotes = if several { quotes.sessions } else { Vec::new() };
    for session in
        trailer_session.into_iter().filter(|_| is_merge || several).chain(sessions_in_quotes)
    {
        if !session_ids.contains(&session) {
            session_ids.push(session);
        }
    }
    let mut parts = Vec::new();
    for (name, id) in session_ids {
        let tip = trailers.get(key::TIP).and_then(|tip| tip.parse().ok());
        let tip: Option<Oid> = tip.filter(|_| trailers.get(key::SESSION_ID) == Some(&id));
        let by_name = sessions.of_name(&name, &id, tip.as_ref())?;
        let tip = by_name.as_ref().map(|view| view.session.tip.clone());
        let at_commit = sessions.at(&name, &id, &commit.id);
        // The squashed commits are more precise than the records in the squash.
        let Some(view) = by_name.or_else(|| at_commit.clone()) else { continue };
        let mut tasks = match at_commit {
            Some(at_commit) => {
                let before = commit.parents.first();
                let before = before.map(|old| Records::at(sessions.git, &name, old));
                let before: BTreeSet<String> = before
                    .map(|records| records.tasks().map(|task| task.id.clone()).collect())
                    .unwrap_or_default();
                let new = at_commit.at_tip.tasks().filter(|task| !before.contains(&task.id));
                new.map(|task| view.records.id_of(&task.id, &at_commit.at_tip)).collect()
            }
            None => sessions.own_tasks(&view),
        };
        // A squash of some commits may add no tasks, since the plan is older: use the quoted tasks.
        if tasks.is_empty() && several {
            let id_of = |id: &String| view.records.id_of(id, &view.at_tip);
            tasks = quotes.tasks.iter().map(id_of).collect();
        }
        parts.push(SessionPart { session: view, tasks, tip });
    }
    Ok((!parts.is_empty()).then_some(parts))
}

/// Traces lines to the squashed commits. `None` if those are gone. `blamed_at` blames the file at a
/// commit, and `sources` finds the sources of its lines.
pub(super) fn through(
    git: &Git,
    blamed_at: impl Fn(&Oid) -> anyhow::Result<Rc<Vec<Blamed>>>,
    sources: impl Fn(&Blamed) -> anyhow::Result<Vec<(Blamed, LineSource)>>,
    origin: &CommitOrigin,
    lines: &Blamed,
) -> anyhow::Result<Option<Vec<(Blamed, LineSource)>>> {
    for part in &origin.parts {
        let Some(tip) = part.tip.as_ref().filter(|tip| **tip != origin.commit.id) else { continue };
        let Some(map) = same_lines(git, &origin.commit.id, tip, &lines.path)? else {
            continue;
        };
        let inner = blamed_at(tip)?;
        let mut pieces: Vec<(Blamed, LineSource)> = Vec::new();
        for (at, text) in lines.texts.iter().enumerate() {
            let inner_line = map.line(lines.line + at);
            let inner_piece = inner_line.and_then(|line| {
                inner.iter().find(|piece| piece.first <= line && line <= piece.last())
            });
            let place = inner_piece.zip(inner_line).filter(|(piece, _)| {
                // The session's branch may contain this very commit.
                piece.commit.as_ref().is_some_and(|commit| *commit != origin.commit.id)
            });
            let one = |commit: &Option<Oid>, path: &str, line: usize| Blamed {
                first: lines.first + at,
                commit: commit.clone(),
                path: path.to_owned(),
                line,
                texts: vec![text.clone()],
            };
            let next = match place {
                Some((piece, line)) => {
                    let line = piece.line + (line - piece.first);
                    sources(&one(&piece.commit, &piece.path, line))?
                }
                None => {
                    let line = one(&lines.commit, &lines.path, lines.line + at);
                    vec![(line, line_source(origin, &lines.path))]
                }
            };
            for (line, source) in next {
                let is_inner = source.commit.as_ref().is_some_and(|c| c.id != origin.commit.id);
                let squash = is_inner.then(|| Rc::clone(&origin.commit));
                join(&mut pieces, line, LineSource { squash, ..source });
            }
        }
        return Ok(Some(pieces));
    }
    Ok(None)
}

/// Joins lines to the last piece if they continue it.
fn join(pieces: &mut Vec<(Blamed, LineSource)>, lines: Blamed, source: LineSource) {
    if let Some((last, last_source)) = pieces.last_mut()
        && last.commit == lines.commit
        && last.path == lines.path
        && last.line + last.texts.len() == lines.line
        && (&last_source.kind, &last_source.tasks) == (&source.kind, &source.tasks)
    {
        last.texts.extend(lines.texts);
        return;
    }
    pieces.push((lines, source));
}

/// The lines of a file that are the same in two commits.
struct SameLines {
    /// Number of equal lines at the start.
    head: usize,
    /// Number of equal lines at the end.
    tail: usize,
    lines: [usize; 2],
}

impl SameLines {
    /// Returns the line of the second commit that corresponds to a line of the first, both counted
    /// from 1; `None` if that line differs.
    fn line(&self, line: usize) -> Option<usize> {
        let [first_len, second_len] = self.lines;
        match line {
            _ if line <= self.head => Some(line),
            _ if line + self.tail > first_len => Some(line + second_len - first_len),
            _ => None,
        }
    }
}

/// Compares a file in two commits; `None` if one of them does not have it.
fn same_lines(
    git: &Git,
    first: &Oid,
    second: &Oid,
    path: &str,
) -> anyhow::Result<Option<SameLines>> {
    let reader = git.reader();
    let blob = |commit| reader.blob(Object::At(commit, path));
    let (Some(a), Some(b)) = (blob(first)?, blob(second)?) else { return Ok(None) };
    let split = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect()
    };
    let (a, b) = (split(&a), split(&b));
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = a.len().min(b.len()) - head;
    let ends = a.iter().rev().zip(b.iter().rev()).take(rest);
    let tail = ends.take_while(|(a, b)| a == b).count();
    Ok(Some(SameLines { head, tail, lines: [a.len(), b.len()] }))
}

/// The sessions, with their ids, whose own records exist in a commit but not in its first parent.
fn brought(git: &Git, commit: &Commit) -> anyhow::Result<Vec<(SessionName, String)>> {
    let reader = git.reader();
    let folders = |at: Option<&Oid>, folder: &str| -> anyhow::Result<Vec<(String, Oid)>> {
        at.map_or(Ok(Vec::new()), |at| reader.folders_in(at, folder))
    };
    let parent = commit.parents.first();
    let root = |at: Option<&Oid>| -> anyhow::Result<Option<Oid>> {
        let Some(at) = at else { return Ok(None) };
        Ok(reader.entries(at, &[SESSIONS])?.pop().flatten().map(|entry| entry.oid))
    };
    if root(Some(&commit.id))? == root(parent)? {
        return Ok(Vec::new());
    }
    let before = folders(parent, SESSIONS)?;
    let mut names: Vec<SessionName> = Vec::new();
    for (name, oid) in folders(Some(&commit.id), SESSIONS)? {
        let Ok(name) = name.parse::<SessionName>() else { continue };
        let earlier = before.iter().find(|(old, _)| *old == name.as_str());
        if earlier.is_some_and(|(_, old)| *old == oid) {
            continue;
        }
        let inside = format!("{}/changes", name.artifact_dir());
        let old = folders(parent.filter(|_| earlier.is_some()), &inside)?;
        for (change, _) in folders(Some(&commit.id), &inside)? {
            let is_new = !old.iter().any(|(name, _)| *name == change);
            let change = change.parse::<SessionName>().ok().filter(|_| is_new);
            names.extend(change.and_then(|change| name.change(&change).ok()));
        }
        if earlier.is_none() {
            names.insert(0, name);
        }
    }
    let id = |name: SessionName| {
        let file = session_file(git, &name, &commit.id)?;
        Some((name, file.id))
    };
    Ok(names.into_iter().filter_map(id).collect())
}

/// Session commits whose messages are quoted in a commit message, indented or not, as a squash
/// does.
#[derive(Default)]
struct QuotedCommits {
    /// Number of commits.
    commits: usize,
    sessions: Vec<(SessionName, String)>,
    tasks: Vec<String>,
}

fn quoted_commits(message: &str) -> QuotedCommits {
    let mut commits = QuotedCommits::default();
    let mut name: Option<SessionName> = None;
    for line in message.lines() {
        let Some((word, value)) = line.trim().split_once(": ") else { continue };
        if word.eq_ignore_ascii_case(key::SESSION) {
            name = value.parse().ok();
        } else if word.eq_ignore_ascii_case(key::SESSION_ID) {
            commits.commits += 1;
            let session = name.take().map(|name| (name, value.to_owned()));
            commits.sessions.extend(session.filter(|session| !commits.sessions.contains(session)));
        } else if word.eq_ignore_ascii_case(key::TASK) && !commits.tasks.iter().any(|t| t == value)
        {
            commits.tasks.push(value.to_owned());
        }
    }
    commits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_commits_of_a_squash_are_found() {
        let one = "    coding: TASK-001 x\n\n    Cowork-Session: todo\n    Cowork-Session-Id: 1-2\n    \
                   Cowork-Task: TASK-001\n";
        let all = format!("Squashed\n\n{one}\n{}", one.replace("TASK-001", "TASK-002"));
        let found = quoted_commits(&all);
        assert_eq!((found.commits, found.sessions.len()), (2, 1));
        assert_eq!(found.tasks, ["TASK-001", "TASK-002"]);
        assert_eq!(quoted_commits(one).commits, 1);
    }

    #[test]
    fn lines_before_and_after_a_difference_are_the_same() {
        let same = SameLines { head: 2, tail: 3, lines: [6, 8] };
        let lines: Vec<_> = (1..=6).map(|line| same.line(line)).collect();
        assert_eq!(lines, [Some(1), Some(2), None, Some(6), Some(7), Some(8)]);
    }
}
