//! What somebody meets who knows git and not this program: wrong words, git's own words, the manual,
//! and completion in a real shell.

use std::path::Path;
use std::process::Command;

use crate::support::Sandbox;
use crate::support::pty::Terminal;
use crate::support::skip::skipped;

#[test]
fn a_mistyped_session_is_answered_by_the_one_that_exists() {
    let sandbox = Sandbox::stopped_after("idea");
    for command in ["status", "resume", "archive"] {
        let outcome =
            sandbox.cowork(&[command, "tood"]).exits(5).says("there is no session 'tood'");
        outcome.says(&format!("hint: did you mean: git cowork {command} todo\n"));
    }
    sandbox.cowork(&["status", "nothing-like-it"]).exits(5).says("git cowork list --all");
}

#[test]
fn words_of_gits_are_understood() {
    let sandbox = Sandbox::new();
    sandbox.wait(&[]).exits(3);
    assert_eq!(
        sandbox.cowork(&["st"]).exits(0).stdout,
        sandbox.cowork(&["status"]).exits(0).stdout
    );
    assert_eq!(sandbox.cowork(&["ls"]).exits(0).stdout, sandbox.cowork(&["list"]).exits(0).stdout);
    sandbox.cowork(&["approve", "todo"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["passed"]);
    sandbox.cowork(&["continue", "--review", "wait"]).exits(3);
    sandbox.cowork(&["abort"]).exits(0);
    assert_eq!(sandbox.trailers("HEAD")["Cowork-Review"], ["aborted"]);
    let help = sandbox.cowork(&["-h"]).exits(0).stdout;
    assert!(help.contains("continue (resume), approve (review --pass)"), "{help}");
}

/// True if this program is here; otherwise reports that its test is skipped.
pub fn has(sandbox: &Sandbox, program: &str) -> bool {
    let has = sandbox.command(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !has {
        skipped(&format!("what needs {program}, which is not here"));
    }
    has
}

#[test]
fn the_manual_is_what_git_help_shows() {
    let mut sandbox = Sandbox::nowhere();
    let help = sandbox.cowork(&["-h"]).exits(0).stdout;
    assert!(help.contains("need the manual: git cowork man --install"), "{help}");
    sandbox.cowork(&["man", "--install"]).exits(0).says("try: git help cowork").says("MANPATH");
    let help = sandbox.cowork(&["-h"]).exits(0).stdout;
    assert!(help.contains("'git help cowork' shows the manual"), "{help}");

    let folder = sandbox.root().join("home/.local/share/man");
    let printed = sandbox.cowork(&["man", "revert"]).exits(0).stdout;
    let page = folder.join("man1/git-cowork-revert.1");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), printed);
    assert!(printed.contains("\\-\\-to") && printed.contains(".SH EXAMPLES"), "{printed}");
    if !has(&sandbox, "man") {
        return;
    }
    sandbox.set_env("MANPATH", &folder.display().to_string());
    sandbox.set_env("MANWIDTH", "200");
    let shown = sandbox.git_outcome(&["help", "cowork"]).exits(0).stdout;
    // Lines are filled with spaces up to the margin.
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in
        ["git-cowork-revert(1)", "Rewind to before a stage", "EXIT STATUS", "Git Cowork Manual"]
    {
        assert!(words.contains(text), "{text}: {shown}");
    }
    assert_eq!(sandbox.git_outcome(&["cowork", "--help"]).exits(0).stdout, shown);
    // A page of docs/, with its name, a table and a list.
    let gates = sandbox.git_outcome(&["help", "cowork-gates"]).exits(0).stdout;
    let words = gates.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in [
        "gitcowork-gates - Reviewing drafts at gates",
        "ANSWERING FROM ANOTHER TERMINAL",
        "show every key with a line about it",
        "git cowork review --feedback 'no charts'",
    ] {
        assert!(words.contains(text), "{text}: {gates}");
    }
    let printed = sandbox.cowork(&["man", "gates"]).exits(0).stdout;
    let page = std::fs::read_to_string(folder.join("man7/gitcowork-gates.7")).unwrap();
    assert_eq!(printed, page);
    // A topic with the name of a command is found by its whole name, which the command's page has.
    assert!(sandbox.cowork(&["man", "models"]).exits(0).stdout.contains("gitcowork\\-models"));
    // What the formatter itself finds wrong.
    for section in ["man1", "man7"] {
        for page in std::fs::read_dir(folder.join(section)).unwrap() {
            let mut man = sandbox.command("man");
            let output = man.args(["--warnings", "-l"]).arg(page.unwrap().path()).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        }
    }
}

