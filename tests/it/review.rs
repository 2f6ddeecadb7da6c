//! Review without a terminal: a draft waits as a commit, a person answers it, `resume` goes on.

use serde_json::json;

use crate::support::todo::{DESIGN, IDEA, PRD, prd_draft, reject};
use crate::support::{Reply, Sandbox, at};

fn waiting() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3).says("review");
    sandbox
}

/// `resume`, still without a person.
fn resume(sandbox: &Sandbox) -> crate::support::sandbox::Outcome {
    sandbox.cowork(&["resume", "--review", "wait"])
}

#[test]
fn a_draft_waits_as_a_commit_in_a_clean_tree() {
    let sandbox = waiting();
    assert_eq!(sandbox.stages("main.."), ["start", "idea"]);
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Event"], ["draft"]);
    assert_eq!(trailers["Cowork-Stage"], ["idea"]);
    assert!(!trailers.contains_key("Cowork-Review"), "{trailers:?}");
    assert_eq!(sandbox.artifact("idea.md"), IDEA);
    assert!(sandbox.tags().is_empty());
    assert_eq!(sandbox.refs("refs/cowork/drafts"), ["refs/cowork/drafts/todo/idea"]);
    let status = sandbox.cowork(&["status", "--json"]).exits(0).json();
    assert_eq!(status["state"], "waiting");
    assert_eq!(status["stage"], "idea");
    sandbox.assert_sound();
}

#[test]
fn without_an_answer_resume_waits_on_and_asks_no_model() {
    let sandbox = waiting();
    sandbox.server.forget();
    let before = sandbox.all_refs();
    resume(&sandbox).exits(3).says("git cowork review");
    sandbox.cowork(&["resume", "--review", "wait", "--no-interactive"]).exits(3);
    assert!(sandbox.server.requests().is_empty());
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn an_answer_is_one_commit_and_runs_nothing() {
    let sandbox = waiting();
    sandbox.server.forget();
    let draft = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^"]), draft);
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Event"], ["review"]);
    assert_eq!(trailers["Cowork-Stage"], ["idea"]);
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert!(sandbox.server.requests().is_empty());
    // It is answered now.
    sandbox.cowork(&["review", "--pass"]).exits(5);
    sandbox.assert_sound();
}

#[test]
fn a_passed_draft_is_recorded_with_the_name_of_who_passed_it() {
    let sandbox = waiting();
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.server.forget();
    resume(&sandbox).exits(3);
    assert!(sandbox.server.requests_of("idea", "actor").is_empty(), "the idea was drafted again");
    let commit = sandbox.stage_commit("idea");
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
    assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    let blob = sandbox.git(&[
        "rev-parse",
        "--short=12",
        &format!("{commit}:.cowork/sessions/todo/idea.md"),
    ]);
    assert_eq!(trailers["Cowork-Approved"], [format!("idea.md@{blob}")]);
    // The next stage waits.
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stage"], ["prd"]);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
}

#[test]
fn a_whole_session_asks_five_times_and_nobody_twice() {
    let sandbox = waiting();
    let mut asked = vec![sandbox.trailers("HEAD")["Cowork-Stage"][0].clone()];
    loop {
        sandbox.cowork(&["review", "--pass"]).exits(0);
        let outcome = resume(&sandbox);
        if outcome.code == 0 {
            break;
        }
        outcome.exits(3);
        asked.push(sandbox.trailers("HEAD")["Cowork-Stage"][0].clone());
        assert!(asked.len() <= 5, "asked for {asked:?}");
    }
    assert_eq!(asked, ["idea", "prd", "design", "plan", "coding"]);
    for stage in &asked {
        let trailers = sandbox.trailers(&sandbox.stage_commit(stage));
        assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"], "{stage}");
    }
    assert!(!sandbox.trailers("HEAD").contains_key("Reviewed-by"));
    assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "completed");
    sandbox.assert_sound();
}

