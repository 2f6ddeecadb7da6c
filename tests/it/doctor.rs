//! `git cowork doctor`: each thing that keeps sessions from running is found, with its fix; and the
//! comparison of the project's check in and outside of the sandbox is never made unasked.

use serde_json::{Value, json};

use crate::support::confinement::{Level, confinement};
use crate::support::outcome::Outcome;
use crate::support::script::START;
use crate::support::skip::skipped;
use crate::support::{Reply, Sandbox, at};

/// A repository whose model answers as it is asked to.
fn well() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.server.lists(json!([{"id": "scripted", "max_model_len": 200_000}, {"id": "other"}]));
    answers(&sandbox, Reply::call("ready", json!({})));
    sandbox
}

fn answers(sandbox: &Sandbox, reply: Reply) {
    sandbox.server.on(at(START, "actor"), reply);
}

/// What is said of one check, as JSON.
#[track_caller]
fn found(outcome: &Outcome, check: &str) -> Vec<Value> {
    let lines = outcome.json_lines();
    let found: Vec<Value> = lines.into_iter().filter(|line| line["check"] == check).collect();
    assert!(!found.is_empty(), "no {check} in\n{}", outcome.stdout);
    found
}

#[track_caller]
fn one(outcome: &Outcome, check: &str) -> Value {
    let found = found(outcome, check);
    assert_eq!(found.len(), 1, "{found:?}");
    found.into_iter().next().unwrap()
}

fn doctor(sandbox: &Sandbox) -> Outcome {
    sandbox.cowork(&["doctor", "--json"])
}

/// The only finding of a check, which is not well.
#[track_caller]
fn wrong(sandbox: &Sandbox, check: &str, state: &str, text: &str, fix: &str) {
    let outcome = doctor(sandbox).exits(if state == "problem" { 4 } else { 0 });
    let found = one(&outcome, check);
    assert_eq!(found["state"], state, "{found}");
    assert!(found["text"].as_str().unwrap().contains(text), "{found}");
    let fixes = found["fixes"].as_array().unwrap();
    assert!(fixes.iter().any(|one| one.as_str().unwrap().contains(fix)), "{found}");
}

#[test]
fn where_all_is_well_each_check_is_one_line() {
    let mut sandbox = well();
    sandbox.editor("true");
    let before = sandbox.all_refs();
    let outcome = sandbox.cowork(&["doctor"]).exits(0);
    let checks: Vec<&str> = outcome.stdout.lines().map(|line| line[9..23].trim_end()).collect();
    for check in [
        "git",
        "repository",
        "hooks",
        "disk",
        "identity",
        "editor",
        "pager",
        "terminal",
        "configuration",
        "sandbox",
        "model",
        "agents",
    ] {
        assert!(checks.contains(&check), "{check} in\n{}", outcome.stdout);
    }
    let url = sandbox.server.base_url();
    let model = format!(
        "ok       model          scripted at {url}: scripted-1 answers, streams, calls tools, context window of 200000 tokens\n"
    );
    assert!(outcome.stdout.contains(&model), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("commits are made as Ana Example <ana@example.org>\n"));
    if confinement() == Level::Namespaces {
        assert!(outcome.stdout.lines().all(|line| line.starts_with("ok ")), "{}", outcome.stdout);
        assert!(outcome.stderr.contains("everything is ready"), "{}", outcome.stderr);
    }
    // One small request, and nothing is left behind.
    let asked = sandbox.server.first_requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].body["max_tokens"], 512);
    assert_eq!(asked[0].body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        (sandbox.all_refs(), sandbox.git(&["status", "--porcelain"])),
        (before, String::new())
    );
    assert!(!sandbox.exists(".git/cowork"));
}

#[test]
fn json_is_an_object_for_each_check() {
    let outcome = doctor(&well()).exits(0);
    for line in outcome.json_lines() {
        let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["check", "state", "text", "fixes"]);
        assert!(line["fixes"].as_array().unwrap().is_empty() || line["state"] != "ok", "{line}");
    }
    assert_eq!(outcome.stderr, "");
}

