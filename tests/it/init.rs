//! `init` and the configuration layers as a user meets them.

use crate::support::todo::reject;
use crate::support::{Sandbox, at};

const ONLY_IDEA: [&str; 2] = ["--stop-after", "idea"];

#[test]
fn init_writes_a_project_file_that_is_valid() {
    let sandbox = Sandbox::new();
    sandbox.cowork(&["init"]).exits(0);
    let text = sandbox.read(".cowork/config.toml");
    assert!(text.parse::<toml::Table>().is_ok(), "{text}");
    assert!(sandbox.server.requests().is_empty());
    sandbox.auto(&ONLY_IDEA).exits(0);
}

#[test]
fn init_keeps_a_file_that_is_there() {
    let sandbox = Sandbox::new();
    let mine = "[limits]\ntasks = [1, 3]\n";
    sandbox.write(".cowork/config.toml", mine);
    let outcome = sandbox.cowork(&["init"]);
    assert!([0, 5].contains(&outcome.code), "{outcome:?}");
    assert_eq!(sandbox.read(".cowork/config.toml"), mine);
}

#[test]
fn an_unknown_key_names_key_and_file() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[llm]\nmodle = \"x\"\n");
    let outcome = sandbox.auto(&[]).exits(4).says("modle");
    assert!(outcome.stderr.contains("config.toml"), "{}", outcome.stderr);
    sandbox.assert_clean();
}

#[test]
fn the_project_file_may_set_limits_but_not_where_requests_go() {
    let sandbox = Sandbox::new();
    sandbox.write(".cowork/config.toml", "[llm]\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    sandbox.commit_all("a hostile file");
    // Said and ignored: the requests go where the user wants them.
    sandbox.auto(&ONLY_IDEA).exits(0).says("base_url");
    assert_eq!(sandbox.server.requests().len(), 1);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write(".cowork/config.toml", "[limits]\niterations = { prd = 1 }\n");
    sandbox.commit_all("a modest file");
    sandbox.server.on(at("prd", "critic"), reject("no user is named"));
    let told = sandbox.cowork(&["new", "-n", "other", "x", "--review", "auto"]).exits(1);
    told.says("the only draft was refused");
}

#[test]
fn later_layers_win() {
    let mut sandbox = Sandbox::new();
    let model = |sandbox: &Sandbox, name: &str, more: &[&str]| {
        sandbox.server.forget();
        let args = ["new", "-n", name, "x", "--review", "auto", "--stop-after", "idea"];
        sandbox.cowork(&[&args, more].concat()).exits(0);
        sandbox.server.requests()[0].body["model"].as_str().unwrap().to_owned()
    };
    sandbox.user_config("[llm]\nmodel = \"from-user\"\n");
    assert_eq!(model(&sandbox, "a", &[]), "scripted");
    assert_eq!(model(&sandbox, "b", &["--model", "from-flag"]), "from-flag");
    sandbox.set_env("COWORK_LLM_MODEL", "");
    assert_eq!(model(&sandbox, "c", &[]), "from-user");
    sandbox.git(&["config", "cowork.llm.model", "from-git"]);
    assert_eq!(model(&sandbox, "d", &[]), "from-git");
}

#[test]
fn git_can_carry_configuration_on_its_command_line() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("git");
    command.args(["-c", "cowork.limits.iterations.prd=1", "-c", "cowork.project.tags=false"]);
    command.args(["cowork", "new", "-n", "todo", "x", "--review", "auto", "--stop-after", "idea"]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(sandbox.tags().is_empty());
}

#[test]
fn temperatures_are_really_sent() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[stages.prd]\ntemperature = { actor = 0.55, critic = 0.15 }\n");
    sandbox.auto(&["--stop-after", "prd"]).exits(0);
    let sent = |stage: &str, role: &str| {
        sandbox.server.requests_of(stage, role)[0].body["temperature"].as_f64().unwrap()
    };
    for (stage, role, expected) in
        [("idea", "actor", 0.8), ("prd", "actor", 0.55), ("prd", "critic", 0.15)]
    {
        assert!((sent(stage, role) - expected).abs() < 1e-6, "{stage} {role}");
    }
}

#[test]
fn sign_off_and_attribution_are_choices() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "cowork.project.signoff", "true"]);
    sandbox.git(&["config", "cowork.project.attribution", "co-authored-by"]);
    sandbox.auto(&ONLY_IDEA).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("idea"));
    assert_eq!(trailers["Signed-off-by"], ["Ana Example <ana@example.org>"]);
    assert!(trailers["Co-authored-by"][0].contains("scripted"), "{trailers:?}");
    assert!(!trailers.contains_key("Assisted-by"));
    sandbox.git(&["config", "cowork.project.attribution", "none"]);
    sandbox.cowork(&["resume", "--review", "auto", "--stop-after", "prd"]).exits(0);
    let trailers = sandbox.trailers(&sandbox.stage_commit("prd"));
    assert!(!trailers.contains_key("Co-authored-by") && !trailers.contains_key("Assisted-by"));
}
