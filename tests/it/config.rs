//! `git cowork config`: every setting with its value and where it comes from, and no key to a server.

use serde_json::{Value, json};

use crate::support::Sandbox;

const FILE: &str = ".cowork/config.toml";

/// The line of a key in `config --show-origin`: where from, and the rest.
#[track_caller]
fn line(shown: &str, key: &str) -> (String, String) {
    let is_line =
        |line: &&str| line.split('\t').nth(1).is_some_and(|l| l.starts_with(&format!("{key} =")));
    let line = shown.lines().find(is_line).unwrap_or_else(|| panic!("no {key} in\n{shown}"));
    let (origin, text) = line.split_once('\t').unwrap();
    (origin.trim().to_owned(), text.to_owned())
}

#[test]
fn each_layer_is_named_as_the_origin_of_what_it_sets() {
    let mut sandbox = Sandbox::new();
    sandbox
        .user_config("[llm]\nmodel = \"of-the-user\"\ntimeout_s = 9\n[limits]\nmax_replans = 5\n");
    sandbox.write(FILE, "[limits]\nmax_replans = 1\ntool_turns = 30\n");
    sandbox.git(&["config", "cowork.limits.toolTurns", "40"]);
    sandbox.set_env("COWORK_LLM_MODEL", "of-the-environment");
    let shown = |args: &[&str]| {
        sandbox.cowork(&[&["config", "--show-origin"], args].concat()).exits(0).stdout
    };
    let all = shown(&[]);
    for (key, origin, text) in [
        ("llm.model", "COWORK_LLM_MODEL", "llm.model = \"of-the-environment\""),
        ("llm.timeout_s", "~/.config/cowork/config.toml:3", "llm.timeout_s = 9"),
        ("limits.max_replans", ".cowork/config.toml:2", "limits.max_replans = 1"),
        ("limits.tool_turns", "git config cowork.limits.toolturns", "limits.tool_turns = 40"),
        ("limits.tasks", "default", "limits.tasks = [5, 12]"),
        ("project.depth", "git config cowork.project.depth", "project.depth = \"thorough\""),
        ("review.gates", "default", "review.gates = (by depth)"),
    ] {
        assert_eq!(line(&all, key), (origin.to_owned(), text.to_owned()));
    }
    let option = shown(&["--model", "of-the-option", "llm.model"]);
    assert_eq!(option, "--model\tllm.model = \"of-the-option\"\n");
    // Without origins each line is the setting alone.
    let plain = sandbox.cowork(&["config", "limits"]).exits(0).stdout;
    assert!(plain.lines().all(|line| line.starts_with("limits.")), "{plain}");
    assert!(plain.contains("limits.tool_turns = 40\n"), "{plain}");
    // The origins are one column.
    let tabs: Vec<usize> = all.lines().map(|line| line.find('\t').unwrap()).collect();
    assert!(tabs.iter().all(|tab| *tab == tabs[0]), "{all}");
}

#[test]
fn keys_to_servers_are_never_shown() {
    let sandbox = Sandbox::new();
    sandbox.user_config(
        "[llm]\nheaders = { x-team = \"tools\", Authorization = \"Bearer hunter2-hunter2\" }\n\
         extra_body = { top_k = 40, token = \"hunter2-hunter2\" }\n\
         [models.other]\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = \"hunter2-hunter2\"\n",
    );
    for args in [&["config", "--show-origin"][..], &["config", "--json"]] {
        let shown = sandbox.cowork(args).exits(0);
        let all = format!("{}{}", shown.stdout, shown.stderr);
        assert!(!all.contains("hunter2") && !all.contains("test-key"), "{all}");
        assert!(all.contains("x-team") && all.contains("tools") && all.contains("top_k"), "{all}");
    }
    let shown = sandbox.cowork(&["config", "--show-origin"]).exits(0).stdout;
    let (origin, text) = line(&shown, "llm.api_key");
    assert_eq!((origin.as_str(), text.as_str()), ("COWORK_LLM_API_KEY", "llm.api_key = (set)"));
    let (origin, text) = line(&shown, "models.other.api_key");
    assert_eq!(text, "models.other.api_key = (set)");
    assert_eq!(origin, "~/.config/cowork/config.toml:6");
    let object = sandbox.cowork(&["config", "--json", "llm.api_key"]).exits(0).json();
    assert_eq!(
        object,
        json!({"key": "llm.api_key", "value": null, "secret": true, "origin": "COWORK_LLM_API_KEY"})
    );
}

#[test]
fn what_does_not_count_for_lack_of_trust_is_listed_as_ignored() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "[project]\ntest = \"touch was-run\"\n[limits]\ntool_turns = 50\n");
    let ignored = "# ignored until git cowork trust: project.test = \"touch was-run\"";
    let shown = sandbox.cowork(&["config"]).exits(0);
    assert!(shown.stdout.ends_with(&format!("{ignored}\n")), "{}", shown.stdout);
    assert!(shown.stdout.contains("project.test = \"\"\n"), "{}", shown.stdout);
    shown.says("ignored: project.test");
    let lines = sandbox.cowork(&["config", "--json", "project.test"]).exits(0).json_lines();
    assert_eq!(
        lines,
        [
            json!({"key": "project.test", "value": "", "origin": "default"}),
            json!({"key": "project.test", "value": "\"touch was-run\"",
                   "origin": ".cowork/config.toml:2", "ignored": true}),
        ]
    );
    sandbox.cowork(&["trust"]).exits(0);
    let shown = sandbox.cowork(&["config", "--show-origin", "project.test"]).exits(0);
    assert_eq!(shown.stdout, ".cowork/config.toml:2\tproject.test = \"touch was-run\"\n");
    assert_eq!(shown.stderr, "");
}

