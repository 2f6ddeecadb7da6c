//! The dialogue of a gate, key by key, with scripted editors.

use std::path::Path;

use super::*;
use crate::error::{Kind, kind_of};
use crate::event::Usage;
use crate::gate::terminal::scripted::Scripted;
use crate::gate::{Broken, Editor, Pagers, Said, Since};
use crate::spent::Spent;

const EARLIER: [Stage; 2] = [Stage::Idea, Stage::Prd];

type Change = dyn Fn(&mut Draft<'_>);

/// A working tree with a draft of the design, and a terminal for its review.
struct Desk {
    folder: tempfile::TempDir,
    terminal: Scripted,
    editor: Editor,
    change: Box<Change>,
    untold: Typed,
}

/// Notes typed during the run, until they are used.
#[derive(Default)]
struct Typed(std::cell::RefCell<String>);

impl crate::gate::Untold for Typed {
    fn text(&self) -> String {
        self.0.borrow().clone()
    }

    fn keep(&self, words: &str) {
        self.0.replace(words.to_owned());
    }
}

impl Desk {
    fn new(keys: &str, editor: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let editor = Editor { command: editor.to_owned(), cwd: folder.path().to_owned() };
        std::fs::write(folder.path().join("design.md"), design()).unwrap();
        std::fs::write(folder.path().join("design_spec.json"), "{}\n").unwrap();
        let terminal = Scripted::new(keys);
        Self { folder, terminal, editor, change: Box::new(|_| {}), untold: Typed::default() }
    }

    fn with(mut self, change: impl Fn(&mut Draft<'_>) + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn ask(&self) -> Result<Decision> {
        let diff = |_| Ok("--- a/design.md\n+++ b/design.md\n@@ -1 +1 @@\n-old\n+new\n".to_owned());
        let document = |name: &str, text: String| Document {
            readable: None,
            name: name.to_owned(),
            path: self.path(name),
            text,
        };
        let mut draft = Draft {
            stage: Stage::Design,
            iteration: 1,
            limit: 3,
            place: (3, 7),
            can_pass: true,
            records: None,
            code: Vec::new(),
            spent: Spent {
                usage: Usage { input: 9_000, output: 249, cached: 0 },
                millis: 41_000,
                ..Spent::default()
            },
            documents: vec![
                document("design_spec.json", "{}\n".to_owned()),
                document("design.md", design()),
            ],
            since: None,
            passed: vec!["2 components (2–4)".to_owned(), "every feature covered".to_owned()],
            findings: Vec::new(),
            warnings: Vec::new(),
            tried: Vec::new(),
            said: Vec::new(),
            unfixed: Vec::new(),
            actor_said: None,
            critic_said: None,
            challenger_said: None,
            critic_next: true,
            diffstat: None,
            full_diff: &diff,
            broken: &|_| Ok(Broken::default()),
            edited: None,
            actor: Actor::Absent,
            other_models: false,
            next_by: None,
            reply: None,
            earlier: &EARLIER,
            more: None,
            note: None,
        };
        (self.change)(&mut draft);
        let scratch = self.path("scratch");
        Gate {
            terminal: &self.terminal,
            editor: &self.editor,
            pagers: &Pagers { layout: Some(laid_out), ..Pagers::default() },
            comment_prefix: ">>> ",
            scratch: &scratch,
            call: &|_| {},
            elsewhere: &crate::gate::NobodyElse,
            guide: None,
            untold: &self.untold,
        }
        .ask(&draft)
    }

    fn decision(&self) -> Decision {
        self.ask().unwrap()
    }

    fn said(&self) -> String {
        self.terminal.output()
    }
}

fn laid_out(text: &str, _: usize, _: bool) -> String {
    format!("laid out: {text}")
}

#[test]
fn markdown_is_laid_out_and_json_is_not() {
    let desk = Desk::new("Vq", "vim");
    desk.decision();
    let said = desk.said();
    assert_eq!(said.matches("laid out: ").count(), 1, "{said}");
    assert!(said.contains("laid out: # Design\n"), "{said}");
}

fn design() -> String {
    let mut text = "# Design\n\nOne binary.\x1b[2J\n\n## Components\n".to_owned();
    for i in 1..=14 {
        text.push_str(&format!("\tline {i}\n"));
    }
    text
}

/// An editor that runs a script with the file as `$1`.
fn script(body: &str) -> String {
    format!("sh -c '{body}' sh")
}

fn decide(keys: &str) -> Decision {
    Desk::new(keys, "false").decision()
}

#[test]
fn feedback_starts_with_notes_typed_during_the_run() {
    let typed = |keys: &str, editor: &str| {
        let desk = Desk::new(keys, editor);
        desk.untold.0.replace("name the file\n\nin JSON".to_owned());
        let decision = desk.decision();
        let left = desk.untold.0.borrow().clone();
        (decision, left, desk.said())
    };
    let feedback = |text: &str| Decision::Feedback(text.to_owned());
    let (decision, left, said) = typed("f\r", "");
    assert_eq!(
        (decision, left.as_str()),
        (feedback("name the file\n\nin JSON"), "name the file\n\nin JSON")
    );
    assert!(said.contains("Typed    \"name the file in JSON\"; f continues the text"), "{said}");
    assert!(said.contains("f  name the file in JSON\n") || said.ends_with("in JSON"), "{said}");
    assert_eq!(typed("f, please\r", "").0, feedback("name the file in JSON, please"));
    assert_eq!(typed("f\x15no\r", "").0, feedback("no"));
    let (decision, left, _) = typed("f\x1bp", "");
    assert_eq!((decision, left.as_str()), (Decision::Pass, "name the file\n\nin JSON"));
    let append = script("printf !! >> \"$1\"");
    assert_eq!(typed("F", &append).0, feedback("name the file\n\nin JSON!!"));
}

#[test]
fn a_raised_depth_needs_confirmation() {
    for (keys, decided) in [("+y", Decision::Raise(Depth::Standard)), ("+nq", Decision::Stop)] {
        let desk = Desk::new(keys, "").with(|draft| draft.more = Some(Depth::Standard));
        assert_eq!(desk.decision(), decided);
        assert!(desk.said().contains("+ deeper"));
    }
    assert_eq!(Desk::new("+q", "").decision(), Decision::Stop);
}

#[test]
fn a_question_to_the_actor_decides_nothing() {
    let asked = |keys: &str| {
        let desk = Desk::new(keys, "false").with(|draft| draft.actor = Actor::Answers);
        (desk.decision(), desk.said())
    };
    let (decision, said) = asked("tWhy two components?\r");
    assert_eq!(decision, Decision::Question("Why two components?".to_owned()));
    assert!(said.contains("t ask the actor") && said.contains("▸ t  "), "{said}");
    assert_eq!(asked("t\r\rq").0, Decision::Stop);
    assert_eq!(asked("t\x1bq").0, Decision::Stop);
    let agent = Desk::new("tq", "").with(|draft| draft.actor = Actor::Agent("claude".into()));
    assert_eq!(agent.decision(), Decision::Stop);
    assert!(agent.said().contains("claude cannot be asked"), "{}", agent.said());
    assert!(!agent.said().contains("t ask the actor"), "{}", agent.said());
    let nobody = Desk::new("tmq", "");
    nobody.decision();
    assert!(nobody.said().contains("unknown key 't'") && nobody.said().contains("unknown key 'm'"));
}

#[test]
fn another_model_is_offered_and_the_chosen_one_named() {
    let desk = Desk::new("?m", "").with(|draft| {
        draft.other_models = true;
        draft.next_by = Some("large\x1b[2J".to_owned());
    });
    assert_eq!(desk.decision(), Decision::OtherModel);
    assert!(desk.said().contains("\nNext     draft by large\n"), "{}", desk.said());
    assert!(desk.said().contains("(now large)"), "{}", desk.said());
}

#[test]
fn an_edit_can_be_undone_only_if_there_is_one() {
    let desk = Desk::new("xq", "").with(|draft| draft.edited = Some("design.md".to_owned()));
    assert_eq!(desk.decision(), Decision::TakeBack);
    assert!(desk.said().contains("x take my edit back"), "{}", desk.said());
    let desk = Desk::new("x", "");
    std::fs::write(desk.path("design.md"), "# Mine\n").unwrap();
    assert_eq!(desk.decision(), Decision::TakeBack, "it was edited outside the gate");
    let desk = Desk::new("xq", "");
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("unknown key 'x'"), "{}", desk.said());
}

#[test]
fn a_broken_edit_leads_to_a_question() {
    let broken = |keys: &str, is_readable: bool, actor: Actor| {
        let lines = vec!["design.md:3: 'x\x1b[2J' is not a kind".to_owned()];
        let broken = Broken { lines, is_readable };
        let broken: &'static Broken = Box::leak(Box::new(broken));
        let desk = Desk::new(keys, &script("echo more >>\"$1\"")).with(move |draft| {
            draft.broken = Box::leak(Box::new(|with_checks: bool| {
                assert!(with_checks);
                Ok(broken.clone())
            }));
            draft.actor = actor.clone();
        });
        (desk.decision(), desk.said())
    };
    let (decision, said) = broken("eq", false, Actor::Answers);
    assert_eq!(decision, Decision::Stop);
    assert!(said.contains("✗ design.md:3: 'x' is not a kind\nYour edit cannot be read"), "{said}");
    let (decision, said) = broken("eeepx", false, Actor::Answers);
    assert_eq!(decision, Decision::TakeBack, "an unreadable edit is not handed over");
    assert_eq!(said.matches("What now?").count(), 3, "{said}");
    assert_eq!(broken("ep", true, Actor::Answers).0, Decision::HandOver);
    assert_eq!(broken("epq", true, Actor::Absent).0, Decision::Stop);
    assert_eq!(broken("e", true, Actor::Answers).0, Decision::Stop, "the terminal is closed");
}

#[test]
fn all_keys_have_room_in_two_lines_of_a_hundred_columns() {
    let mut desk = Desk::new("q", "vim").with(|draft| {
        draft.actor = Actor::Answers;
        draft.other_models = true;
        draft.edited = Some("design.md".to_owned());
        draft.more = Some(Depth::Thorough);
    });
    desk.terminal.width = 100;
    desk.decision();
    let said = desk.said();
    let menu = said.lines().rev().take(3).collect::<Vec<_>>();
    assert!(menu[2].starts_with(" p pass") && menu[2].ends_with("m other model"), "{said}");
    assert!(menu[1].starts_with(" d diff") && menu[1].ends_with("? help"), "{said}");
}

#[test]
fn the_first_look() {
    let desk = Desk::new("p", "/usr/bin/vim -f");
    assert_eq!(desk.decision(), Decision::Pass);
    assert_eq!(
        desk.said(),
        "\x07━━ design · draft 1 of 3 · your decision ━━ stage 3 of 7 · 41 s · 9.2k tokens ━━
  # Design

  One binary.

  ## Components
      line 1
      line 2
      line 3
      line 4
      line 5
      line 6
      line 7
      line 8
      line 9
      line 10
      line 11
      line 12
      line 13
 design.md: 19 lines, v reads it
 ✓ 2 components (2–4)  ✓ every feature covered
 p pass → critic → commit    e edit    f feedback
 d diff   v read   V all   g go back   a abort   q stop for now   ? help
▸ p
"
    );
}

#[test]
fn the_second_look() {
    let desk = Desk::new("q", "vim").with(|draft| {
        draft.iteration = 2;
        draft.documents.remove(0);
        draft.critic_next = false;
        draft.earlier = &[];
        draft.note = Some("a commit hook changed what you approved".to_owned());
        draft.critic_said = Some("approves:\nsmall and whole".to_owned());
        draft.findings = vec!["COMP-002 covers no feature".to_owned()];
        draft.since = Some(Since {
            heading: "Since you last looked",
            summary: "1 component removed, 6 lines changed".to_owned(),
            diff: "diff --git a/design.md b/design.md\nindex 1..2 100644\n--- a/design.md\n\
                   +++ b/design.md\n@@ -5,2 +5,2 @@\n ## Components\n-COMP-003 Storage\x1b[8m\n\
                   +COMP-002 Todo core\n"
                .to_owned(),
        });
        draft.actor_said = Some("The core keeps the file itself.".to_owned());
        draft.said = vec![
            Said {
                text: "no storage layer,\none file".to_owned(),
                outcome: Some("done: COMP-003 removed".to_owned()),
            },
            Said { text: "name the file".to_owned(), outcome: None },
        ];
    });
    assert_eq!(desk.decision(), Decision::Stop);
    assert_eq!(
        desk.said(),
        "\x07━━ design · draft 2 of 3 · your decision ━━ stage 3 of 7 · 41 s · 9.2k tokens ━━
Note     a commit hook changed what you approved
Since you last looked: 1 component removed, 6 lines changed
   ## Components
  -COMP-003 Storage
  +COMP-002 Todo core
 design.md: 19 lines, v reads it
 ✓ 2 components (2–4)  ✓ every feature covered
 ✗ COMP-002 covers no feature
Critic   approves:
         small and whole
Actor    The core keeps the file itself.
You said \"no storage layer, one file\"  → done: COMP-003 removed
You said \"name the file\"
 p pass → commit    e edit    f feedback
 d diff    v read    a abort    q stop for now    ? help
▸ q
"
    );
}

#[test]
fn a_narrow_terminal_shows_everything() {
    let mut desk = Desk::new("dq", "vim").with(|draft| {
        draft.iteration = 2;
        draft.documents[1].path = draft.documents[1].path.join("../a/long/way/to/the/design.md");
        draft.findings = vec!["COMP-002 covers no feature, and nobody needs it at all".to_owned()];
        draft.critic_said = Some("approves, but it could be smaller than it is".to_owned());
        draft.since = Since::of(
            "diff --git a/design_spec.json b/design_spec.json\n@@ -1 +1,2 @@\n-{}\n+{\n+}\n\
             diff --git a/design.md b/design.md\n@@ -5,2 +5,2 @@\n ## Components, which is long\n\
             -COMP-003 Storage service: a repository layer over SQLite\n\
             +COMP-002 Todo core: owns the list, reads and writes todos.json\n"
                .to_owned(),
            "",
        );
        draft.said = vec![Said { text: "no storage layer, one file".to_owned(), outcome: None }];
    });
    desk.terminal.width = 42;
    assert_eq!(desk.decision(), Decision::Stop);
    assert_eq!(
        desk.said(),
        "\x07━━ design · draft 2 of 3 · your decision ━
Since you last looked: 2 lines changed;
  the critic has not read it yet
   ## Components, which is long
  -COMP-003 Storage service: a
     repository layer over SQLite
  +COMP-002 Todo core: owns the list,
     reads and writes todos.json
   design_spec.json: 2 lines changed
 design.md: 19 lines, v reads it
 ✓ 2 components (2–4)
 ✓ every feature covered
 ✗ COMP-002 covers no feature, and nobody
   needs it at all
Critic   approves, but it could be smaller
         than it is
You said \"no storage layer, one
         file\"
 p pass → critic → commit  e edit
 f feedback
 d diff  v read  V all  g go back  a abort
 q stop for now  ? help
▸ d
--- a/design.md
+++ b/design.md
@@ -1 +1 @@
-old
+new
━━ design · draft 2 of 3 · your decision ━
 p pass → critic → commit  e edit
 f feedback
 d diff  v read  V all  g go back  a abort
 q stop for now  ? help
▸ q
"
    );
}

#[test]
fn an_empty_difference_shows_the_document_again() {
    let desk = Desk::new("q", "vim").with(|draft| {
        draft.since = Some(Since { heading: "", summary: "0".into(), diff: "\n".into() })
    });
    desk.decision();
    assert!(!desk.said().contains("last looked"), "{}", desk.said());
    assert!(desk.said().contains("  One binary.\n"), "{}", desk.said());
}

#[test]
fn coding_shows_what_changed_and_has_no_document() {
    let desk = Desk::new("vEq", "vim").with(|draft| {
        draft.stage = Stage::Coding;
        draft.documents.clear();
        draft.diffstat = Some(" src/main.rs | 12 ++++\n 1 file changed".to_owned());
    });
    assert_eq!(desk.decision(), Decision::Stop);
    let said = desk.said();
    assert!(said.contains("  src/main.rs | 12 ++++\n  1 file changed\n ✓ 2 comp"), "{said}");
    assert!(said.contains("unknown key 'v'") && said.contains("unknown key 'E'"), "{said}");
    assert!(!said.contains("e edit"), "{said}");
}

/// A draft of code that changes one file in two places.
fn code(keys: &str, editor: &str) -> Desk {
    let desk = Desk::new(keys, editor);
    std::fs::write(desk.path("x.py"), "a\n").unwrap();
    let path = desk.path("x.py");
    desk.with(move |draft| {
        draft.stage = Stage::Coding;
        draft.documents.clear();
        draft.code = vec![path.clone()];
        draft.full_diff = &|_| {
            Ok("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -3,2 +3,3 @@\n a\n+b\n c\n\
                @@ -20 +21 @@\n-d\n+e\n"
                .to_owned())
        };
    })
}

#[test]
fn e_opens_the_changed_files_and_checks_the_code_again() {
    let desk = code("e", &script("echo more >>\"$1\""));
    assert_eq!(desk.decision(), Decision::Look);
    assert!(desk.said().contains("saved x.py: it is checked"), "{}", desk.said());
    let desk = code("eq", "true");
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("nothing was changed"));
}

