//! Under a CI runner nobody is asked anything, and no line is an order for the runner.

use serde_json::json;

use crate::support::{Reply, Sandbox, at};

/// Lines that GitHub, Azure and TeamCity obey.
const ORDERS: &str = "# Product requirements\n\n::add-mask::x\n  ::error::y\n##[add-mask]x\n\
                      see ##vso[task.complete] and ##teamcity[blockOpened name='x']\n";

#[test]
fn a_terminal_of_a_runner_asks_nothing_and_says_why() {
    for (variables, named) in [
        (&[("CI", "true")][..], "CI"),
        (&[("TF_BUILD", "True")], "TF_BUILD"),
        (&[("CI", "1")], "CI"),
    ] {
        let mut sandbox = Sandbox::new();
        for (name, value) in variables {
            sandbox.set_env(name, value);
        }
        let (code, screen) = sandbox.screen(100, &["new", "-n", "todo", "a todo list"]).ends();
        assert_eq!(code, 3, "{screen}");
        let why = format!("{named} is set, so nobody is asked; to be asked, unset it");
        assert_eq!(screen.matches(&why).count(), 1, "{screen}");
        assert_eq!(sandbox.cowork(&["status", "--json"]).exits(0).json()["state"], "waiting");
        // Neither a pager nor the title of a window.
        sandbox.set_env("GIT_PAGER", "read forever < /dev/tty; cat");
        let mut log = sandbox.screen(100, &["log", "todo"]);
        assert_eq!(log.runs_out(), 0);
        assert!(!log.raw.contains("\u{1b}]"), "{:?}", log.raw);
    }
}

#[test]
fn a_person_who_says_so_is_asked() {
    for value in ["false", "0"] {
        let mut sandbox = Sandbox::new();
        sandbox.set_env("CI", value);
        sandbox.set_env("GITHUB_ACTIONS", "true");
        let mut screen = sandbox.screen(100, &["new", "-n", "todo", "a todo list"]);
        screen.shows(|screen| screen.contains("p pass"));
        screen.kill();
    }
}

#[test]
fn no_line_of_a_model_is_an_order() {
    let mut sandbox = Sandbox::stopped_after("idea");
    let draft = json!({"content": format!("{ORDERS}\n## Requirements\n")});
    sandbox.server.on(at("prd", "actor").turn(1), Reply::call("save_prd_doc", draft));
    sandbox.set_env("GITHUB_ACTIONS", "true");
    let run = sandbox.cowork(&["resume", "--review", "wait", "--stop-after", "prd", "--stream"]);
    let shown = sandbox.cowork(&["show", "todo", "prd"]).exits(0).stdout;
    assert!(shown.contains("add-mask"), "{shown}");
    let json = sandbox.cowork(&["show", "todo", "prd", "--json"]).exits(0).stdout;
    let log = sandbox.cowork(&["log", "todo", "--json"]).exits(0).stdout;
    for text in [&run.stdout, &run.stderr, &shown, &json, &log] {
        let obeyed = |line: &str| {
            line.trim_start().starts_with("::")
                || ["##[", "##vso[", "##teamcity["].iter().any(|order| line.contains(order))
        };
        assert!(!text.lines().any(obeyed), "{text}");
    }
    assert!(serde_json::from_str::<serde_json::Value>(json.lines().next().unwrap()).is_ok());
    // Warnings are text beside JSON.
    sandbox.git(&["switch", "-q", "-c", "cowork/other", "main"]);
    let file = "{\"schema_version\": \"##vso[x]\"}\n";
    sandbox.commit_file(".cowork/sessions/other/session.json", file, "of another program");
    let warned = sandbox.cowork(&["list", "--json"]).exits(0).stderr;
    assert!(warned.contains("# #vso[x]") && !warned.contains("##vso"), "{warned}");
    // Anywhere else, and in a file, the document is what it is.
    let file = sandbox.path("../shown.md");
    let mut show = sandbox.cowork_command(&["show", "todo", "prd"]);
    show.stdout(std::fs::File::create(&file).unwrap());
    assert!(show.status().unwrap().success());
    assert!(std::fs::read_to_string(&file).unwrap().contains("\n::add-mask::x\n"));
    sandbox.set_env("GITHUB_ACTIONS", "");
    let plain = sandbox.cowork(&["show", "todo", "prd"]).exits(0).stdout;
    assert!(plain.contains("\n::add-mask::x\n") && plain.contains("##vso["), "{plain}");
}
