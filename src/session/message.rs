//! Builds commit messages, so that model output cannot become a trailer, and parses them.
//!
//! A message is a subject, a body and one paragraph of trailers, separated by blank lines. Git
//! parses more than the last paragraph: `interpret-trailers` stops at a line that starts with
//! `---`, skips comment lines at the end, and cuts at a scissors line (git's `trailer.c` and
//! `wt-status.c`), so body lines that start with anything unusual are indented.

use std::fmt::Write as _;

/// Git's default `core.commentChar`.
const COMMENT: &str = "#";
/// Longest subject, in characters.
const MAX_SUBJECT: usize = 72;
/// Maximum length of a body taken from a model's summary, in characters.
const MAX_BODY: usize = 2_000;
/// Maximum length of a document as a body, in characters.
const MAX_DOCUMENT: usize = 60_000;

/// `Cowork-…` trailer keys.
pub mod key {
    /// Session name.
    pub const SESSION: &str = "Cowork-Session";
    /// Session UUID.
    pub const SESSION_ID: &str = "Cowork-Session-Id";
    /// The event, on commits that do not complete a stage or task.
    pub const EVENT: &str = "Cowork-Event";
    /// The stage that a stage, draft or review commit belongs to.
    pub const STAGE: &str = "Cowork-Stage";
    /// The session's depth from this commit on.
    pub const DEPTH: &str = "Cowork-Depth";
    /// On a stage commit of a change request: the scope from this commit on, wider than its
    /// triage's: `prd, plan and code`.
    pub const SCOPE: &str = "Cowork-Scope";
    /// Task id.
    pub const TASK: &str = "Cowork-Task";
    /// Feature id.
    pub const FEATURE: &str = "Cowork-Feature";
    /// Number of drafts by the actor.
    pub const ITERATIONS: &str = "Cowork-Iterations";
    /// The verdict of the review.
    pub const REVIEW: &str = "Cowork-Review";
    /// The approved bytes.
    pub const APPROVED: &str = "Cowork-Approved";
    /// With `Cowork-Approved` of code: digest of the files the session changed, so that the
    /// approval survives a rebase.
    pub const CODE: &str = "Cowork-Code";
    /// The person who approved it.
    pub const REVIEWED_BY: &str = "Reviewed-by";
    /// Model names.
    pub const MODEL: &str = "Cowork-Model";
    /// Token counts.
    pub const TOKENS: &str = "Cowork-Tokens";
    /// With `Cowork-Tokens`: requests, milliseconds, and dollars if known.
    pub const COST: &str = "Cowork-Cost";
    /// The results of the checks that git-cowork ran.
    pub const CHECKS: &str = "Cowork-Checks";
    /// With `Cowork-Checks`, one per command: exit code, blob of its log, tree it ran on.
    pub const EVIDENCE: &str = "Cowork-Evidence";
    /// With `Cowork-Checks`, one per test that a criterion names: its result, also on the base.
    pub const TESTS: &str = "Cowork-Tests";
    /// With `Cowork-Review: auto`: the command that decided.
    pub const DECIDED_BY: &str = "Cowork-Decided-By";
    /// One per proposed fact: `learned Commands: TEXT` or `outdated …`; on a decision:
    /// `taken Commands: TEXT` or `dropped …`.
    pub const KNOWLEDGE: &str = "Cowork-Knowledge";
    /// On a waiting draft: `approved` if the critic has approved these bytes (critic-first order),
    /// `asks` if it requests a person's decision. On a saved draft: `approved` and the bytes, or
    /// `asks` and the question.
    pub const CRITIC: &str = "Cowork-Critic";
    /// On a saved draft: the critic's comment when it approved.
    pub const CRITIC_SAID: &str = "Cowork-Critic-Said";
    /// Like `Cowork-Critic`, for the challenger; `asks` if the challenger rejected the draft; a
    /// person who approves the draft overrules the challenger.
    pub const CHALLENGER: &str = "Cowork-Challenger";
    /// On a saved draft: the challenger's comment when it approved.
    pub const CHALLENGER_SAID: &str = "Cowork-Challenger-Said";
    /// On a draft: the actor's closing message, on one line.
    pub const ACTOR_SAID: &str = "Cowork-Actor-Said";
    /// On a draft: the model a person chose for the next drafts, by its name in the configuration,
    /// followed by the server's name for the model if it is not the configured one.
    pub const ACTOR_MODEL: &str = "Cowork-Actor-Model";
    /// On a saved draft: a person's question to the actor about it; the body is the answer.
    pub const ASKED: &str = "Cowork-Asked";
    /// On a saved draft: the number of calls that a guard refused in the stage.
    pub const REFUSALS: &str = "Cowork-Refusals";
    /// On a saved draft: why the run ended and cannot continue without a person.
    pub const STUCK: &str = "Cowork-Stuck";
    /// On a saved draft: the actor had not finished it.
    pub const PARTIAL: &str = "Cowork-Partial";
    /// On a saved draft: a person's edits, as `prd.md since=COMMIT` (the commit shown before).
    pub const EDITED: &str = "Cowork-Edited";
    /// On a saved draft: the commit last viewed by a person.
    pub const SEEN: &str = "Cowork-Seen";
    /// On the commit that follows a commit to which a hook added files: the hook and the path, one
    /// trailer per file.
    pub const HOOK: &str = "Cowork-Hook";
    /// On a merge: the merged tip of the session.
    pub const TIP: &str = "Cowork-Tip";
    /// On a commit of `verify --fix`: a change request, the id that it assigned, and the record's
    /// new id.
    pub const RENUMBERED: &str = "Cowork-Renumbered";
    /// On a start commit that completes a stage: the stage it copies from another session, and the
    /// commit that completed it there: `todo@prd 1a2b3c4d5e6f`.
    pub const FROM: &str = "Cowork-From";
    /// With `Cowork-From`: the highest ids used in that session until then: `REQ-004 FEAT-002`.
    pub const IDS: &str = "Cowork-Ids";
    /// On an attempt whose draft was discarded by going back: the stage to repeat, the commit it
    /// starts from, the stage in progress before, the role that requested it, and the draft of the
    /// latter stage that the request was about: `design 1a2b… coding actor 1`.
    pub const BACK: &str = "Cowork-Back";
    /// With `Cowork-Back`: the reason. With `Cowork-Task`, on a commit that changes no code: why
    /// the task needs no change.
    pub const REASON: &str = "Cowork-Reason";
    /// On a saved draft: the commit last read by the critic.
    pub const READ: &str = "Cowork-Read";
    /// The outcome of the actor's self-review: `revised`, `passed` or `needs_revision` (it could
    /// not fix its findings). On a saved draft also `begun` and the commit under review.
    pub const SELF_REVIEW: &str = "Cowork-Self-Review";
}

