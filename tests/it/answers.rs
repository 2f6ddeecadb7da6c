//! A run without a terminal that needs a person: each answer that it prints works, also in a clone,
//! and nothing answers in the person's place.

use serde_json::json;

use crate::support::outcome::Outcome;
use crate::support::todo::reject;
use crate::support::{Reply, Sandbox, at};

const AUTO: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "prd"];
const WAIT: [&str; 5] = ["resume", "--review", "wait", "--stop-after", "prd"];

/// A stop in the PRD, and what is printed then.
struct Stop {
    what: &'static str,
    config: &'static str,
    role: &'static str,
    reply: fn(u32) -> Reply,
    code: i32,
    says: &'static str,
    /// The answers besides `--feedback` and `--abort`.
    answers: &'static [&'static str],
}

/// So that the critic reads a draft that nobody had to pass.
const NO_GATE: &str = "[review]\ngates = [\"idea\"]\n[limits]\niterations = { prd = 2 }\n";
const MANY: &str = "[limits]\niterations = { prd = 9 }\n";
const TWO: &str = "[limits]\niterations = { prd = 2 }\n";

const STOPS: [Stop; 9] = [
    Stop {
        what: "the actor asks before it has saved anything",
        config: "",
        role: "actor",
        reply: |_| Reply::call("ask_user", json!({"question": "For whom?"})),
        code: 3,
        says: "For whom?",
        answers: &["--goto idea"],
    },
    Stop {
        what: "the actor makes no progress",
        config: "",
        role: "actor",
        reply: |_| Reply::call("read_file", json!({"path": "no"})),
        code: 1,
        says: "prd: the actor: ",
        answers: &["--more 3", "--goto idea"],
    },
    Stop {
        what: "the critic makes no progress",
        config: NO_GATE,
        role: "critic",
        reply: |_| Reply::call("get_requirements", json!({})),
        code: 1,
        says: "prd: the critic: ",
        answers: &["--pass", "--more 2", "--goto idea", "--edit"],
    },
    Stop {
        what: "the critic goes back",
        config: NO_GATE,
        role: "critic",
        reply: |_| Reply::call("goto_stage", json!({"stage": "idea", "reason": "it is empty"})),
        code: 3,
        says: "the prd critic asks to go back to idea: it is empty",
        answers: &["--pass", "--goto idea", "--edit"],
    },
    Stop {
        what: "the critic wants a person",
        config: NO_GATE,
        role: "critic",
        reply: |_| {
            let review = json!({"reason": "I cannot tell", "suspected_issue": "unclear_requirements",
                "details": "who is it for?"});
            Reply::call("request_human_review", review)
        },
        code: 3,
        says: "who is it for?",
        answers: &["--pass", "--goto idea", "--edit"],
    },
    Stop {
        what: "a draft is never saved",
        config: TWO,
        role: "actor",
        reply: |_| Reply::text("Done."),
        code: 1,
        says: "prd: 2 drafts were refused",
        answers: &["--more 2", "--goto idea"],
    },
    Stop {
        what: "a loop",
        config: MANY,
        role: "actor",
        reply: |_| Reply::text("Done."),
        code: 1,
        says: "drafts in a row change nothing",
        answers: &["--more 9", "--goto idea"],
    },
    Stop {
        what: "the draft limit",
        config: NO_GATE,
        role: "critic",
        reply: |draft| reject(["no user is named", "ticking off is unclear"][draft as usize - 1]),
        code: 1,
        says: "[critic] ticking off is unclear",
        answers: &["--pass", "--more 2", "--goto idea", "--edit"],
    },
    Stop {
        what: "no verdict",
        config: NO_GATE,
        role: "critic",
        reply: |_| Reply::text("Hm."),
        code: 1,
        says: "the critic gave no verdict; it said: Hm.",
        answers: &["--pass", "--goto idea", "--edit"],
    },
];

