//! Agent programs as models: the user's own Claude Code, Codex, Gemini CLI or OpenCode, or any
//! command.
//!
//! A turn is one run of the program: the prompt goes to its standard input, and the last text that
//! it prints is the answer. The program gets none of git-cowork's tools. As critic and challenger
//! it runs in an empty folder (`room`), with as few of its own tools as possible. As actor it works
//! on files in the folder that the request names ([`Workplace`]). In both cases it is confined like
//! commands, if they are confined.

mod conversation;
mod events;
mod failure;
mod inspect;
mod output;
mod presets;
mod process;
mod room;
pub(super) mod workplace;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::growing::Growing;
use super::meter::{Bill, Meter, Notice};
use super::options::BuildOptions;
use super::timeouts::Timeouts;
use super::{BoxFuture, Message, Model, ModelError, OnText, Reply, Request, Turn, dialect};
use crate::config::ModelConfig;
use crate::event::Usage;
use crate::secret::{PLAIN_VARIABLES, Secrets};
use conversation::ResumableConversation;
use output::AgentOutput;
use presets::Preset;
use process::{Launch, ProgramEnd};
use room::EmptyFolder;

pub use inspect::{AgentInspection, inspect};
pub use presets::{programs, tells_cost, tells_tokens};
use workplace::OwnStore;
pub use workplace::{AgentNeeds, Confines, OpenAccess, Reach, ServerAccess, Workplace};

/// Environment variables that every program receives, besides those that its row and the user name.
const VARIABLES: [&str; 14] = [
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];
/// Prefix of the environment variables with git-cowork's own settings, API keys included. Variables
/// with this prefix are never passed on to a program.
const OURS: &str = "COWORK_";

/// An agent program.
pub(super) struct AgentProgram {
    row: &'static Preset,
    /// The program and its fixed arguments.
    words: Vec<String>,
    /// `words` for a confined run.
    confined: Vec<String>,
    /// `words` for a run that works on files.
    writes: Vec<String>,
    /// The configured model, else the program's name.
    name: String,
    env: Vec<(String, String)>,
    /// Values passed to the program that must not be shown.
    secrets: Secrets,
    limit: Timeouts,
    meter: Rc<Meter>,
    notice: Option<Notice>,
    growing: Growing,
    waiting: Option<Notice>,
    /// True if the program may be used although its token usage is unknown.
    uncounted: bool,
    /// The program's own files and folders.
    stores: Vec<OwnStore>,
    reach: Reach,
    /// Names of the variables that the user passes to it.
    lent: Vec<String>,
    /// The folder in which the program runs if it only answers.
    room: EmptyFolder,
}

