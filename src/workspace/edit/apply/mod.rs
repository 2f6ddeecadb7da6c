//! Applies edits to a text: all of them or none; each replaces only the passage it names. Pure:
//! text in, text out.

use serde::Deserialize;

use crate::workspace::edit::fuzzy_match::{self, Match, MatchLevel, eol_of, with_eol};
use crate::workspace::edit::nearest;
use crate::workspace::edit::placeholder;
use crate::workspace::refusal::Refusal;

const BOM: char = '\u{feff}';

/// One replacement.
#[derive(Clone, Debug, Deserialize)]
pub struct Edit {
    /// The passage to replace.
    pub old_text: String,
    /// The replacement; an empty text deletes the passage.
    pub new_text: String,
    /// True to replace every occurrence; otherwise there must be only one.
    #[serde(default)]
    pub replace_all: bool,
}

/// An edited text, with a summary for the model.
#[derive(Debug)]
pub(crate) struct Edited {
    pub text: String,
    pub summary: String,
}

/// Applies edits to `text`, each to the result of the previous one; applies none if one fails. Line
/// endings, a byte-order mark and the presence of a final newline are preserved.
pub(crate) fn apply(path: &str, text: &str, edits: &[Edit]) -> Result<Edited, Refusal> {
    if edits.is_empty() {
        return Err(Refusal::failed(
            "there is nothing to edit: give old_text and new_text, or edits",
        ));
    }
    let bare = text.strip_prefix(BOM).unwrap_or(text);
    let mut edited = bare.to_owned();
    let (mut done, mut failed) = (Vec::new(), Vec::new());
    for (number, edit) in (1..).zip(edits) {
        match one(path, &edited, edit) {
            Ok(one) => {
                done.push((number, one.lines, one.level));
                edited = one.text;
            }
            Err(why) => failed.push((number, why)),
        }
    }
    if let Some((_, why)) = failed.first() {
        return Err(Refusal::failed(match edits {
            [_] => why.clone(),
            _ => none_applied(path, edits.len(), &failed),
        }));
    }
    let edited = with_end_of(bare, edited);
    if edited == bare {
        return Err(Refusal::failed(format!(
            "{path} already has this content: nothing was changed"
        )));
    }
    let bom = &text[..text.len() - bare.len()];
    Ok(Edited { text: format!("{bom}{edited}"), summary: summary(path, &done) })
}

/// Returns `content` with the line endings, byte-order mark and final newline of `old`.
pub(crate) fn in_style_of(old: &str, content: &str) -> String {
    let mut styled = match old.contains('\n') {
        false => content.to_owned(),
        true => with_eol(&content.replace("\r\n", "\n"), eol_of(old)),
    };
    if old.ends_with('\n') && !styled.is_empty() && !styled.ends_with('\n') {
        styled.push_str(eol_of(old));
    }
    if old.starts_with(BOM) && !styled.starts_with(BOM) {
        styled.insert(0, BOM);
    }
    styled
}

struct One {
    text: String,
    /// Line numbers in the text before the edit.
    lines: Vec<usize>,
    level: MatchLevel,
}

/// Applies one edit; returns the reason if that fails.
fn one(path: &str, text: &str, edit: &Edit) -> Result<One, String> {
    let bare = |text: &str| text.strip_prefix(BOM).unwrap_or(text).replace("\r\n", "\n");
    let (old, new) = (bare(&edit.old_text), bare(&edit.new_text));
    if old.is_empty() {
        return Err("old_text is empty; write_file makes or replaces a whole file".to_owned());
    }
    if old == new {
        return Err("old_text and new_text are the same: nothing to change".to_owned());
    }
    placeholder::refuse(&new, text).map_err(|refusal| refusal.message)?;
    let Some(found) = fuzzy_match::find(text, &old, &new) else {
        return Err(not_found(path, text, &old, &new));
    };
    let lines: Vec<_> = found.matches.iter().map(|m| line_of(text, m.range.start)).collect();
    if lines.len() > 1 && !edit.replace_all {
        return Err(format!(
            "old_text occurs {} times in {path}, at lines {}; give more of the lines around the one \
             you mean, or set replace_all",
            lines.len(),
            join(&lines)
        ));
    }
    let (edited, lines) = replace(text, &found.matches);
    if edited == text {
        return Err(format!("{path} already has this text at line {}", join(&lines)));
    }
    Ok(One { text: edited, lines, level: found.level })
}

