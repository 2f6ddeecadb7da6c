//! The real terminal, in a pseudo-terminal: the test binary runs itself as the program under test.

use std::process::Command;

use rexpect::session::{PtySession, spawn_command};

use super::*;
use crate::gate::{Document, Draft, Editor, Gate, Pagers};
use crate::stage::Stage;

/// A file that makes [`program`] run a gate; it contains the editor's command.
const MARK: &str = "gate-program";

/// The program under test, not a test.
#[test]
fn program() {
    let Ok(editor) = std::fs::read_to_string(MARK) else { return };
    let cwd = std::env::current_dir().unwrap();
    let editor = Editor { command: editor, cwd: cwd.clone() };
    let path = cwd.join("design.md");
    let draft = Draft {
        stage: Stage::Design,
        iteration: 1,
        limit: 3,
        can_pass: true,
        place: (1, 7),
        records: None,
        code: Vec::new(),
        spent: crate::spent::Spent::default(),
        documents: vec![Document {
            readable: None,
            name: "design.md".to_owned(),
            text: std::fs::read_to_string(&path).unwrap(),
            path,
        }],
        since: None,
        passed: Vec::new(),
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
        full_diff: &|_| Ok(String::new()),
        broken: &|_| Ok(crate::gate::Broken::default()),
        edited: None,
        actor: crate::gate::Actor::Absent,
        other_models: false,
        next_by: None,
        reply: None,
        earlier: &[],
        more: None,
        note: None,
    };
    let gate = Gate {
        terminal: &Tty::new(false),
        editor: &editor,
        pagers: &Pagers::default(),
        comment_prefix: ">>> ",
        scratch: &cwd,
        call: &|_| {},
        elsewhere: &crate::gate::NobodyElse,
        guide: None,
        untold: &crate::gate::NothingTyped,
    };
    let result = gate.ask(&draft);
    let cooked = rustix::termios::tcgetattr(rustix::stdio::stdin())
        .is_ok_and(|modes| modes.local_modes.contains(rustix::termios::LocalModes::ICANON));
    let text = match result {
        Ok(decision) => format!("decided {decision:?}"),
        Err(error) => format!("failed {error}"),
    };
    // `rexpect` reads bytes as Latin-1.
    let text = text.escape_default();
    Tty::new(false).write(&format!("\n[{text}] cooked={cooked}.\n")).unwrap();
}

struct Pty {
    session: PtySession,
    folder: tempfile::TempDir,
}

fn start(editor: &str) -> Pty {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(MARK), editor).unwrap();
    std::fs::write(folder.path().join("design.md"), "# Design\n").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "gate::tty::tests::program", "--nocapture", "--test-threads=1"])
        .current_dir(folder.path());
    let mut session = spawn_command(command, Some(20_000)).unwrap();
    session.exp_string("? help").unwrap();
    Pty { session, folder }
}

impl Pty {
    fn type_in(&mut self, keys: &str) {
        self.session.send(keys).unwrap();
        self.session.flush().unwrap();
    }

    fn ends(&mut self, text: &str) {
        self.session.exp_string(&format!("[{}] cooked=true.", text.escape_default())).unwrap();
    }
}

#[test]
fn a_key_acts_at_once_and_enter_does_not() {
    let mut pty = start(":");
    pty.type_in("\r");
    pty.session.exp_string("Enter alone decides nothing").unwrap();
    pty.type_in("p");
    pty.ends("decided Pass");
}

#[test]
fn feedback_is_typed_erased_and_typed_again() {
    let mut pty = start(":");
    pty.type_in("f no stroe\x7f\x7f\x7forage größer\x17größe \u{6f22}\r");
    pty.ends("decided Feedback(\"no storage größe \u{6f22}\")");
}

#[test]
fn a_paste_decides_nothing_but_can_be_feedback() {
    let mut pty = start(":");
    pty.type_in("please\rp\r");
    pty.session.exp_string("that was a paste").unwrap();
    pty.type_in("fone\rtwo\rthree");
    pty.ends("decided Feedback(\"one\\ntwo\\nthree\")");
}

#[test]
fn a_line_is_edited_in_its_middle() {
    let mut pty = start(":");
    // Home, right by a word, to the end; left by a word, delete a character.
    pty.type_in("fstorage größe\x01no \x1b[1;5C,\x05!\x1b[1;5D\x1b[D\x1b[3~ the \r");
    pty.ends("decided Feedback(\"no storage, the größe!\")");
}

#[test]
fn escape_and_arrows_do_not_insert_text() {
    let mut pty = start(":");
    pty.type_in("f");
    pty.session.exp_string("f  ").unwrap();
    pty.type_in("a\x1b[A\x1b[1;5Cb\x15c\r");
    pty.ends("decided Feedback(\"c\")");
}

#[test]
fn ctrl_c_is_an_error_and_leaves_a_sane_terminal() {
    let mut pty = start(":");
    pty.type_in("f half");
    pty.session.exp_string("half").unwrap();
    pty.type_in("\x03");
    pty.session.exp_string("\x1b[?25h").unwrap();
    pty.ends("failed interrupted");
}

#[test]
fn ctrl_d_stops() {
    let mut pty = start(":");
    pty.type_in("\x04");
    pty.ends("decided Stop");
}

#[test]
fn the_editor_has_the_terminal() {
    let mut pty =
        start("sh -c 'test -t 0 && echo ready && read line && echo \"$line\" >\"$1\"' sh");
    pty.type_in("e");
    pty.session.exp_string("ready").unwrap();
    pty.type_in("a person's words\n");
    pty.ends("decided Look");
    let text = std::fs::read_to_string(pty.folder.path().join("design.md")).unwrap();
    assert_eq!(text, "a person's words\n");
}

#[test]
fn ctrl_z_in_an_orphaned_group_does_nothing() {
    let mut pty = start(":");
    // No process could continue the group, so the kernel does not stop it.
    pty.type_in("\x1a");
    pty.type_in("q");
    pty.ends("decided Stop");
}

#[test]
fn a_live_line_is_removed_before_output() {
    let calls = std::rc::Rc::new(std::cell::Cell::new(0));
    let counted = std::rc::Rc::clone(&calls);
    let tty = Tty::new(false).before(move || counted.set(counted.get() + 1));
    tty.write("").unwrap();
    tty.write("").unwrap();
    assert_eq!(calls.get(), 2);
}
