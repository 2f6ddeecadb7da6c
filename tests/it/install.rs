//! `install.sh` installs what `.ci/archive` packs, and nothing that is damaged; shells and `man` find it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::help::has;
use crate::support::Sandbox;
use crate::support::outcome::Outcome;
use crate::tidy::root;

/// The system that the archive is for, which is the one that `install.sh` looks for here.
fn target() -> String {
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-musl" };
    format!("{}-{system}", std::env::consts::ARCH)
}

/// A folder with the archive of the program that is tested, and `SHA256SUMS`.
fn release() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release");
        let _ = fs::remove_dir_all(&folder);
        let mut script = Command::new(root().join(".ci/archive"));
        script.args([env!("CARGO_BIN_EXE_git-cowork"), &target()]).arg(&folder);
        let made = script.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        folder
    })
}

fn archive() -> String {
    format!("git-cowork-v{}-{}.tar.gz", env!("CARGO_PKG_VERSION"), target())
}

/// Runs `install.sh` with these arguments, and with programs of this folder only, if one is given.
fn install(sandbox: &Sandbox, programs: Option<&str>, arguments: &str) -> Outcome {
    let path = programs.map_or(String::new(), |folder| format!("PATH={folder} "));
    sandbox.shell(&format!("{path}/bin/sh {}/install.sh {arguments}", root().display()))
}

fn installed() -> Sandbox {
    let sandbox = Sandbox::stopped_after("prd");
    install(&sandbox, None, &format!("--from {}", release().display())).exits(0);
    sandbox
}

#[test]
fn an_archive_becomes_program_manual_and_completions() {
    let sandbox = Sandbox::nowhere();
    let from = format!("--from {}", release().display());
    let local = sandbox.root().join("home/.local");
    let said = install(&sandbox, None, &from).exits(0).stdout;
    let is = format!("git-cowork {} is installed in ", env!("CARGO_PKG_VERSION"));
    assert!(said.contains(&format!("{is}{}/bin", local.display())), "{said}");
    for file in [
        "bin/git-cowork",
        "share/man/man1/git-cowork-merge.1",
        "share/man/man7/gitcowork-gates.7",
        "share/bash-completion/completions/git-cowork",
    ] {
        assert!(local.join(file).is_file(), "{file}");
    }
    // The program that is tested comes first.
    install(&sandbox, None, &from).exits(0).says("comes first in PATH");

    let line = format!("cd {} && PATH=/usr/bin:/bin", local.display());
    let there = format!("{line}:$PWD/bin; bin/git-cowork -h; git cowork --version");
    let help = sandbox.shell(&there).exits(0).stdout;
    assert!(help.contains("'git help cowork' shows the manual"), "{help}");
    let said = sandbox
        .shell(&format!("{line} /bin/sh {}/install.sh {from}", root().display()))
        .exits(0)
        .stdout;
    let path = format!("export PATH=\"{}/bin:$PATH\"", local.display());
    assert!(said.contains(&path), "{said}");
}

#[test]
fn a_damaged_archive_is_not_installed() {
    let sandbox = Sandbox::nowhere();
    let copy = sandbox.root().join("copy");
    fs::create_dir(&copy).unwrap();
    for name in [&archive(), "SHA256SUMS"] {
        fs::copy(release().join(name), copy.join(name)).unwrap();
    }
    let from = format!("--from {}", copy.display());
    install(&sandbox, None, &format!("--version 9.9.9 {from}"))
        .exits(1)
        .says(&format!("has no archive of git-cowork 9.9.9 for {}", target()));

    let mut bytes = fs::read(copy.join(archive())).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(copy.join(archive()), bytes).unwrap();
    install(&sandbox, None, &from)
        .exits(1)
        .says("is damaged: its SHA-256 is not the one in SHA256SUMS; nothing was installed");
    fs::remove_file(copy.join(archive())).unwrap();
    install(&sandbox, None, &from).exits(1).says(&format!("{} could not be read", archive()));
    assert!(!sandbox.root().join("home/.local").exists());
}