#[test]
fn feedback_reaches_the_next_draft() {
    let sandbox = waiting();
    sandbox.cowork(&["review", "--feedback", "say it in a haiku"]).exits(0);
    let trailers = sandbox.trailers("HEAD");
    assert_eq!(trailers["Cowork-Review"], ["feedback"]);
    let kept: serde_json::Value =
        serde_json::from_str(&sandbox.artifact("feedback_history.json")).unwrap();
    assert_eq!(kept[0]["from"], "human");
    assert_eq!(kept[0]["stage"], "idea");
    assert_eq!(kept[0]["details"], "say it in a haiku");
    sandbox.server.forget();
    let second = IDEA.replace("Add, list", "Haiku: add, list");
    sandbox
        .server
        .on(at("idea", "actor").turn(1), Reply::call("save_idea", json!({"content": second})));
    resume(&sandbox).exits(3);
    assert!(sandbox.server.requests()[0].text().contains("say it in a haiku"));
    assert!(sandbox.artifact("idea.md").contains("Haiku"));
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "idea"]).exits(0);
    assert!(sandbox.blob("cowork/todo/idea", ".cowork/sessions/todo/idea.md").contains("Haiku"));
    sandbox.assert_sound();
}

#[test]
fn empty_feedback_is_no_answer() {
    let sandbox = waiting();
    let before = sandbox.all_refs();
    sandbox.cowork(&["review", "--feedback", "  "]).exits(2);
    sandbox.cowork(&["review", "--pass", "--abort"]).exits(2);
    // Nobody can be asked, so no answer at all is a usage error.
    sandbox.cowork(&["review"]).exits(2);
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn after_an_abort_resume_starts_a_fresh_draft() {
    let sandbox = waiting();
    sandbox.cowork(&["review", "--abort"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["aborted"]);
    sandbox.server.forget();
    resume(&sandbox).exits(3);
    let first = &sandbox.server.requests()[0];
    assert_eq!((first.stage.as_str(), first.turn), ("idea", 1));
    sandbox.assert_sound();
}

#[test]
fn edited_bytes_are_passed_as_they_were_saved() {
    let mut sandbox = waiting();
    sandbox.editor("printf 'One line of mine.\\n' >>\"$f\"");
    sandbox.cowork(&["review", "--edit"]).exits(0);
    assert_eq!(sandbox.edited(), ["idea.md"]);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["edited"]);
    sandbox.server.forget();
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "idea"]).exits(0);
    let commit = sandbox.stage_commit("idea");
    let path = ".cowork/sessions/todo/idea.md";
    assert_eq!(sandbox.blob(&commit, path), format!("{IDEA}One line of mine.\n"));
    let trailers = sandbox.trailers(&commit);
    assert_eq!(trailers["Cowork-Review"], ["edited"]);
    let blob = sandbox.git(&["rev-parse", "--short=12", &format!("{commit}:{path}")]);
    assert_eq!(trailers["Cowork-Approved"], [format!("idea.md@{blob}")]);
    assert_eq!(trailers["Reviewed-by"], ["Ana Example <ana@example.org>"]);
    sandbox.assert_sound();
}

#[test]
fn a_failed_editor_approves_nothing() {
    let mut sandbox = waiting();
    let before = sandbox.all_refs();
    sandbox.editor("exit 1");
    let outcome = sandbox.cowork(&["review", "--edit"]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    assert_eq!(sandbox.all_refs(), before);
    resume(&sandbox).exits(3);
}

#[test]
fn an_edit_made_by_hand_and_committed_is_the_draft() {
    let sandbox = waiting();
    sandbox.write(".cowork/sessions/todo/idea.md", &format!("{IDEA}By hand.\n"));
    sandbox.commit_all("my own words");
    sandbox.cowork(&["review", "--pass", "--at", &sandbox.git(&["rev-parse", "HEAD"])]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "idea"]).exits(0);
    assert!(sandbox.blob("HEAD", ".cowork/sessions/todo/idea.md").ends_with("By hand.\n"));
    sandbox.assert_sound();
}

/// A waiting draft with a commit of somebody else on top.
fn with_a_commit_on_top() -> Sandbox {
    let sandbox = waiting();
    sandbox.write("smuggled.txt", "nobody looked\n");
    sandbox.git(&["add", "smuggled.txt"]);
    let mallory = ["-c", "user.name=Mallory", "-c", "user.email=m@example.org"];
    sandbox.git(&[&mallory[..], &["commit", "-q", "-m", "a small thing"]].concat());
    sandbox
}