#[test]
fn hunks_are_accepted_commented_and_edited_one_by_one() {
    let desk = code("hyc why not f?\ry", "");
    assert_eq!(desk.decision(), Decision::Feedback("- x.py:21: why not f?".to_owned()));
    let desk = code("hyy q", "");
    assert_eq!(desk.decision(), Decision::Stop, "accepted hunks approve nothing");
    let desk = code("heyq", &script("echo more >>\"$1\""));
    assert_eq!(desk.decision(), Decision::Look);
    assert_eq!(desk.said().matches("hunk 1 of 2").count(), 1, "{}", desk.said());
}

#[test]
fn comments_on_hunks_outlive_the_gate() {
    let kept = code("hc name it\rq\x04", "");
    assert_eq!(kept.decision(), Decision::Stop);
    let file = kept.path("scratch/comments-coding.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "- x.py:4: name it\n");
    let again = code("hqnhqy", "");
    std::fs::create_dir(again.path("scratch")).unwrap();
    std::fs::copy(&file, again.path("scratch/comments-coding.md")).unwrap();
    assert_eq!(again.decision(), Decision::Feedback("- x.py:4: name it".to_owned()));
    let said = again.said();
    assert!(said.contains("1 comment on hunks, not sent yet; h continues"), "{said}");
}

#[test]
fn every_key_decides_at_once_and_enter_after_it_changes_nothing() {
    for enter in ["", "\r", "\r\r"] {
        let decide = |key: &str| {
            let desk = Desk::new(&format!("{key}{enter}"), "false");
            let decision = desk.decision();
            assert_eq!(desk.terminal.unread(), enter, "{key} waits for nothing more");
            decision
        };
        assert_eq!(decide("p"), Decision::Pass);
        assert_eq!(decide("q"), Decision::Stop);
        assert_eq!(decide("g2"), Decision::GoBack(Stage::Prd));
        assert_eq!(decide("ay"), Decision::Abort);
        assert_eq!(decide("\x04"), Decision::Stop);
    }
    assert_eq!(decide("g\r2\r"), Decision::GoBack(Stage::Prd));
    assert_eq!(decide("a\ry\r"), Decision::Abort);
    assert_eq!(decide("d\rv\rV\rp\r"), Decision::Pass);
}

#[test]
fn only_p_passes() {
    for keys in ["", "\r", "\r\r\r\r", "P", " ", "y", "\x1b\r", "\t", "eEF", "dvV", "f\r\r", "an"] {
        assert_eq!(decide(keys), Decision::Stop, "{keys:?}");
    }
}

#[test]
fn a_second_enter_explains_that_it_decides_nothing() {
    let desk = Desk::new("d\r\rq", "false");
    desk.decision();
    assert_eq!(desk.said().matches("Enter alone decides nothing").count(), 1);
}

#[test]
fn a_wrong_key_beeps_and_only_the_question_mark_helps() {
    let desk = Desk::new("zh\x1b?q", "false");
    desk.decision();
    let said = desk.said();
    for key in ["z", "h"] {
        let line = format!("▸ \x07{key}  unknown key '{key}'; ? lists the keys\n▸ ");
        assert!(said.contains(&line), "{said}");
    }
    assert_eq!(said.matches("? help").count(), 2, "the menu stays: {said}");
    assert_eq!(said.matches("    q  stop for now: draft kept").count(), 1, "? lists it: {said}");
    assert_eq!(said.matches('\x07').count(), 4, "the gate, two keys, Escape: {said}");
}

#[test]
fn input_before_the_gate_is_discarded() {
    let desk = Desk::new("q", "false");
    desk.decision();
    assert_eq!(*desk.terminal.discarded.borrow(), 1);
}

#[test]
fn ctrl_c_interrupts_everywhere_with_the_cursor_shown() {
    for keys in ["\x03", "f\x03", "fhalf\x03", "g\x03", "a\x03"] {
        let desk = Desk::new(keys, "false");
        assert_eq!(kind_of(&desk.ask().unwrap_err()), Kind::Interrupted, "{keys:?}");
        assert!(desk.said().ends_with("\x1b[?25h\n"), "{keys:?}");
    }
}

#[test]
fn the_end_of_input_stops_everywhere() {
    for keys in ["", "f", "fhalf", "f\r", "g", "a", "d", "e"] {
        assert_eq!(decide(keys), Decision::Stop, "{keys:?}");
    }
}

#[test]
fn feedback_comes_on_the_same_line_the_next_or_the_one_after() {
    for keys in ["f no storage\r", "f\rno storage\r", "fno storage\r", "f\r\rf no storage\r"] {
        assert_eq!(decide(keys), Decision::Feedback("no storage".to_owned()), "{keys:?}");
    }
    assert_eq!(decide("f\x1bp"), Decision::Pass, "escape leads back to the menu");
}

#[test]
fn long_feedback_is_written_in_the_editor() {
    let desk = Desk::new("F", &script("printf \"one\\ntwo\\n\" >\"$1\""));
    assert_eq!(desk.decision(), Decision::Feedback("one\ntwo".to_owned()));
    let desk = Desk::new("Fq", "true");
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("nothing was written"));
    let desk = Desk::new("Fq", &script("echo precious >\"$1\"; exit 1"));
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("hint: what you wrote is kept in "), "{}", desk.said());
}

