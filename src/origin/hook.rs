//! Finds lines that a repository hook wrote into a session's commit: files that the session's next
//! commit lists as added by a hook, and lines missing from the tree that was checked.

use std::collections::HashSet;

use super::line_source::{LineSource, SourceKind};
use crate::git::blame::Blamed;
use crate::git::{self, Git, Object, Oid};
use crate::session::{Entry, key};

/// Splits the lines into those a hook wrote and the others.
pub(super) fn apart(
    git: &Git,
    (entry, next): (&Entry, Option<&Entry>),
    lines: &Blamed,
    source: &LineSource,
) -> anyhow::Result<Vec<(Blamed, LineSource)>> {
    let by = |name: Option<&str>| LineSource {
        kind: SourceKind::Hook(name.map(str::to_owned)),
        ..source.clone()
    };
    if let Some(hook) = next.and_then(|next| added_by(next, &lines.path)) {
        return Ok(vec![(lines.clone(), by(Some(hook)))]);
    }
    let Some(checked_text) = checked_lines(git, entry, &lines.path)? else {
        return Ok(vec![(lines.clone(), source.clone())]);
    };
    let mut pieces: Vec<(Blamed, LineSource)> = Vec::new();
    let mut last = None;
    for (at, text) in lines.texts.iter().enumerate() {
        let is_checked = checked_text.contains(text.trim());
        match pieces.last_mut().filter(|_| last == Some(is_checked)) {
            Some((piece, _)) => piece.texts.push(text.clone()),
            None => {
                let (first, line, texts) = (lines.first + at, lines.line + at, vec![text.clone()]);
                let piece = Blamed { first, line, texts, ..lines.clone() };
                pieces.push((piece, if is_checked { source.clone() } else { by(None) }));
            }
        }
        last = Some(is_checked);
    }
    Ok(pieces)
}

/// The hook that added a file to a commit, according to the next commit.
fn added_by<'s>(next: &'s Entry, path: &str) -> Option<&'s str> {
    next.trailers.all(key::HOOK).find_map(|value| {
        let (hook, file) = value.split_once(' ')?;
        (file == path).then_some(hook)
    })
}

/// The lines of a file, trimmed, in the tree that the checks ran on before the commit; `None` if
/// the commit has the same file, or that tree is not in this repository.
fn checked_lines(git: &Git, entry: &Entry, path: &str) -> anyhow::Result<Option<HashSet<String>>> {
    // After a rebase or an amend, a difference from that tree need not be a hook's.
    if entry.time != entry.committed {
        return Ok(None);
    }
    let trees = entry.trailers.all(key::EVIDENCE).filter_map(|run| run.rsplit_once(", tree "));
    let Some((_, tree)) = trees.last() else { return Ok(None) };
    let Some(tree) = git::refs::object_id(git, tree)? else { return Ok(None) };
    let reader = git.reader();
    let blob = |object: &Oid| -> Option<Oid> {
        let entry = reader.entries(object, &[path]).ok()?.pop().flatten()?;
        entry.kind.is_blob().then_some(entry.oid)
    };
    let (then, now) = (blob(&tree), blob(&entry.commit));
    let Some(then) = then.filter(|then| Some(then) != now.as_ref()) else { return Ok(None) };
    let bytes = reader.blob(Object::Id(&then))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(Some(text.lines().map(|line| line.trim().to_owned()).collect()))
}
