//! The context of a command: environment, terminal, repository and configuration.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write};
use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Context as _;

use crate::ascii::{self, Spelled};
use crate::cli::args::{Color, Global};
use crate::cli::demo_recording;
use crate::cli::runner;
use crate::cli::terminal::said::Said;
use crate::cli::terminal::ui::Ui;
use crate::config::{
    self, Config, ConfigSources, Flags, Loaded, ModelConfig, PROJECT_FILE, Trust, TrustRecords,
};
use crate::event::{Event, Sink};
use crate::gate;
use crate::git::{self, Git};
use crate::palette;
use crate::secret::{Secrets, of_git_config};
use crate::session::{RefNames, SessionName};
use crate::ui::{
    JsonLines, Knows, Look, Terminal, Verbosity, escaped_json, markdown, painted, stdout_columns,
};
use crate::wrap::stderr_columns;

/// Environment, terminal, repository and configuration of a command.
pub(crate) struct Context {
    /// Global options.
    pub global: Global,
    /// The environment, as far as it is Unicode.
    pub env: BTreeMap<String, String>,
    /// Shows events to the user.
    pub ui: Rc<Ui>,
    /// A person at a terminal can answer questions.
    attended: bool,
    /// The variable of a CI runner, under which nobody is asked anything; see [`runner`].
    runner: Option<&'static str>,
    /// Colours on stderr.
    pub color: bool,
    /// The directory in which the command was started.
    pub cwd: PathBuf,
    /// A recording built into the program, which replaces the model.
    pub embedded: Option<(&'static str, &'static str)>,
    /// What the command does with the repository.
    pub uses: Uses,
    /// The warnings about commands that this process has printed, and the questions it has asked.
    pub said: Rc<Said>,
    git: OnceCell<Git>,
    loaded: OnceCell<Loaded>,
}

/// What a command does with a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uses {
    /// It only reads history, so that it also works in a bare repository.
    History,
    /// It reads or writes the working tree or references.
    Files,
    /// It may make commits, and checks first that commits are possible.
    Commits,
}

impl Context {
    /// Prints a note.
    pub(crate) fn note(&self, text: impl Into<String>) {
        self.ui.emit(Event::Note { text: text.into() });
    }