#[test]
fn a_saved_edit_is_shown_before_it_can_pass() {
    let desk = Desk::new("e", &script("echo more >>\"$1\""));
    assert_eq!(desk.decision(), Decision::Look);
    assert!(desk.said().ends_with("saved design.md: it is checked and shown again\n"));
    assert_eq!(std::fs::read_to_string(desk.path("design_spec.json")).unwrap(), "{}\n");
    let desk = Desk::new("E", &script("echo more >>\"$1\""));
    assert_eq!(desk.decision(), Decision::Look);
    assert!(desk.said().contains("saved design_spec.json: "), "all files are opened");
    let desk = Desk::new("e", &script("echo \">>> why?\" >>\"$1\""));
    assert_eq!(desk.decision(), Decision::Commented);
    assert!(desk.said().ends_with("saved design.md: your comment goes to the actor\n"));
}

#[test]
fn a_document_that_is_not_there_cannot_pass() {
    let desk = Desk::new("pq", "true").with(|draft| {
        draft.documents.clear();
        draft.can_pass = false;
    });
    assert_eq!(desk.decision(), Decision::Stop);
    let said = desk.said();
    assert!(said.contains("p  nothing to pass: ") && !said.contains(" p pass"), "{said}");
}

#[test]
fn an_edit_that_changes_nothing_or_fails_leads_back() {
    let desk = Desk::new("eq", "true");
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("nothing was changed"));
    for editor in ["false", "no-such-editor 2>&-", "", "exit 1;"] {
        let desk = Desk::new("eq", editor);
        assert_eq!(desk.decision(), Decision::Stop, "{editor}");
        let said = desk.said().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("nothing is decided"), "{said}");
    }
    assert!(Desk::new("eq", ":").decision() == Decision::Stop);
}

