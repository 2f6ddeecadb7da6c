//! Runs commands: in the root, with a scrubbed environment, a time limit, bounded output, and
//! without leftover processes.
//!
//! `policy` checks a command, `sandbox` confines it, and `process_tree` ends it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{ChildStdin, Command};
use tokio::sync::Mutex;

use super::capture::{Capture, KEPT, SHOWN};
use super::process_tree::ProcessTree;
use super::settings::CommandSettings;
use crate::excerpt;
use crate::workspace::command::watched::{Lines, Running};
use crate::workspace::effects::repositories::MadeRepository;
use crate::workspace::effects::{self, BEAT, Bulk, OddName};
use crate::workspace::sandbox::{Confined, HomeOf};
use crate::workspace::working_tree::WorkingTree;

/// How long to wait for output that is still open after all processes were killed. Only needed on
/// systems where stray processes, which keep it open, cannot be found.
const DRAIN: Duration = Duration::from_secs(1);

/// Commands run one at a time, because stray processes are recognized as those that did not
/// exist before the command.
pub(crate) static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandResult {
    /// Exit code; `None` if a signal or the time limit ended the command.
    pub exit: Option<i32>,
    /// True if the time limit ended the command.
    pub timed_out: bool,
    /// Standard output as plain text; only its beginning and end if it is long.
    pub stdout: String,
    /// Standard error, in the same form.
    pub stderr: String,
    /// True if output is omitted.
    pub cut: bool,
    /// Duration.
    pub seconds: f64,
    /// New folders with too many files to commit, and the number of files.
    pub bulk: Vec<Bulk>,
    /// Files that cannot be committed because of their names, with the problem of each name.
    pub odd_names: Vec<OddName>,
    /// Git control files that the command changed, which were restored.
    pub put_back: Vec<String>,
    /// A person's uncommitted files that the command changed, which were put back.
    pub user_files: Vec<String>,
    /// Repositories the command created below the tree.
    pub repositories: Vec<MadeRepository>,
    /// Dependencies that were not fetched, with the reason.
    pub missing: Vec<String>,
}

impl CommandResult {
    /// True if the command exited with code 0.
    pub fn succeeded(&self) -> bool {
        self.exit == Some(0)
    }

    /// Describes the end of the command in a few words: `exit 1`.
    pub fn ending(&self) -> String {
        match self.exit {
            _ if self.timed_out => format!("stopped at the time limit of {:.0} s", self.seconds),
            Some(code) => format!("exit {code}"),
            None => "ended by a signal".to_owned(),
        }
    }

    /// Returns the result with the output shortened for a model: to the failures if the command
    /// failed, otherwise to its beginning and its end.
    #[must_use]
    pub fn shortened(&self) -> Self {
        let shorten = if self.succeeded() { excerpt::ends } else { excerpt::failures };
        let [stdout, stderr] = [&self.stdout, &self.stderr].map(|text| shorten(text, SHOWN));
        let cut = self.cut || (&stdout, &stderr) != (&self.stdout, &self.stderr);
        Self { stdout, stderr, cut, ..self.clone() }
    }
}

/// Where a command works: whose home it has and, for a check, the folder with the tree for checks.
#[derive(Clone, Copy)]
pub(crate) struct Where<'a> {
    pub(crate) home: HomeOf,
    pub(crate) folder: Option<&'a Path>,
}