/// Replaces all matches that do not overlap the previous one; returns the text and the line
/// numbers.
fn replace(text: &str, matches: &[Match]) -> (String, Vec<usize>) {
    let (mut edited, mut lines) = (String::with_capacity(text.len()), Vec::new());
    let mut at = 0;
    for one in matches {
        if one.range.start < at {
            continue;
        }
        edited.push_str(&text[at..one.range.start]);
        edited.push_str(&one.new);
        lines.push(line_of(text, one.range.start));
        at = one.range.end;
    }
    edited.push_str(&text[at..]);
    (edited, lines)
}

/// Gives `edited` a final newline if `text` has one, and none otherwise, unless the edit changed
/// nothing but the final newline.
fn with_end_of(text: &str, edited: String) -> String {
    if edited.is_empty() || text.is_empty() || text.ends_with('\n') == edited.ends_with('\n') {
        return edited;
    }
    let other = match edited.strip_suffix('\n') {
        Some(bare) => bare.strip_suffix('\r').unwrap_or(bare).to_owned(),
        None => format!("{edited}{}", eol_of(text)),
    };
    if other == text { edited } else { other }
}

fn summary(path: &str, done: &[(usize, Vec<usize>, MatchLevel)]) -> String {
    let lines: Vec<usize> = done.iter().flat_map(|(_, lines, _)| lines).copied().collect();
    let place = if lines.len() == 1 { "line" } else { "lines" };
    let mut text = match done {
        [_] => format!("edited {path} at {place} {}", join(&lines)),
        _ => format!("edited {path}: {} edits, at {place} {}", done.len(), join(&lines)),
    };
    for (number, _, level) in done {
        let what = match level {
            MatchLevel::Exact => continue,
            MatchLevel::LineEnds | MatchLevel::BothEnds => {
                "white space differed; the file's was kept"
            }
            MatchLevel::Punctuation => {
                "quotes, dashes or blanks differed; the file's were kept where you changed nothing"
            }
        };
        match done {
            [_] => text.push_str(&format!(" ({what})")),
            _ => text.push_str(&format!("\nedit {number}: {what}")),
        }
    }
    text
}

fn none_applied(path: &str, all: usize, failed: &[(usize, String)]) -> String {
    let mut text =
        format!("nothing was written to {path}: {} of {all} edits cannot be applied", failed.len());
    for (number, why) in failed {
        text.push_str(&format!("\nedit {number}: {why}"));
    }
    let fit: Vec<usize> = (1..=all).filter(|n| failed.iter().all(|(f, _)| f != n)).collect();
    if !fit.is_empty() {
        let each = if fit.len() == 1 { "edit" } else { "edits" };
        text.push_str(&format!("\n{each} {} would apply", join(&fit)));
    }
    text.push_str(&format!("\nfix the failed edits and send all {all} again"));
    text
}

fn not_found(path: &str, text: &str, old: &str, new: &str) -> String {
    let mut message = format!("old_text was not found in {path}; nothing was changed");
    let mut there = None;
    if !new.trim().is_empty() {
        there = fuzzy_match::find(text, new, "").filter(|found| found.level == MatchLevel::Exact);
    }
    if let Some(first) = there.as_ref().and_then(|there| there.matches.first()) {
        let line = line_of(text, first.range.start);
        message.push_str(&format!("; new_text is already there, at line {line}"));
    }
    match nearest::excerpt(text, old) {
        Some(lines) => message.push_str(&format!("\nThe nearest lines are:\n{lines}")),
        None => message.push_str("; read the file again and copy the passage from it"),
    }
    message
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn join(lines: &[usize]) -> String {
    const SHOWN: usize = 10;
    let mut text = lines.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if lines.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod tests;