/// Stopped so, in a repository with a remote.
fn stopped(stop: &Stop, before: &Sandbox) -> (Sandbox, Outcome) {
    let sandbox = before.fork();
    sandbox.user_config(stop.config);
    let reply = stop.reply;
    sandbox.server.on_with(at("prd", stop.role), move |received| Some(reply(received.iteration)));
    if stop.role == "critic" {
        crate::stuck::drafts_differ(&sandbox);
    }
    let outcome = sandbox.cowork(&WAIT).exits(stop.code).says(stop.says);
    sandbox.assert_sound();
    (sandbox, outcome)
}

/// The options of the answers that a run has printed.
fn printed(outcome: &Outcome) -> Vec<String> {
    let review = "git cowork review todo ";
    let answers = outcome.stderr.lines().filter_map(|line| line.split_once(review));
    answers.map(|(_, answer)| answer.replace("TEXT", "for-gardeners")).collect()
}

/// The remote `hub.git`, and a clone of it in which everything goes on.
fn clone(sandbox: &mut Sandbox) {
    sandbox.git(&["init", "-q", "--bare", "../hub.git"]);
    sandbox.git(&["push", "-q", "../hub.git", "main", "cowork/todo"]);
    sandbox.git(&["clone", "-q", "-b", "cowork/todo", "../hub.git", "../second"]);
    sandbox.git(&["-C", "../second", "branch", "-q", "main", "origin/main"]);
    sandbox.enter("../second");
}

#[test]
fn each_printed_answer_works_for_each_kind_of_stop() {
    let before = Sandbox::stopped_after("idea");
    for stop in &STOPS {
        let (sandbox, outcome) = stopped(stop, &before);
        let mut expected: Vec<&str> = stop.answers.to_vec();
        expected.extend(["--feedback for-gardeners", "--abort"]);
        expected.sort_unstable();
        let mut answers = printed(&outcome);
        answers.sort_unstable();
        assert_eq!(answers, expected, "{}: {}", stop.what, outcome.stderr);
        for answer in &answers {
            works(&sandbox, stop.what, answer);
        }
    }
}

/// Gives an answer to the waiting PRD in a clone, and goes on. The editor corrects what
/// [`unreadable`] broke.
fn works(sandbox: &Sandbox, stop: &str, answer: &str) {
    // The fork's server follows the script, in which nothing goes wrong.
    let mut there = sandbox.fork();
    there.editor(
        "case $f in *.md) sed -i 's/`urgent`/`high`/' \"$f\"
         printf '\\nOne line of mine.\\n' >>\"$f\" ;; esac",
    );
    clone(&mut there);
    let what = format!("{stop}: {answer}");
    let words: Vec<&str> = ["review", "todo"].into_iter().chain(answer.split(' ')).collect();
    let answered = there.cowork(&words);
    assert_eq!(answered.code, 0, "{what}: {}", answered.stderr);
    assert!(there.server.requests().is_empty(), "{what}");
    let resumed = there.cowork(&AUTO);
    assert_eq!(resumed.code, 0, "{what}: {}", resumed.stderr);
    there.stage_commit("prd");
    let asked = |stage| there.server.requests_of(stage, "actor");
    match answer.split(' ').next().unwrap() {
        "--pass" | "--edit" => assert!(asked("prd").is_empty(), "{what}"),
        "--goto" => {
            assert!(!asked("idea").is_empty(), "{what}");
            assert_eq!(there.refs("refs/cowork/attempts"), ["refs/cowork/attempts/todo/1"]);
        }
        "--feedback" => assert!(asked("prd")[0].text().contains("for-gardeners"), "{what}"),
        _ => assert!(!asked("prd").is_empty(), "{what}"),
    }
    there.assert_sound();
}

/// A person's edit of the PRD that cannot be read.
pub fn unreadable(sandbox: &Sandbox) {
    let urgent = sandbox.artifact("prd.md").replacen("`high`", "`urgent`", 1);
    sandbox.write(".cowork/sessions/todo/prd.md", &urgent);
}

