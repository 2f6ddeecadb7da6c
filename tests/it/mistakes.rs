//! What people get wrong on the command line. Each is answered in one line, with a way on below it, and
//! the documented exit code; `mistakes.txt` has them all: where, what was typed, what is answered.

use std::fmt::Write as _;

use crate::support::Sandbox;

const LIST: &str = include_str!("mistakes.txt");

/// Where a mistake is made.
fn place(name: &str) -> Sandbox {
    match name {
        "nowhere" => Sandbox::nowhere(),
        "new" => Sandbox::new(),
        "waiting" => {
            let sandbox = Sandbox::stopped_after("idea");
            sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
            sandbox
        }
        "delivered" => {
            let sandbox = Sandbox::delivered();
            sandbox.git(&["switch", "-q", "main"]);
            sandbox
        }
        _ => panic!("there is no place {name}"),
    }
}

/// The words of a line; what stands between single quotes is one.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quoted) = (Vec::<String>::new(), false);
    let mut begun = false;
    for c in line.chars() {
        match c {
            '\'' => {
                if !begun {
                    words.push(String::new());
                }
                (quoted, begun) = (!quoted, true);
            }
            ' ' if !quoted => begun = false,
            c => {
                if !begun {
                    words.push(String::new());
                }
                begun = true;
                words.last_mut().unwrap().push(c);
            }
        }
    }
    words
}

#[test]
fn every_mistake_is_answered_with_one_line_and_a_way_on() {
    let mut place_now = ("", None);
    let (mut mistakes, mut actual, mut wrong) = (0, String::new(), Vec::new());
    for entry in LIST.split("\n\n").map(str::trim).filter(|entry| !entry.starts_with('#')) {
        let line = entry.lines().next().unwrap();
        let (name, typed) = line.split_once("$ git cowork ").unwrap();
        if place_now.0 != name {
            place_now = (name, Some(place(name.trim())));
        }
        let Some(sandbox) = &place_now.1 else { unreachable!() };
        let typed = words(typed);
        let outcome = sandbox.cowork(&typed.iter().map(String::as_str).collect::<Vec<_>>());
        let mut said = format!("{line}\n{}", outcome.code);
        let count = |kind: &str| outcome.stderr.lines().filter(|l| l.starts_with(kind)).count();
        let shape = count("error: ") == 1 && (1..=3).contains(&count("hint: "));
        let shape = shape && outcome.stdout.is_empty();
        // What was done before is told above it.
        for line in outcome.stderr.lines().skip_while(|line| !line.starts_with("error: ")) {
            let _ = write!(said, "\n{line}");
        }
        if said != entry || !shape {
            wrong.push(line);
        }
        mistakes += 1;
        let _ = write!(actual, "{said}\n\n");
    }
    assert!(wrong.is_empty(), "not as listed: {wrong:#?}\nall that was said:\n\n{actual}");
    assert!(mistakes >= 109, "{mistakes}");
}