#[test]
fn the_bare_command_names_the_manual_until_it_is_installed_or_there_is_a_session() {
    let told = |sandbox: &Sandbox| {
        let mut screen = sandbox.screen(100, &[]);
        assert_eq!(screen.runs_out(), 0);
        screen.raw.contains("the manual is not installed yet: git cowork man --install")
    };
    let sandbox = Sandbox::new();
    assert!(told(&sandbox));
    assert!(!sandbox.cowork(&[]).exits(0).stderr.contains("manual"), "told without a terminal");
    sandbox.cowork(&["man", "--install"]).exits(0);
    assert!(!told(&sandbox));
    assert!(!told(&Sandbox::stopped_after("idea")));
}

/// A session with an attempt, and the script of a shell.
fn completed(shell: &str) -> Sandbox {
    let sandbox = Sandbox::stopped_after("prd");
    sandbox.cowork(&["revert", "--to", "prd", "--no-run"]).exits(0);
    let script = sandbox.cowork(&["completions", shell]).exits(0).stdout;
    std::fs::write(sandbox.root().join("completions"), script).unwrap();
    sandbox
}

/// What is typed before a tab, and what the line then holds.
const COMPLETED: [(&str, &str); 9] = [
    ("git cowork rever", "git cowork revert "),
    ("git cowork man rever", "git cowork man revert "),
    ("git cowork revert --to pl", "git cowork revert --to plan "),
    ("git cowork resume to", "git cowork resume todo "),
    ("git cowork status --session to", "git cowork status --session todo "),
    ("git cowork show desi", "git cowork show design "),
    ("git cowork show todo desi", "git cowork show todo design "),
    ("git cowork prune refs/c", "git cowork prune refs/cowork/attempts/todo/1 "),
    ("git cowork review --review w", "git cowork review --review wait "),
];

fn types_them(mut terminal: Terminal) {
    for (typed, line) in COMPLETED {
        terminal.types(&format!("{typed}\t"));
        terminal.sees(line);
        terminal.control('u');
    }
    terminal.enters("exit 7");
    assert_eq!(terminal.ends().0, 7);
}

#[test]
fn zsh_completes_inside_its_completion_of_git() {
    let sandbox = completed("zsh");
    if !has(&sandbox, "zsh") {
        return;
    }
    let rc = "PS1='> '; unset zle_bracketed_paste; unsetopt prompt_sp; autoload -Uz compinit; compinit -u -D\n\
        source ../completions\n";
    sandbox.write("../zdotdir/.zshrc", rc);
    let mut zsh = sandbox.command("zsh");
    zsh.arg("-i").env("ZDOTDIR", sandbox.root().join("zdotdir"));
    let mut terminal = sandbox.in_terminal(zsh, &[]);
    terminal.sees("> ");
    types_them(terminal);
}

/// Bash at a prompt, with our completion and with `other`. On a plain terminal, for what a
/// better one is told hides what stands behind it; with echo, without which readline shows nothing.
fn bash(sandbox: &Sandbox, other: Option<&Path>) -> Terminal {
    let mut rc = "PS1='> '; bind 'set enable-bracketed-paste off'; bind 'set bell-style none'\n\
        bind 'set page-completions off'; bind 'set completion-query-items 0'\n"
        .to_owned();
    if let Some(other) = other {
        rc += &format!("source '{}'\n", other.display());
    }
    rc += "source ../completions\n";
    std::fs::write(sandbox.root().join("bashrc"), rc).unwrap();
    let line = "stty echo; TERM=dumb exec bash --noprofile --rcfile ../bashrc -i";
    let mut terminal = sandbox.in_terminal(sandbox.command("sh"), &["-c", line]);
    terminal.sees("> ");
    terminal
}

