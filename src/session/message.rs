//! Commit messages: built so that nothing a model wrote can become a trailer, and read back.
//!
//! The shape is always subject, blank line, body, blank line, one paragraph of trailers. What git
//! does with message text is not obvious: `interpret-trailers` stops at a line that begins with
//! `---`, skips comment lines at the end, and cuts at a scissors line (git's `trailer.c` and
//! `wt-status.c`), so body lines that begin with anything unusual are indented.

use std::fmt::Write as _;

use memchr::memmem;

/// What begins a comment, unless `core.commentChar` says something else.
const COMMENT: &str = "#";
/// Longest subject, in characters.
const MAX_SUBJECT: usize = 72;
/// Longest body kept from a model's summary, in characters.
const MAX_BODY: usize = 2_000;
/// Longest document kept as a body, in characters.
const MAX_DOCUMENT: usize = 60_000;

/// `Cowork-…` trailer keys (contract, section 2).
pub mod key {
    /// Session name.
    pub const SESSION: &str = "Cowork-Session";
    /// Session UUID.
    pub const SESSION_ID: &str = "Cowork-Session-Id";
    /// What happened, on commits that complete nothing.
    pub const EVENT: &str = "Cowork-Event";
    /// Stage of a stage, draft or review commit.
    pub const STAGE: &str = "Cowork-Stage";
    /// How much process the session gets from this commit on.
    pub const DEPTH: &str = "Cowork-Depth";
    /// Task id.
    pub const TASK: &str = "Cowork-Task";
    /// Feature id.
    pub const FEATURE: &str = "Cowork-Feature";
    /// Actor drafts used.
    pub const ITERATIONS: &str = "Cowork-Iterations";
    /// How it was reviewed.
    pub const REVIEW: &str = "Cowork-Review";
    /// The bytes approved.
    pub const APPROVED: &str = "Cowork-Approved";
    /// Beside it, on the code's: a digest of the files the session has changed and of what is in them,
    /// which a rebase onto other files leaves as it is.
    pub const CODE: &str = "Cowork-Code";
    /// Who passed it.
    pub const REVIEWED_BY: &str = "Reviewed-by";
    /// Model names.
    pub const MODEL: &str = "Cowork-Model";
    /// Token counts.
    pub const TOKENS: &str = "Cowork-Tokens";
    /// What those tokens took beside: requests, milliseconds, dollars where they are known.
    pub const COST: &str = "Cowork-Cost";
    /// What the program itself ran.
    pub const CHECKS: &str = "Cowork-Checks";
    /// Beside it, one a command: how it ended, the blob that holds its log, the tree it ran on.
    pub const EVIDENCE: &str = "Cowork-Evidence";
    /// Beside it, one a test that a criterion names: what became of it, also on the base.
    pub const TESTS: &str = "Cowork-Tests";
    /// Beside `Cowork-Review: auto`: the command that decided.
    pub const DECIDED_BY: &str = "Cowork-Decided-By";
    /// What the session proposes to learn, one a fact: `learned Commands: TEXT` or `outdated …`; on a
    /// decision what a person did with it: `taken Commands: TEXT` or `dropped …`.
    pub const KNOWLEDGE: &str = "Cowork-Knowledge";
    /// On a draft that waits: `approved` when the critic has approved these bytes (critic-first
    /// order), `asks` when it wants a person's decision. On a kept draft: `approved` and the bytes,
    /// or `asks` and what for.
    pub const CRITIC: &str = "Cowork-Critic";
    /// On a kept draft only: the critic's words when it approved.
    pub const CRITIC_SAID: &str = "Cowork-Critic-Said";
    /// The same of the challenger; a person who passes what it refused has decided in its place.
    pub const CHALLENGER: &str = "Cowork-Challenger";
    /// On a kept draft only: the challenger's words when it approved.
    pub const CHALLENGER_SAID: &str = "Cowork-Challenger-Said";
    /// On a draft only: the actor's closing words, as one line.
    pub const ACTOR_SAID: &str = "Cowork-Actor-Said";
    /// On a draft only: the model that a person has taken for the drafts that follow, as the configuration
    /// names it, and where it is another one of that server, what that calls it.
    pub const ACTOR_MODEL: &str = "Cowork-Actor-Model";
    /// On a kept draft only: what a person has asked the actor about it; the body is the answer.
    pub const ASKED: &str = "Cowork-Asked";
    /// On a kept draft only: how many calls a guard has refused in the stage.
    pub const REFUSALS: &str = "Cowork-Refusals";
    /// On a kept draft only: the run ended because it cannot go on without a person, and why.
    pub const STUCK: &str = "Cowork-Stuck";
    /// On a kept draft only: the actor had not finished it.
    pub const PARTIAL: &str = "Cowork-Partial";
    /// On a kept draft only: what a person edited in it by hand, and whether the rest follows.
    pub const EDITED: &str = "Cowork-Edited";
    /// On a kept draft only: the commit a person looked at last.
    pub const SEEN: &str = "Cowork-Seen";
    /// On the commit after one that a hook added files to, one a file: the hook and the path.
    pub const HOOK: &str = "Cowork-Hook";
    /// On a merge: the session's tip that was merged.
    pub const TIP: &str = "Cowork-Tip";
    /// On a commit of `verify --fix`: a change, the id it gave, and the one its record has now.
    pub const RENUMBERED: &str = "Cowork-Renumbered";
    /// On a start commit that completes a stage: the stage of another session it is a copy of, and
    /// the commit that completed it there: `todo@prd 1a2b3c4d5e6f`.
    pub const FROM: &str = "Cowork-From";
    /// Beside it: the highest ids that session had used until then: `REQ-004 FEAT-002`.
    pub const IDS: &str = "Cowork-Ids";
    /// On an attempt only, where a draft was dropped by going back: the stage that is done again, the
    /// commit it begins on, the stage it was gone back from, who wanted it, and about which draft of that
    /// stage: `design 1a2b… coding actor 1`.
    pub const BACK: &str = "Cowork-Back";
    /// Beside it: the reason, as it was given.
    pub const REASON: &str = "Cowork-Reason";
    /// On a kept draft only: the commit the critic read last.
    pub const READ: &str = "Cowork-Read";
    /// What the actor's self-review of the stage came to: `revised`, `passed` or `needs_revision`
    /// (it changed nothing and could not fix what it found). On a kept draft also `begun` and the
    /// commit it reads.
    pub const SELF_REVIEW: &str = "Cowork-Self-Review";
}

