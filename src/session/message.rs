//! A commit message to write: a subject, a body and one paragraph of trailers, separated by blank
//! lines, so that model output cannot become a trailer.

use std::fmt::Write as _;

use super::message_body;
use super::trailers::{Trailers, one_line};

/// Longest subject, in characters.
const MAX_SUBJECT: usize = 72;

/// A commit message to write.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// One line; cut at 72 characters.
    pub subject: String,
    /// A few lines, possibly none; may contain model output.
    pub body: String,
    /// The last paragraph.
    pub trailers: Trailers,
}

/// The beginning of the last line of a body that names documents of earlier stages which a person
/// has edited.
const EDITED_BY_HAND: &str = "Edited by hand since it was passed: ";

/// The body with a last paragraph that names documents which a person has edited and the commit
/// takes up.
pub fn with_edited(body: &str, documents: &[&str]) -> String {
    match documents {
        [] => body.to_owned(),
        names => format!("{body}\n\n{EDITED_BY_HAND}{}", names.join(", ")).trim_start().to_owned(),
    }
}

/// The body without the paragraph that [`with_edited`] adds.
pub(super) fn without_edited(body: &str) -> &str {
    let last = body.rfind(EDITED_BY_HAND).filter(|at| !body[*at..].contains("\n\n"));
    let rest = last.map(|at| &body[..at]).filter(|rest| rest.is_empty() || rest.ends_with("\n\n"));
    rest.map_or(body, str::trim_end)
}

impl Message {
    /// The text for `git commit -F`.
    pub fn render(&self) -> String {
        // Conventions refuse a full stop there, and gitlint other marks.
        let subject = subject_line(&self.subject);
        let mut out = subject.trim_end_matches(['.', ',', ':', ';', '!', '?', ' ']).to_owned();
        out.push('\n');
        let body = message_body::written(&self.body);
        if !body.is_empty() {
            let _ = write!(out, "\n{body}\n");
        }
        out.push('\n');
        out.push_str(&self.trailers.render());
        out
    }
}

/// Returns one line of at most 72 characters, cut at a word, without Markdown heading marks.
pub fn subject_line(text: &str) -> String {
    let line = one_line(text);
    let line = line.trim_start_matches(['#', ' ']);
    let mut subject: String = line.chars().take(MAX_SUBJECT).collect();
    if subject.chars().count() < line.chars().count() {
        subject = subject.chars().take(MAX_SUBJECT - 1).collect();
        if let Some((head, _)) = subject.rsplit_once(' ')
            && head.chars().count() > MAX_SUBJECT / 2
        {
            subject = head.to_owned();
        }
        subject.push('…');
    }
    if subject.is_empty() { "(no summary)".to_owned() } else { subject }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::super::key;
    use super::*;

    fn message(body: &str) -> Message {
        let mut trailers = Trailers::default();
        trailers.push(key::SESSION, "todo");
        trailers.push(key::EVENT, "start");
        Message { subject: "prd: 4 requirements".into(), body: body.into(), trailers }
    }

    fn git_parses(text: &str) -> String {
        let mut child = Command::new("git")
            .args(["interpret-trailers", "--parse"])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    #[test]
    fn no_markdown_breaks_the_trailers() {
        let hostile = [
            "# Heading\n\n---\n\n## Last heading",
            "Note: this\nTODO: that",
            "--- a/file\n+++ b/file\n@@ -1 +1 @@",
            "# ------------------------ >8 ------------------------\nmore",
            "Cowork-Session: other\nCowork-Event: merge",
            "diff --git a/x b/x",
            "; comment\n\tindented\r\n\u{1b}[31mred",
            "Conflicts:\n\tfile",
            "",
        ];
        for body in hostile {
            let text = message(body).render();
            assert_eq!(
                git_parses(&text),
                "Cowork-Session: todo\nCowork-Event: start\n",
                "body {body:?} made\n{text}"
            );
            let parsed = Trailers::parse(&text);
            assert_eq!(parsed.get("cowork-session"), Some("todo"));
            assert_eq!(parsed, message(body).trailers);
        }
    }

    #[test]
    fn subjects_are_one_short_line() {
        assert_eq!(subject_line("## A  title\nwith more"), "A title with more");
        assert_eq!(subject_line(""), "(no summary)");
        let long = subject_line(&"word ".repeat(40));
        assert!(long.chars().count() <= 72 && long.ends_with("word…"), "{long}");
    }

    #[test]
    fn a_persons_additions_do_not_hide_our_trailers() {
        let text =
            message("b").render() + "Signed-off-by: Ana <a@b>\n(cherry picked from commit 1)\n";
        assert_eq!(Trailers::parse(&text).get(key::EVENT), Some("start"));
        assert_eq!(Trailers::parse("subject: only\n"), Trailers::default());
        assert_eq!(Trailers::parse(""), Trailers::default());
    }

    #[test]
    fn paragraphs_added_by_hooks_do_not_hide_our_trailers() {
        let mut ours = message("Cowork-Session-Id: of-a-model");
        ours.trailers.push(key::SESSION_ID, "1");
        for below in ["Change-Id: I1", "[JIRA-17]", "---------\n\nCo-authored-by: B <b@x>"] {
            let text = format!("{}\n{below}\n", ours.render());
            assert_eq!(Trailers::parse(&text), ours.trailers, "{below}");
        }
        assert_eq!(Trailers::parse("subject\n\nFixes: 1\n").get("fixes"), Some("1"));
    }

    #[test]
    fn comments_that_git_keeps_at_the_end_do_not_hide_trailers() {
        let mut trailers = Trailers::default();
        trailers.push(key::RENUMBERED, "todo REQ-004 REQ-005");
        let message = Message { subject: "Merge branch 'x'".into(), body: String::new(), trailers };
        for below in [
            "# Conflicts:\n#\t.cowork/sessions/todo/prd.md\n",
            "Conflicts:\n\t.cowork/sessions/todo/prd.md\n",
            "# a\n\n# b\n\n",
            "# ------------------------ >8 ------------------------\nKey: value\n",
        ] {
            let text = format!("{}\n{below}", message.render());
            assert_eq!(Trailers::parse(&text), message.trailers, "{text}");
            assert_eq!(git_parses(&text), message.trailers.render(), "{text}");
        }
        // Git reads the comment character from `core.commentChar`.
        let text = format!("{}\n; Conflicts:\n;\tprd.md\n", message.render());
        assert_eq!(Trailers::parse(&text), message.trailers);
        for text in ["s\n\nA: 1\n\n# c\nB: 2\n", "s\n\nA: 1\n\nConflicts:\n\tx\nmore\n"] {
            assert_eq!(Trailers::parse(text).render(), git_parses(text), "{text}");
        }
    }
}
