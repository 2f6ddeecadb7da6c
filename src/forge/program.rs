//! The user's own `gh` and `glab`: checks whether they are installed and signed in, and opens a
//! pull request with them. They get the user's environment, which may contain their credentials,
//! but no terminal, pager, browser or editor for prompts.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::address::{Address, Forge, encoded};
use crate::error::Error;

/// Prefixes of variables that may contain keys of model servers; these variables are not passed on.
const OURS: [&str; 2] = ["COWORK_", "OPENAI_"];

/// Maximum length of an error message shown, in characters.
const MOST_SAID: usize = 1_000;

/// `gh` or `glab`, for one host.
#[derive(Clone, Debug)]
pub struct Program {
    forge: Forge,
    host: String,
    dir: PathBuf,
    env: Vec<(String, String)>,
}

/// A pull request to open.
#[derive(Clone, Debug)]
pub struct PullRequest<'a> {
    /// The repository to merge into.
    pub into: &'a Address,
    /// The branch to merge into.
    pub base: &'a str,
    /// The branch to merge.
    pub head: &'a str,
    /// The owner of the fork that contains `head`; `None` if `head` is in the repository `into`.
    pub head_owner: Option<&'a str>,
    /// Its title.
    pub title: &'a str,
    /// Its description, in Markdown.
    pub text: &'a str,
    /// True to open it as a draft.
    pub draft: bool,
}

/// An opened pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPullRequest {
    /// Its web page.
    pub url: String,
    /// It existed before and was not changed.
    pub existed: bool,
    /// A draft was requested, but the forge does not support drafts.
    pub plain: bool,
}

/// State of a forge's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramState {
    /// The program is not installed.
    Missing,
    /// It is installed, but not signed in to the host.
    SignedOut,
    /// It is installed and signed in.
    Yes,
}

struct ProgramOutput {
    ok: bool,
    stdout: String,
    stderr: String,
}

impl ProgramOutput {
    /// Both streams: messages may be on either.
    fn all(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }
}

