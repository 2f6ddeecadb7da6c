//! How the sandbox confines commands, and how the user is asked about commands that the system
//! cannot confine.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::cli::context::Context;
use crate::cli::session_cmd::fetch_consent::{self, Agreement, Remembered};
use crate::cli::terminal::said::Said;
use crate::cli::terminal::ui::Ui;
use crate::event::{Event, Sink as _};
use crate::gate::Tty;
use crate::git::{self, Git, settings};
use crate::sha256::sha256;
use crate::shell_quote;
use crate::workspace::{
    Beside, Cache, Confinement, Consent, Found, Level, OF_GIT, Weaker, find_confinement,
};

/// File in the state directory that lists the paths outside the tree that the user has refused to
/// let commands read.
const DECLINED: &str = "not-readable.json";

/// How this run's commands are confined.
pub(crate) fn new(context: &Context, git: &Git) -> anyhow::Result<Confinement> {
    let set = &context.config()?.sandbox;
    let home = context.env.get("HOME").map(PathBuf::from);
    let place = |path: &String| match (path.strip_prefix("~/"), &home) {
        (Some(path), Some(home)) => home.join(path),
        (None, Some(home)) if path == "~" => home.clone(),
        // An absolute path stays as it is. A relative path starts at the top of the tree, where
        // commands can read and write anyway.
        _ => git.top().join(path),
    };
    let most = context.env.get("COWORK_TEST_SANDBOX").and_then(|word| Level::of_word(word));
    let terminal = || {
        let ui = Rc::clone(&context.ui);
        context.attended().then(|| Tty::new(context.color).before(move || ui.clear()))
    };
    let (ui, said) = (Rc::clone(&context.ui), Rc::clone(&context.said));
    let agreement = Agreement::new(ui, said, terminal(), set.fetch, &git.state_dir());
    Ok(Confinement {
        helper: Some(this_program()),
        sealed: sealed(git),
        writable: set.writable.iter().map(place).collect(),
        overlays: Vec::new(),
        own: Vec::new(),
        readable: set.readable.iter().map(place).collect(),
        // The state directory has copies of the user's own files, transcripts and drafts.
        hidden: [vec![git.state_dir()], git::without_logins::copies_of_logins(git)].concat(),
        shown: git::without_logins::files(git)?,
        git_settings: settings::beginning(git, &OF_GIT)?,
        network: set.network,
        hosts: Vec::new(),
        cache: cache(context, git),
        most: most.unwrap_or_default(),
        consent: Some(Rc::new(Asking {
            ui: Rc::clone(&context.ui),
            terminal: terminal(),
            unconfined: set.unconfined,
            said: Rc::clone(&context.said),
            git: git.clone(),
            readable: set.readable.clone(),
            declined: Remembered::in_file(&git.state_dir(), DECLINED),
        })),
        fetching: Some(Rc::new(agreement)),
    })
}

/// Paths that commands never write: git's directories, the session documents and the project's
/// configuration. Only git-cowork's own tools and people write the documents and the configuration.
fn sealed(git: &Git) -> Vec<PathBuf> {
    let folders = [git.top().join(".git"), git.git_dir().to_owned(), git.common_dir().to_owned()];
    // If `.cowork` is a link, its target is outside the tree, where commands cannot write anyway.
    let documents = Some(git.top().join(".cowork")).filter(|path| !path.is_symlink());
    folders.into_iter().chain(documents).collect()
}

/// The running executable, even if an update has replaced its file meanwhile.
fn this_program() -> PathBuf {
    let program = Path::new("/proc/self/exe");
    match program.exists() {
        true => program.to_owned(),
        false => std::env::current_exe().unwrap_or_default(),
    }
}

/// The cache for files that commands fetched and compiled, shared by all working trees of a
/// repository.
fn cache(context: &Context, git: &Git) -> Option<Cache> {
    let set = |name| context.env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    let folder = git.common_dir();
    let repository =
        if folder.ends_with(".git") { folder.parent().unwrap_or(folder) } else { folder };
    let name = repository.file_name().unwrap_or_default().to_string_lossy();
    let dir = cache.join("git-cowork").join(format!("{name}-{}", key_of(folder)));
    Some(Cache { dir, of: folder.to_owned() })
}

/// A key that distinguishes a repository from others with the same name. It does not depend on
/// git-cowork's release or on the toolchain, so that files fetched earlier are found again.
fn key_of(dir: &Path) -> String {
    sha256(dir.as_os_str().as_encoded_bytes()).chars().take(16).collect()
}

/// How commands are confined here, in one line.
pub(crate) fn in_force(context: &Context, git: &Git) -> anyhow::Result<String> {
    Ok(match found(context, git)? {
        Some(found) => described(context, &found)?,
        None => {
            let prefix = &context.config()?.sandbox.command_prefix;
            format!("{} (sandbox.command_prefix)", prefix.join(" "))
        }
    })
}

/// How commands are confined here; `None` if the user has configured a sandbox of their own.
pub(crate) fn found(context: &Context, git: &Git) -> anyhow::Result<Option<Found>> {
    if !context.config()?.sandbox.command_prefix.is_empty() {
        return Ok(None);
    }
    let env = context.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    find_confinement(new(context, git)?, git.top(), env).map(Some)
}