#[test]
fn a_file_changed_on_disk_is_shown_before_it_can_pass() {
    // The editor fails after it wrote: the file on disk differs from the screen.
    let desk = Desk::new("ep", &script("echo more >>\"$1\"; exit 1"));
    assert_eq!(desk.decision(), Decision::Look);
    let said = desk.said();
    let changed = "not passed: design.md changed on disk after the draft was shown: it is checked";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(changed), "{said}");
    let desk = Desk::new("ep", &script("echo \">>> why?\" >>\"$1\"; exit 1"));
    assert_eq!(desk.decision(), Decision::Commented);
    let gone = Desk::new("ppq", "true");
    std::fs::remove_file(gone.path("design.md")).unwrap();
    assert_eq!(gone.decision(), Decision::Stop);
    assert!(gone.said().contains("not passed: design.md cannot be read"));
}

#[test]
fn diff_and_documents_are_shown_whole() {
    let desk = Desk::new("dvq", "false");
    desk.decision();
    let said = desk.said();
    assert!(said.contains("@@ -1 +1 @@\n-old\n+new\n━━ design · draft 1 of 3"), "{said}");
    assert!(said.contains("\tline 14\n━━ design · draft 1 of 3"), "{said}");
    let short = "tokens ━━\n p pass → critic → commit";
    assert_eq!(said.matches(short).count(), 2, "a heading is below each: {said}");
    assert!(!said.contains("\x1b[2J"));
    let desk = Desk::new("Vq", "false");
    desk.decision();
    assert!(desk.said().contains("━━ design_spec.json ━━"), "{}", desk.said());
    let desk = Desk::new("dq", "false")
        .with(|draft| draft.full_diff = &|_| Err(anyhow::anyhow!("the disk is on fire")));
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("the disk is on fire"));
}