#[test]
fn an_edit_that_cannot_be_read_waits_for_answers_that_work() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.cowork(&WAIT).exits(3);
    unreadable(&sandbox);
    let outcome = sandbox.cowork(&AUTO).exits(3).says("'urgent' is not a priority");
    let answers = printed(&outcome);
    assert_eq!(answers, ["--feedback for-gardeners", "--goto idea", "--edit", "--abort"]);
    sandbox.cowork(&["review", "--pass"]).exits(3).says("'urgent' is not a priority");
    for answer in &answers {
        works(&sandbox, "an edit that cannot be read", answer);
    }
}

#[test]
fn an_edit_that_the_checks_refuse_is_not_offered_to_pass() {
    let sandbox = Sandbox::stopped_after("idea");
    assert!(printed(&sandbox.cowork(&WAIT).exits(3)).contains(&"--pass".to_owned()));
    let prd = sandbox.artifact("prd.md");
    let (before, after) = prd.split_once("- Tick a todo off works\n").unwrap();
    sandbox.write(".cowork/sessions/todo/prd.md", &format!("{before}{after}"));
    let outcome = sandbox.cowork(&WAIT).exits(3);
    assert_eq!(printed(&outcome), ["--feedback for-gardeners", "--edit", "--abort"]);
    works(&sandbox, "an edit without a criterion", "--feedback for-gardeners");
}

#[test]
fn nothing_but_an_answer_goes_on() {
    let before = Sandbox::stopped_after("idea");
    // A critic without a verdict is asked again.
    for stop in STOPS.iter().filter(|stop| stop.what != "no verdict") {
        let (sandbox, first) = stopped(stop, &before);
        let refs = sandbox.all_refs();
        sandbox.server.forget();
        for resume in [AUTO, WAIT] {
            let outcome = sandbox.cowork(&resume).exits(stop.code).says(stop.says);
            assert_eq!(printed(&outcome), printed(&first), "{}", stop.what);
            assert_eq!(sandbox.all_refs(), refs, "{}", stop.what);
        }
        assert!(sandbox.server.requests().is_empty(), "{}", stop.what);
        let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
        let state = if stop.code == 3 { "waiting" } else { "stopped" };
        assert_eq!(status["state"], state, "{}", stop.what);
        let listed = sandbox.cowork(&["list", "--json"]).exits(0).json_lines();
        assert_eq!(listed[0]["state"], state, "{}", stop.what);
        let bare = sandbox.cowork(&[]).exits(0).stdout;
        assert!(bare.contains("Stands   prd draft "), "{}: {bare}", stop.what);
    }
}

#[test]
fn what_stopped_an_unattended_run_is_answered_by_a_waiting_one() {
    let before = Sandbox::stopped_after("idea");
    for stop in STOPS.iter().filter(|stop| stop.what != "the critic goes back") {
        let sandbox = before.fork();
        let reply = stop.reply;
        sandbox.user_config(stop.config);
        let role = at("prd", stop.role);
        sandbox.server.on_with(role, move |received| Some(reply(received.iteration)));
        if stop.role == "critic" {
            crate::stuck::drafts_differ(&sandbox);
        }
        let asks = ["For whom?", "who is it for?"].contains(&stop.says);
        let outcome = sandbox.cowork(&AUTO).exits(if asks { 3 } else { 1 });
        let wait = "git cowork resume todo --review wait";
        assert!(asks || outcome.stderr.contains(wait), "{}: {}", stop.what, outcome.stderr);
        let outcome = sandbox.cowork(&WAIT).exits(stop.code);
        for answer in stop.answers {
            assert!(printed(&outcome).iter().any(|a| a == answer), "{}: {answer}", stop.what);
        }
        sandbox.cowork(&["review", "--feedback", "for gardeners"]).exits(0);
        let there = sandbox.fork();
        there.cowork(&AUTO).exits(0);
        there.assert_sound();
    }
}