#[test]
fn without_curl_and_wget_a_folder_is_installed_and_an_address_is_not() {
    let sandbox = Sandbox::nowhere();
    let programs = sandbox.root().join("programs");
    fs::create_dir(&programs).unwrap();
    let needed = "cat cp cut grep gzip mkdir mktemp mv rm sha256sum shasum tail tar uname";
    let link = format!(
        "for name in {needed}; do ln -s \"$(command -v $name)\" {}; done 2>&1",
        programs.display()
    );
    sandbox.shell(&link).exits(0);
    let programs = programs.display().to_string();
    let address = format!("--from file://{}", release().display());
    install(&sandbox, Some(&programs), &address)
        .exits(1)
        .says("neither curl nor wget is installed")
        .says(&format!("hint: download file://{}/SHA256SUMS", release().display()));
    install(&sandbox, Some(&programs), &format!("--from {}", release().display()))
        .exits(0)
        .says("git is not installed");
    if has(&sandbox, "curl") {
        install(&sandbox, None, &address).exits(0);
    }
}

#[test]
fn zsh_and_fish_find_the_completions_that_are_installed() {
    let sandbox = installed();
    let share = sandbox.root().join("home/.local/share");
    if has(&sandbox, "zsh") {
        let rc = format!(
            "PS1='> '; unset zle_bracketed_paste; unsetopt prompt_sp\n\
             fpath=({}/zsh/site-functions $fpath); autoload -Uz compinit; compinit -u -D\n",
            share.display()
        );
        sandbox.write("../zdotdir/.zshrc", &rc);
        for typed in ["git-cowork rever", "git cowork rever"] {
            let mut zsh = sandbox.command("zsh");
            zsh.arg("-i").env("ZDOTDIR", sandbox.root().join("zdotdir"));
            let mut terminal = sandbox.in_terminal(zsh, &[]);
            terminal.sees("> ");
            terminal.types(&format!("{typed}\t"));
            terminal.sees(&format!("{typed}t "));
            terminal.control('u');
            terminal.enters("exit 7");
            assert_eq!(terminal.ends().0, 7);
        }
    }
    if has(&sandbox, "fish") {
        let mut fish = sandbox.command("fish");
        let output = fish.args(["-c", "complete -C 'git cowork rever'"]).output().unwrap();
        let offered = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(offered.starts_with("revert"), "{offered:?} {output:?}");
    }
}

/// `uv tool` and `pipx` link a program of an environment to a folder of `PATH`.
#[test]
fn the_manual_of_a_linked_program_goes_to_where_man_looks() {
    let mut sandbox = Sandbox::nowhere();
    let local = sandbox.root().join("home/.local");
    let environment = local.join("share/uv/tools/git-cowork");
    let (link, program) = (local.join("bin/git-cowork"), environment.join("bin/git-cowork"));
    for path in [&link, &program] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_git-cowork"), &program).unwrap();
    std::os::unix::fs::symlink(&program, &link).unwrap();
    // The wheel has the pages, too, but nobody looks there.
    fs::create_dir_all(environment.join("share/man/man1")).unwrap();
    fs::write(environment.join("share/man/man1/git-cowork.1"), "").unwrap();
    sandbox.set_env("PATH", &format!("{}:/usr/bin:/bin", link.parent().unwrap().display()));
    let help = sandbox.shell("git-cowork -h").exits(0).stdout;
    assert!(help.contains("need the manual: git cowork man --install"), "{help}");
    let said = sandbox.shell("git-cowork man --install").exits(0).stderr;
    assert!(said.contains(&format!("{}/share/man;", local.display())), "{said}");
    assert!(!said.contains("MANPATH"), "{said}");
    let help = sandbox.shell("git-cowork -h").exits(0).stdout;
    assert!(help.contains("'git help cowork' shows the manual"), "{help}");
}

/// `cargo binstall` builds the archive's name from a template in `Cargo.toml`.
#[test]
fn cargo_binstall_is_told_where_the_program_is_in_an_archive() {
    let manifest: toml::Table =
        fs::read_to_string(root().join("Cargo.toml")).unwrap().parse().unwrap();
    let binstall = &manifest["package"]["metadata"]["binstall"];
    let filled = |key: &str| {
        let mut text = binstall[key].as_str().unwrap().to_owned();
        for (name, value) in [
            ("{ repo }", env!("CARGO_PKG_REPOSITORY")),
            ("{ version }", env!("CARGO_PKG_VERSION")),
            ("{ target }", &target()),
            ("{ bin }", "git-cowork"),
            ("{ binary-ext }", ""),
        ] {
            text = text.replace(name, value);
        }
        text
    };
    let releases = concat!(env!("CARGO_PKG_REPOSITORY"), "/releases/download/v");
    assert_eq!(filled("pkg-url"), format!("{releases}{}/{}", env!("CARGO_PKG_VERSION"), archive()));
    assert!(release().join(filled("bin-dir")).is_file(), "{}", filled("bin-dir"));
}
