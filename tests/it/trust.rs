//! The project's configuration comes with a clone: what it may set is set by it only after
//! `git cowork trust`, on exactly that content.

use serde_json::json;

use crate::support::todo::{self, PRD};
use crate::support::{Reply, Sandbox, at};

const FILE: &str = ".cowork/config.toml";

/// A file whose test command would leave a trace, and a limit that always counts.
const HOSTILE: &str = "[project]\ntest = \"touch was-run\"\n[limits]\ntool_turns = 50\n";

#[test]
fn exactly_the_accepted_content_counts_and_only_until_it_changes() {
    let mut sandbox = Sandbox::new();
    sandbox.write(FILE, HOSTILE);
    sandbox.commit_all("configuration");
    let warned = sandbox.cowork(&["list"]).exits(0).says("ignored: project.test");
    assert!(warned.stderr.contains("git cowork trust"), "{}", warned.stderr);
    assert!(!warned.stderr.contains("tool_turns"), "{}", warned.stderr);

    let trusted = sandbox.cowork(&["trust"]).exits(0).says("is trusted exactly as it is");
    assert_eq!(trusted.stdout, "project.test = \"touch was-run\"\n");
    let quiet = sandbox.cowork(&["list"]).exits(0);
    assert!(!quiet.stderr.contains("ignored"), "{}", quiet.stderr);
    sandbox.cowork(&["trust"]).exits(0).says("already");
    // A linked working tree of the repository shares it; the tree itself holds nothing of it.
    sandbox.git(&["worktree", "add", "-q", "../linked"]);
    sandbox.enter("../linked");
    assert!(!sandbox.cowork(&["list"]).exits(0).stderr.contains("ignored"));
    sandbox.enter("");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");

    sandbox.write(FILE, &format!("{HOSTILE}[sandbox]\nnetwork = true\n"));
    sandbox.cowork(&["list"]).exits(0).says("has changed since you trusted it");
    // What was accepted once is so again when it is back.
    sandbox.write(FILE, HOSTILE);
    assert!(!sandbox.cowork(&["list"]).exits(0).stderr.contains("ignored"));
    sandbox.cowork(&["trust", "--revoke"]).exits(0).says("no longer trusted");
    sandbox.cowork(&["list"]).exits(0).says("came with the repository");
    sandbox.cowork(&["trust", "--revoke"]).exits(0).says("nothing was changed");
}

#[test]
fn trust_does_not_come_with_a_clone() {
    let mut sandbox = Sandbox::new();
    sandbox.write(FILE, HOSTILE);
    // What a repository could pretend to have accepted.
    sandbox.write(".cowork/trusted", "everything\n");
    sandbox.commit_all("configuration");
    sandbox.cowork(&["trust"]).exits(0);
    sandbox.git(&["clone", "-q", ".", "../clone"]);
    sandbox.enter("../clone");
    sandbox.cowork(&["list"]).exits(0).says("ignored: project.test");
}

#[test]
fn a_file_that_sets_nothing_of_the_kind_needs_no_trust() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["trust"]).exits(5).says("there is no .cowork/config.toml");
    sandbox.cowork(&["init"]).exits(0);
    sandbox.cowork(&["trust"]).exits(0).says("nothing that must be trusted");
    sandbox.write(FILE, "[limits]\ntool_turns = 9\n");
    sandbox.cowork(&["trust"]).exits(0).says("nothing that must be trusted");
    // A broken one is refused rather than accepted.
    sandbox.write(FILE, "[project]\ntest = 3\n");
    sandbox.cowork(&["trust"]).exits(4).says("must be a string");
}

#[test]
fn what_is_accepted_is_shown_without_keys_and_without_what_a_terminal_obeys() {
    let sandbox = Sandbox::new();
    sandbox.write(
        FILE,
        "[llm]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"sk-project-0123456789\"\n\
         [review]\neditor = \"vi \\u001b[2J\\u202e\"\n",
    );
    let told = sandbox.cowork(&["--json", "trust"]).exits(0);
    let object = told.json();
    assert_eq!(object["trusted"], true);
    assert_eq!(object["keys"]["llm.base_url"], "\"http://127.0.0.1:1/v1\"");
    assert_eq!(object["sha256"].as_str().map(str::len), Some(64));
    sandbox.cowork(&["trust", "--revoke"]).exits(0);
    let told = sandbox.cowork(&["trust"]).exits(0);
    let all = format!("{}{}", told.stdout, told.stderr);
    assert!(!all.contains("sk-project") && !all.contains('\u{1b}'), "{all}");
    assert!(!all.contains('\u{202e}') && all.contains("\\u{1b}[2J"), "{all}");
}

#[cfg(unix)]
#[test]
fn at_a_terminal_only_a_yes_is_one() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, HOSTILE);
    for (answer, code) in [("\r", 1), ("n", 1), ("y", 0)] {
        let mut terminal = sandbox.terminal(&["trust"]);
        terminal.sees("project.test = \"touch was-run\"");
        terminal.sees("let .cowork/config.toml set this");
        terminal.types(answer);
        let (ended, rest) = terminal.ends();
        assert_eq!(ended, code, "{answer:?}: {rest}");
    }
    assert!(!sandbox.cowork(&["list"]).exits(0).stderr.contains("ignored"));
}

