//! `[review] notify`: run once for each thing a person is asked, from the user's own file only.

use serde_json::json;

use crate::support::todo::prd_draft;
use crate::support::{Reply, Sandbox, at};

/// The last line of the menu: from here on keys are read.
const ASKED: &str = "stop for now";

/// What the command was told.
fn notified(sandbox: &Sandbox) -> Vec<String> {
    let told = std::fs::read_to_string(sandbox.root().join("told")).unwrap_or_default();
    told.lines().map(str::to_owned).collect()
}

/// Configures a command that writes its message down.
fn notify(sandbox: &Sandbox) -> String {
    let script = sandbox.root().join("bin/tell");
    let told = sandbox.root().join("told");
    sandbox.executable(&script, &format!("echo \"$1\" >>'{}'", told.display()));
    format!("[review]\nnotify = \"{}\"\n", script.display())
}

#[test]
fn notify_runs_once_for_each_thing_a_person_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.user_config(&format!("{}[limits]\niterations = {{ idea = 1 }}\n", notify(&sandbox)));
    let question = json!({"question": "Which shell?", "options": ["sh", "bash"]});
    sandbox.server.times(1, at("prd", "actor").turn(1), Reply::call("ask_user", question));
    sandbox.server.on(at("prd", "actor").turn(2), prd_draft());
    sandbox.server.on(at("prd", "actor").turn(3), Reply::text("Saved."));
    let new = ["new", "-n", "todo", "a todo list for the terminal", "--stop-after", "prd"];
    let mut terminal = sandbox.terminal(&new);
    terminal.sees(ASKED);
    terminal.sees("? help");
    // Looking around is no new question.
    terminal.types("v");
    terminal.sees("? help");
    terminal.types("x");
    terminal.sees("unknown key 'x'");
    terminal.types("p");
    terminal.sees("your own words");
    terminal.enters("1");
    terminal.sees(ASKED);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 3);
    assert_eq!(
        notified(&sandbox),
        ["idea waits for you", "the actor asks: Which shell?", "prd waits for you"]
    );
}

#[test]
fn notify_runs_where_a_draft_is_left_to_wait_and_at_the_limit() {
    let sandbox = Sandbox::new();
    let config = notify(&sandbox);
    sandbox.user_config(&format!("{config}[limits]\niterations = {{ idea = 1 }}\n"));
    sandbox.wait(&["--stop-after", "idea"]).exits(3);
    assert_eq!(notified(&sandbox), ["idea waits for you"]);
    sandbox.cowork(&["review", "--pass"]).exits(0);
    assert_eq!(notified(&sandbox).len(), 1, "an answer waits for nobody");
    // A file that came with a clone is not heard.
    let other = Sandbox::new();
    let config = notify(&other);
    other.write(".cowork/config.toml", &config);
    other.commit_all("evil");
    other.wait(&["--stop-after", "idea"]);
    assert!(notified(&other).is_empty());
}
