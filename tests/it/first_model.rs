//! A person who has configured nothing: what is on the machine is found, named and, once agreed to,
//! remembered.

use git_cowork::spent::tokens;
use git_cowork::stage::Depth;
use git_cowork::stages::{self, Cost};

use crate::support::Sandbox;

/// No server and no key; `claude` may be on PATH.
fn bare() -> Sandbox {
    let mut sandbox = Sandbox::new();
    for name in ["COWORK_LLM_BASE_URL", "COWORK_LLM_API_KEY", "COWORK_LLM_MODEL"] {
        sandbox.set_env(name, "");
    }
    // Without the programs of this machine.
    let bin = sandbox.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    sandbox.set_env("PATH", &format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()));
    sandbox
}

fn global(sandbox: &Sandbox) -> String {
    sandbox.git_outcome(&["config", "--global", "--list"]).stdout
}

#[test]
fn without_a_terminal_each_thing_that_is_there_has_its_command() {
    let mut sandbox = bare();
    sandbox.set_env("GEMINI_API_KEY", "gemini-key-0123456789");
    sandbox.set_env("ANTHROPIC_API_KEY", "anthropic-key-0123456789");
    sandbox.executable(&sandbox.root().join("bin/claude"), "exit 1");
    let all = [
        "Anthropic with the key in ANTHROPIC_API_KEY: git config --global cowork.llm.provider anthropic",
        "Gemini with the key in GEMINI_API_KEY: git config --global cowork.llm.provider gemini",
        "the agent program claude: git config --global cowork.llm.agent claude",
    ];
    let refused = sandbox.auto(&[]).exits(4);
    for line in all {
        assert!(refused.stderr.contains(line), "{}", refused.stderr);
    }
    let doctor = sandbox.cowork(&["doctor"]).stdout;
    for line in all {
        assert!(doctor.contains(line), "{doctor}");
    }
    assert!(!refused.stderr.contains("key-0123456789"), "{}", refused.stderr);
}

#[test]
fn the_only_thing_that_is_there_is_used_after_enter_and_remembered() {
    let sandbox = bare();
    let claude = "printf '%s\\n' '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}' \
                  '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\
                  \"result\":\"Invalid API key · Please run /login\",\"session_id\":\"s\"}'; exit 1";
    sandbox.executable(&sandbox.root().join("bin/claude"), claude);
    let mut terminal = sandbox.terminal(&["new", "-n", "todo", "a todo list"]);
    terminal.sees("the agent program claude (Enter)");
    terminal.types("\r");
    terminal.sees("the agent program claude is the model from now on");
    // Whether it is signed in is asked when it is used.
    terminal.ends();
    assert!(global(&sandbox).contains("cowork.llm.agent=claude"), "{}", global(&sandbox));
    for command in [&["config", "llm"][..], &["models"]] {
        let shown = sandbox.cowork(command).exits(0).stdout;
        assert!(shown.contains("claude"), "{shown}");
    }
    // Another server wins over it.
    let server = sandbox.server.base_url();
    let run = ["--base-url", &server, "--model", "scripted"];
    let new = ["new", "-n", "todo", "a todo list", "--review", "auto", "--stop-after", "idea"];
    sandbox.cowork(&[&run[..], &new].concat()).exits(0).says("model: scripted at");
}

#[test]
fn several_are_a_list_and_a_key_is_never_written() {
    let mut sandbox = bare();
    sandbox.set_env("MISTRAL_API_KEY", "mistral-key-0123456789");
    sandbox.set_env("XAI_API_KEY", "xai-key-0123456789");
    // Nothing of the outside is reached.
    sandbox.set_env("HTTPS_PROXY", "http://127.0.0.1:9");
    let mut terminal = sandbox.terminal(&["new", "-n", "todo", "a todo list"]);
    terminal.sees("which one should be used from now on?");
    terminal.sees("xAI with the key in XAI_API_KEY");
    // Up from the top is the last one.
    terminal.types("k\r");
    terminal.sees("is the model from now on");
    terminal.ends();
    assert!(global(&sandbox).contains("cowork.llm.provider=xai"), "{}", global(&sandbox));
    assert!(!global(&sandbox).contains("xai-key"), "{}", global(&sandbox));
    let shown = sandbox.cowork(&["config", "llm"]).exits(0).stdout;
    assert!(shown.contains("https://api.x.ai/v1") && !shown.contains("xai-key"), "{shown}");
}

#[test]
fn the_key_of_a_hosted_api_is_sent_to_no_other_server() {
    let mut sandbox = Sandbox::new();
    sandbox.set_env("GROQ_API_KEY", "groq-key-0123456789");
    sandbox.set_env("COWORK_LLM_API_KEY", "");
    sandbox.git(&["config", "--global", "cowork.llm.provider", "groq"]);
    sandbox.auto(&["--stop-after", "idea"]).exits(0);
    for request in sandbox.server.requests() {
        assert!(!format!("{:?}", request.headers).contains("groq-key"), "{:?}", request.headers);
    }
}

#[test]
fn the_cost_of_each_depth_is_told_before_the_first_session_only() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[budget.prices.scripted]\nin = 2.0\nout = 8.0\n");
    let first = sandbox.auto(&["--stop-after", "idea"]).exits(0);
    let docs = include_str!("../../docs/depth.md");
    for depth in Depth::ALL {
        let Cost { requests, input, output } = stages::depth(depth).cost;
        let (sent, received) = (tokens(input), tokens(output));
        let dollars = (2.0 * input as f64 + 8.0 * output as f64) / 1e6;
        let line = format!("{sent} tokens in, {received} out, ${dollars:.2}");
        let line = format!("{depth}: {requests} requests, {line}");
        assert!(first.stderr.contains(&line), "{line} in {}", first.stderr);
        let row = format!("| {depth} | {requests} | {sent} | {received} |");
        assert!(docs.contains(&row), "{row}");
    }
    let second =
        sandbox.cowork(&["new", "-n", "other", "more", "--review", "auto", "--stop-after", "idea"]);
    assert!(!second.stderr.contains("no draft rejected"), "{}", second.stderr);
}
