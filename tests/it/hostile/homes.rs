//! The home of who runs the program: whatever keeps its logins there, a command sees what builds
//! need and nothing else.

use std::fs;

use serde_json::json;

use super::doors::by_everybody;
use super::{at_every_level, none_gets_in, results, sandbox};
use crate::support::received::Received;
use crate::support::todo::task_work;
use crate::support::{Reply, Sandbox, at};

/// Where programs keep logins, and files that nobody wrote a rule for.
const KEPT_THERE: [&str; 46] = [
    ".ssh/id_ed25519",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".azure/accessTokens.json",
    ".kube/config",
    ".docker/config.json",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh/hosts.yml",
    ".config/glab-cli/config.yml",
    ".config/gcloud/credentials.db",
    ".config/cowork/config.toml",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/rclone/rclone.conf",
    ".config/composer/auth.json",
    ".config/doctl/config.yaml",
    ".config/configstore/firebase-tools.json",
    ".config/go/env",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".pypirc",
    ".gem/credentials",
    ".bundle/config",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".terraform.d/credentials.tfrc.json",
    ".local/share/uv/credentials/one.json",
    ".local/share/keyrings/login.keyring",
    ".pub-cache/credentials.json",
    ".gitconfig",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".bash_history",
    ".python_history",
    ".claude.json",
    "Documents/passwords.txt",
    "work/other/.env",
];

/// What tools have installed or fetched.
const INSTALLED: [&str; 4] = [
    ".cargo/registry/cache/x.crate",
    ".rustup/settings.toml",
    "go/pkg/mod/x/go.mod",
    ".local/bin/tool",
];

fn plant(sandbox: &Sandbox) {
    let home = sandbox.root().join("home");
    let plant = |path: &str, text: &str| {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    KEPT_THERE.iter().for_each(|path| plant(path, "token = \"hunter2\"\n"));
    INSTALLED.iter().for_each(|path| plant(path, "installed\n"));
    let git = "[user]\n\tname = Ana \"the\" Example\n\temail = ana@example.org\n\
               [init]\n\tdefaultBranch = trunk\n\
               [http]\n\textraHeader = hunter2\n[url \"https://hunter2@x\"]\n\tinsteadOf = x:\n\
               [gc]\n\tauto = 0\n[cowork \"sandbox\"]\n\tunconfined = true\n";
    plant(".gitconfig", git);
    plant(".config/cowork/config.toml", "# hunter2\n");
    plant(".npmrc", "save-exact=true\n//registry.example/:_authToken=hunter2\n");
    plant(".cargo/config.toml", "[registry]\ntoken = \"hunter2\"\n[net]\nretry = 7\n");
    // Who is root owns all of it, whoever works here.
    let status =
        std::process::Command::new("chmod").args(["-R", "a+rX"]).arg(&home).status().unwrap();
    assert!(status.success());
}

#[test]
fn nothing_that_is_kept_in_the_home_can_be_read() {
    by_everybody(|_, sandbox| {
        plant(&sandbox);
        let home = sandbox.root().join("home");
        std::os::unix::fs::symlink(&home, sandbox.path("lib/home")).unwrap();
        let mut attempts: Vec<_> = KEPT_THERE
            .iter()
            .map(|path| format!("grep -q hunter2 {}/{path}", home.display()))
            .collect();
        attempts.extend([
            format!("grep -rqs hunter2 {} --include='*'", home.display()),
            "grep -rqs hunter2 ../home".to_owned(),
            "grep -Rqs hunter2 lib/home".to_owned(),
            "grep -qs hunter2 /proc/self/cwd/../home/.pgpass".to_owned(),
            "grep -Rqs hunter2 \"$HOME\" \"$CARGO_HOME\"".to_owned(),
            "git config --list | grep -q hunter2".to_owned(),
            format!("echo x >{}/new", home.display()),
        ]);
        none_gets_in(&sandbox, &attempts.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!home.join("new").exists());
    });
}

#[test]
fn what_is_installed_in_the_home_is_there_and_settings_are_without_logins() {
    by_everybody(|_, sandbox| {
        plant(&sandbox);
        let home = sandbox.root().join("home");
        let mut commands: Vec<_> = INSTALLED
            .iter()
            .map(|path| format!("grep -q installed {}/{path}", home.display()))
            .collect();
        commands.extend(
            [
                "grep -q Ana ~/.gitconfig",
                "grep -q trunk ~/.gitconfig",
                "grep -q save-exact=true ~/.npmrc",
                "grep -q retry \"$CARGO_HOME/config.toml\"",
                "grep -q installed \"$CARGO_HOME/registry/cache/x.crate\"",
                "echo '# mine' >>~/.gitconfig && grep -q mine ~/.gitconfig",
            ]
            .map(str::to_owned),
        );
        let commands: Vec<_> = commands.iter().map(String::as_str).collect();
        for (command, told) in commands.iter().zip(results(&sandbox, &commands, 20)) {
            assert!(told.starts_with("exit 0"), "{command}: {told}");
        }
    });
}

#[test]
fn of_a_tree_in_the_home_all_is_there_and_nothing_beside_it() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let root = sandbox.root();
        fs::copy(root.join("home/.gitconfig"), root.join(".gitconfig")).unwrap();
        fs::create_dir(root.join("beside")).unwrap();
        fs::write(root.join("beside/secret"), "hunter2").unwrap();
        let linked = sandbox.fork();
        linked.git(&["worktree", "add", "-q", "--detach", "../linked"]);
        for (mut sandbox, tree) in [(sandbox, "."), (linked, "../linked")] {
            sandbox.enter(tree);
            let root = sandbox.root();
            sandbox.set_env("HOME", root.to_str().unwrap());
            let secret = format!("cat ../beside/secret {}/beside/secret", root.display());
            let work = "git status --short && git log --oneline && echo x >lib/new && cat lib/new";
            let told = results(&sandbox, &[work, &secret], 20);
            assert!(told[0].contains("something to build on"), "{tree}: {told:?}");
            assert!(!told[1].contains("hunter2"), "{tree}: {told:?}");
        }
    });
}

