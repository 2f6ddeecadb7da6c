//! `git cowork man`: a manual page for each command, generated from the same source as its `-h`, and one
//! for each page of `docs/`.

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::Man;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::guides::{GUIDES, NO_DATE, manual_page};
use crate::cli::help::{EXIT_CODES, examples};
use crate::cli::suggest::hinted;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::gate;

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Show the page of this command or topic [default: git cowork itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Install all pages, so that git help cowork, git cowork --help and git help cowork-TOPIC show
    /// them
    #[arg(long, conflicts_with = "command")]
    install: bool,
}

/// The page of git cowork itself.
const MAIN: &str = "git-cowork";

/// The command that shows a page on a terminal.
const FORMATTER: &str = "man -l -";

/// A page: its name and its text in man's format.
struct Page {
    name: String,
    /// The section of the manual: commands are in 1, topics in 7.
    section: u8,
    text: String,
}

pub(crate) fn run(context: &Context, args: &ManArgs, command: Command) -> Answer {
    let pages = pages(command)?;
    if args.install {
        return install(context, &pages);
    }
    let wanted = args.command.as_deref();
    // A topic that has the name of a command is found by its whole name.
    let names = match wanted {
        None => vec![MAIN.to_owned()],
        Some(name) => {
            vec![format!("{MAIN}-{name}"), format!("gitcowork-{name}"), name.to_owned()]
        }
    };
    let Some(page) = names.iter().find_map(|name| pages.iter().find(|page| page.name == *name))
    else {
        let wrong = wanted.unwrap_or_default();
        let names: Vec<&str> = pages
            .iter()
            .filter_map(|page| page.name.strip_prefix("git-cowork-"))
            .chain(GUIDES.iter().map(|(name, _)| *name))
            .collect();
        let error = Error::usage(format!("there is no command or topic '{wrong}'"));
        return Err(hinted(error, wrong, names, "see the list: git cowork man").into());
    };
    if std::io::stdout().is_terminal() {
        match gate::page_output(FORMATTER, &context.cwd, &page.text) {
            Ok(()) => return Ok(0),
            Err(text) => context.ui.emit(Event::Warning { text }),
        }
    }
    context.print(&page.text).map(|()| 0)
}

fn install(context: &Context, pages: &[Page]) -> Answer {
    let folders = folders();
    let mut refused = None;
    for folder in &folders {
        match write(folder, pages) {
            Ok(()) => {
                let text = format!(
                    "{} pages are in {}; try: git help cowork",
                    pages.len(),
                    folder.display()
                );
                context.ui.emit(Event::Note { text });
                if !is_searched(folder) {
                    let text =
                        format!("to make man look there: export MANPATH={}:", folder.display());
                    context.ui.emit(Event::Note { text });
                }
                return Ok(0);
            }
            Err(error) => refused = Some((folder, error)),
        }
    }
    let Some((folder, error)) = refused else {
        return Err(Error::repository("there is no home directory to install the pages in")
            .hint("read a page without installing it: git cowork man | man -l -")
            .into());
    };
    Err(error).with_context(|| format!("the pages could not be written to {}", folder.display()))
}

fn write(folder: &Path, pages: &[Page]) -> std::io::Result<()> {
    for Page { name, section, text } in pages {
        let folder = folder.join(format!("man{section}"));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{name}.{section}")), text)?;
    }
    Ok(())
}

/// True if the manual is installed, by this command or with the program, where man finds it.
pub(crate) fn is_installed() -> bool {
    let folders = folders();
    let has_searched = folders.iter().any(|folder| is_searched(folder));
    folders.iter().filter(|folder| !has_searched || is_searched(folder)).any(|folder| {
        let found = folder.join(format!("man1/{MAIN}.1")).metadata();
        !matches!(found, Err(error) if error.kind() == ErrorKind::NotFound)
    })
}

/// Says how to install the manual if it is not installed.
pub(crate) fn suggest(context: &Context) {
    if !is_installed() {
        let text = "the manual is not installed yet: git cowork man --install";
        context.ui.emit(Event::Note { text: text.to_owned() });
    }
}

/// Folders for the manual, those first that man searches: beside the program's folder if that is a
/// `bin`, and in the user's data folder. A program that `PATH` has as a link, as uv and pipx make
/// them, is in a folder that man does not know.
fn folders() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let bin = program.as_deref().and_then(Path::parent).filter(|folder| folder.ends_with("bin"));
    let beside = bin.and_then(Path::parent).map(|prefix| prefix.join("share/man"));
    let set =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    let mut folders: Vec<PathBuf> =
        beside.into_iter().chain(data.map(|data| data.join("man"))).collect();
    folders.sort_by_key(|folder| !is_searched(folder));
    folders
}

/// True if man searches the folder: it is in `MANPATH`, or beside a folder of `PATH`.
fn is_searched(man: &Path) -> bool {
    let listed = |name: &str, fits: &dyn Fn(&Path) -> bool| {
        std::env::var_os(name)
            .is_some_and(|list| std::env::split_paths(&list).any(|path| fits(&path)))
    };
    listed("MANPATH", &|path| path == man)
        || listed("PATH", &|path| {
            path.parent().is_some_and(|prefix| prefix.join("share/man") == man)
        })
}

fn pages(command: Command) -> anyhow::Result<Vec<Page>> {
    let mut command = command.bin_name("git cowork").disable_help_subcommand(true);
    command.build();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let mut pages = Vec::new();
    for command in std::iter::once(&command).chain(shown) {
        pages.push(page(command)?);
    }
    pages.extend(GUIDES.iter().map(|(name, markdown)| Page {
        name: format!("gitcowork-{name}"),
        section: 7,
        text: manual_page(name, markdown),
    }));
    Ok(pages)
}

fn page(command: &Command) -> anyhow::Result<Page> {
    let name = command.get_display_name().unwrap_or(MAIN).to_owned();
    let is_main = name == MAIN;
    let man = Man::new(command.clone()).title(name.to_uppercase()).date(NO_DATE);
    let man =
        man.source(concat!("git-cowork ", env!("CARGO_PKG_VERSION"))).manual("Git Cowork Manual");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if is_main {
        man.render_subcommands_section(&mut text)?;
    }
    let mut text = String::from_utf8_lossy(&text).into_owned();
    if is_main {
        text += ".SH EXIT STATUS\n";
        for (code, meaning) in EXIT_CODES {
            let _ = writeln!(text, ".TP\n.B {code}\n{}", escaped(meaning));
        }
    } else {
        text += ".SH EXAMPLES\n.nf\n";
        for line in examples(command.get_name()) {
            let _ = writeln!(text, "{}", escaped(line));
        }
        text += ".fi\n";
    }
    text += ".SH SEE ALSO\n";
    if is_main {
        text += "\\fBgit\\fR(1)";
        for (name, _) in GUIDES {
            let _ = write!(text, ",\n\\fBgitcowork\\-{name}\\fR(7)");
        }
    } else {
        text += "\\fBgit\\-cowork\\fR(1)";
        if let Some((name, _)) = GUIDES.iter().find(|(guide, _)| *guide == command.get_name()) {
            let _ = write!(text, ",\n\\fBgitcowork\\-{name}\\fR(7)");
        }
    }
    text.push('\n');
    Ok(Page { name, section: 1, text })
}

/// Escapes a line for man: dashes stay ASCII dashes, and the line is never a roff request.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}