#[test]
fn going_back_needs_a_stage_and_aborting_a_yes() {
    assert_eq!(decide("g9g0gxg\x1bp"), Decision::Pass);
    assert_eq!(decide("ana\x1bp"), Decision::Pass);
    let desk = Desk::new("gq", "false").with(|draft| draft.earlier = &[]);
    assert_eq!(desk.decision(), Decision::Stop);
    assert!(desk.said().contains("unknown key 'g'"));
}

#[test]
fn paths_are_shown_from_the_top() {
    let shown = screen::shown_path(Path::new("/r/.cowork/x.md"), Path::new("/r"));
    assert_eq!(shown, ".cowork/x.md");
    assert_eq!(screen::shown_path(Path::new("/x\n.md"), Path::new("/r")), "/x .md");
}

#[test]
fn a_paste_decides_nothing() {
    let paste = |bursts: &[&str]| {
        let mut desk = Desk::new("", "false");
        desk.terminal = Scripted::bursts(bursts);
        let decision = desk.decision();
        (decision, desk.said().matches("that was a paste").count())
    };
    assert_eq!(paste(&["please pass\rq", "q"]), (Decision::Stop, 1));
    assert_eq!(paste(&["\rp\r", "pp", "q"]), (Decision::Stop, 2));
    assert_eq!(paste(&["a", "yes", "n", "q"]), (Decision::Stop, 1));
    assert_eq!(paste(&["g", "12", "x", "q"]), (Decision::Stop, 1));
    assert_eq!(paste(&["p\r"]), (Decision::Pass, 0));
    let feedback = |text: &str| (Decision::Feedback(text.to_owned()), 0);
    assert_eq!(paste(&["f some text\r"]), feedback("some text"));
    assert_eq!(paste(&["f", "one\rtwo\r\rthree", "p"]), feedback("one\ntwo\n\nthree"));
}