#[test]
fn a_critic_without_a_verdict_is_asked_again_and_nobody_passes_twice() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.server.on(at("prd", "critic"), Reply::text("Hm."));
    sandbox.cowork(&WAIT).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    for _ in 0..2 {
        sandbox.cowork(&WAIT).exits(1).says("the critic gave no verdict");
    }
    assert_eq!(sandbox.server.requests_of("prd", "actor").len(), 1);
    sandbox.server.on(at("prd", "critic"), crate::support::todo::approve());
    sandbox.cowork(&WAIT).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    sandbox.assert_sound();
}

#[test]
fn as_many_more_drafts_as_a_person_allows() {
    let before = Sandbox::stopped_after("idea");
    let (sandbox, _) = stopped(&STOPS[7], &before);
    let refuse = |received: &crate::support::server::Received| {
        Some(reject(&format!("it lacks number {}", "x".repeat(received.iteration as usize * 9))))
    };
    sandbox.server.on_with(at("prd", "critic"), refuse);
    sandbox.cowork(&["review", "--more", "1"]).exits(0);
    sandbox.server.forget();
    let outcome = sandbox.cowork(&WAIT).exits(1).says("draft 3 of 3");
    assert!(printed(&outcome).contains(&"--more 2".to_owned()), "{}", outcome.stderr);
    let drafts = sandbox.server.requests_of("prd", "actor");
    assert!(drafts.iter().all(|draft| draft.iteration == 3), "one more draft");
    assert!(!drafts.is_empty());
    for wrong in [&["--more", "0"][..], &["--more", "x"], &["--more", "1", "--pass"]] {
        sandbox.cowork(&[&["review"], wrong].concat()).exits(2);
    }
}

#[test]
fn code_that_was_refused_too_often_passes_or_is_written_again() {
    let sandbox = Sandbox::stopped_after("plan");
    sandbox.user_config("[review]\ngates = [\"prd\"]\n[limits]\niterations = { coding = 2 }\n");
    let words = ["todo.sh says nothing", "a file without a newline"];
    sandbox.server.on_with(at("coding", "critic"), move |received| {
        words.get(usize::try_from(received.iteration).unwrap() - 1).map(|words| reject(words))
    });
    let echo = json!({"path": "todo.sh", "content": "echo\n"});
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), Reply::call("write_file", echo));
    let resume = |mode| ["resume", "--review", mode, "--stop-after", "coding"];
    let outcome = sandbox.cowork(&resume("wait")).exits(1).says("a file without a newline");
    let more = ["--feedback for-gardeners", "--more 2", "--goto plan", "--abort"];
    assert_eq!(printed(&outcome), [&["--pass"], &more[..]].concat());
    for (answer, drafts) in [(&["--pass"][..], "2"), (&["--more", "1"], "3")] {
        let mut there = sandbox.fork();
        clone(&mut there);
        there.cowork(&[&["review"], answer].concat()).exits(0);
        there.cowork(&resume("auto")).exits(0);
        let trailers = there.trailers(&there.stage_commit("coding"));
        assert_eq!(trailers["Cowork-Iterations"], [drafts], "{answer:?}");
        let asked = there.server.requests_of("coding", "critic").len();
        assert_eq!(asked, usize::from(drafts == "3"), "a person has decided in the critic's place");
        there.assert_sound();
    }
}