#[test]
fn a_server_that_is_down_is_a_problem() {
    let mut sandbox = well();
    sandbox.set_env("COWORK_LLM_BASE_URL", "http://127.0.0.1:9/v1");
    wrong(&sandbox, "model", "problem", "Connection refused", "export COWORK_LLM_BASE_URL=URL");
}

#[test]
fn a_model_that_its_server_has_not_is_a_problem_with_the_nearest_name() {
    let mut sandbox = well();
    sandbox.server.lists(json!([{"id": "scripted-2"}, {"id": "other"}]));
    answers(&sandbox, Reply::status(404, "model 'scripted' not found"));
    wrong(&sandbox, "model", "problem", "not found", "export COWORK_LLM_MODEL=scripted-2");
    // Where git's configuration says it, it is set there.
    sandbox.set_env("COWORK_LLM_MODEL", "");
    sandbox.git(&["config", "cowork.llm.model", "othr"]);
    wrong(&sandbox, "model", "problem", "not found", "git config cowork.llm.model other");
}

#[test]
fn a_key_that_is_refused_is_a_problem() {
    let sandbox = well();
    answers(&sandbox, Reply::status(401, "invalid key"));
    wrong(&sandbox, "model", "problem", "401", "export COWORK_LLM_API_KEY=KEY");
}

#[test]
fn a_model_without_tools_is_a_warning() {
    let sandbox = well();
    answers(&sandbox, Reply::text("I am ready."));
    wrong(
        &sandbox,
        "model",
        "warning",
        "wrote text instead of calling a tool",
        "git cowork models",
    );
}

#[test]
fn what_a_server_does_not_take_is_said() {
    let sandbox = well();
    sandbox.server.on_with(at(START, "actor"), |received| {
        let tools = !received.tools().is_empty();
        Some(match tools {
            true => Reply::status(400, "scripted does not support tools"),
            false => Reply::text("I am ready."),
        })
    });
    let fix = "use a model that calls tools: git cowork models";
    wrong(&sandbox, "model", "warning", "accepts no tools: they are described in the prompt", fix);
    sandbox.server.on_with(at(START, "actor"), |received| {
        let streams = received.body["stream"] == true;
        Some(match streams {
            true => Reply::status(400, "stream is not supported by this server"),
            false => Reply::call("ready", json!({})),
        })
    });
    let model = one(&doctor(&sandbox).exits(0), "model");
    assert!(
        model["text"].as_str().unwrap().contains("does not stream: responses arrive in one piece"),
        "{model}"
    );
}

#[test]
fn a_smaller_window_than_configured_is_a_warning() {
    let sandbox = well();
    sandbox.server.lists(json!([{"id": "scripted", "max_model_len": 32_768}]));
    let fix = "git config cowork.llm.contextwindow 32768";
    wrong(&sandbox, "model", "warning", "of 32768 tokens, but 128000 are configured", fix);
    sandbox.git(&["config", "cowork.llm.contextwindow", "32768"]);
    assert_eq!(one(&doctor(&sandbox).exits(0), "model")["state"], "ok");
}

#[test]
fn a_role_without_a_model_and_a_model_without_a_role_are_told_apart() {
    let sandbox = well();
    sandbox.user_config("[models.gone]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n");
    let outcome = doctor(&sandbox).exits(0);
    let models = found(&outcome, "model");
    assert_eq!((&models[0]["state"], &models[1]["state"]), (&json!("ok"), &json!("warning")));
    assert!(models[1]["text"].as_str().unwrap().ends_with("(no role uses it)"), "{models:?}");
    sandbox.user_config("[roles]\ncritic = \"nobody\"\n");
    wrong(&sandbox, "roles", "problem", "no model is called 'nobody'", "known: default");
}