#[test]
fn a_commit_on_top_of_a_waiting_draft_is_not_passed_unseen() {
    let sandbox = with_a_commit_on_top();
    let before = sandbox.all_refs();
    let tip = sandbox.git(&["rev-parse", "--short=12", "HEAD"]);
    for (passing, answer) in [
        (&["review", "--pass"][..], "--pass"),
        (&["approve", "todo"], "--pass"),
        (&["review", "--edit"], "--edit"),
    ] {
        sandbox
            .cowork(passing)
            .exits(3)
            .says("a small thing")
            .says("smuggled.txt")
            .says("1 commit on top of draft 1 of idea")
            .says(&format!("git cowork review todo {answer} --at {tip}"));
        assert_eq!(sandbox.all_refs(), before);
    }
    assert!(sandbox.edited().is_empty(), "the editor was opened");
    // An answer that passes nothing needs no commit.
    sandbox.cowork(&["review", "--feedback", "shorter"]).exits(0);
}

#[test]
fn a_commit_with_copied_trailers_is_not_passed_unseen() {
    let sandbox = waiting();
    let trailers = sandbox.trailers("HEAD");
    let (session, id) = (&trailers["Cowork-Session"][0], &trailers["Cowork-Session-Id"][0]);
    let message = format!("more\n\nCowork-Session: {session}\nCowork-Session-Id: {id}\n");
    sandbox.write("unseen.txt", "unseen\n");
    sandbox.git(&["add", "unseen.txt"]);
    sandbox.git(&["commit", "-q", "--no-verify", "-m", &message]);
    let before = sandbox.all_refs();
    sandbox.cowork(&["review", "--pass"]).exits(3).says("unseen.txt");
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn a_pass_that_names_the_tip_passes_what_is_there() {
    let sandbox = with_a_commit_on_top();
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["review", "todo", "--pass", "--at", &tip[..12]]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^"]), tip);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["passed"]);
    sandbox.assert_sound();
}

#[test]
fn an_edit_that_names_the_tip_passes_it_with_what_is_there() {
    let mut sandbox = with_a_commit_on_top();
    sandbox.editor("printf 'One line of mine.\\n' >>\"$f\"");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.cowork(&["review", "--edit", "--at", &tip]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "HEAD^"]), tip);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["edited"]);
}

#[test]
fn a_pass_that_names_another_commit_passes_nothing() {
    let sandbox = with_a_commit_on_top();
    let before = sandbox.all_refs();
    let [draft, tip] = ["HEAD^", "HEAD"].map(|rev| sandbox.git(&["rev-parse", rev]));
    for at in [&draft[..], &tip[..6], "HEAD", ""] {
        sandbox.cowork(&["review", "--pass", "--at", at]).exits(5).says(&tip[..12]);
    }
    sandbox.cowork(&["review", "--abort", "--at", &tip]).exits(2);
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn a_person_at_a_terminal_is_shown_the_commits_on_top_and_asked() {
    let sandbox = with_a_commit_on_top();
    let before = sandbox.all_refs();
    let mut terminal = sandbox.terminal(&["review", "--pass"]);
    terminal.sees("a small thing");
    terminal.sees("Pass the draft with the 1 commit on top of draft 1 of idea?");
    terminal.types("n");
    assert_eq!(terminal.ends().0, 130);
    assert_eq!(sandbox.all_refs(), before);
    let mut terminal = sandbox.terminal(&["review", "--pass"]);
    terminal.sees("Pass the draft with");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["passed"]);
}

#[test]
fn whoever_asks_for_the_gate_is_shown_the_commits_on_top_first() {
    let sandbox = with_a_commit_on_top();
    let mut terminal = sandbox.terminal(&["review"]);
    terminal.sees("a small thing");
    terminal.sees("smuggled.txt");
    terminal.sees("stop for now");
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
}