/// Runs a command and waits at most `timeout_s` seconds (the configured limit if `None`). `input` is
/// its standard input; without it the input is empty.
pub(crate) async fn run(
    tree: &WorkingTree,
    settings: &CommandSettings,
    (command, at): (&str, Where<'_>),
    timeout_s: Option<u64>,
    input: Option<&str>,
) -> anyhow::Result<CommandResult> {
    let confined = match settings.prefix.is_empty() {
        true => settings.sandbox.confine(command, &settings.env, at.home, at.folder)?,
        // The user configured a sandbox of their own.
        false => None,
    };
    let limit = timeout_s.unwrap_or(settings.timeout_s);
    let Some(folder) = at.folder else {
        return run_within(tree, settings, (command, input), confined, limit, ()).await;
    };
    tree.require_branch()?;
    // With mounts, the folder is at the root.
    let is_mounted = settings.sandbox.level()?.has_mounts();
    let dir = if is_mounted { &tree.root } else { folder };
    let result = run_shell(dir, settings, (command, input), confined, limit, None, ()).await;
    result.map(|(result, _)| result)
}

/// Runs one of git-cowork's own commands, confined in the same way. When all processes of
/// the command have ended, `kept` is dropped, which restores the files that the command must not
/// change.
pub(crate) async fn run_confined(
    tree: &WorkingTree,
    settings: &CommandSettings,
    command: &str,
    kept: impl Sized,
) -> anyhow::Result<CommandResult> {
    let confined = settings.sandbox.confine(command, &settings.env, HomeOf::Commands, None)?;
    run_within(tree, settings, (command, None), confined, settings.timeout_max_s, kept).await
}

/// Runs the command that fetches dependencies: like [`run_confined`], but with the network.
pub(crate) async fn run_fetching(
    tree: &WorkingTree,
    settings: &CommandSettings,
    command: &str,
    kept: impl Sized,
) -> anyhow::Result<CommandResult> {
    let confined = settings.sandbox.confine_to_fetch(&settings.env)?;
    let confined = confined.context("dependencies are fetched only in the sandbox")?;
    run_within(tree, settings, (command, None), Some(confined), settings.timeout_max_s, kept).await
}

async fn run_within(
    tree: &WorkingTree,
    settings: &CommandSettings,
    (command, input): (&str, Option<&str>),
    confined: Option<Confined>,
    timeout_s: u64,
    kept: impl Sized,
) -> anyhow::Result<CommandResult> {
    tree.require_branch()?;
    tree.confined.set(confined.is_some());
    let watch = Some(effects::watch(tree)?);
    let ran = run_shell(&tree.root, settings, (command, input), confined, timeout_s, watch, kept);
    let (result, watch) = ran.await?;
    let Some(watch) = watch else { return Ok(result) };
    let effects = watch.end()?;
    Ok(CommandResult {
        bulk: effects.bulk,
        odd_names: effects.odd_names,
        put_back: effects.put_back,
        user_files: effects.user_files,
        repositories: effects.repositories,
        ..result
    })
}

/// Runs a command in a folder. If this future is dropped, the processes end first, then `kept` is
/// dropped, and the command's changes are detected last, by `watch`.
async fn run_shell<'t>(
    dir: &Path,
    settings: &CommandSettings,
    (command, input): (&str, Option<&str>),
    confined: Option<Confined>,
    timeout_s: u64,
    watch: Option<effects::Watch<'t>>,
    kept: impl Sized,
) -> anyhow::Result<(CommandResult, Option<effects::Watch<'t>>)> {
    let limit = timeout_s.clamp(1, settings.timeout_max_s.max(1));
    // Declared before the child.
    let watch = watch;
    let kept = kept;
    let mut family = ProcessTree::begin();
    let begun = Instant::now();
    let mut shell = shell(dir, settings, command, confined);
    if input.is_some() {
        shell.stdin(Stdio::piped());
    }
    let mut child = shell.spawn().context("starting the shell")?;
    family.led_by(child.id());

    let lines = || settings.watch.clone().map(|watch| Lines::new(watch, &settings.secrets));
    let _runs =
        settings.watch.clone().map(|watch| Running::begin(watch, command, &settings.secrets));
    let mut stdout = Capture::new(&settings.secrets, KEPT).watched(lines());
    let mut stderr = Capture::new(&settings.secrets, KEPT).watched(lines());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let fed = feed(child.stdin.take(), input);
    let status = {
        let reading = async { tokio::join!(stdout.drain(out), stderr.drain(err), fed) };
        let mut reading = std::pin::pin!(reading);
        let mut read = false;
        let limit = tokio::time::sleep(Duration::from_secs(limit));
        let mut limit = std::pin::pin!(limit);
        let mut beat = tokio::time::interval(BEAT);
        let status = loop {
            tokio::select! {
                status = child.wait() => break Some(status),
                _ = &mut reading, if !read => read = true,
                () = &mut limit => break None,
                _ = beat.tick() => watch.iter().for_each(effects::Watch::beat),
            }
        };
        family.end();
        if !read {
            let _ = tokio::time::timeout(DRAIN, reading).await;
        }
        status
    };
    let (timed_out, seconds) = (status.is_none(), begun.elapsed().as_secs_f64());
    let status = match status {
        Some(status) => status,
        None => child.wait().await,
    };
    drop(family);
    drop(kept);
    let result = CommandResult {
        exit: status.ok().as_ref().and_then(ExitStatus::code).filter(|_| !timed_out),
        timed_out,
        cut: stdout.is_cut() || stderr.is_cut(),
        stdout: stdout.text(&settings.secrets),
        stderr: stderr.text(&settings.secrets),
        seconds,
        ..CommandResult::default()
    };
    Ok((result, watch))
}

