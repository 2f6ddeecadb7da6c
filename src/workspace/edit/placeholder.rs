//! Refuses text with placeholders for code ("... rest of the code unchanged"), a habit of models
//! that would silently delete the code.

use crate::workspace::refusal::Refusal;

/// Placeholder texts, without comment marks and dots.
const SAYS: [&str; 19] = [
    "rest of the code",
    "rest of code",
    "rest of the file",
    "rest of file",
    "rest of the function",
    "rest of the implementation",
    "rest of the class",
    "rest of the module",
    "rest of the method",
    "rest of your code",
    "rest remains",
    "rest is unchanged",
    "existing code",
    "your existing code",
    "remaining code",
    "previous code",
    "same as before",
    "code remains unchanged",
    "unchanged code",
];

/// Words at the beginning or end of a placeholder that starts with dots.
const BEGINS: [&str; 8] =
    ["rest", "existing", "remaining", "other", "previous", "same", "unchanged", "omitted"];
const ENDS: [&str; 4] = ["unchanged", "omitted", "as before", "remain the same"];

/// Refuses `new` if it has a placeholder line that `present`, the current file, does not have.
pub(crate) fn refuse(new: &str, present: &str) -> Result<(), Refusal> {
    let found = new.lines().enumerate().find(|(_, line)| {
        is_placeholder(line) && !present.lines().any(|old| old.trim() == line.trim())
    });
    match found {
        None => Ok(()),
        Some((index, line)) => Err(Refusal::failed(format!(
            "line {} is a placeholder for code that is left out (\"{}\"): write all of it out, or use \
             edit_file on just the passage that changes",
            index + 1,
            line.trim()
        ))),
    }
}

/// True for a placeholder: a comment or a line of dots. Other code and prose may contain "existing
/// code".
fn is_placeholder(line: &str) -> bool {
    const MARKS: [&str; 11] = ["//", "#", "--", "/*", "{/*", "<!--", "*", ";", "%", "...", "…"];
    /// Longer comments are not placeholders.
    const LONG: usize = 60;
    let line = line.trim();
    if !MARKS.iter().any(|mark| line.starts_with(mark)) {
        return false;
    }
    let said = line.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let dots = line.contains("...") || line.contains('…');
    let before = &line[..line.find(char::is_alphanumeric).unwrap_or(line.len())];
    let dots_first = before.contains("... ") || before.contains("… ");
    let word = |word: &&str| {
        said.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    SAYS.iter().any(|says| {
        said == *says || (said.starts_with(says) && (dots || said.len() < says.len() + 24))
    }) || dots_first
        && said.len() < LONG
        && (BEGINS.iter().any(word) || ENDS.iter().any(|end| said.ends_with(end)))
}
