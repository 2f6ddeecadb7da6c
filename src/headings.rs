//! The headings under which models are told things. A document, a file or a command's output with
//! such a line could pass for a section of git-cowork's own, so the line is set off by a backslash,
//! which makes it plain text in Markdown. What a model writes with that backslash gets it off again.

use std::borrow::Cow;

use serde_json::Value;

/// The headings of the prompts, and of what comes before them.
const WHOLE: [&str; 42] = [
    "A question about your draft",
    "Accept",
    "Changed since you last looked",
    "Changed since you last read it",
    "Changed since you last saw them",
    "Definitions in neighbouring files (LINE: signature)",
    "Definitions in these files (LINE: signature)",
    "Definitions that the idea names",
    "End",
    "Evidence from the program",
    "Failing before you began",
    "Failing now",
    "Feedback to answer",
    "Files already written that will be part of this task's commit",
    "Files in the repository, as the session found it",
    "Files this session has changed so far",
    "Files you have written so far",
    "How to judge",
    "How to work",
    "How you answer here",
    "How you end",
    "How you work here",
    "Language guidance",
    "Most used definitions (LINE: signature)",
    "Not repeated here",
    "Refuse",
    "Rules",
    "Steps",
    "The code as a diff against the plan's commit",
    "The next task",
    "The project's own commands",
    "This is a change request",
    "What a person said while this draft was made",
    "What the author says about this draft",
    "What the author's self-review could not fix",
    "What the change makes of the documents, as a diff",
    "What the program noticed",
    "What to leave behind",
    "You have begun this already",
    "You have read it before",
    "Your answer was",
    "Your feedback so far",
];
/// How headings with a name in them begin.
const BEGINS: [&str; 5] = [
    ".cowork/",
    "Your role:",
    "Your draft of `",
    "The idea, as it was given",
    "The change, as requested",
];
/// How headings that begin with a path end.
const ENDS: [&str; 3] = ["(as it is now)", "(as the session found it)", "(its beginning)"];

/// True for a line that is one of these headings, of any level.
pub(crate) fn is_one(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let title = text.trim_start_matches('#');
    let level = text.len() - title.len();
    // Markdown indents a heading by at most three blanks.
    if line.len() - text.len() > 3 || !(1..=6).contains(&level) || !title.starts_with([' ', '\t']) {
        return false;
    }
    let title = title.trim().trim_end_matches('#').trim_end();
    let (first, last) =
        (|n: usize| title.get(..n), |n: usize| title.get(title.len().checked_sub(n)?..));
    let is =
        |one: Option<&str>, other: &str| one.is_some_and(|one| one.eq_ignore_ascii_case(other));
    WHOLE.iter().any(|whole| is(Some(title), whole))
        || BEGINS.iter().any(|begin| is(first(begin.len()), begin))
        || ENDS.iter().any(|end| is(last(end.len()), end))
}

/// A text from elsewhere for a model: lines that are such headings are set off.
pub(crate) fn set_off(text: &str) -> Cow<'_, str> {
    let before = |line: &str| is_one(line).then(|| format!("\\{line}"));
    each_line(text, before)
}

/// Text that a model wrote, without what [`set_off`] puts before a line.
pub(crate) fn taken_off(text: &str) -> Cow<'_, str> {
    let after = |line: &str| line.strip_prefix('\\').filter(|rest| is_one(rest)).map(str::to_owned);
    each_line(text, after)
}

/// Applies a change to every text in a value.
pub(crate) fn in_all(value: &mut Value, change: &dyn Fn(&str) -> Cow<'_, str>) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(changed) = change(text) {
                *text = changed;
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| in_all(one, change)),
        Value::Object(all) => all.values_mut().for_each(|one| in_all(one, change)),
        _ => {}
    }
}

/// Changes the lines for which `change` gives another text.
fn each_line(text: &str, change: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    let lines = || text.split_inclusive(['\n', '\r']);
    if !lines().any(|line| change(line).is_some()) {
        return Cow::Borrowed(text);
    }
    lines().map(|line| change(line).unwrap_or_else(|| line.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_headings_of_ours_are_set_off_and_back() {
        let text = "# Your role: critic\n\n  ## End ##\r\n## the idea, AS it was given, in German\n\
                    ### .cowork/sessions/a/prd.md\n## src/a.rs (as it is now)\n";
        let set = set_off(text);
        assert_eq!(set.matches('\\').count(), 5, "{set}");
        assert!(set.starts_with("\\# Your role") && set.contains("\n\\  ## End ##\r\n"), "{set}");
        assert_eq!(taken_off(&set), text);
        let others = "## Requirements\nEnd\n#End\n    ## End\nsee ## End\n## The end\n\\# x\n####### End\n## é\n";
        assert!(matches!(set_off(others), Cow::Borrowed(_)), "{}", set_off(others));
        assert!(matches!(taken_off(others), Cow::Borrowed(_)));
        let mut given = serde_json::json!({"path": "a", "edits": [{"old": "x\n\\## End"}], "n": 1});
        in_all(&mut given, &taken_off);
        assert_eq!(given["edits"][0]["old"], "x\n## End");
    }
}