/// The trailers of a commit, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers(Vec<(String, String)>);

impl Trailers {
    /// Adds a trailer. The value is joined to one line; an empty value is left out.
    pub fn push(&mut self, key: &str, value: impl AsRef<str>) {
        let value = one_line(value.as_ref());
        if !value.is_empty() {
            self.0.push((key.to_owned(), value));
        }
    }

    /// Adds the trailers of another list.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// The last value of a key; keys are case-insensitive, as in git.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a key, in order.
    pub fn all<'t>(&'t self, key: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.0.iter().filter(move |(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a copy with each value changed by `change`.
    #[must_use]
    pub fn map_values(&self, change: impl Fn(&str) -> String) -> Self {
        Self(self.0.iter().map(|(key, value)| (key.clone(), change(value))).collect())
    }

    /// Renders one trailer a line, as the last paragraph of a message.
    pub fn render(&self) -> String {
        self.0.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    }

    /// True if these trailers start with `others`: git and hooks add trailers at the end.
    pub fn begin_with(&self, others: &Self) -> bool {
        self.0.starts_with(&others.0)
    }

    /// Parses the last paragraph of trailers that names a session, or else the last paragraph, if
    /// it has only trailers. Hooks and forges add paragraphs below ours (a ticket, a `Change-Id`,
    /// co-authors).
    pub fn parse(message: &str) -> Self {
        Self::of_last_paragraph(message).unwrap_or_else(|| Self::of_any_paragraph(message))
    }

    /// Parses the last paragraph if it names a session and the message has no comment or scissors line
    /// that could end it earlier. Most messages are like this.
    fn of_last_paragraph(message: &str) -> Option<Self> {
        let text = message.trim_end_matches('\n');
        let end = last_blank_line(text)?;
        let (before, last) = (&text[..end], &text[end + 2..]);
        let lines: Vec<&str> = last.lines().collect();
        let ends = |line: &&str| line.trim().is_empty() || line.starts_with(COMMENT);
        let cuts = |word: &str| {
            let (first, rest) = word.as_bytes().split_at(1);
            let mut found = memchr::memchr_iter(first[0], message.as_bytes());
            found.any(|at| message.as_bytes()[at + 1..].starts_with(rest))
        };
        if before.trim().is_empty() || lines.iter().any(ends) || cuts(">8") || cuts("Conflicts:") {
            return None;
        }
        Some(Self::of_paragraph(&lines)).filter(|found| found.get(key::SESSION_ID).is_some())
    }

    pub(super) fn of_any_paragraph(message: &str) -> Self {
        let lines: Vec<&str> = message.lines().collect();
        let lines = &lines[..end_of_text(&lines)];
        let mut paragraphs = lines.split(|line| line.trim().is_empty());
        let _subject = paragraphs.next();
        let last = paragraphs.clone().next_back();
        let named = paragraphs.rev().filter(|lines| lines.iter().any(|line| names_session(line)));
        let mut named = named.map(Self::of_paragraph);
        let ours = named.find(|trailers| trailers.get(key::SESSION_ID).is_some());
        ours.or_else(|| last.map(Self::of_paragraph)).unwrap_or_default()
    }

    fn of_paragraph(lines: &[&str]) -> Self {
        let mut trailers = Self::default();
        for line in lines {
            if line.starts_with([' ', '\t']) {
                if let Some((_, value)) = trailers.0.last_mut() {
                    value.push(' ');
                    value.push_str(line.trim());
                }
                continue;
            }
            match memchr::memchr(b':', line.as_bytes()).map(|at| (&line[..at], &line[at + 1..])) {
                Some((key, value)) if is_key(key) => {
                    trailers.0.push((key.to_owned(), value.trim().to_owned()));
                }
                // Git skips lines like "(cherry picked from commit …)" as well.
                _ if line.starts_with('(') || line.starts_with(COMMENT) => {}
                _ => return Self::default(),
            }
        }
        trailers
    }
}

/// Where the last blank line of a text begins: the line break before it.
pub(super) fn last_blank_line(text: &str) -> Option<usize> {
    // Faster than a search for two line breaks: a message has few lines.
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).rev();
    breaks.skip(1).find(|at| text.as_bytes()[at + 1] == b'\n')
}

/// Where a message ends for git (`ignored_log_message_bytes` in `trailer.c`): before any comments
/// at the bottom, such as the list of conflicted paths, which git leaves if no editor was opened.
fn end_of_text(lines: &[&str]) -> usize {
    let scissors = |line: &&str| line.strip_prefix(COMMENT).is_some_and(is_scissors);
    let cutoff = lines.iter().position(scissors).unwrap_or(lines.len());
    // The characters before `Conflicts:` above git's list of conflicted paths are taken to be
    // `core.commentChar`.
    let conflicts = |line: &&str| line.strip_suffix(" Conflicts:").map(str::to_owned);
    let comment = lines[..cutoff].iter().rev().find_map(conflicts);
    let comment = comment.filter(|it| !it.is_empty() && !it.contains(char::is_alphanumeric));
    let (mut end, mut in_old_block) = (None, false);
    for (at, line) in lines[..cutoff].iter().enumerate() {
        let is_comment = comment.as_ref().is_some_and(|it| line.starts_with(it));
        if line.trim().is_empty() || line.starts_with(COMMENT) || is_comment {
            end.get_or_insert(at);
        } else if *line == "Conflicts:" {
            in_old_block = true;
            end.get_or_insert(at);
        } else if !(in_old_block && line.starts_with('\t')) {
            (end, in_old_block) = (None, false);
        }
    }
    end.unwrap_or(cutoff)
}

fn is_scissors(rest: &str) -> bool {
    rest == " ------------------------ >8 ------------------------"
}

fn names_session(line: &str) -> bool {
    let name = line.get(..key::SESSION_ID.len());
    name.is_some_and(|name| name.eq_ignore_ascii_case(key::SESSION_ID))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

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

impl Message {
    /// The text for `git commit -F`.
    pub fn render(&self) -> String {
        self.rendered(&tame_body(&self.body))
    }

    /// Like [`Self::render`], for a Markdown document: not wrapped, which would break tables and
    /// graphs, and cut only at 60,000 characters.
    pub fn render_document(&self) -> String {
        self.rendered(&tame_document(&self.body))
    }

    fn rendered(&self, body: &str) -> String {
        let mut out = subject_line(&self.subject);
        out.push('\n');
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

fn tame_body(body: &str) -> String {
    // A scissors line may start with any comment character: only these beginnings are safe.
    let plain = |line: &str| {
        let word = line.starts_with("- ") || line.starts_with(|c: char| c.is_alphanumeric());
        word && !line.starts_with("diff --git")
    };
    tame(&body.chars().take(MAX_BODY).collect::<String>(), plain, wrap)
}

fn tame_document(body: &str) -> String {
    let mut text: String = body.chars().take(MAX_DOCUMENT).collect();
    if text.len() < body.len() {
        text.push_str("\n\n[cut here]");
    }
    // An editor's cleanup removes comments; git's own tools cut at `---`, diffs and scissors lines.
    let cuts = ["#", "--", "***", "Index: ", "diff -"];
    let plain = |line: &str| !cuts.iter().any(|cut| line.starts_with(cut)) && !line.contains(">8");
    tame(&text, plain, String::push_str)
}

/// Indents lines that are not plain.
fn tame(body: &str, plain: impl Fn(&str) -> bool, add: impl Fn(&mut String, &str)) -> String {
    let mut out = String::new();
    let mut blank = 0;
    for line in body.lines() {
        let line: String = line.replace('\t', " ").chars().filter(|c| !c.is_control()).collect();
        let line = line.trim_end();
        if line.is_empty() {
            blank += 1;
            continue;
        }
        if !out.is_empty() {
            out.push_str(if blank > 0 { "\n\n" } else { "\n" });
        }
        blank = 0;
        let indent = if plain(line) || line.starts_with("  ") { "" } else { "  " };
        add(&mut out, &format!("{indent}{line}"));
    }
    out
}

/// Adds a line, wrapped at spaces; continuation lines are indented, so that none can be a trailer.
fn wrap(out: &mut String, line: &str) {
    let mut width = 0;
    for (at, word) in line.split(' ').enumerate() {
        let length = word.chars().count();
        if at > 0 && width + 1 + length > MAX_SUBJECT && width > 2 {
            out.push_str("\n  ");
            width = 2;
        } else if at > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

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
            assert_eq!(parsed.0.len(), 2);
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