/// Writes `input` to a command, which may ignore it.
async fn feed(stdin: Option<ChildStdin>, input: Option<&str>) {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // Fails if the command has ended or closed its input.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
}

fn shell(
    dir: &Path,
    settings: &CommandSettings,
    command: &str,
    confined: Option<Confined>,
) -> Command {
    let (before, env) = match confined {
        Some(confined) => (confined.before, confined.env),
        None => (settings.prefix.iter().map(OsString::from).collect(), settings.env.clone()),
    };
    let shell = ["sh", "-c", command].map(OsString::from);
    let mut words = before.into_iter().chain(shell);
    let mut built = Command::new(words.next().unwrap_or_default());
    built
        .args(words)
        .current_dir(dir)
        .env_clear()
        .envs(env)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    // SAFETY: `detach` runs between fork and exec; it only makes system calls, and neither
    // allocates nor takes a lock.
    unsafe {
        built.pre_exec(detach);
    }
    built
}

/// Settings for every command, sandboxed or not, applied in the child before it becomes the shell
/// or the helper: a new session detaches it from the terminal, so that it cannot prompt for a
/// password, and marks stray processes.
#[cfg(unix)]
fn detach() -> std::io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit, setsid};
    setsid()?;
    // A command must stop writing if git-cowork is killed.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // Crashing tests must not leave core dumps in the tree.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::secret::Secrets;
    use crate::workspace::testing::Tree;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    fn run(tree: &Tree, command: &str, timeout_s: u64) -> CommandResult {
        block_on(tree.workspace.run_trusted(command, Some(timeout_s))).unwrap()
    }

    /// True if a process has this word among its arguments.
    fn is_running(word: &str) -> bool {
        std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| line.split(|b| *b == 0).any(|arg| arg == word.as_bytes()))
        })
    }

    #[test]
    fn output_exit_code_and_working_directory() {
        let tree = Tree::new();
        let result = run(&tree, "pwd; echo oops >&2; cat; exit 3", 20);
        assert_eq!(result.exit, Some(3));
        assert_eq!(result.stdout, format!("{}\n", tree.root().display()));
        assert_eq!((result.stderr.as_str(), result.timed_out), ("oops\n", false));
        assert_eq!(run(&tree, "kill -9 $$", 20).exit, None);
        assert_eq!(run(&tree, "no-such-program", 20).exit, Some(127));
    }

    #[test]
    fn input_may_be_read_or_ignored() {
        let tree = Tree::new();
        let long = "x".repeat(1 << 20);
        let given = |command| {
            block_on(crate::workspace::run_with_input(&tree.workspace, command, None, Some(&long)))
                .unwrap()
        };
        assert_eq!(given("wc -c; echo then").stdout.trim_start(), "1048576\nthen\n");
        assert_eq!(given("exit 4").exit, Some(4));
        assert_eq!(given("exec <&-; echo unread").stdout, "unread\n");
    }

    #[test]
    fn the_limit_kills_grandchildren_that_left_the_session() {
        for (word, command) in [
            ("301.25", "setsid sleep 301.25 & sleep 301.25"),
            ("302.25", "setsid sh -c 'setsid sleep 302.25 & sleep 302.25' & sleep 302.25"),
            ("303.25", "trap '' TERM INT; (setsid nohup sleep 303.25 &) ; sleep 303.25"),
            ("304.25", "env -i setsid sleep 304.25 & wait"),
        ] {
            let result = run(&Tree::new(), command, 1);
            assert!(result.timed_out && result.exit.is_none(), "{command}");
            assert!(result.seconds < 4.0, "{command}: {}", result.seconds);
            assert!(!is_running(word), "{command}");
        }
    }

    #[test]
    fn strays_of_a_finished_command_are_killed_without_delay() {
        let result = run(&Tree::new(), "(setsid sleep 305.25 &); echo done", 20);
        assert_eq!((result.exit, result.stdout.as_str()), (Some(0), "done\n"));
        assert!(result.seconds < 10.0);
        assert!(!is_running("305.25"));
    }

    #[test]
    fn dropping_the_future_kills_the_command() {
        let tree = Tree::new();
        block_on(async {
            let command = "setsid sleep 306.25 & echo > started; sleep 306.25";
            let running = tree.workspace.run_trusted(command, None);
            let started = async {
                while !tree.root().join("started").exists() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                _ = running => panic!("it ended"),
                () = started => {}
            }
        });
        assert!(!is_running("306.25"));
    }

    #[test]
    fn other_children_are_not_killed() {
        let mut own = std::process::Command::new("sleep").arg("307.25").spawn().unwrap();
        run(&Tree::new(), "true", 20);
        assert!(own.try_wait().unwrap().is_none());
        own.kill().unwrap();
        own.wait().unwrap();
    }

    #[test]
    fn endless_output_is_bounded() {
        let result = run(&Tree::new(), "yes", 1);
        assert!(result.timed_out && result.stdout.len() < 10_100);
        assert!(result.cut && result.stdout.contains("lines left out"));
        assert!(!result.stdout.lines().any(|line| line != "y" && !line.starts_with("[… ")));
    }

    #[test]
    fn the_environment_is_scrubbed_and_secrets_are_redacted() {
        let tree = Tree::with(|options| {
            options.secrets = Secrets::new(["sk-12345678".to_owned()]);
            let more = [("OPENAI_API_KEY", "sk-12345678"), ("SSH_AUTH_SOCK", "/s"), ("LANG", "C")];
            options.env.extend(more.map(|(name, value)| (name.into(), value.into())));
        });
        tree.put("key", "it is sk-12345678!\n");
        let result = run(&tree, "env; cat key", 20);
        assert!(
            result.stdout.contains("LANG=C\n") && result.stdout.contains("it is [withheld key]!")
        );
        assert!(!result.stdout.contains("SSH_") && !result.stdout.contains("OPENAI"));
    }

    #[test]
    fn commands_have_no_terminal_and_the_prefix_comes_first() {
        let tree = Tree::with(|options| {
            options.command_prefix = vec!["env".to_owned(), "PREFIXED=yes".to_owned()];
        });
        let result = run(&tree, "echo $PREFIXED; (: < /dev/tty) 2>/dev/null || echo none", 20);
        assert_eq!(result.stdout, "yes\nnone\n");
    }

    #[test]
    fn a_models_time_limit_is_capped_and_its_command_checked() {
        let tree = Tree::with(|options| options.timeout_max_s = 1);
        let result = block_on(tree.workspace.run("sleep 308.25", Some(10_000))).unwrap();
        assert!(result.timed_out);
        assert!(block_on(tree.workspace.run("git commit", None)).is_err());
    }
}