/// Who works on all of a home lets commands read it, and is told so.
#[test]
fn status_says_whether_the_home_is_closed() {
    at_every_level(|level| {
        let mut sandbox = sandbox(level);
        sandbox.auto(&["--stop-after", "plan"]).exits(0);
        let said = |sandbox: &Sandbox| {
            let shown = sandbox.cowork(&["status", "-v"]).exits(0).stdout;
            shown.lines().find(|line| line.starts_with("Sandbox")).unwrap().to_owned()
        };
        let closed = said(&sandbox);
        assert!(closed.to_lowercase().contains(level.word()), "{closed}");
        assert!(closed.contains("in your home, commands can read only toolchains"), "{closed}");
        let (home, all) = (sandbox.repo(), sandbox.root());
        fs::copy(all.join("home/.gitconfig"), home.join(".gitconfig")).unwrap();
        sandbox.set_env("HOME", home.to_str().unwrap());
        let open = said(&sandbox);
        assert!(
            open.contains("commands can read your home, except for known credentials"),
            "{open}"
        );
    });
}

#[test]
fn a_directory_of_the_home_is_read_where_the_user_says_so() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let home = sandbox.root().join("home");
        for (path, text) in [("data/here", "here"), ("data/.netrc", "here"), (".netrc", "hunter2")]
        {
            fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
            fs::write(home.join(path), text).unwrap();
        }
        sandbox.user_config("[sandbox]\nreadable = [\"~/data\", \"~/not-there\"]\n");
        let home = home.display();
        let told = results(
            &sandbox,
            &[
                &format!("cat {home}/data/here"),
                &format!("cat {home}/.netrc"),
                &format!("echo x >{home}/data/new"),
            ],
            20,
        );
        assert!(told[0].contains("here"), "{told:?}");
        assert!(!told[1].contains("hunter2") && !told[2].starts_with("exit 0"), "{told:?}");
    });
}