#[test]
fn a_person_goes_back_where_coding_has_asked_to() {
    const REASON: &str = "REQ-001 cannot be built as COMP-001 has it";
    let mut sandbox = Sandbox::stopped_after("plan");
    let goto = Reply::call("goto_stage", json!({"stage": "design", "reason": REASON}));
    sandbox.server.times(1, at("coding", "actor").task("TASK-001").turn(1), goto);
    let outcome = sandbox.cowork(&["resume", "--review", "wait"]).exits(3).says(REASON);
    // Nothing is written, so there is nothing to pass.
    assert_eq!(printed(&outcome), ["--feedback for-gardeners", "--goto design", "--abort"]);
    for (stage, code) in [("check", 5), ("triage", 5), ("nowhere", 2)] {
        sandbox.cowork(&["review", "--goto", stage]).exits(code);
    }
    clone(&mut sandbox);
    sandbox.cowork(&["review", "--goto", "design"]).exits(0);
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Event"], ["review"]);
    assert_eq!(trailers["Cowork-Back"], ["design"]);
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "in_progress");
    let status = sandbox.cowork(&["status"]).exits(0).stdout;
    assert!(status.contains("resume goes back to design"), "{status}");
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    let drafts = sandbox.server.requests_of("design", "actor");
    assert!(drafts[0].text().contains(REASON), "design is not told why");
    let shown = sandbox.cowork(&["log", "-v"]).exits(0).stdout;
    assert!(shown.contains("from coding to design, by Ana Example"), "{shown}");
    assert!(shown.contains("back to design"), "{shown}");
    // The answer is undone with what it did, and another one can be given.
    for _ in 0..2 {
        sandbox.cowork(&["undo"]).exits(0);
        sandbox.assert_sound();
        assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "waiting");
    }
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stage"], ["design"]);
    sandbox.cowork(&["undo"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stage"], ["coding"]);
    sandbox.cowork(&["review", "--feedback", "do it here"]).exits(0);
    sandbox.assert_sound();
}

#[test]
fn the_gate_offers_no_pass_of_a_document_that_is_not_there() {
    let before = Sandbox::stopped_after("idea");
    let (sandbox, _) = stopped(&STOPS[0], &before);
    let mut terminal = sandbox.terminal(&["review"]);
    let shown = terminal.sees("stop for now");
    assert!(shown.contains("For whom?") && !shown.contains("p pass"), "{shown}");
    terminal.types("p");
    terminal.sees("nothing to pass: a document is missing");
    // What is answered at the gate is answered as by an option.
    terminal.types("g");
    terminal.sees("any other key: stay here");
    terminal.types("1");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Back"], ["idea"]);
    sandbox.cowork(&["review", "--pass"]).exits(5);
}

#[test]
fn nobody_passes_it_from_another_terminal_either() {
    let before = Sandbox::stopped_after("idea");
    let (sandbox, _) = stopped(&STOPS[0], &before);
    let sandbox = sandbox.fork();
    let mut run = sandbox.terminal(&["resume", "--stop-after", "prd"]);
    run.sees("stop for now");
    let mut watch = sandbox.terminal(&["watch", "todo"]);
    let seen = watch.sees("q stop watching");
    assert!(!seen.contains("p pass"), "{seen}");
    watch.types("p");
    watch.sees("unknown key 'p'");
    watch.types("f");
    watch.sees("feedback (");
    watch.enters("for gardeners");
    run.sees("answered from another terminal: feedback: for gardeners");
    run.sees("p pass");
    watch.types("q");
    run.types("q");
    assert_eq!(run.ends().0, 3);
}

#[test]
fn the_command_that_shows_the_code_works_in_a_folder_and_in_a_clone() {
    let mut sandbox = Sandbox::stopped_after("plan");
    let outcome = sandbox.cowork(&["resume", "--review", "wait"]).exits(3);
    outcome.says("read it: git cowork diff todo --without-artifacts");
    sandbox.git(&["clone", "-q", "-b", "cowork/todo", ".", "../second"]);
    for folder in ["../second", "lib"] {
        sandbox.enter(folder);
        let shown = sandbox.cowork(&["diff", "todo", "--without-artifacts"]).exits(0).stdout;
        assert!(shown.contains("+++ b/lib/add.sh"), "{folder}: {shown}");
    }
}