impl AgentProgram {
    /// Creates the program that a configuration describes. Starts nothing yet.
    ///
    /// # Errors
    /// The folder to run it in cannot be created.
    pub(super) fn new(config: &ModelConfig, options: BuildOptions) -> Result<Self, ModelError> {
        let row = presets::named(&config.agent);
        let room = EmptyFolder::new(options.confines)?;
        let lends = |name: &str| config.env.iter().any(|entry| entry == name);
        let words = |preset_words: &[&str]| -> Vec<String> {
            let mut words: Vec<String> = match config.agent.is_empty() {
                true => config.command.clone(),
                false => preset_words.iter().map(|word| (*word).to_owned()).collect(),
            };
            if let Some((key, flag)) = row.with_key
                && lends(key)
            {
                words.push(flag.to_owned());
            }
            if !config.model.is_empty() && !row.model.is_empty() {
                words.extend([row.model.to_owned(), config.model.clone()]);
            }
            words
        };
        let confined_words =
            words(if row.confined.is_empty() { row.command } else { row.confined });
        let (words, writes) = (words(row.command), words(row.writes));
        let stores = row.own_stores(&options.env);
        let sees = |name: &str| {
            PLAIN_VARIABLES.contains(&name)
                || VARIABLES.contains(&name)
                || name.starts_with("LC_")
                || row.variables.contains(&name)
                || lends(name)
        };
        let env = options.env.iter();
        let lent = env.clone().filter(|(name, _)| lends(name)).map(|(_, value)| value.clone());
        let secrets = Secrets::new(lent);
        let mut env: Vec<(String, String)> = env
            .filter(|(name, _)| sees(name) && !name.starts_with(OURS))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let set = [("TERM", "dumb"), ("NO_COLOR", "1")];
        let set = set.iter().chain(row.set);
        env.extend(set.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let program_name = words.first().map(|word| file_name(word)).unwrap_or_default();
        let name = match (config.model.is_empty(), config.agent.is_empty()) {
            (false, _) => config.model.clone(),
            (true, false) => config.agent.clone(),
            (true, true) => program_name,
        };
        let limit = Timeouts::from_seconds(config.timeout_s, config.answer_s);
        Ok(Self {
            row,
            words,
            confined: confined_words,
            writes,
            name,
            env,
            secrets,
            limit: options.timeouts.unwrap_or(limit),
            meter: options.meter,
            notice: options.notice,
            growing: Growing::new(options.watch),
            waiting: options.waiting,
            uncounted: options.uncounted,
            stores,
            reach: row.reach(options.reach),
            lent: config.env.clone(),
            room,
        })
    }

    /// The name to show to the user.
    fn title(&self) -> String {
        match self.row.title {
            "" => file_name(self.program()),
            title => title.to_owned(),
        }
    }

    fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// The program's file, if there is one.
    fn find(&self) -> Option<PathBuf> {
        let program = Path::new(self.program());
        if program.components().count() > 1 {
            return Some(program.to_owned()).filter(|path| is_executable(path));
        }
        let path = self.env.iter().find(|(name, _)| name == "PATH")?;
        std::env::split_paths(&path.1).map(|dir| dir.join(program)).find(|path| is_executable(path))
    }

    async fn ask(&self, request: &Request, on_text: &dyn Fn(&str)) -> Result<Reply, ModelError> {
        let Some(program) = self.find() else { return Err(failure::missing(self)) };
        let conversation = conversation::resumable(self.row, &self.name, &request.messages);
        let conversation = conversation.filter(|_| !self.row.resume.is_empty());
        let went_on = request.messages.iter().any(|m| matches!(m, Message::Assistant { .. }));
        if went_on && conversation.is_none() && !self.row.resume.is_empty() {
            let title = self.title();
            self.notice(&format!(
                "Failed to capture session ID of {title}; sending the whole conversation again"
            ));
        }
        let answer = self.run(&program, request, conversation.as_ref(), on_text).await;
        match (answer, &request.workplace, conversation) {
            // A lost conversation does not fail the draft: the work so far is in the files.
            (Err(error), Some(_), Some(conversation))
                if failure::is_lost(&error, &conversation.id) =>
            {
                self.notice(&format!("{error}; sending the whole conversation again"));
                self.run(&program, request, None, on_text).await
            }
            (answer, _, _) => answer,
        }
    }

    /// Reports the servers whose address the program receives but which it may not reach. A request
    /// to a server on this machine would otherwise go to the program's own network, where nothing
    /// listens.
    fn tell_unreachable(&self) {
        let lent = self.env.iter().filter(|(name, _)| self.lent.contains(name));
        for (name, command) in lent.filter_map(|(name, url)| Some((name, self.reach.lacks(url)?))) {
            let title = self.title();
            self.notice(&format!(
                "{title} is not allowed to connect to the server in {name}. To allow it: {command}"
            ));
        }
    }

    fn notice(&self, text: &str) {
        if let Some(notice) = &self.notice {
            notice(text);
        }
    }

    async fn run(
        &self,
        program: &Path,
        request: &Request,
        conversation: Option<&ResumableConversation>,
        on_text: &dyn Fn(&str),
    ) -> Result<Reply, ModelError> {
        let input = conversation::input_text(&request.messages, conversation.is_some());
        let (works, needs) = (request.workplace.is_some(), self.needs());
        let place = match &request.workplace {
            Some(place) => place,
            None => self.room.place(&needs)?,
        };
        if let (Some(tell), Some(how)) = (&self.waiting, self.room.describe_once(place, works)) {
            tell(&format!("running {}: {how}", self.title()));
            if place.way_out.is_some() {
                self.tell_unreachable();
            }
        }
        let words = match (works, place.before.is_empty()) {
            (true, _) => &self.writes,
            (false, true) => &self.words,
            (false, false) => &self.confined,
        };
        let mut words: Vec<OsString> = words.iter().skip(1).map(OsString::from).collect();
        if let Some(conversation) = conversation {
            words.extend(self.row.resume.iter().map(OsString::from));
            words.push(OsString::from(&conversation.id));
        }
        words.extend(self.row.last.iter().map(OsString::from));
        let guess = dialect::estimate(request, 0);
        self.meter.admit(&request.position, 1, self.name(), guess)?;
        let (limit, is_budget) = self.limit.of_answer(self.meter.time_left());
        self.growing.asks(&self.name, &self.title(), limit.unwrap_or_default());
        let launch = Launch { program, words: &words, place, input: &input };
        let way_out = self.room.way_out(&self.title(), place, self.notice.as_ref())?;
        let mut run = process::run(&launch, self.row, limit, way_out).await;
        self.growing.ends();
        let total = run.output.usage.unwrap_or_default();
        if let Some(conversation) = conversation.filter(|_| self.row.adds_up) {
            run.output.usage = run.output.usage.map(|usage| without(usage, conversation.usage));
        }
        self.meter.count(self.name(), &self.bill(&run.output));
        if matches!(run.ending, ProgramEnd::TimedOut(_))
            && is_budget
            && let Some(refusal) = self.meter.refusal()
        {
            return Err(refusal);
        }
        let (conversation_id, apart) =
            (conversation.map(|conversation| conversation.id.as_str()), place.way_out.is_some());
        if let Some(failure) = failure::from_run(self, &run, conversation_id, apart) {
            return Err(failure);
        }
        let output = run.output;
        on_text(&output.text);
        Ok(Reply {
            finish_reason: Some("stop".to_owned()),
            usage: output.usage.unwrap_or_default(),
            requests: 1,
            model: self.answered(&output),
            opaque: conversation::to_store(self.row, &self.name, output.session.as_deref(), total),
            content: output.text,
            ..Reply::default()
        })
    }

    fn needs(&self) -> AgentNeeds {
        let program = self.find().and_then(|program| program.canonicalize().ok());
        let program = program.map(|program| workplace::package_path(&program));
        let (env, stores, reach) = (self.env.clone(), self.stores.clone(), self.reach.clone());
        AgentNeeds { title: self.title(), env, stores, program, reach }
    }

    /// The usage of the run as the program reports it; without a report it is unknown.
    fn bill(&self, output: &AgentOutput) -> Bill {
        Bill {
            model: self.answered(output),
            usage: output.usage,
            usd: output.usd,
            free: self.uncounted,
            uncounted: output.is_whole && output.usage.is_none(),
            ..Bill::default()
        }
    }

    fn answered(&self, output: &AgentOutput) -> String {
        let reported_name = output.model.as_deref().map(|name| failure::line(name, &self.secrets));
        let usable = |name: &String| !name.is_empty() && name.len() < 100 && name != "auto";
        reported_name.filter(usable).unwrap_or_else(|| self.name.clone())
    }
}

impl Model for AgentProgram {
    fn name(&self) -> &str {
        &self.name
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(self.ask(request, on_text))
    }

    /// Checks that the program exists and can be confined as configured. It is not started: that
    /// may take seconds.
    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        let result = match self.find() {
            Some(_) => self.room.place(&self.needs()).map(drop),
            None => Err(failure::missing(self)),
        };
        Box::pin(async { result })
    }

    fn agent(&self) -> Option<AgentNeeds> {
        Some(self.needs())
    }
}

fn file_name(program: &str) -> String {
    let name = Path::new(program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// The usage in `all` beyond `before`.
fn without(all: Usage, before: Usage) -> Usage {
    usage(
        all.input.saturating_sub(before.input),
        all.output.saturating_sub(before.output),
        all.cached.saturating_sub(before.cached),
    )
}

/// Formats a limit for messages: `30 s`.
fn seconds(limit: Duration) -> String {
    format!("{:.0} s", limit.as_secs_f64())
}

/// Tokens that a program reported; `input` includes those from a cache.
fn usage(input: u64, output: u64, cached: u64) -> Usage {
    Usage { input, output, cached }
}