/// The trailers of a commit, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trailers(Vec<(String, String)>);

impl Trailers {
    /// Adds one. The value becomes one line; an empty one is left out.
    pub fn push(&mut self, key: &str, value: impl AsRef<str>) {
        let value = one_line(value.as_ref());
        if !value.is_empty() {
            self.0.push((key.to_owned(), value));
        }
    }

    /// Adds those of another.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend_from_slice(&others.0);
    }

    /// The last value of a key; keys compare without case, as git's do.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a key, in order.
    pub fn all<'t>(&'t self, key: &'t str) -> impl Iterator<Item = &'t str> {
        let found = self.0.iter().filter(move |(k, _)| k.eq_ignore_ascii_case(key));
        found.map(|(_, value)| value.as_str())
    }

    /// The same trailers, each value changed.
    #[must_use]
    pub fn map_values(&self, change: impl Fn(&str) -> String) -> Self {
        Self(self.0.iter().map(|(key, value)| (key.clone(), change(value))).collect())
    }

    /// One a line: the last paragraph of a message.
    pub fn render(&self) -> String {
        self.0.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
    }

    /// True when these go on from `others`: git and hooks add their own at the end.
    pub fn begin_with(&self, others: &Self) -> bool {
        self.0.starts_with(&others.0)
    }

    /// The trailers of a message: its last paragraph, if every line of it is one. Where that is
    /// not ours, the last paragraph that names a session: hooks and forges add paragraphs of their
    /// own (a ticket, a `Change-Id`, the co-authors of a squash).
    pub fn parse(message: &str) -> Self {
        Self::of_last_paragraph(message).unwrap_or_else(|| Self::of_any_paragraph(message))
    }

    /// The last paragraph of a message in which nothing below it is to be looked for, where it is ours:
    /// most are.
    fn of_last_paragraph(message: &str) -> Option<Self> {
        let text = message.trim_end_matches('\n');
        let end = memmem::rfind(text.as_bytes(), b"\n\n")?;
        let (before, last) = (&text[..end], &text[end + 2..]);
        let lines: Vec<&str> = last.lines().collect();
        let ends = |line: &&str| line.trim().is_empty() || line.starts_with(COMMENT);
        let cuts = |word: &str| memmem::find(message.as_bytes(), word.as_bytes()).is_some();
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
                // People's tools add "(cherry picked from commit …)"; git skips such lines, too.
                _ if line.starts_with('(') || line.starts_with(COMMENT) => {}
                _ => return Self::default(),
            }
        }
        trailers
    }
}