#[test]
fn bash_completes_the_program_itself() {
    let sandbox = completed("bash");
    if !has(&sandbox, "bash") {
        return;
    }
    let mut terminal = bash(&sandbox, None);
    for (typed, line) in [
        ("git-cowork rever", "git-cowork revert "),
        ("git-cowork revert --to=pl", "git-cowork revert --to=plan "),
        ("git-cowork show todo desi", "git-cowork show todo design "),
    ] {
        terminal.types(&format!("{typed}\t"));
        terminal.sees(line);
        terminal.control('u');
    }
    terminal.enters("exit 7");
    assert_eq!(terminal.ends().0, 7);
}

#[test]
fn bash_completes_the_ids_of_a_sessions_records() {
    let sandbox = Sandbox::stopped_after("prd");
    if !has(&sandbox, "bash") {
        return;
    }
    let script = sandbox.cowork(&["completions", "bash"]).exits(0).stdout;
    std::fs::write(sandbox.root().join("completions"), script).unwrap();
    let mut terminal = bash(&sandbox, None);
    for typed in ["git-cowork trace REQ-003", "git-cowork trace todo FEAT-002"] {
        terminal.types(&format!("{typed}\t"));
        terminal.sees(&format!("{typed} "));
        terminal.control('u');
    }
    terminal.enters("exit 7");
    assert_eq!(terminal.ends().0, 7);
}

#[test]
fn nothing_is_wider_than_a_narrow_terminal() {
    let sandbox = Sandbox::delivered();
    for args in [&["-h"][..], &["status"], &["list"], &["trace"], &["why", "lib/add.sh:1"], &[]] {
        let mut screen = sandbox.screen(40, args);
        assert_eq!(screen.runs_out(), 0, "{args:?}");
        let raw = screen.raw.replace('\r', "");
        let plain = console::strip_ansi_codes(&raw);
        let is_command = |line: &str| line.trim_start().starts_with("git ");
        let wide = plain.lines().find(|line| line.chars().count() > 40 && !is_command(line));
        assert_eq!(wide, None, "{args:?}:\n{plain}");
    }
}

/// Where git's packages put its completion for bash.
const OF_GIT: [&str; 6] = [
    "/usr/share/bash-completion/completions/git",
    "/usr/local/share/bash-completion/completions/git",
    "/usr/share/git-core/contrib/completion/git-completion.bash",
    "/usr/share/git/completion/git-completion.bash",
    "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
    "/Library/Developer/CommandLineTools/usr/share/git-core/git-completion.bash",
];

#[test]
fn bash_completes_inside_its_completion_of_git() {
    let sandbox = completed("bash");
    if !has(&sandbox, "bash") {
        return;
    }
    let Some(of_git) = OF_GIT.iter().map(Path::new).find(|path| path.is_file()) else {
        skipped("git's completion for bash is not installed");
        return;
    };
    let mut terminal = bash(&sandbox, Some(of_git));
    // What only bash splits into several words, and what stands before the command.
    for (typed, line) in [
        ("git cowo", "git cowork "),
        ("git cowork revert --to=pl", "git cowork revert --to=plan "),
        ("git cowork show --session=to", "git cowork show --session=todo "),
        ("git -C . cowork rever", "git -C . cowork revert "),
        ("git -C . cowork resume to", "git -C . cowork resume todo "),
        ("git --no-pager cowork show desi", "git --no-pager cowork show design "),
    ] {
        terminal.types(&format!("{typed}\t"));
        terminal.sees(line);
        terminal.control('u');
    }
    // Git's own commands are completed as before.
    terminal.types("git worktree pru\t");
    terminal.sees("git worktree prune ");
    terminal.control('u');
    // A second tab lists what there is, with what it means.
    terminal.types("git cowork show --session=todo \t\t");
    terminal.sees("prd.md");
    terminal.control('u');
    types_them(terminal);
}

#[test]
fn fish_completes_inside_its_completion_of_git() {
    let sandbox = completed("fish");
    if !has(&sandbox, "fish") {
        return;
    }
    for (typed, line) in COMPLETED {
        let mut fish: Command = sandbox.command("fish");
        let output = fish
            .args(["-c", &format!("source ../completions; complete -C '{typed}'")])
            .output()
            .unwrap();
        let offered = String::from_utf8_lossy(&output.stdout).into_owned();
        let word = line.trim_end().rsplit(' ').next().unwrap();
        let found = offered.lines().find(|one| one.split('\t').next() == Some(word));
        let found = found.unwrap_or_else(|| panic!("{typed}: {output:?}"));
        assert!(found.contains('\t'), "no description: {found}");
    }
}
