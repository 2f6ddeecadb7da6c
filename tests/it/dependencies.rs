//! What a project needs from outside and does not have: looked at before the first request, fetched
//! without anybody's logins, and "not run" in every record where it stays missing. The package
//! managers are scripts that know what is installed and change their lock files when they fetch.

use serde_json::json;

use crate::support::confinement::{Level, confinement};
use crate::support::todo::{self, task_work};
use crate::support::{Reply, Sandbox, at};

/// Has what `node_modules/.manifest` is a copy of.
const NPM: &str = r#"
case "$1" in
    ls) cmp -s package.json node_modules/.manifest ;;
    ci | install)
        mkdir -p node_modules
        case "$*" in *--ignore-scripts*)
            echo changed >package-lock.json
            {
                env
                cat ~/.npmrc ~/.netrc "$npm_config_userconfig" "$CARGO_HOME/config.toml"
                git config --list
            } >node_modules/seen 2>&1
        esac
        cp package.json node_modules/.manifest ;;
    test) test -e node_modules/.manifest && sh suite.sh ;;
esac"#;

/// Has what `registry/have` names by its sum.
const CARGO: &str = r#"
have() { grep -qs "$(cksum <Cargo.lock)" "$CARGO_HOME/registry/have"; }
case "$*" in
    *--offline*) have ;;
    test | build | clippy) have || { echo "error: no matching package named serde"; exit 101; } ;;
esac"#;

const MANIFEST: &str = r#"{"scripts":{"test":"x"},"dependencies":{"a":"1"}}"#;
const LOCK: &str = r#"{"packages":{"":{"dependencies":{"a":"1"}}}}"#;
const CRATE: &str = "[package]\nname = \"x\"\n[dependencies]\nserde = \"1\"\n";

/// A project whose dependencies are not there, where commands can be confined.
fn project() -> Option<Sandbox> {
    if confinement() == Level::None {
        skipped();
        return None;
    }
    let mut sandbox = Sandbox::new();
    sandbox.set_env("COWORK_TEST_SANDBOX", confinement().word());
    sandbox.executable(&sandbox.root().join("bin/npm"), NPM);
    sandbox.executable(&sandbox.root().join("bin/cargo"), CARGO);
    sandbox.write("package.json", MANIFEST);
    sandbox.write("package-lock.json", LOCK);
    sandbox.write("suite.sh", "echo tested\n");
    sandbox.write(".gitignore", "node_modules/\n");
    sandbox.write("lib/here.txt", "here\n");
    sandbox.commit_all("a project");
    Some(sandbox)
}

#[expect(clippy::print_stdout, reason = "whoever reads the run must know what it did not show")]
fn skipped() {
    println!("SKIPPED: dependencies are looked at where commands are confined");
}

fn fetch(sandbox: &Sandbox, policy: &str) {
    sandbox.user_config(&format!("[sandbox]\nfetch = \"{policy}\"\n"));
}

/// Runs a line as somebody who pastes it does.
fn paste(sandbox: &Sandbox, line: &str) {
    let status = sandbox.command("sh").args(["-c", line]).status().unwrap();
    assert!(status.success(), "{line}");
}

/// The first task begins with this.
fn first_task(sandbox: &Sandbox, calls: &[Reply]) {
    let rest = [task_work("TASK-001"), Reply::text("Done.")];
    let first = at("coding", "actor").task("TASK-001");
    sandbox.server.sequence(first, [calls, &rest].concat());
}

fn write(path: &str, content: &str) -> Reply {
    Reply::call("write_file", json!({"path": path, "content": content}))
}

const MISSING: &str = "not run (dependencies missing)";
const PASSED: &str = "passed, tests not counted (npm test)";