/// Where a message ends for git (`ignored_log_message_bytes` in `trailer.c`): before the comments at its
/// end, among them the paths that a merge conflicted in, which git keeps where no editor was opened.
fn end_of_text(lines: &[&str]) -> usize {
    let scissors = |line: &&str| line.strip_prefix(COMMENT).is_some_and(is_scissors);
    let cutoff = lines.iter().position(scissors).unwrap_or(lines.len());
    // What `core.commentChar` is shows in what stands before that word.
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

/// A message to be committed.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// One line; cut at 72 characters.
    pub subject: String,
    /// A few lines, possibly none; a model's words are welcome here.
    pub body: String,
    /// The last paragraph.
    pub trailers: Trailers,
}

impl Message {
    /// The text for `git commit -F`.
    pub fn render(&self) -> String {
        self.rendered(&tame_body(&self.body))
    }

    /// The same with a whole Markdown document for a body: nothing of it is cut short, and no line
    /// is broken, which tables and graphs would not bear.
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

/// One line of at most 72 characters, cut at a word's end, without Markdown's heading marks.
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
    // A scissors line counts wherever it stands after the comment character.
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
    // An editor's clean-up takes comments away; git's own tools cut at rules, diffs and scissors.
    let cuts = ["#", "--", "***", "Index: ", "diff -"];
    let plain = |line: &str| !cuts.iter().any(|cut| line.starts_with(cut)) && !line.contains(">8");
    tame(&text, plain, String::push_str)
}

/// What is not plain is indented.
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

/// Adds a line, broken at spaces where it is too long; what follows is indented, so that no
/// broken-off piece can look like anything but text.
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
    fn a_persons_additions_do_not_hide_ours() {
        let text =
            message("b").render() + "Signed-off-by: Ana <a@b>\n(cherry picked from commit 1)\n";
        assert_eq!(Trailers::parse(&text).get(key::EVENT), Some("start"));
        assert_eq!(Trailers::parse("subject: only\n"), Trailers::default());
        assert_eq!(Trailers::parse(""), Trailers::default());
    }

    #[test]
    fn what_a_hook_adds_below_does_not_hide_ours() {
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
        // Git knows this from `core.commentChar`.
        let text = format!("{}\n; Conflicts:\n;\tprd.md\n", message.render());
        assert_eq!(Trailers::parse(&text), message.trailers);
        for text in ["s\n\nA: 1\n\n# c\nB: 2\n", "s\n\nA: 1\n\nConflicts:\n\tx\nmore\n"] {
            assert_eq!(Trailers::parse(text).render(), git_parses(text), "{text}");
        }
    }
}