/// A home that commands have for themselves may hold links: the next run goes through none.
#[test]
fn what_a_command_leaves_in_its_own_home_leads_nowhere() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        let home = sandbox.root().join("home");
        fs::create_dir_all(home.join(".cargo/registry")).unwrap();
        fs::write(home.join(".cargo/registry/real"), "").unwrap();
        let before = fs::read(home.join(".gitconfig")).unwrap();
        sandbox.auto(&["--stop-after", "plan"]).exits(0);
        let links = format!(
            "rm -rf ~/.cargo ~/.gitconfig ~/.cache && ln -s {0}/.cargo ~/.cargo && \
             ln -s {0}/.gitconfig ~/.gitconfig && ln -s {0}/nowhere ~/.cache",
            home.display()
        );
        assert!(results(&sandbox, &[&links], 20)[0].starts_with("exit 0"));
        let again = ["new", "-n", "again", "a todo list", "--review", "auto", "-b", "main"];
        sandbox.cowork(&[&again[..], &["--stop-after", "coding"]].concat()).exits(0);
        assert!(home.join(".cargo/registry/real").exists() && !home.join("nowhere").exists());
        assert_eq!(fs::read(home.join(".gitconfig")).unwrap(), before);
        assert!(!home.join(".cargo").is_symlink());
    });
}

/// A check says what the code does, not what a command left for it: settings of a build tool, or a
/// module that an interpreter loads first.
#[test]
fn checks_find_nothing_that_a_command_left_beside_the_tree() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n");
        let dirs = [
            "HOME",
            "TMPDIR",
            "CARGO_HOME",
            "GOPATH",
            "XDG_CACHE_HOME",
            "npm_config_cache",
            "GRADLE_USER_HOME",
        ];
        let look = dirs.map(|name| format!("[ ! -e \"${name}/left\" ] || exit 1\n")).concat();
        let home = "[ -z \"$(ls \"$HOME\")\" ] || exit 2\necho x >\"$HOME/own\"\n";
        let compiled = "[ -z \"${PYTHONPYCACHEPREFIX%%$XDG_CACHE_HOME/*}\" ] || exit 3\n";
        let cache = "mkdir -p \"$XDG_CACHE_HOME\"\necho ran >>\"$XDG_CACHE_HOME/runs\"\n";
        sandbox.write("suite.sh", &format!("{look}{home}{compiled}{cache}"));
        sandbox.commit_all("a suite");
        let plant = dirs.map(|name| format!("mkdir -p \"${name}\" && echo x >\"${name}/left\""));
        let told = results(&sandbox, &[&plant.join(" && "), "cat \"$HOME/left\""], 20);
        assert!(told.iter().all(|told| told.starts_with("exit 0")), "{told:?}");
        let evidence = "--format=%(trailers:key=Cowork-Evidence,valueonly)";
        let evidence = sandbox.git(&["log", evidence, "main..cowork/todo"]);
        assert!(evidence.contains("exit 0") && !evidence.contains("exit 1"), "{evidence}");
        // The home is new for each check; what it caches lasts.
        let caches = sandbox.root().join("home/.cache/git-cowork");
        let cache = fs::read_dir(caches).unwrap().flatten().map(|one| one.path());
        let runs: Vec<_> = cache.map(|one| one.join("checks/.cache/runs")).collect();
        let runs = runs.iter().find_map(|runs| fs::read_to_string(runs).ok()).unwrap();
        assert!(runs.lines().count() > 1, "{runs}");
    });
}

