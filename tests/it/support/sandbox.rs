//! An isolated environment for a test: home, git configuration, a repository with one commit, and a
//! scripted model server.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::base_dir::base_dir;
use super::confinement::{Level, confinement};
pub use super::outcome::Outcome;
use super::running::{found, obey_hangups, run};
use super::script::Script;
use super::server::Server;
use super::skip::skipped;
use super::trials::Format;

/// With these set, the tests make their repositories in another format; some need the usual one.
const FORMAT: [&str; 2] = ["GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT"];

const GITCONFIG: &str = "[user]
\tname = Ana Example
\temail = ana@example.org
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
[commit]
\tgpgsign = false
[advice]
\tdetachedHead = false
[protocol \"file\"]
\tallow = always
[cowork \"sandbox\"]
\tunconfined = true
[cowork \"project\"]
\tdepth = thorough
";

/// The environment of a test.
pub struct Sandbox {
    dir: TempDir,
    pub server: Server,
    env: Vec<(String, String)>,
    cwd: PathBuf,
    /// The user that everything is run as, if it is not the user who runs the tests.
    user: Option<u32>,
    /// True if the program inherits an open descriptor of `/`.
    leaves_open: bool,
    /// Another build of the program, which is run instead of this one.
    pub other: Option<PathBuf>,
}

impl Sandbox {
    /// A repository with one commit on `main`; the server knows the todo project.
    pub fn new() -> Self {
        let sandbox = Self::unborn(&[]);
        sandbox.write("README.md", "# Somewhere\n");
        sandbox.commit_all("first");
        sandbox
    }

    /// [`Sandbox::new`] with these options of `git init`; `None` if this git does not know them.
    pub fn in_format(options: &[&str]) -> Option<Self> {
        if Self::nowhere().git_fails(&[&["init", "-q"], options].concat()) {
            skipped(&format!("this git does not know {options:?}"));
            return None;
        }
        let sandbox = Self::unborn(options);
        sandbox.write("README.md", "# Somewhere\n");
        sandbox.commit_all("first");
        Some(sandbox)
    }

    /// A repository without a commit, and without git's examples of hooks: they are a third of the
    /// files of a small repository.
    pub fn unborn(init: &[&str]) -> Self {
        let sandbox = Self::nowhere();
        sandbox.git(&[&["init", "-q", "--template="], init].concat());
        // What tests look for in a git directory.
        let bare = !sandbox.exists(".git");
        let git = if bare { sandbox.repo() } else { sandbox.path(".git") };
        for folder in ["hooks", "info"] {
            fs::create_dir(git.join(folder)).unwrap();
        }
        fs::write(git.join("description"), "").unwrap();
        sandbox
    }

    /// A directory that is not a repository.
    pub fn nowhere() -> Self {
        let dir = TempDir::new_in(base_dir()).unwrap();
        // macOS has its temporary directory behind a symlink; git prints the real path.
        let root = dir.path().canonicalize().unwrap();
        for name in ["home", "bin", "repo"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("home/.gitconfig"), GITCONFIG).unwrap();
        let cwd = root.join("repo");
        Self {
            dir,
            server: Server::start(Script::todo()),
            env: Format::of_thread().map(Format::variables).unwrap_or_default(),
            cwd,
            user: None,
            leaves_open: false,
            other: None,
        }
    }

    /// A copy of everything on the disk, with its own server.
    pub fn fork(&self) -> Self {
        let copy = Self::nowhere();
        fs::remove_dir_all(copy.root()).unwrap();
        let status =
            Command::new("cp").arg("-Rp").arg(self.root()).arg(copy.root()).status().unwrap();
        assert!(status.success());
        Self { env: self.env.clone(), other: self.other.clone(), ..copy }
    }

    /// The directory that contains everything.
    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap_or_else(|_| self.dir.path().to_owned())
    }

    pub fn repo(&self) -> PathBuf {
        self.root().join("repo")
    }

    /// Sets an environment variable for everything run from now on; an empty value removes it.
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// From now on everything is run as an ordinary user, who owns the sandbox; for tests run by
    /// root.
    pub fn become_nobody(&mut self) {
        const NOBODY: u32 = 65534;
        let owner = format!("{NOBODY}:{NOBODY}");
        let status = Command::new("chown").args(["-R", &owner]).arg(self.root()).status().unwrap();
        assert!(status.success());
        // The build directory may be accessible to root only.
        let program = self.root().join("bin/git-cowork");
        let built = env!("CARGO_BIN_EXE_git-cowork");
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).unwrap();
        self.user = Some(NOBODY);
    }

    /// A sandbox of an ordinary user; `None` if the tests are not run by root and so are run by an
    /// ordinary user already.
    #[cfg(unix)]
    pub fn into_ordinary_user(mut self) -> Option<Self> {
        rustix::process::geteuid().is_root().then(|| {
            self.become_nobody();
            self
        })
    }

    /// A sandbox of the user who runs the tests and, if that is root, one of an ordinary user.
    #[cfg(unix)]
    pub fn of_everybody() -> impl Iterator<Item = Self> {
        [Some(Self::new()), Self::new().into_ordinary_user()].into_iter().flatten()
    }

    /// Gives files that the test wrote, and their folders, to the owner of the sandbox.
    fn give(&self, path: &Path) {
        #[cfg(unix)]
        if let Some(user) = self.user {
            let root = self.root();
            let inside = path.ancestors().take_while(|at| at.starts_with(&root) && **at != root);
            inside.for_each(|at| std::os::unix::fs::chown(at, Some(user), Some(user)).unwrap());
        }
    }

    /// From now on everything inherits descriptor 9, which is `/`.
    pub fn leave_root_open(&mut self) {
        self.leaves_open = true;
    }

    /// The path of `git-cowork`, where the user of the sandbox can run it.
    fn program(&self) -> PathBuf {
        match (&self.other, self.user) {
            (Some(other), _) => other.clone(),
            (None, Some(_)) => self.root().join("bin/git-cowork"),
            (None, None) => env!("CARGO_BIN_EXE_git-cowork").into(),
        }
    }

    /// From now on everything runs in this directory (relative to the repository).
    pub fn enter(&mut self, path: impl AsRef<Path>) {
        self.cwd = self.repo().join(path);
    }

    /// The user's own configuration file.
    pub fn user_config(&self, toml: &str) {
        let path = self.root().join("home/.config/cowork/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, toml).unwrap();
        self.give(&path);
    }

    /// An executable in the sandbox, for hooks and editors. Another process writes it: if this
    /// process had the file open for writing, a child that another thread starts at that moment
    /// would inherit the open file, and nobody could run it before that child calls exec ("Text
    /// file busy").
    pub fn executable(&self, path: &Path, script: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut writer = Command::new("sh")
            .args(["-c", r#"cat >"$1" && chmod 755 "$1""#, "sh"])
            .arg(path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = writer.stdin.take().unwrap();
        text.write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        drop(text);
        assert!(writer.wait().unwrap().success());
        self.give(path);
    }

    /// A git hook of the repository.
    pub fn hook(&self, name: &str, script: &str) {
        self.executable(&self.repo().join(".git/hooks").join(name), script);
    }

    /// From now on the editor is this `sh` script, run once per opened file as `$f`. The names of
    /// the opened files are saved for [`Sandbox::edited`].
    pub fn editor(&mut self, script: &str) {
        let path = self.root().join("bin/editor");
        let log = self.root().join("edited");
        self.executable(
            &path,
            &format!("for f in \"$@\"; do echo \"$f\" >>'{}'; {script}; done", log.display()),
        );
        self.set_env("GIT_EDITOR", &path.display().to_string());
    }

    /// Base names of the files that were opened in the editor.
    pub fn edited(&self) -> Vec<String> {
        let log = fs::read_to_string(self.root().join("edited")).unwrap_or_default();
        log.lines().map(|l| l.rsplit('/').next().unwrap().to_owned()).collect()
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.repo().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        self.give(&path);
    }

    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// A file that the project's checks made in their own folder, which lasts below `target/`.
    #[track_caller]
    pub fn read_of_checks(&self, path: &str) -> String {
        let find =
            "find \"$0/home/.cache\" \"$0/repo/.git/cowork\" -path \"*/tree/$1\" 2>/dev/null";
        let mut command = self.command("sh");
        let found = command.args(["-c", find]).arg(self.root()).arg(path).output().unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        let file = found.lines().next().unwrap_or_else(|| panic!("no check made {path}"));
        fs::read_to_string(file).unwrap()
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// An artifact of session `todo` in the working tree.
    #[track_caller]
    pub fn artifact(&self, name: &str) -> String {
        self.read(&format!(".cowork/sessions/todo/{name}"))
    }

    pub fn commit_all(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Writes one file and commits it.
    pub fn commit_file(&self, path: &str, text: &str, message: &str) {
        self.write(path, text);
        self.git(&["add", "--", path]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// A program with the sandbox's environment only.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let root = self.root();
        let ours = Path::new(env!("CARGO_BIN_EXE_git-cowork")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(
            [root.join("bin"), ours].into_iter().chain(std::env::split_paths(&path)),
        )
        .unwrap();
        let home = root.join("home");
        let own_path = self.env.iter().rfind(|(name, _)| name == "PATH");
        let own_path = own_path.map_or(path.as_os_str(), |(_, path)| OsStr::new(path));
        let mut command = match self.user {
            None => found(program.as_ref(), own_path),
            // That user may not enter the folder.
            Some(_) => Command::new(program),
        };
        command
            .env_clear()
            .current_dir(&self.cwd)
            .env("PATH", &path)
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", &root)
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("TERM", "dumb")
            .env("COLUMNS", "100")
            .env("COWORK_LLM_BASE_URL", self.server.base_url())
            .env("COWORK_LLM_API_KEY", "test-key")
            .env("COWORK_LLM_MODEL", "scripted")
            .env("COWORK_TEST_RETRY_MS", "1")
            .env("GIT_PAGER", "cat")
            .envs(FORMAT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        #[cfg(unix)]
        if let Some(user) = self.user {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(user);
        }
        #[cfg(unix)]
        {
            obey_hangups();
            if self.leaves_open {
                use std::os::unix::process::CommandExt as _;
                // SAFETY: between fork and exec, system calls that neither allocate nor lock.
                unsafe {
                    command.pre_exec(|| {
                        libc::dup2(libc::open(c"/".as_ptr(), libc::O_RDONLY), 9);
                        Ok(())
                    });
                }
            }
        }
        // Only tests that ask for it get less than the best confinement.
        if confinement() != Level::Namespaces {
            command.env("COWORK_TEST_SANDBOX", "none");
        }
        for (name, value) in &self.env {
            if value.is_empty() {
                command.env_remove(name);
            } else {
                command.env(name, value);
            }
        }
        command
    }

    /// `git-cowork` with these arguments.
    pub fn cowork(&self, args: &[&str]) -> Outcome {
        self.cowork_in(args, "")
    }

    /// `git-cowork` with these arguments and this standard input.
    pub fn cowork_in(&self, args: &[&str], input: &str) -> Outcome {
        run(self.cowork_command(args), input, |_| ())
    }

    /// The command for it, for tests that start it themselves.
    pub fn cowork_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(self.program());
        command.args(args);
        command
    }

    /// Runs a command, and passes its process id to a function as soon as it is started.
    pub fn cowork_watched(&self, args: &[&str], started: impl FnOnce(u32)) -> Outcome {
        let mut command = self.command(self.program());
        command.args(args);
        run(command, "", started)
    }

    /// `git cowork …`, found by git on `PATH`.
    pub fn git_cowork(&self, args: &[&str]) -> Outcome {
        let mut command = self.command("git");
        command.arg("cowork").args(args);
        run(command, "", |_| ())
    }

    /// `sh` with this line.
    pub fn shell(&self, line: &str) -> Outcome {
        let mut command = self.command("sh");
        command.args(["-c", line]);
        run(command, "", |_| ())
    }

    /// A new session `todo`, run to its end with `--review auto`.
    #[track_caller]
    pub fn auto(&self, more: &[&str]) -> Outcome {
        let new = ["new", "-n", "todo", "a todo list for the terminal", "--review", "auto"];
        self.cowork(&[&new, more].concat())
    }

    /// A new session `todo`, run with `--review wait`.
    pub fn wait(&self, more: &[&str]) -> Outcome {
        let new = ["new", "-n", "todo", "a todo list for the terminal", "--review", "wait"];
        self.cowork(&[&new, more].concat())
    }

    /// Runs git, which must succeed; returns its output without the final newline.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let outcome = self.git_outcome(args).exits(0);
        outcome.stdout.trim_end_matches('\n').to_owned()
    }

    pub fn git_outcome(&self, args: &[&str]) -> Outcome {
        let mut command = self.command("git");
        command.args(args);
        run(command, "", |_| ())
    }

    /// True if git fails.
    pub fn git_fails(&self, args: &[&str]) -> bool {
        self.git_outcome(args).code != 0
    }
}