#[test]
fn an_accepted_test_command_is_really_run() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "[project]\ntest = \"echo ran-the-test\"\n");
    sandbox.commit_all("configuration");
    sandbox.cowork(&["trust"]).exits(0);
    sandbox.auto(&["--stop-after", "coding"]).exits(0).says("running echo ran-the-test");
}

/// What a clone would like: nobody is asked, and there is no end to what may be spent.
const LOOSE: &str = "[review]\ngates = []\n[limits]\ntool_turns = 900\nfeatures = [1, 40]\n\
                     iterations = { idea = 90 }\n[stages.prd]\niterations = 90\nreview = false\n\
                     [budget]\nrequests = 0\ntokens = 900000000\n";

/// The keys of [`LOOSE`] in a clone of a repository that holds it.
fn hostile_clone() -> Sandbox {
    hostile_clone_in(Sandbox::new())
}

fn hostile_clone_in(mut sandbox: Sandbox) -> Sandbox {
    sandbox.write(FILE, LOOSE);
    sandbox.commit_all("configuration");
    sandbox.git(&["clone", "-q", ".", "../clone"]);
    sandbox.enter("../clone");
    sandbox
}

#[test]
fn a_clone_takes_no_gate_away_and_raises_no_limit_until_it_is_trusted() {
    takes_nothing_away(&hostile_clone());
    #[cfg(unix)]
    if let Some(sandbox) = Sandbox::new().into_ordinary_user() {
        takes_nothing_away(&hostile_clone_in(sandbox));
    }
}

fn takes_nothing_away(sandbox: &Sandbox) {
    sandbox.user_config("[budget]\nrequests = 900\ntokens = 5000000\n");
    let waits = sandbox.wait(&["--stop-after", "idea"]).exits(3);
    let looser =
        waits.stderr.lines().find(|line| line.contains("loosen a rule")).unwrap_or_default();
    for key in [
        "budget.requests",
        "budget.tokens",
        "limits.features",
        "limits.iterations.idea",
        "limits.tool_turns",
        "review.gates",
        "stages.prd.iterations",
        "stages.prd.review",
    ] {
        assert!(looser.contains(key), "{key}: {}", waits.stderr);
    }
    assert!(looser.contains("git cowork trust"), "{looser}");
    assert_eq!(waits.stderr.matches("loosen a rule").count(), 1, "said once: {}", waits.stderr);

    let trusted = sandbox.cowork(&["trust"]).exits(0);
    assert!(trusted.stdout.contains("review.gates = []\n"), "{}", trusted.stdout);
    assert!(trusted.stdout.contains("budget.requests = 0\n"), "{}", trusted.stdout);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    let rest = sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    assert!(!rest.stderr.contains("loosen a rule"), "{}", rest.stderr);
}

#[test]
fn a_clone_spends_no_more_than_the_user_allows() {
    let sandbox = hostile_clone();
    sandbox.user_config("[budget]\nrequests = 2\n");
    sandbox.auto(&["--stop-after", "prd"]).exits(4).says("budget");
    assert_eq!(sandbox.server.requests().len(), 1);
}

#[test]
fn a_clone_allows_no_more_drafts_than_the_user() {
    let sandbox = hostile_clone();
    for (iteration, why) in (1..).zip(["too long", "it names nobody", "what for?", "which file?"]) {
        sandbox.server.on(at("prd", "critic").iteration(iteration), todo::reject(why));
        let text = format!("{PRD}\nDraft {iteration}.\n");
        let draft = Reply::call("save_prd_doc", json!({"content": text}));
        if iteration > 1 {
            sandbox.server.on(at("prd", "actor").iteration(iteration).turn(1), draft);
        }
    }
    // The gate on the PRD is the user's to leave out.
    sandbox.user_config("[review]\ngates = []\n");
    sandbox.wait(&["--stop-after", "prd"]).exits(1);
    assert_eq!(sandbox.server.requests_of("prd", "critic").len(), 3);
}

#[test]
fn a_gate_the_user_named_is_open_whatever_a_trusted_file_says() {
    let sandbox = hostile_clone();
    sandbox.cowork(&["trust"]).exits(0);
    sandbox.user_config("[review]\ngates = [\"idea\"]\n");
    sandbox.wait(&["--stop-after", "idea"]).exits(3);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    // The list is exact: the next stage has no gate.
    sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd"]).exits(0);
    let elsewhere = hostile_clone();
    elsewhere.cowork(&["trust"]).exits(0);
    elsewhere.git(&["config", "cowork.stages.idea.review", "true"]);
    elsewhere.wait(&["--stop-after", "idea"]).exits(3);
}

#[test]
fn an_untrusted_file_may_add_a_gate() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[review]\ngates = []\n");
    sandbox.write(FILE, "[review]\ngates = [\"prd\"]\n");
    sandbox.commit_all("configuration");
    let waits = sandbox.wait(&["--stop-after", "prd"]).exits(3);
    assert!(!waits.stderr.contains("looser"), "{}", waits.stderr);
    assert_eq!(sandbox.stages("main.."), ["start", "idea", "prd"]);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Event"], ["draft"]);
}