    /// Prints a warning.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.ui.emit(Event::Warning { text: text.into() });
    }

    /// Returns the context of the demo: in repository `git`, with the default configuration and
    /// with `recording` as the model. If `recording` is `None`, the recording is read from the
    /// repository's state directory.
    pub(crate) fn demo(
        global: &Global,
        git: Git,
        recording: Option<(&'static str, &'static str)>,
    ) -> Self {
        let mut context = Self::new(global);
        git.top().clone_into(&mut context.cwd);
        context.embedded = recording;
        // Both cells are new and empty, so `set` succeeds.
        let _ = context.loaded.set(Loaded::default());
        let _ = context.git.set(git);
        context
    }

    /// Reads the environment and the terminal of this process.
    pub(crate) fn new(global: &Global) -> Self {
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        ascii::follow(&env);
        let pager = env.contains_key("GIT_PAGER_IN_USE");
        let stderr = std::io::stderr().is_terminal();
        let attended =
            gate::attended(std::io::stdin().is_terminal(), stderr, pager) && !global.no_interactive;
        let runner = runner::variable(&env);
        let shows_live = stderr && runner.is_none();
        let dumb = env.get("TERM").is_none_or(|term| term == "dumb");
        let color = match global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => stderr && !dumb && env.get("NO_COLOR").is_none_or(String::is_empty),
        };
        let verbosity = match (global.quiet, global.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let ui = if global.json {
            let (json, text) = (runner::json_without_orders, runner::without_orders);
            let (stdout, stderr): (Box<dyn Write + Send>, Box<dyn Write + Send>) = match runner {
                Some(_) => (
                    Box::new(runner::Harmless::new(std::io::stdout(), json)),
                    Box::new(runner::Harmless::new(std::io::stderr(), text)),
                ),
                None => (Box::new(std::io::stdout()), Box::new(std::io::stderr())),
            };
            Ui::Json(JsonLines::new(
                stdout,
                stderr,
                global.session.as_ref().map_or("", SessionName::as_str),
            ))
        } else {
            let width = stderr_columns();
            Ui::Terminal(Box::new(Terminal::new(
                match (runner, stderr) {
                    (Some(_), _) => {
                        Box::new(runner::Harmless::new(std::io::stderr(), runner::without_orders))
                    }
                    (None, true) => Box::new(Spelled(std::io::stderr())),
                    (None, false) => Box::new(std::io::stderr()),
                },
                Look {
                    verbosity,
                    stream: global.stream || (shows_live && !global.no_stream),
                    color,
                    live: shows_live && !dumb && !pager,
                    width,
                    knows: match shows_live && !dumb && !pager {
                        true => Knows::of(&env),
                        false => Knows::default(),
                    },
                },
            )))
        };
        Self {
            global: global.clone(),
            env,
            ui: Rc::new(ui),
            attended,
            runner,
            color,
            cwd: std::env::current_dir().unwrap_or_default(),
            embedded: None,
            uses: Uses::Files,
            said: Rc::default(),
            git: OnceCell::new(),
            loaded: OnceCell::new(),
        }
    }

    /// The same command in another working tree.
    pub(crate) fn in_tree(&self, top: PathBuf) -> Self {
        Self {
            global: self.global.clone(),
            env: self.env.clone(),
            ui: Rc::clone(&self.ui),
            cwd: top,
            said: Rc::clone(&self.said),
            git: OnceCell::new(),
            loaded: OnceCell::new(),
            ..*self
        }
    }

    /// The repository that contains the current directory.
    pub(crate) fn git(&self) -> anyhow::Result<&Git> {
        if let Some(git) = self.git.get() {
            return Ok(git);
        }
        let git = match self.uses {
            Uses::History => Git::discover_to_read(&self.cwd)?,
            Uses::Files => Git::discover(&self.cwd)?,
            Uses::Commits => Git::discover(&self.cwd)?.for_commits(),
        };
        Ok(self.git.get_or_init(|| git))
    }

    /// The resolved configuration; its warnings are printed once.
    pub(crate) fn loaded(&self) -> anyhow::Result<&Loaded> {
        if let Some(loaded) = self.loaded.get() {
            return Ok(loaded);
        }
        let git = self.git()?;
        let loaded = match demo_recording::kept(git) {
            Some(_) => Loaded::default(),
            None => self.load(git)?,
        };
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// Like [`Self::loaded`], but skips invalid settings and prints no warnings: for commands that
    /// report both themselves.
    pub(crate) fn loaded_tolerantly(&self) -> anyhow::Result<&Loaded> {
        let loaded = config::load(&self.tolerant_sources(Some(self.git()?))?)?;
        Ok(self.loaded.get_or_init(|| loaded))
    }

    /// Shortcut for the configuration alone.
    pub(crate) fn config(&self) -> anyhow::Result<&Config> {
        Ok(&self.loaded()?.config)
    }

    /// Reads the configuration and prints its warnings.
    fn load(&self, git: &Git) -> anyhow::Result<Loaded> {
        let loaded = config::load(&self.sources(Some(git))?)?;
        for text in &loaded.warnings {
            self.ui.emit(Event::Warning { text: text.clone() });
        }
        Ok(loaded)
    }

    /// Reads the configuration with `project` as the text of the project's file; prints no
    /// warnings.
    pub(crate) fn load_with(
        &self,
        git: &Git,
        project: String,
        trust: Trust,
    ) -> anyhow::Result<Loaded> {
        config::load(&self.sources_with(Some(git), Some(project), trust)?)
    }

    /// Reads the configuration again, after a setting was written; prints no warnings.
    pub(crate) fn load_again(&self, git: &Git) -> anyhow::Result<Loaded> {
        config::load(&self.sources(Some(git))?)
    }

    /// The sources of the configuration, with or without a repository.
    pub(crate) fn sources(&self, git: Option<&Git>) -> anyhow::Result<ConfigSources> {
        let project = git.map(|git| config::project_file(git.top())).transpose()?.flatten();
        let trust = match (git, &project) {
            (Some(git), Some(text)) => TrustRecords::for_project(&git.state_dir()).about(text)?,
            _ => Trust::None,
        };
        self.sources_with(git, project, trust)
    }

    /// Like [`Self::sources`], but invalid settings are skipped.
    pub(crate) fn tolerant_sources(&self, git: Option<&Git>) -> anyhow::Result<ConfigSources> {
        Ok(ConfigSources { tolerant: true, ..self.sources(git)? })
    }

    fn sources_with(
        &self,
        git: Option<&Git>,
        project: Option<String>,
        trust: Trust,
    ) -> anyhow::Result<ConfigSources> {
        let git_values = match git {
            Some(git) => git::settings::all(git)?,
            None => git::settings::outside(&self.cwd, &["cowork."])?,
        };
        Ok(ConfigSources {
            system: Some(config::system_file()),
            user: config::user_file(&self.env),
            project: project.map(|text| (PROJECT_FILE.into(), text)),
            git_values,
            env: self.env.clone(),
            flags: Flags {
                model: self.global.model.clone(),
                base_url: self.global.base_url.clone(),
            },
            trust,
            tolerant: false,
        })
    }

    /// The user's secrets: the keys of all models, and those of other programs in the environment
    /// and in git's configuration.
    pub(crate) fn secrets(&self) -> anyhow::Result<Secrets> {
        const NAMES: [&str; 4] = ["_API_KEY", "_TOKEN", "_SECRET", "_SECRET_ACCESS_KEY"];
        /// Shorter values are not treated as secrets: they are not real tokens but placeholders
        /// that people set to try something out.
        const SHORTEST: usize = 16;
        let config = self.config()?;
        let models = std::iter::once(&config.llm).chain(config.models.values());
        let configured = models.flat_map(ModelConfig::secrets);
        let ours = |name: &str| {
            name == "COWORK_LLM_API_KEY" || config::HOSTED_APIS.iter().any(|api| api.key == name)
        };
        let around = self.env.iter().filter(|(name, value)| {
            let other = NAMES.iter().any(|end| name.ends_with(end)) && value.len() >= SHORTEST;
            let path = value.starts_with('/') || value.contains("://");
            ours(name) || other && !path && !value.contains([' ', '$'])
        });
        // The repository's own configuration is included because commands of a model can read it.
        let settings = match self.git() {
            Ok(git) => git::settings::beginning(git, &[""])?,
            Err(_) => Vec::new(),
        };
        let settings = settings.iter().flat_map(|(name, value)| of_git_config(name, value));
        let around = around.map(|(_, value)| value.clone());
        Ok(Secrets::new(configured.chain(around).chain(settings)))
    }

    /// Ref names under the configured prefix.
    pub(crate) fn refs(&self) -> anyhow::Result<RefNames> {
        Ok(RefNames::new(&self.config()?.project.branch_prefix))
    }

    /// True if a person at a terminal can answer questions. Under a CI runner nobody can; a person
    /// whose terminal says that it is one is told so, once.
    pub(crate) fn attended(&self) -> bool {
        if let (true, Some(name)) = (self.attended, self.runner)
            && self.said.is_new("runner")
        {
            let text = format!("{name} is set, so nobody is asked; to be asked, unset it");
            self.ui.emit(Event::Note { text });
        }
        self.attended && self.runner.is_none()
    }

    /// How drafts are reviewed in this run.
    pub(crate) fn mode(&self) -> anyhow::Result<gate::Mode> {
        gate::Mode::resolve(self.global.review, self.attended())
    }

    /// The folder of a user's own prompts.
    pub(crate) fn prompt_folder(&self) -> Option<PathBuf> {
        let file = config::user_file(&self.env)?;
        file.parent().map(|folder| folder.join("prompts"))
    }

    /// True if data on standard output is coloured. The option decides first, then `NO_COLOR`, then
    /// git's `color.ui`.
    pub(crate) fn color_stdout(&self) -> bool {
        match self.global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                self.env.get("NO_COLOR").is_none_or(String::is_empty)
                    && self.git().is_ok_and(|git| {
                        git::settings::color(git, std::io::stdout().is_terminal()).unwrap_or(false)
                    })
            }
        }
    }

    /// The width of the terminal in columns; `None` if standard output is not a terminal.
    pub(crate) fn width(&self) -> Option<usize> {
        std::io::stdout().is_terminal().then(stdout_columns)
    }

    /// Reads the user's colours from git's configuration if any are shown, and warns about invalid
    /// ones. An unreadable configuration is reported by the code that needs it.
    pub(crate) fn choose_colors(&self) {
        let shows = match self.global.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => self.color || std::io::stdout().is_terminal(),
        };
        if !shows {
            return;
        }
        let settings = match self.git() {
            Ok(git) => git::settings::beginning(git, &[palette::KEYS]),
            Err(_) => git::settings::outside(&self.cwd, &[palette::KEYS]),
        };
        for text in palette::choose(&settings.unwrap_or_default()) {
            self.ui.emit(Event::Warning { text });
        }
    }

    /// Prints data to standard output, without the control sequences a terminal would obey.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.print_bytes(&match self.global.json {
            true => escaped_json(text),
            false => painted(text, self.color_stdout()),
        })
    }

    /// Prints text as [`Self::print`] does, on a terminal through the user's pager.
    pub(crate) fn page(&self, text: &str) -> anyhow::Result<()> {
        if self.global.json || !std::io::stdout().is_terminal() {
            return self.print(text);
        }
        let text = painted(text, self.color_stdout());
        self.page_with(&git::settings::own_pager(self.git()?)?, &text)
    }

    /// Prints text that is already free of control sequences, on a terminal through `pager`.
    pub(crate) fn page_with(&self, pager: &str, text: &str) -> anyhow::Result<()> {
        if gate::is_pager(pager) && std::io::stdout().is_terminal() && self.runner.is_none() {
            let text = ascii::on_terminal(text);
            match gate::page_output(pager, self.git()?.top(), &text) {
                Ok(()) => return Ok(()),
                Err(text) => self.ui.emit(Event::Warning { text }),
            }
        }
        self.print_bytes(text)
    }

    /// Prints the content of a file: formatted and paged on a terminal, otherwise unchanged.
    pub(crate) fn print_file(&self, text: &str, is_markdown: bool) -> anyhow::Result<()> {
        if !std::io::stdout().is_terminal() {
            return self.print_bytes(text);
        }
        let width = stdout_columns();
        match is_markdown {
            true => self.page(&markdown(text, width, self.color_stdout())),
            false => self.page(text),
        }
    }

    /// Prints text as it is, except that a terminal may get ASCII. Text for a terminal must already
    /// be free of control sequences.
    pub(crate) fn print_bytes(&self, text: &str) -> anyhow::Result<()> {
        let text = match (self.runner, std::io::stdout().is_terminal()) {
            (Some(_), _) if self.global.json => runner::json_without_orders(text),
            (Some(_), _) if !runner::prints_to_file() => runner::without_orders(text),
            (_, true) => ascii::on_terminal(text),
            (_, false) => text.into(),
        };
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes()).context("writing to standard output")?;
        stdout.flush().context("writing to standard output")
    }
}