/// Describes the confinement in one line.
pub(crate) fn described(context: &Context, found: &Found) -> anyhow::Result<String> {
    let network = if context.config()?.sandbox.network { ", with network access" } else { "" };
    let home = match found.closes_home {
        true => "in your home, commands can read only toolchains and fetched packages",
        false => {
            "commands can read your home, except for known credentials, because the working tree \
             is your home or contains it"
        }
    };
    Ok(match (found.level, &found.weaker) {
        (Level::Landlock, Some(weaker)) => format!("{}; {home}", by_landlock(weaker)),
        (Level::None, Some(Weaker { cause, remedy, .. })) => {
            format!("unconfined: {cause}{}", after(remedy))
        }
        (level, _) => format!("by {}{network}; {home}", level.word()),
    })
}

fn by_landlock(weaker: &Weaker) -> String {
    let Weaker { cause, remedy, unix_sockets, .. } = weaker;
    let unix = if *unix_sockets { "" } else { "UNIX sockets, " };
    format!(
        "by Landlock only: {cause}. They cannot use local servers, {unix}shared memory or terminals \
         of their own, nor make new files at the top of the working tree, and they can send UDP{}",
        after(remedy)
    )
}

/// The remedy as another sentence, if there is one.
fn after(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!(". {remedy}") }
}

/// Asks at the terminal, unless the configuration has the answer.
struct Asking {
    ui: Rc<Ui>,
    terminal: Option<Tty>,
    unconfined: bool,
    said: Rc<Said>,
    git: Git,
    /// The configured paths.
    readable: Vec<String>,
    declined: Remembered,
}

impl Asking {
    /// Arguments for git that add these paths to `sandbox.readable`; `None` if a path cannot be
    /// part of a list.
    fn let_read(&self, paths: &[String]) -> Option<[String; 3]> {
        let all: Vec<String> = self.readable.iter().chain(paths).cloned().collect();
        let in_list = all.iter().all(|path| !path.contains(',') && path.trim() == path);
        in_list.then(|| ["config".into(), "cowork.sandbox.readable".into(), all.join(", ")])
    }
}

impl Consent for Asking {
    fn weaker(&self, weaker: &Weaker) {
        let Weaker { level, cause, remedy, .. } = weaker;
        if !self.said.is_new("weaker") {
            return;
        }
        let remedy = after(remedy);
        let text = match level {
            Level::Namespaces | Level::Bubblewrap | Level::Seatbelt => return,
            Level::Landlock => format!("commands are confined {}", by_landlock(weaker)),
            Level::None if self.unconfined => format!(
                "commands run unconfined (sandbox.unconfined): {cause}. Commands can read, change \
                 and send whatever you can{remedy}"
            ),
            Level::None if self.terminal.is_some() => format!(
                "commands cannot be confined here: {cause}. You are asked about each; a program \
                 that confines them can be set as sandbox.command_prefix{remedy}"
            ),
            Level::None => format!(
                "commands cannot be confined here: {cause}. None is run; set \
                 sandbox.command_prefix to a program that confines them, or set \
                 sandbox.unconfined to true in your own configuration{remedy}"
            ),
        };
        self.ui.emit(Event::Warning { text });
    }

    fn may_read(&self, named: &[Beside]) -> anyhow::Result<bool> {
        let paths: Vec<String> = named.iter().map(|one| one.path.display().to_string()).collect();
        let lines =
            named.iter().map(|one| format!("{} (in {})", one.path.display(), one.by.display()));
        let list = lines.collect::<Vec<_>>().join(", ");
        if self.said.is_agreed(&list) {
            return Ok(true);
        }
        let refusals = self.declined.all();
        if paths.iter().all(|path| refusals.contains(path)) || !self.said.is_new(&list) {
            return Ok(false);
        }
        let command = self.let_read(&paths);
        let Some(terminal) = &self.terminal else {
            let by_hand = command.map_or_else(
                || "name it in sandbox.readable".to_owned(),
                |[config, key, all]| format!("git {config} {key} {}", shell_quote::quoted(&all)),
            );
            let text = format!(
                "commands cannot read paths outside the working tree that files refer to: {list}. \
                 To let them read these: {by_hand}"
            );
            self.ui.emit(Event::Warning { text });
            return Ok(false);
        };
        let question = format!(
            "Files refer to paths outside of the working tree: {list}.\nLet commands read them, in \
             this repository from now on?"
        );
        if !fetch_consent::confirm(terminal, &question)? {
            self.declined.add(&paths);
            return Ok(false);
        }
        if let Some(command) = command {
            self.git.write(command).checked()?;
        }
        self.said.agree(&list);
        Ok(true)
    }

    fn may_run_unconfined(&self, command: &str) -> anyhow::Result<Option<bool>> {
        if self.unconfined {
            return Ok(Some(true));
        }
        let Some(terminal) = &self.terminal else {
            return Ok(None);
        };
        let question = format!("run this without confinement?\n{command}");
        fetch_consent::confirm(terminal, &question).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_keeps_its_cache_whatever_built_the_program() {
        assert_eq!(key_of(Path::new("/repo/.git")), "6b4ca2db35cfaf43");
    }
}