#[test]
fn an_agent_program_is_looked_at_and_not_asked() {
    let sandbox = well();
    let asks_nothing = "case \"$1\" in --version) echo 'codex-cli 1.2.3';; \
                        login) exit $(cat \"$HOME/signed-out\");; *) exit 9;; esac";
    sandbox.executable(&sandbox.root().join("bin/codex"), asks_nothing);
    sandbox.user_config("[models.second]\nagent = \"codex\"\n[roles]\ncritic = \"second\"\n");
    let signed = |out: &str| std::fs::write(sandbox.root().join("home/signed-out"), out).unwrap();
    signed("0");
    let outcome = doctor(&sandbox).exits(0);
    let models = found(&outcome, "model");
    assert_eq!(models[1]["text"], "second: Codex codex-cli 1.2.3, signed in");
    assert_eq!(one(&outcome, "agents")["text"], "on PATH: codex");
    let open = "second: Codex codex-cli 1.2.3, signed in; it may reach every server \
                (set by sandbox.network)";
    sandbox.git(&["config", "cowork.sandbox.network", "true"]);
    assert_eq!(found(&doctor(&sandbox).exits(0), "model")[1]["text"], open);
    sandbox.git(&["config", "--unset", "cowork.sandbox.network"]);
    signed("1");
    let outcome = doctor(&sandbox).exits(4);
    let models = found(&outcome, "model");
    assert_eq!(models[1]["state"], "problem");
    assert!(models[1]["fixes"][0].as_str().unwrap().starts_with("codex login"), "{models:?}");
    sandbox.user_config("[models.second]\nagent = \"gemini\"\n[roles]\ncritic = \"second\"\n");
    let models = found(&doctor(&sandbox).exits(4), "model");
    assert!(models[1]["text"].as_str().unwrap().contains("no program 'gemini'"), "{models:?}");
}

#[test]
fn an_agent_that_cannot_be_kept_to_its_servers_is_a_warning() {
    if confinement() < Level::Landlock {
        return skipped("confinement by Landlock, which this kernel has not");
    }
    let mut sandbox = well();
    sandbox.set_env("COWORK_TEST_SANDBOX", "landlock");
    sandbox.executable(&sandbox.root().join("bin/codex"), "echo 'codex-cli 1.2.3'");
    sandbox.user_config("[models.second]\nagent = \"codex\"\n[roles]\ncritic = \"second\"\n");
    let model = found(&doctor(&sandbox).exits(0), "model")[1].clone();
    assert_eq!(model["state"], "warning");
    let text = model["text"].as_str().unwrap();
    assert!(text.contains("; it cannot be limited to its own servers here ("), "{text}");
    let fixes = model["fixes"].to_string();
    assert!(fixes.contains("git config cowork.sandbox.network true"), "{fixes}");
}

#[test]
fn what_git_lacks_is_a_problem() {
    let mut sandbox = well();
    let home = sandbox.root().join("nobody");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".gitconfig"), "[user]\n\tuseConfigOnly = true\n").unwrap();
    sandbox.set_env("HOME", &home.display().to_string());
    let outcome = doctor(&sandbox).exits(4);
    let identity = one(&outcome, "identity");
    assert_eq!(identity["state"], "problem");
    let fixes = identity["fixes"].to_string();
    assert!(fixes.contains("git config --global user.email"), "{fixes}");
    let nowhere = Sandbox::nowhere();
    wrong(&nowhere, "repository", "problem", "not in a git repository", "git init");
}

#[test]
fn a_state_that_stops_sessions_is_a_problem() {
    let sandbox = well();
    sandbox.write(".git/index.lock", "");
    let lock = sandbox.path(".git/index.lock").display().to_string();
    wrong(&sandbox, "repository", "problem", &lock, &format!("rm {lock}"));
    std::fs::remove_file(sandbox.path(".git/index.lock")).unwrap();
    sandbox.write(".git/MERGE_HEAD", &sandbox.git(&["rev-parse", "HEAD"]));
    wrong(&sandbox, "repository", "problem", "a merge is in progress", "git merge --abort");
    std::fs::remove_file(sandbox.path(".git/MERGE_HEAD")).unwrap();
    sandbox.git(&["branch", "cowork"]);
    let fix = "git branch -m cowork old-cowork";
    wrong(&sandbox, "repository", "problem", "prevents branches", fix);
}

#[test]
fn hooks_that_sessions_meet_are_named() {
    let sandbox = well();
    sandbox.hook("pre-commit", "true");
    let text = one(&doctor(&sandbox).exits(0), "hooks")["text"].to_string();
    assert!(text.contains("pre-commit") && text.contains("init --hooks"), "{text}");
    sandbox.write(".git/hooks/commit-msg", "#!/bin/sh\n");
    let hooks = found(&doctor(&sandbox).exits(0), "hooks");
    assert_eq!(hooks[0]["state"], "warning");
    assert!(hooks[0]["fixes"][0].as_str().unwrap().starts_with("chmod +x "), "{hooks:?}");
    sandbox.cowork(&["init", "--hooks"]).exits(0);
    let text = found(&doctor(&sandbox).exits(0), "hooks")[1]["text"].to_string();
    assert!(!text.contains("init --hooks"), "{text}");
}