/// With the network, what the checks need may be installed by commands, in their home.
#[test]
fn with_the_network_checks_find_what_a_command_installed() {
    at_every_level(|level| {
        let sandbox = sandbox(level);
        sandbox.user_config("[project]\ntest = \"sh suite.sh\"\n[sandbox]\nnetwork = true\n");
        sandbox.write("suite.sh", "[ ! -e lib/store.sh ] || [ -e \"$HOME/installed\" ]\n");
        sandbox.commit_all("a suite");
        results(&sandbox, &["echo x >\"$HOME/installed\""], 20);
        let evidence = "--format=%(trailers:key=Cowork-Evidence,valueonly)";
        let evidence = sandbox.git(&["log", evidence, "main..cowork/todo"]);
        assert!(evidence.contains("exit 0") && !evidence.contains("exit 1"), "{evidence}");
    });
}

/// A sibling that a manifest names, below the same home.
#[test]
fn what_a_manifest_names_beside_the_tree_is_read_where_a_person_lets_commands() {
    at_every_level(|level| {
        let mut planned = sandbox(level);
        let root = planned.root();
        fs::copy(root.join("home/.gitconfig"), root.join(".gitconfig")).unwrap();
        fs::create_dir(root.join("beside")).unwrap();
        fs::write(root.join("beside/lib.rs"), "a line beside\n").unwrap();
        fs::write(root.join("other"), "hunter2").unwrap();
        fs::create_dir(root.join(".ssh")).unwrap();
        fs::write(root.join(".ssh/key"), "hunter2").unwrap();
        planned.set_env("HOME", root.to_str().unwrap());
        let manifest = "[dependencies]\nbeside = { path = \"../../beside\" }\n\
                        evil = { path = \"../../.ssh\" }\n";
        planned.write("lib/Cargo.toml", manifest);
        planned.commit_all("a manifest");
        planned.auto(&["--stop-after", "plan"]).exits(0);
        for answer in [None, Some("y"), Some("n")] {
            is_read_as_answered(planned.fork(), answer);
        }
    });
}

fn is_read_as_answered(mut sandbox: Sandbox, answer: Option<&str>) {
    const RESUME: [&str; 5] = ["resume", "--review", "auto", "--stop-after", "coding"];
    let root = sandbox.root();
    sandbox.set_env("HOME", root.to_str().unwrap());
    let read = json!({"command": "cat ../beside/lib.rs ../other ../.ssh/key"});
    let calls = Reply::call("run_command", read.clone()).and("run_command", read);
    let first = at("coding", "actor").task("TASK-001");
    let all = vec![calls, task_work("TASK-001"), Reply::text("Done.")];
    sandbox.server.sequence(first, all);
    match answer {
        None => {
            let beside = root.join("beside");
            let command = format!("git config cowork.sandbox.readable {}", beside.display());
            let said = sandbox.cowork(&RESUME).exits(0).stderr;
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(said.matches(&command).count(), 1, "{said}");
            assert!(!said.contains(".ssh (in"), "{said}");
        }
        Some(key) => {
            let mut terminal = sandbox.terminal(&RESUME);
            terminal.sees("beside (in lib/Cargo.toml)");
            terminal.sees("from now on? [y/N]");
            terminal.types(key);
            assert_eq!(terminal.ends().0, 0);
        }
    }
    let requests = sandbox.server.requests_of("coding", "actor");
    let after = |r: &&Received| r.task.as_deref() == Some("TASK-001") && r.turn == 2;
    let told = requests.iter().find(after).unwrap().tool_results().concat();
    let is_let = answer == Some("y");
    assert_eq!(told.contains("a line beside"), is_let, "{answer:?}: {told}");
    assert!(!told.contains("hunter2"), "{told}");
    let set = sandbox.git_outcome(&["config", "cowork.sandbox.readable"]).stdout;
    assert_eq!(set.contains("/beside"), is_let, "{set}");
    assert!(!set.contains("/.ssh"), "{set}");
    if answer.is_some() {
        // Asked once, whatever the answer was.
        let run = Reply::call("run_command", json!({"command": "cat ../beside/lib.rs"}));
        sandbox.server.times(1, at("check", "actor").turn(1), run);
        let (code, rest) = sandbox.terminal(&["resume", "--review", "auto"]).ends();
        assert!(code == 0 && !rest.contains("from now on?"), "{rest}");
    }
}
