//! How many processes a command takes: what history says is read, not asked of a git child. A
//! process costs more than what is read from it, and a command must not need more of them because
//! there are more tasks, sessions or files.

use crate::support::Sandbox;
use crate::support::children::{Children, children};
use crate::support::copied::Refs;
use crate::support::many::{coded, delivered, plans};
use crate::support::sessions::Sessions;

/// The children of a command that must succeed.
#[track_caller]
fn of(sandbox: &mut Sandbox, args: &[&str]) -> Children {
    let (outcome, children) = children(sandbox, args);
    outcome.exits(0);
    assert!(children.count() > 0, "{args:?} is not seen to ask git anything");
    children
}

/// What is wrong where a command must have at most so many children here, and as many there.
#[track_caller]
fn both(limit: usize, small: &mut Sandbox, large: &mut Sandbox, args: &[&str]) -> String {
    let (few, many) = (of(small, args), of(large, args));
    let mut wrong = String::new();
    if few.count() > limit {
        wrong += &format!("{args:?}: more than {limit}\n{few}");
    }
    if many.count() != few.count() {
        wrong += &format!("{args:?}: not as many where there is more\n{few}{many}");
    }
    wrong
}

#[track_caller]
fn none(wrong: &[String]) {
    assert!(wrong.iter().all(String::is_empty), "\n{}", wrong.concat());
}

#[test]
fn status_verify_log_and_show_take_as_many_for_500_tasks_as_for_10() {
    let (mut small, mut large) = (delivered(10), delivered(500));
    let mut both = |limit, args| both(limit, &mut small, &mut large, args);
    none(&[
        both(4, &["status"]),
        both(4, &["status", "--json"]),
        both(10, &["verify"]),
        both(4, &["log"]),
        both(4, &["log", "--json"]),
        both(4, &["show", "report"]),
        both(4, &["list"]),
        both(6, &["trace"]),
    ]);
}

/// Processes of a whole run of 5 tasks.
const MOST: usize = 100;

/// The formats of new repositories since git 3.0: no command asks git for one object after another.
#[test]
fn every_format_takes_few_processes() {
    for format in [
        &["--object-format=sha256"][..],
        &["--ref-format=reftable"],
        &["--object-format=sha256", "--ref-format=reftable"],
    ] {
        let Some(mut sandbox) = Sandbox::in_format(format) else { continue };
        let run = of(&mut sandbox, &["new", "-n", "todo", "a todo list", "--review", "auto"]);
        let mut wrong = String::new();
        for (limit, args) in [
            (MOST, &[][..]),
            (4, &["status"]),
            (4, &["log"]),
            (4, &["list"]),
            (6, &["verify"]),
            (6, &["why", "README.md"]),
            (6, &["trace"]),
            (4, &[]),
        ] {
            let told = if limit == MOST { &run } else { &of(&mut sandbox, args) };
            if told.count() > limit {
                wrong += &format!("{format:?} {args:?}: more than {limit}\n{told}");
            }
        }
        none(&[wrong]);
    }
}

#[test]
fn a_session_in_coding_takes_as_many_for_500_tasks_as_for_10() {
    let (mut small, mut large) = (coded(10), coded(500));
    let mut both = |limit, args| both(limit, &mut small, &mut large, args);
    none(&[both(4, &["status"]), both(10, &["verify"]), both(4, &["log"]), both(4, &[])]);
}

#[test]
fn list_takes_at_most_4_for_any_number_of_sessions() {
    let mut wrong = Vec::new();
    for kept in [Refs::Loose, Refs::Packed] {
        let mut sessions = Sessions::new();
        for number in [1, 20, 200] {
            sessions.grow(number, kept);
            for args in [&["list"][..], &["list", "--json"], &["list", "--all"]] {
                let children = of(&mut sessions.sandbox, args);
                if children.count() > 4 {
                    wrong.push(format!("{args:?}, {number} sessions, {kept:?}\n{children}"));
                }
            }
        }
    }
    none(&wrong);
}

#[test]
fn the_bare_command_on_main_takes_the_same_for_any_number_of_sessions() {
    let mut few = Sessions::new();
    few.grow(2, Refs::Loose);
    let mut many = Sessions::new();
    many.grow(100, Refs::Packed);
    none(&[both(4, &mut few.sandbox, &mut many.sandbox, &[])]);
}

#[test]
fn a_whole_run_of_5_tasks_takes_at_most_80() {
    let mut sandbox = Sandbox::new();
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
    let children = of(&mut sandbox, &new);
    assert_eq!(sandbox.stages("main..").last().unwrap(), "delivery");
    assert!(children.count() <= 80, "{children}");
}

/// Where hooks are, git is asked once: husky's `core.hooksPath` is relative.
#[test]
fn a_whole_run_with_hooks_in_the_tree_takes_at_most_150() {
    let mut sandbox = Sandbox::new();
    sandbox.executable(&sandbox.path(".husky/commit-msg"), "exit 0");
    sandbox.git(&["config", "core.hooksPath", ".husky"]);
    sandbox.commit_all("hooks");
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
    let children = of(&mut sandbox, &new);
    assert_eq!(sandbox.stages("main..").last().unwrap(), "delivery");
    assert!(children.count() <= 150, "{children}");
}

/// How many more children 5 more tasks take, among so many files of the repository and with so
/// many new files each.
fn five_more(files: usize, changed: usize) -> (usize, String) {
    let coding = |tasks: usize| {
        let mut sandbox = Sandbox::new();
        for n in 0..files {
            sandbox.write(&format!("d{}/f{n}.txt", n / 100), &format!("file {n}\n"));
        }
        sandbox.commit_all("files");
        plans(&sandbox, tasks, changed);
        sandbox.auto(&["--stop-after", "plan"]).exits(0);
        let resume = ["resume", "--review", "auto", "--stop-after", "coding"];
        let children = of(&mut sandbox, &resume);
        assert_eq!(
            sandbox.git(&["rev-list", "--count", "cowork/todo", "--", "parts"]),
            tasks.to_string()
        );
        children
    };
    let (five, ten) = (coding(5), coding(10));
    let told = format!("5 tasks: {five}\n10 tasks: {ten}");
    (ten.count() - five.count(), told)
}

#[test]
fn a_task_takes_three_however_many_files_there_are() {
    let (few, told) = five_more(10, 1);
    assert!(few == 5 * 3, "{few} for 5 more tasks\n{told}");
    let (many, told) = five_more(2_000, 1);
    assert!(many == few, "{many} for 5 more tasks among 2,000 files, {few} among 10\n{told}");
    let (large, told) = five_more(10, 20);
    assert!(large == few, "{large} for 5 more tasks of 20 files, {few} of one\n{told}");
}

/// What is counted is not what one way of starting git shows.
#[test]
fn children_are_counted_by_git_and_by_who_comes_first_on_the_path() {
    use crate::support::wrapper::{How, Side, children_killed_at, children_of};
    let mut sandbox = Sandbox::new();
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    sandbox.hook("post-commit", "git status >/dev/null; git log -1 >/dev/null");
    for args in [&["list"][..], &["resume", "--review", "auto", "--stop-after", "design"]] {
        let before = sandbox.fork();
        children_killed_at(&before, 0, Side::Before, How::Kill);
        before.cowork(args).exits(0);
        let by_path = children_of(&before);
        let by_git = of(&mut sandbox, args);
        assert_eq!(by_git.count() as u64, by_path, "{by_git}");
    }
}