#[test]
fn a_program_of_the_forge_that_is_not_signed_in_is_a_warning() {
    let sandbox = well();
    sandbox.git(&["remote", "add", "origin", "git@github.com:ana/x.git"]);
    let signed = sandbox.root().join("signed-in");
    let script = format!("test \"$1\" = --version || test -e '{}'", signed.display());
    sandbox.executable(&sandbox.root().join("bin/gh"), &script);
    let fix = "gh auth login --hostname github.com";
    wrong(&sandbox, "forge", "warning", "gh is not signed in to github.com", fix);
    std::fs::write(&signed, "").unwrap();
    let outcome = doctor(&sandbox).exits(0);
    assert_eq!(one(&outcome, "forge")["text"], "gh is signed in to github.com");
}

#[test]
fn a_configuration_with_an_error_stops_only_what_needs_it() {
    let sandbox = well();
    sandbox.user_config("[llm]\nmodle = \"x\"\n");
    wrong(&sandbox, "configuration", "problem", "unknown key `llm.modle`", "`llm.model`");
    let outcome = doctor(&sandbox).exits(4);
    one(&outcome, "identity");
    assert_eq!(one(&outcome, "model")["state"], "ok");
    one(&outcome, "sandbox");
    sandbox.user_config("");
    sandbox.write(".cowork/config.toml", "[project]\ntest = \"touch was-run\"\n");
    wrong(&sandbox, "configuration", "warning", "project.test is ignored", "git cowork trust");
}

#[test]
fn each_error_of_the_configuration_is_told_with_all_that_can_be_read() {
    let sandbox = well();
    sandbox.user_config(
        "[limits]\nlunch = 1\ntasks = \"many\"\ncommand_timeout_s = 900\ncommand_timeout_max_s = 600\n\
         [stages.lunch]\nreview = true\n[budget]\ntokens = 7\n",
    );
    sandbox.git(&["config", "cowork.llm.modle", "x"]);
    sandbox.write(".cowork/config.toml", "[review\n");
    let outcome = doctor(&sandbox).exits(4);
    let texts = found(&outcome, "configuration");
    let texts: Vec<&str> = texts.iter().map(|found| found["text"].as_str().unwrap()).collect();
    let wrong = [
        "unknown key `limits.lunch`",
        "`limits.tasks` in",
        "unknown key `stages.lunch",
        "unknown key `cowork.llm.modle`",
        ".cowork/config.toml:1 is not valid TOML",
        "`limits.command_timeout_s`",
    ];
    for part in wrong {
        assert_eq!(texts.iter().filter(|text| text.contains(part)).count(), 1, "{part}: {texts:?}");
    }
    assert_eq!(texts.len(), wrong.len(), "{texts:?}");
    assert_eq!(one(&outcome, "model")["state"], "ok");
    // The list has what can be read, and ends as every command does with such a file.
    let listed = sandbox.cowork(&["config", "--show-origin"]).exits(4);
    assert!(listed.stdout.contains("budget.tokens = 7\n"), "{}", listed.stdout);
    assert!(listed.stdout.contains("limits.command_timeout_s = 30\n"), "{}", listed.stdout);
    for part in wrong {
        assert_eq!(listed.stderr.matches(part).count(), 1, "{part}: {}", listed.stderr);
    }
    assert!(listed.stderr.contains("hint: did you mean `cowork.llm.model`?"), "{}", listed.stderr);
    sandbox.cowork(&["status"]).exits(4);
}

