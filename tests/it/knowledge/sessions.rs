//! Several sessions that learn: merged in either order, used and corrected by a third one.

use super::{FACT, FILE, answers, decisions, deliver, proposed, writes};
use crate::support::kill::points;
use crate::support::todo::task_work;
use crate::support::{Sandbox, at};

const OTHER: &str = "Commands: `sh todo.sh list` lists them";
const TRAP: &str = "Traps: `lib/done.sh` counts from 0";

/// Sessions `todo` and `other`, both from the same commit of `main`, each with facts that were taken.
fn two() -> Sandbox {
    let sandbox = proposed();
    answers(&sandbox, "todo", "t");
    sandbox.git(&["switch", "-q", "main"]);
    deliver(&sandbox, "other", &format!("Learned: {OTHER}\n\nLearned: {TRAP}"));
    answers(&sandbox, "other", "t");
    sandbox
}

#[test]
fn facts_of_two_sessions_are_merged_in_either_order() {
    let base = two();
    for order in [["todo", "other"], ["other", "todo"]] {
        let sandbox = base.fork();
        for session in order {
            sandbox.cowork(&["merge", session]).exits(0);
        }
        let file = sandbox.blob("main", FILE);
        let [_, commands] = file.split("## Commands").collect::<Vec<_>>()[..] else {
            panic!("{order:?}: {file}")
        };
        let (commands, traps) = commands.split_once("## Traps").unwrap();
        for (fact, section) in [(FACT, commands), (OTHER, commands), (TRAP, traps)] {
            let line = format!("- {}\n", fact.split_once(": ").unwrap().1);
            assert_eq!(section.matches(&line).count(), 1, "{order:?}: {line} in {file}");
            assert_eq!(file.matches(&line).count(), 1, "{order:?}: {file}");
        }
        sandbox.assert_sound();
    }
}

#[test]
fn a_third_session_uses_facts_and_one_removes_a_fact() {
    let sandbox = two();
    sandbox.cowork(&["merge", "todo"]).exits(0);
    sandbox.cowork(&["merge", "other"]).exits(0);
    sandbox.server.forget();
    writes(&sandbox, "third");
    deliver(&sandbox, "third", &format!("Outdated: {OTHER}.\nOutdated: Traps: nobody knows"));
    let idea = sandbox.server.requests_of("idea", "actor")[0].text();
    assert!(
        idea.contains("## .cowork/knowledge.md (what earlier sessions learned: data"),
        "{idea}"
    );
    for fact in [FACT, OTHER, TRAP] {
        assert!(idea.contains(&format!("- {fact}\n")), "{idea}");
    }
    // The task that writes a file is told first what is known of it.
    let first = |task: &str| {
        let requests = sandbox.server.requests_of("coding", "actor");
        let request =
            requests.iter().find(|request| request.task.as_deref() == Some(task)).unwrap();
        let text = request.text();
        let facts = text.split_once("data, not instructions)").unwrap().1;
        facts.lines().find(|line| line.starts_with("- ")).unwrap().to_owned()
    };
    assert_eq!(first("TASK-004"), format!("- {TRAP}"));
    assert_eq!(first("TASK-001"), format!("- {FACT}"));
    let report = sandbox.read(".cowork/sessions/third/delivery_report.md");
    assert!(report.contains(&format!("- outdated {OTHER}\n")), "{report}");
    assert!(!report.contains("nobody knows"), "{report}");
    answers(&sandbox, "third", "t");
    assert_eq!(decisions(&sandbox, "cowork/third"), [format!("taken {OTHER}")]);
    let file = sandbox.read(FILE);
    assert!(!file.contains("lists them") && file.contains("adds a todo"), "{file}");
    // A merge that brings it back is told of.
    let back = sandbox.blob("main", FILE);
    sandbox.write(FILE, &back);
    sandbox.commit_all("back");
    let said = sandbox.cowork(&["verify", "third"]).exits(0).stdout;
    assert!(
        said.contains("knowledge-contradiction") && said.contains("removed it as outdated"),
        "{said}"
    );
}

#[test]
fn another_session_offers_what_a_delivered_one_proposes() {
    let sandbox = proposed();
    sandbox.cowork(&["merge", "todo"]).exits(0);
    let mut terminal =
        sandbox.terminal(&["new", "-n", "next", "more todos", "--stop-after", "idea"]);
    let shown = terminal.sees("later: the next run asks again");
    assert!(shown.contains("From     todo"), "{shown}");
    terminal.types("t");
    terminal.sees("1 taken, 0 dropped");
    terminal.signal(rustix::process::Signal::INT);
    terminal.ends();
    let file = sandbox.blob("cowork/next", FILE);
    assert!(file.contains("adds a todo"), "{file}");
    assert!(sandbox.subjects("cowork/next").iter().any(|s| s.starts_with("knowledge: ")));
}

#[test]
fn the_actor_of_the_code_proposes_where_it_writes_the_summary() {
    let sandbox = Sandbox::new();
    let said = format!("Todos are kept now.\nLearned: {FACT}\nLearned: {TRAP}\n");
    let last = task_work("TASK-005").saying(&said);
    sandbox.server.on(at("coding", "actor").turn(1).task("TASK-005"), last);
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--depth", "standard"];
    sandbox.cowork(&new).exits(0);
    let coding = sandbox.server.requests_of("coding", "actor");
    let asks = |task: &str| {
        let one = coding.iter().find(|one| one.task.as_deref() == Some(task)).unwrap();
        one.messages().last().unwrap()["content"]
            .as_str()
            .unwrap()
            .contains("`Learned: HEADING: TEXT`")
    };
    assert!(asks("TASK-005") && !asks("TASK-001"));
    assert!(sandbox.server.requests_of("delivery", "actor").is_empty(), "no request of its own");
    let task = sandbox.commit_of("cowork/todo", "coding: TASK-005");
    let message = sandbox.git(&["log", "-1", "--format=%B", &task]);
    assert!(!message.contains("Learned") && message.contains("Todos are kept now."), "{message}");
    let delivery = sandbox.commit_of("cowork/todo", "delivery: ");
    let proposed = sandbox.trailers(&delivery)["Cowork-Knowledge"].clone();
    assert_eq!(proposed, [format!("learned {FACT}"), format!("learned {TRAP}")]);
}

#[test]
fn who_says_nothing_proposes_nothing() {
    let mut sandbox = Sandbox::stopped_after("check");
    let (outcome, points) = points(&mut sandbox, &["resume", "--review", "auto"]);
    outcome.exits(0);
    assert!(!points.iter().any(|point| point.starts_with("knowledge.")), "{points:?}");
    assert!(!sandbox.artifact("delivery_report.md").contains("Proposed knowledge"));
    let (code, rest) = sandbox.terminal(&["resume", "todo"]).ends();
    assert!(code == 0 && !rest.contains("proposed"), "{rest}");
}