#[test]
fn a_refused_review_switches_no_branch() {
    let sandbox = with_a_commit_on_top();
    sandbox.git(&["switch", "-q", "main"]);
    let refused: [(&[&str], i32); 4] = [
        (&["--pass"], 3),
        (&["--pass", "--at", "0000000"], 5),
        (&["--stage", "design"], 2),
        (&["--stage", "design", "--pass"], 5),
    ];
    for (answer, code) in refused {
        sandbox.cowork(&[&["review", "todo"], answer].concat()).exits(code);
        assert_eq!(sandbox.git(&["branch", "--show-current"]), "main", "{answer:?}");
    }
    // One that only the files show.
    sandbox.git(&["switch", "-q", "cowork/todo"]);
    sandbox.write(".cowork/sessions/todo/idea.md", "");
    sandbox.commit_all("nothing left");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.cowork(&["review", "todo", "--pass", "--at", &tip]).exits(2).says("missing or empty");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), "main");
}

#[test]
fn with_nothing_waiting_there_is_nothing_to_answer() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["review", "--pass"]).exits(5);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let before = sandbox.all_refs();
    for answer in [&["--pass"][..], &["--abort"], &["--feedback", "x"], &["--edit"]] {
        sandbox
            .cowork(&[&["review"], answer].concat())
            .exits(5)
            .says("no draft waiting for review");
    }
    assert_eq!(sandbox.all_refs(), before);
}

#[test]
fn what_the_critic_rejects_after_a_pass_comes_back_to_the_person() {
    let sandbox = waiting();
    sandbox.cowork(&["review", "--pass"]).exits(0);
    resume(&sandbox).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.server.times(1, at("prd", "critic"), reject("REQ-002 is vague"));
    let second = json!({"content": format!("{PRD}\nREQ-002 lists them by date.\n")});
    sandbox.server.sequence(
        at("prd", "actor"),
        vec![Reply::call("save_prd_doc", second), Reply::text("Fixed.")],
    );
    sandbox.server.forget();
    resume(&sandbox).exits(3);
    let positions: Vec<_> =
        sandbox.server.requests().iter().map(|r| (r.stage.clone(), r.role.clone())).collect();
    assert_eq!(positions[0], ("prd".to_owned(), "critic".to_owned()));
    assert!(sandbox.server.requests()[1].text().contains("REQ-002 is vague"));
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
    assert!(sandbox.artifact("prd.md").contains("by date"));
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("prd"))["Cowork-Iterations"], ["2"]);
    sandbox.assert_sound();
}

#[test]
fn auto_takes_up_what_waits() {
    let sandbox = waiting();
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    assert_eq!(sandbox.server.requests_of("idea", "actor").len(), 1, "the draft was thrown away");
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("idea"))["Cowork-Review"], ["auto"]);
    sandbox.assert_sound();
}

#[test]
fn drafts_stay_comparable() {
    let sandbox = waiting();
    let first = sandbox.git(&["rev-parse", "refs/cowork/drafts/todo/idea"]);
    sandbox.cowork(&["review", "--feedback", "shorter"]).exits(0);
    let short = IDEA.replace("Thoughts", "Second thoughts");
    let draft = Reply::call("save_idea", json!({"content": short}));
    sandbox.server.on(at("idea", "actor").turn(1), draft);
    resume(&sandbox).exits(3);
    let second = sandbox.git(&["rev-parse", "refs/cowork/drafts/todo/idea"]);
    assert_ne!(first, second);
    assert_eq!(sandbox.git(&["rev-parse", &format!("{second}^2")]), first);
    let diff = sandbox.git(&["diff", &first, &second, "--", ".cowork/sessions/todo/idea.md"]);
    assert!(diff.contains("+## Second thoughts"), "{diff}");
}

#[test]
fn stages_without_a_gate_do_not_wait() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\ngates = [\"design\"]\n");
    sandbox.wait(&[]).exits(3);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Stage"], ["design"]);
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("idea"))["Cowork-Review"], ["auto"]);
    assert_eq!(sandbox.artifact("design.md"), DESIGN);
}

#[test]
fn critic_first_shows_a_person_only_what_the_critic_let_through() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\norder = \"critic-first\"\ngates = [\"prd\"]\n");
    sandbox.server.on(at("prd", "actor").turn(1), prd_draft());
    sandbox.wait(&[]).exits(3);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 1, "the critic was asked twice");
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert_eq!(trailers["Cowork-Review"], ["passed"]);
}