#[test]
fn nothing_is_asked_or_made_before_dependencies_are_there() {
    let Some(sandbox) = project() else { return };
    let outcome = sandbox.auto(&[]).exits(5);
    for said in [
        "dependencies are missing (npm: package-lock.json, package.json)",
        "fetch them: npm ci\n",
        "git config --global cowork.sandbox.fetch always",
        "git config --global cowork.sandbox.fetch never",
    ] {
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
    }
    assert_eq!((sandbox.server.requests().len(), sandbox.server.probes()), (0, 0));
    assert_eq!(sandbox.refs("refs"), ["refs/heads/main"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");

    paste(&sandbox, "npm ci");
    sandbox.auto(&["--stop-after", "plan"]).exits(0);
    // They are gone again: a run that goes on looks as well.
    std::fs::remove_dir_all(sandbox.path("node_modules")).unwrap();
    let asked = sandbox.server.requests().len();
    sandbox.cowork(&["resume", "--review", "auto"]).exits(5).says("git cowork resume todo");
    assert_eq!(sandbox.server.requests().len(), asked);
    paste(&sandbox, "npm ci");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let coding = sandbox.stage_commit("coding");
    assert_eq!(sandbox.trailers(&coding)["Cowork-Checks"], [PASSED]);
    sandbox.assert_sound();

    // Nor does a change of it.
    sandbox.git(&["switch", "-q", "main"]);
    std::fs::remove_dir_all(sandbox.path("node_modules")).unwrap();
    let asked = sandbox.server.requests().len();
    let modify = ["modify", "--session", "todo", "-n", "more", "colours", "--review", "auto"];
    sandbox.cowork(&modify).exits(5).says("fetch them: npm ci");
    assert_eq!(sandbox.server.requests().len(), asked);
    assert_eq!(sandbox.refs("refs/heads").len(), 2);
}

#[test]
fn another_directory_gets_a_command_that_can_be_pasted_there() {
    let Some(mut sandbox) = project() else { return };
    sandbox.git(&["mv", "package.json", "package-lock.json", "lib"]);
    sandbox.commit_all("moved");
    sandbox.auto(&[]).exits(5).says("fetch them: (cd lib && npm ci)\n");
    sandbox.enter("lib");
    sandbox.auto(&[]).exits(5).says("fetch them: npm ci\n");
    sandbox.write("other/x", "");
    sandbox.enter("other");
    let place = sandbox.path("lib").display().to_string();
    sandbox.auto(&[]).exits(5).says(&format!("fetch them: (cd {place} && npm ci)\n"));
    paste(&sandbox, &format!("(cd {place} && npm ci)"));
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
}

#[test]
fn a_session_in_a_new_worktree_says_how_it_continues_there() {
    let Some(sandbox) = project() else { return };
    paste(&sandbox, "npm ci");
    let tree = sandbox.root().join("tree").display().to_string();
    let outcome = sandbox.auto(&[&format!("--worktree={tree}")]).exits(5);
    let said = format!("fetch them: (cd {tree} && npm ci)\n");
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    let then = format!("then: (cd {tree} && git cowork resume todo)\n");
    assert!(outcome.stderr.contains(&then), "{}", outcome.stderr);
    assert_eq!(sandbox.server.requests().len(), 0);
}

#[test]
fn without_dependencies_every_record_says_not_run() {
    let Some(sandbox) = project() else { return };
    fetch(&sandbox, "never");
    let told = sandbox.auto(&["--stop-after", "plan"]).exits(0).stderr;
    let said = "sandbox.fetch in the configuration says never. Checks that need them are skipped; to \
                fetch them yourself: npm ci\n";
    assert_eq!(told.matches(said).count(), 1, "{told}");
    first_task(&sandbox, &[Reply::call("check_tests", json!({}))]);
    let mut terminal = sandbox.terminal(&["resume", "--review", "ask"]);
    let shown = terminal.sees("p pass ");
    assert!(shown.contains("npm test was not run (dependencies missing)"), "{shown}");
    terminal.types("p");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 0, "{rest}");
    for subject in ["coding: TASK-001 ", "coding: TASK-005 ", "check: "] {
        let trailers = sandbox.trailers(&sandbox.commit_of("cowork/todo", subject));
        assert_eq!(trailers["Cowork-Checks"], [MISSING], "{subject}");
        let evidence = &trailers["Cowork-Evidence"][0];
        assert!(evidence.starts_with(&format!("npm test: {MISSING}, tree ")), "{evidence}");
    }
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Checks"], [MISSING]);
    for report in ["check_report.md", "delivery_report.md"] {
        let text = sandbox.artifact(report);
        assert!(text.contains(MISSING) && !text.contains("as before"), "{text}");
        assert!(!text.contains("passed") && !text.contains("verified by"), "{text}");
    }
    let features = ".cowork/sessions/todo/feature_list.json";
    let features = sandbox.blob(&sandbox.stage_commit("check"), features);
    assert!(!features.contains("verified"), "{features}");
    let actor = sandbox.server.requests_of("coding", "actor");
    assert!(actor[0].text().contains("- `npm test`: not run (dependencies missing)"));
    let tool = actor[1].tool_results().join("\n");
    assert!(tool.starts_with("not run (dependencies missing): `npm test`"), "{tool}");
    for (stage, role) in [("coding", "critic"), ("check", "actor")] {
        let text = sandbox.server.requests_of(stage, role)[0].text();
        assert!(text.contains(&format!("`npm test`: {MISSING}")), "{text}");
    }
    sandbox.assert_sound();
}

#[test]
fn a_dependency_of_the_session_s_own_stops_it_after_its_task() {
    let Some(sandbox) = project() else { return };
    paste(&sandbox, "npm ci");
    let more = r#"{"scripts":{"test":"x"},"dependencies":{"a":"1","b":"2"}}"#;
    first_task(&sandbox, &[write("package.json", more)]);
    let outcome = sandbox.auto(&[]).exits(5);
    for said in ["fetch them: npm install\n", "then: git cowork resume todo"] {
        assert!(outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
    }
    let task = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert_eq!(sandbox.git(&["rev-parse", "cowork/todo"]), task);
    assert_eq!(sandbox.trailers(&task)["Cowork-Checks"], [MISSING]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let asked = sandbox.server.requests().len();
    // Nobody has fetched it yet.
    sandbox.cowork(&["resume", "--review", "auto"]).exits(5);
    assert_eq!(sandbox.server.requests().len(), asked);

    paste(&sandbox, "npm install");
    sandbox.cowork(&["resume", "--review", "auto"]).exits(0);
    let again = sandbox.server.requests()[asked..]
        .iter()
        .any(|request| request.stage == "coding" && request.task.as_deref() == Some("TASK-001"));
    assert!(!again, "a task with a commit was done again");
    let next = sandbox.commit_of("cowork/todo", "coding: TASK-002 ");
    for commit in [next, sandbox.stage_commit("coding")] {
        assert_eq!(sandbox.trailers(&commit)["Cowork-Checks"], [PASSED]);
    }
    sandbox.assert_sound();
}

#[test]
fn fetching_leaves_lock_files_alone_and_sees_no_login() {
    let Some(mut sandbox) = project() else { return };
    fetch(&sandbox, "always");
    let home = sandbox.root().join("home");
    let secret = "s3cret-of-ana";
    for (path, text) in [
        (".npmrc", format!("//registry.npmjs.org/:_authToken={secret}\n")),
        ("other.npmrc", format!("//r.example/:_authToken={secret}\n")),
        (".netrc", format!("machine r.example login ana password {secret}\n")),
        (
            ".cargo/config.toml",
            format!("[registries.r]\nindex = \"https://r\"\ntoken = \"{secret}\"\n"),
        ),
        (".cargo/credentials.toml", format!("[registry]\ntoken = \"{secret}\"\n")),
    ] {
        std::fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        std::fs::write(home.join(path), text).unwrap();
    }
    sandbox.git(&["config", "--global", "http.extraHeader", &format!("Authorization: {secret}")]);
    sandbox.git(&["config", "--global", "credential.helper", &format!("!echo {secret}")]);
    let other = home.join("other.npmrc").display().to_string();
    for (name, value) in [
        ("npm_config_userconfig", other.as_str()),
        ("NPM_TOKEN", secret),
        ("CARGO_REGISTRIES_R_TOKEN", secret),
        ("PIP_INDEX_URL", &format!("https://ana:{secret}@r.example/simple")),
        ("GIT_ASKPASS", &format!("/bin/{secret}")),
    ] {
        sandbox.set_env(name, value);
    }
    sandbox.auto(&["--stop-after", "idea"]).exits(0).says("fetching dependencies (npm: ");
    let seen = sandbox.read("node_modules/seen");
    assert!(seen.contains("GIT_TERMINAL_PROMPT=0"), "{seen}");
    assert!(seen.contains("https://r"), "the rest of the configuration is there: {seen}");
    assert!(!seen.contains(secret), "{seen}");
    assert_eq!(sandbox.read("package-lock.json"), LOCK);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_registry_that_wants_a_login_names_the_command_for_the_person() {
    let Some(sandbox) = project() else { return };
    fetch(&sandbox, "always");
    let npm = "case \"$1\" in ls) exit 1 ;; ci | install)
        echo 'npm error code E403' >&2
        echo 'npm error 403 403 Forbidden - GET https://r.example/a' >&2
        exit 1 ;; esac";
    sandbox.executable(&sandbox.root().join("bin/npm"), npm);
    let told = sandbox.auto(&["--stop-after", "idea"]).exits(0).stderr;
    let said = "the registry requires a login, and this step has none: npm error code E403";
    assert!(told.contains(said), "{told}");
    assert_eq!(told.matches("fetch them yourself: npm ci\n").count(), 1, "{told}");
}

#[test]
fn a_project_that_lacks_its_dependencies_takes_nothing_from_the_others() {
    let Some(sandbox) = project() else { return };
    fetch(&sandbox, "never");
    // At the top a crate that has all, and so has one of the projects below it; the others do not.
    for (path, text) in [
        ("Cargo.toml", CRATE),
        ("Cargo.lock", "[[package]]\nsource = \"top\"\n"),
        ("tool/Cargo.toml", CRATE),
        ("tool/Cargo.lock", "[[package]]\nsource = \"tool\"\n"),
        ("web/package.json", MANIFEST),
        ("web/package-lock.json", LOCK),
        ("docs/package.json", MANIFEST),
        ("docs/package-lock.json", LOCK),
        ("docs/node_modules/.manifest", MANIFEST),
    ] {
        sandbox.write(path, text);
    }
    sandbox.git(&["rm", "-q", "package.json", "package-lock.json"]);
    // The session only edits what is there.
    todo::TASKS.iter().for_each(|task| sandbox.write(task.2, "# nothing yet\n"));
    sandbox.commit_all("projects");
    let plan = Reply::call("save_plan_doc", json!({"content": todo::plan()}));
    let plan = (0..todo::TASKS.len()).fold(plan, |plan, index| {
        let mut task = todo::task(index);
        task["files_to_change"] = task["files_to_create"].take();
        task["files_to_create"] = json!([]);
        plan.and("create_task", task)
    });
    sandbox.server.on(at("plan", "actor").turn(1), plan);
    paste(&sandbox, "mkdir -p ~/.cargo/registry; cksum <Cargo.lock >~/.cargo/registry/have");
    let calls = json!({"command": "cargo build && echo BUILT"});
    first_task(&sandbox, &[Reply::call("run_command", calls)]);
    let told = sandbox.auto(&[]).exits(0).stderr;
    for missing in ["cargo: tool/Cargo.lock, tool/Cargo.toml", "npm: web/package-lock.json"] {
        assert!(told.contains(missing), "{missing}: {told}");
    }
    for there in ["(cargo: Cargo.lock", "docs/package.json"] {
        assert!(!told.contains(there), "{there}: {told}");
    }
    let actor = sandbox.server.requests_of("coding", "actor");
    assert!(actor[1].tool_results().join("\n").contains("BUILT"));
    let passed = "passed (cargo build, cargo clippy); passed, tests not counted (cargo test)";
    assert_eq!(sandbox.trailers(&sandbox.stage_commit("coding"))["Cowork-Checks"], [passed]);
    let changed = ["diff", "--name-status", "main", "cowork/todo", "--", ":!.cowork"];
    assert!(sandbox.git(&changed).lines().all(|line| line.starts_with("M\t")));
    let report = sandbox.artifact("delivery_report.md");
    assert!(report.contains(passed) && report.contains("verified by the check"), "{report}");
    sandbox.cowork(&["merge"]).exits(0);
    assert_eq!(sandbox.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "main");
    assert_eq!(sandbox.read("todo.sh"), todo::code_of("TASK-005"));
    sandbox.assert_sound();
}

#[test]
fn the_base_is_measured_again_once_dependencies_are_there() {
    let Some(sandbox) = project() else { return };
    fetch(&sandbox, "never");
    sandbox.commit_file("suite.sh", "echo 'test old ... FAILED'\nexit 1\n", "a suite that fails");
    // The first run looks at the base, which says nothing, and gets no answer to its first task.
    sandbox.server.times(1, at("coding", "actor"), Reply::status(403, "no"));
    sandbox.auto(&[]).exits(4);
    paste(&sandbox, "npm ci");
    let told = sandbox.cowork(&["resume", "--review", "auto"]).exits(0).stderr;
    assert!(told.contains("these already fail before the first change"), "{told}");
    let coding = sandbox.stage_commit("coding");
    let as_before = "failed (npm test, exit 1, as before)";
    assert_eq!(sandbox.trailers(&coding)["Cowork-Checks"], [as_before]);
}

#[test]
fn the_base_is_measured_again_also_when_the_code_was_changed_since() {
    let Some(sandbox) = project() else { return };
    fetch(&sandbox, "never");
    // It tells which code it ran on.
    let suite = "mkdir -p target && ls lib >>target/ran\necho 'test old ... FAILED'\nexit 1\n";
    sandbox.commit_file("suite.sh", suite, "a suite that fails");
    let answer = Reply::status(403, "no");
    sandbox.server.times(1, at("coding", "actor").task("TASK-002"), answer);
    sandbox.auto(&[]).exits(4);
    let task = sandbox.commit_of("cowork/todo", "coding: TASK-001 ");
    assert_eq!(sandbox.trailers(&task)["Cowork-Checks"], [MISSING]);
    paste(&sandbox, "npm ci");

    // Nothing of it happens in the working tree: somebody may edit the code, or kill the run.
    let edited = sandbox.fork();
    edited.write("lib/store.sh", "mine\n");
    let killed = sandbox.fork();
    let mut command = killed.command(env!("CARGO_BIN_EXE_git-cowork"));
    command.env("COWORK_TEST_ABORT_AT", "checks.laid-out");
    let ended = command.args(["resume", "--review", "auto"]).output().unwrap();
    assert!(!ended.status.success() && killed.exists("lib/store.sh"), "{ended:?}");
    let more = ["resume", "--review", "auto", "--stop-after", "coding"];
    edited.cowork(&more).says("checking again what failed before");
    assert_eq!(edited.read("lib/store.sh"), "mine\n");

    for sandbox in [&sandbox, &killed] {
        sandbox
            .cowork(&["resume", "--review", "auto"])
            .exits(0)
            .says("checking again what failed before");
        let ran = sandbox.read_of_checks("target/ran");
        assert!(ran.starts_with("here.txt\nadd.sh\nhere.txt\n"), "first the base: {ran}");
        let coding = sandbox.stage_commit("coding");
        let as_before = "failed (npm test, exit 1, as before)";
        assert_eq!(sandbox.trailers(&coding)["Cowork-Checks"], [as_before]);
        assert!(todo::TASKS.iter().all(|task| sandbox.exists(task.2)));
        sandbox.assert_sound();
    }
}

/// A suite in which a test is refused a socket, and one that fails once a file is there.
const REFUSED: &str = "echo 'test net ... FAILED'
echo 'socket: Address family not supported by protocol'
[ ! -e lib/bad.txt ] || echo 'test bad ... FAILED'
exit 1
";

#[test]
fn what_the_sandbox_refuses_is_not_run_and_never_as_before() {
    let Some(sandbox) = project() else { return };
    paste(&sandbox, "npm ci");
    sandbox.commit_file("suite.sh", REFUSED, "a suite that needs a socket");
    first_task(&sandbox, &[write("lib/bad.txt", "bad\n")]);
    // What fails beside it goes back to the actor.
    let delete = Reply::call("delete_file", json!({"path": "lib/bad.txt"}));
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), delete);
    sandbox.server.on(at("coding", "actor").iteration(2).turn(2), Reply::text("Fixed."));
    let approve = todo::approve();
    sandbox.server.on(at("coding", "critic").iteration(2), approve);
    let told = sandbox.auto(&[]).exits(0).stderr;
    assert!(told.contains("newly failing: bad"), "{told}");
    let coding = sandbox.stage_commit("coding");
    let refused = "not run (sandbox: address family not supported)";
    assert_eq!(sandbox.trailers(&coding)["Cowork-Checks"], [refused]);
    let evidence = &sandbox.trailers(&coding)["Cowork-Evidence"][0];
    assert!(evidence.starts_with(&format!("npm test: {refused}, log ")), "{evidence}");
    for report in ["check_report.md", "delivery_report.md"] {
        let text = sandbox.artifact(report);
        assert!(text.contains(refused) && !text.contains("as before"), "{text}");
    }
}

#[test]
fn a_model_cannot_hide_a_failure_behind_the_sandbox() {
    let Some(sandbox) = project() else { return };
    paste(&sandbox, "npm ci");
    first_task(&sandbox, &[write("suite.sh", REFUSED)]);
    let words = write("suite.sh", "echo 'connect EACCES 127.0.0.1:80'; exit 1\n");
    sandbox.server.on(at("coding", "actor").iteration(2).turn(1), words);
    sandbox.server.on(at("coding", "actor").iteration(2).turn(2), Reply::text("Fixed."));
    let fine = write("suite.sh", "echo fine\n");
    sandbox.server.on(at("coding", "actor").iteration(3).turn(1), fine);
    sandbox.server.on(at("coding", "actor").iteration(3).turn(2), Reply::text("Fixed."));
    let approve = todo::approve();
    sandbox.server.on(at("coding", "critic").iteration(3), approve);
    sandbox.auto(&["--stop-after", "coding"]).exits(0);
    let coding = sandbox.stage_commit("coding");
    assert_eq!(sandbox.trailers(&coding)["Cowork-Iterations"], ["3"]);
    assert_eq!(sandbox.trailers(&coding)["Cowork-Checks"], [PASSED]);
}