#[test]
fn a_system_that_cannot_confine_commands_is_a_problem() {
    let mut sandbox = well();
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    wrong(&sandbox, "sandbox", "warning", "commands run unconfined", "sandbox.unconfined false");
    sandbox.git(&["config", "cowork.sandbox.unconfined", "false"]);
    let fix = "git config cowork.sandbox.commandprefix";
    wrong(&sandbox, "sandbox", "problem", "commands cannot be confined here", fix);
    if confinement() < Level::Landlock {
        return skipped("confinement by Landlock, which this kernel has not");
    }
    sandbox.set_env("COWORK_TEST_SANDBOX", "landlock");
    wrong(&sandbox, "sandbox", "warning", "cannot use local servers", "namespaces");
}

/// The check of the project needs a file in the home, changes one of the tree, and leaves a mark there.
fn needs_the_home() -> Option<Sandbox> {
    if confinement() == Level::None {
        skipped("a comparison with the sandbox, which this kernel has not");
        return None;
    }
    let sandbox = well();
    let home = sandbox.root().join("home");
    std::fs::write(home.join("data.csv"), "1\n").unwrap();
    let test =
        format!("echo changed >README.md; cat {0}/data.csv && echo ran >{0}/ran", home.display());
    sandbox.git(&["config", "cowork.project.test", &test]);
    Some(sandbox)
}

#[test]
fn what_the_sandbox_lacks_for_the_projects_check_is_found() {
    let Some(sandbox) = needs_the_home() else { return };
    let ran = sandbox.root().join("home/ran");
    doctor(&sandbox).exits(0);
    assert!(!ran.exists(), "nobody asked for that");
    let outcome = sandbox.cowork(&["doctor", "--json", "--compare"]).exits(0);
    let check = one(&outcome, "check");
    assert_eq!(check["state"], "warning");
    assert!(check["text"].as_str().unwrap().ends_with("in the sandbox, exit 0 outside"), "{check}");
    assert_eq!(check["fixes"], json!(["git config cowork.sandbox.readable '~/data.csv'"]));
    assert!(ran.exists());
    assert_eq!(sandbox.read("README.md"), "# Somewhere\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    // With that, only the mark in the home is refused, which nothing needs.
    sandbox.git(&["config", "cowork.project.test", "echo changed >README.md"]);
    let outcome = sandbox.cowork(&["doctor", "--json", "--compare"]).exits(0);
    let check = one(&outcome, "check");
    assert_eq!(check["state"], "ok");
    assert!(check["text"].as_str().unwrap().contains("has the same result"), "{check}");
}

#[test]
fn on_a_terminal_the_check_is_compared_only_after_a_yes() {
    let Some(sandbox) = needs_the_home() else { return };
    let ran = sandbox.root().join("home/ran");
    for (answer, is_run) in [("\r", false), ("n", false), ("y", true)] {
        let mut terminal = sandbox.terminal(&["doctor"]);
        terminal.sees("then with your permissions, and compare?");
        terminal.types(answer);
        assert_eq!(terminal.ends().0, 0);
        assert_eq!(ran.exists(), is_run, "{answer:?}");
    }
}

#[test]
fn an_interrupted_comparison_leaves_nothing() {
    let Some(mut sandbox) = needs_the_home() else { return };
    let temporary = sandbox.root().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    sandbox.set_env("TMPDIR", &temporary.display().to_string());
    sandbox.git(&["config", "cowork.project.test", "sleep 600"]);
    let mut terminal = sandbox.terminal(&["doctor", "--compare"]);
    terminal.sees("running sleep 600 in the sandbox");
    terminal.types("\u{3}");
    let (code, rest) = terminal.ends();
    assert_eq!(code, 130, "{rest}");
    let left: Vec<_> = std::fs::read_dir(&temporary).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn where_no_check_is_known_a_comparison_says_so() {
    let mut sandbox = well();
    let compared = |sandbox: &Sandbox| {
        let outcome = sandbox.cowork(&["doctor", "--json", "--compare"]).exits(0);
        one(&outcome, "check")
    };
    if confinement() > Level::None {
        let fix = "git config cowork.project.test 'make test'";
        assert_eq!(compared(&sandbox)["fixes"], json!([fix]));
    }
    sandbox.git(&["config", "cowork.project.test", "touch ran"]);
    sandbox.set_env("COWORK_TEST_SANDBOX", "none");
    let text = compared(&sandbox)["text"].to_string();
    assert!(text.contains("nothing to compare") && !sandbox.exists("ran"), "{text}");
}