impl Program {
    /// The program for this repository, if it is installed and signed in to its host. `dir` is the
    /// working tree; keys of model servers are removed from the environment.
    pub fn find<'e>(
        address: &Address,
        dir: &Path,
        env: impl Iterator<Item = (&'e String, &'e String)>,
    ) -> Option<Self> {
        Self::candidates(address, dir, env).into_iter().find(Self::is_signed_in)
    }

    /// The programs for a repository's forge, each with its state; contacts the forge.
    pub fn ready<'e>(
        address: &Address,
        dir: &Path,
        env: impl Iterator<Item = (&'e String, &'e String)>,
    ) -> Vec<(&'static str, ProgramState)> {
        let ready = |program: &Self| match program.run(&["--version"], None) {
            Err(_) => ProgramState::Missing,
            Ok(_) if program.is_signed_in() => ProgramState::Yes,
            Ok(_) => ProgramState::SignedOut,
        };
        let candidates = Self::candidates(address, dir, env);
        candidates.iter().map(|program| (program.name(), ready(program))).collect()
    }

    fn candidates<'e>(
        address: &Address,
        dir: &Path,
        env: impl Iterator<Item = (&'e String, &'e String)>,
    ) -> Vec<Self> {
        // Do not pass on keys of model servers.
        let may_pass = |key: &str| !OURS.iter().any(|prefix| key.starts_with(prefix));
        let env: Vec<(String, String)> = env
            .filter(|(key, _)| may_pass(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let candidates = match address.forge {
            Forge::GitHub => &[Forge::GitHub][..],
            Forge::GitLab => &[Forge::GitLab],
            // A self-hosted server: try both programs, since one may be signed in to it.
            Forge::Unknown => &[Forge::GitHub, Forge::GitLab],
            Forge::Bitbucket | Forge::Gitea | Forge::Sourcehut => &[],
        };
        let program = |forge: &Forge| Self {
            forge: *forge,
            host: address.host.clone(),
            dir: dir.to_owned(),
            env: env.clone(),
        };
        candidates.iter().map(program).collect()
    }

    /// `gh` or `glab`.
    pub const fn name(&self) -> &'static str {
        match self.forge {
            Forge::GitLab => "glab",
            _ => "gh",
        }
    }

    /// Opens the pull request, or finds an open one for the same branch.
    ///
    /// # Errors
    /// The forge refuses (exit 5 with its message).
    pub fn open(&self, request: &PullRequest<'_>) -> Result<OpenPullRequest> {
        let answer = self.create(request, request.draft)?;
        if let Some(url) = self.url_of(&answer, request)? {
            return Ok(OpenPullRequest { url, existed: !answer.ok, plain: false });
        }
        let message = answer.all().to_lowercase();
        if request.draft && (message.contains("draft") || message.contains("422")) {
            let answer = self.create(request, false)?;
            if let Some(url) = self.url_of(&answer, request)? {
                return Ok(OpenPullRequest { url, existed: !answer.ok, plain: true });
            }
            return Err(self.refusal(&answer).into());
        }
        Err(self.refusal(&answer).into())
    }

    fn is_signed_in(&self) -> bool {
        let status = ["auth", "status", "--hostname", &self.host];
        self.run(&status, None).is_ok_and(|answer| answer.ok)
    }

    fn create(&self, request: &PullRequest<'_>, draft: bool) -> Result<ProgramOutput> {
        if self.forge == Forge::GitLab {
            return self.create_with_glab(request, draft);
        }
        // A report may be too long for a command line.
        let mut body = tempfile::NamedTempFile::new().context("writing the text of the request")?;
        body.write_all(request.text.as_bytes()).context("writing the text of the request")?;
        let path = body.path().display().to_string();
        let repository = format!("{}/{}", self.host, request.into.path);
        let head = match request.head_owner {
            Some(owner) => format!("{owner}:{}", request.head),
            None => request.head.to_owned(),
        };
        let mut args = vec!["pr", "create", "--repo", &repository, "--base", request.base];
        args.extend(["--head", &head, "--title", request.title, "--body-file", &path]);
        if draft {
            args.push("--draft");
        }
        self.run(&args, None)
    }

    /// `glab mr create` accepts a description only as an argument; its `api` command reads a file.
    fn create_with_glab(&self, request: &PullRequest<'_>, draft: bool) -> Result<ProgramOutput> {
        let title =
            if draft { format!("Draft: {}", request.title) } else { request.title.to_owned() };
        let fields = json!({
            "source_branch": request.head, "target_branch": request.base,
            "title": title, "description": request.text,
        });
        let endpoint = requests_of(request.into);
        let header = "Content-Type: application/json";
        let args = ["api", "--method", "POST", &endpoint, "--header", header, "--input", "-"];
        self.run(&args, Some(fields.to_string()))
    }

    /// The page of the new request, or of an existing one that prevents it.
    fn url_of(&self, answer: &ProgramOutput, request: &PullRequest<'_>) -> Result<Option<String>> {
        if self.forge != Forge::GitLab {
            let exists = answer.stderr.contains("already exists");
            let text = if answer.ok { answer.stdout.clone() } else { answer.all() };
            return Ok(if answer.ok || exists { last_url(&text) } else { None });
        }
        let response: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
        if answer.ok {
            return Ok(response["web_url"].as_str().map(str::to_owned));
        }
        if !answer.all().contains("already exists") {
            return Ok(None);
        }
        let branch = encoded(request.head, "");
        let query = format!("{}?state=opened&source_branch={branch}", requests_of(request.into));
        let output = self.run(&["api", &query], None)?;
        let requests: Value = serde_json::from_str(&output.stdout).unwrap_or_default();
        Ok(requests[0]["web_url"].as_str().map(str::to_owned))
    }

    fn refusal(&self, answer: &ProgramOutput) -> Error {
        let all = answer.all();
        let lines: Vec<&str> = all.lines().filter(|line| !line.trim().is_empty()).collect();
        let message: String = lines.join("\n").chars().take(MOST_SAID).collect();
        Error::repository(format!("{} could not open the pull request:\n{message}", self.name()))
    }

    fn run(&self, args: &[&str], input: Option<String>) -> Result<ProgramOutput> {
        let mut command = Command::new(self.name());
        command.args(args).current_dir(&self.dir).env_clear();
        command.envs(self.env.iter().map(|(key, value)| (key, value)));
        for (key, value) in [
            ("GH_PROMPT_DISABLED", "1"),
            ("GH_NO_UPDATE_NOTIFIER", "1"),
            ("NO_PROMPT", "1"),
            ("GLAB_CHECK_UPDATE", "false"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("NO_COLOR", "1"),
            ("GLAMOUR_STYLE", "notty"),
            ("PAGER", "cat"),
            ("GH_PAGER", "cat"),
            ("GLAB_PAGER", "cat"),
            ("BROWSER", "true"),
            ("EDITOR", "false"),
            ("VISUAL", "false"),
            ("GH_EDITOR", "false"),
        ] {
            command.env(key, value);
        }
        for key in ["GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "DEBUG", "GIT_DIR", "GIT_WORK_TREE"] {
            command.env_remove(key);
        }
        if self.forge == Forge::GitLab {
            command.env("GITLAB_HOST", &self.host);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut file = tempfile::tempfile().context("preparing a program's input")?;
        file.write_all(input.unwrap_or_default().as_bytes())
            .context("preparing a program's input")?;
        std::io::Seek::rewind(&mut file).context("preparing a program's input")?;
        command.stdin(file);
        tracing::trace!(?args, "{}", self.name());
        let output = command.output().with_context(|| format!("starting {}", self.name()))?;
        Ok(ProgramOutput {
            ok: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

fn requests_of(into: &Address) -> String {
    format!("projects/{}/merge_requests", encoded(&into.path, ""))
}

/// The last URL in a text.
fn last_url(text: &str) -> Option<String> {
    let is_url = |word: &&str| word.starts_with("https://") || word.starts_with("http://");
    text.split_whitespace().rfind(is_url).map(|url| url.trim_end_matches(['.', ',']).to_owned())
}