#[test]
fn json_has_an_object_for_each_key() {
    let sandbox = Sandbox::new();
    let lines = sandbox.cowork(&["config", "--json"]).exits(0).json_lines();
    assert!(lines.iter().all(|line| line["key"].is_string() && line["origin"].is_string()));
    let of = |key: &str| -> &Value {
        &lines.iter().find(|line| line["key"] == key).unwrap_or_else(|| panic!("{key}"))["value"]
    };
    assert_eq!(of("limits.tasks"), &json!([5, 12]));
    assert_eq!(of("sandbox.network"), &json!(false));
    assert_eq!(of("stages.coding.iterations"), &json!(5));
    assert_eq!(of("review.challenge"), &json!(["coding"]));
    assert_eq!(of("review.gates"), &json!(null));
}

#[test]
fn a_key_that_does_not_exist_is_a_wrong_word() {
    let sandbox = Sandbox::new();
    let said = sandbox.cowork(&["config", "llm.modle"]).exits(2).stderr;
    let hint = "hint: did you mean: git cowork config llm.model";
    assert_eq!(said, format!("error: there is no configuration key 'llm.modle'\n{hint}\n"));
    let said = sandbox.cowork(&["config", "lunch.menu"]).exits(2).stderr;
    assert!(said.ends_with("hint: see all of them: git cowork config\n"), "{said}");
    // One that exists and of which nothing is set is none.
    let nothing = sandbox.cowork(&["config", "models.big.model"]).exits(0);
    assert_eq!(nothing.stdout, "");
    nothing.says("nothing is configured under models.big.model");
    let same = sandbox.cowork(&["config", "cowork.llm.baseurl"]).exits(0).stdout;
    assert!(same.starts_with("llm.base_url = "), "{same}");
}

#[test]
fn a_broken_file_is_an_error_that_names_its_line() {
    let sandbox = Sandbox::new();
    sandbox.user_config("[llm]\nmodel = = \"x\"\n");
    sandbox.cowork(&["config"]).exits(4).says("config.toml:2 is not valid TOML");
    sandbox.user_config("[llm]\nmodle = \"x\"\n");
    sandbox.cowork(&["config"]).exits(4).says("did you mean `llm.model`?");
}

#[test]
fn outside_of_a_repository_it_shows_what_the_user_has_set() {
    let sandbox = Sandbox::nowhere();
    sandbox.user_config("[limits]\nmax_replans = 5\n");
    let shown =
        sandbox.cowork(&["config", "--show-origin"]).exits(0).says("not in a git repository");
    let (origin, _) = line(&shown.stdout, "limits.max_replans");
    assert_eq!(origin, "~/.config/cowork/config.toml:2");
    // Of git's configuration what holds everywhere.
    let (origin, text) = line(&shown.stdout, "sandbox.unconfined");
    assert_eq!(origin, "git config cowork.sandbox.unconfined");
    assert_eq!(text, "sandbox.unconfined = true");
}

#[cfg(unix)]
#[test]
fn on_a_terminal_it_is_paged_as_gits_commands_are() {
    let mut sandbox = Sandbox::new();
    let pager = sandbox.root().join("bin/pages");
    sandbox
        .executable(&pager, "echo paged; grep llm.model; read -r key <\"$(tty <&2)\"; echo ends");
    sandbox.set_env("GIT_PAGER", &pager.display().to_string());
    let mut terminal = sandbox.terminal(&["config"]);
    terminal.sees("paged");
    terminal.sees("llm.model = \"scripted\"");
    terminal.types("\r");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn the_lower_limits_are_called_advice() {
    let sandbox = Sandbox::new();
    let help = sandbox.cowork(&["config", "--help"]).exits(0).stdout;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains("in [limits], only the second is a limit; the first is advice"),
        "{help}"
    );
    sandbox.cowork(&["init"]).exits(0);
    let file = sandbox.read(".cowork/config.toml");
    for key in ["requirements", "features", "components", "tasks"] {
        let (above, _) = file.split_once(&format!("\n#{key} = [")).unwrap();
        let about = above.lines().last().unwrap();
        assert!(about.contains("minimum, which is advice only"), "{key}: {about}");
    }
}

#[test]
fn a_prompt_of_ones_own_is_checked_before_any_request() {
    let sandbox = Sandbox::new();
    let folder = sandbox.root().join("home/.config/cowork/prompts");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("delivery.md"), "Write it for {{ nobody }}.\n").unwrap();
    let told = sandbox.auto(&[]).exits(4);
    told.says("cannot render the prompt delivery.md").says("prompts/delivery.md");
    assert_eq!(sandbox.server.asked(), 0);
    std::fs::rename(folder.join("delivery.md"), folder.join("deliverry.md")).unwrap();
    std::fs::write(folder.join("deliverry.md"), "Write it.\n").unwrap();
    let told = sandbox.auto(&["--stop-after", "idea"]).exits(0);
    told.says("deliverry.md in your prompts folder is no prompt's name");
}
