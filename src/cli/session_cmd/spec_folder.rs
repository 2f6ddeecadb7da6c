//! `new -F DIR`: reads the idea and a draft of the plan from a folder of spec-kit or OpenSpec.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::artifact::SessionOrigin;
use crate::artifact::record_diff::count;
use crate::artifact::specs::{self, Drafted, SpecFile, SpecTool, Specified};
use crate::cli::context::Context;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::git::{Git, Oid};
use crate::languages;
use crate::shell_quote::quoted;
use crate::stage::Depth;
use crate::ui::one_line;

/// Maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 256 * 1024;
/// Maximum number of files that are found in a folder.
const MOST_FILES: usize = 20_000;
/// Maximum depth of nested folders.
const DEEPEST: usize = 8;
/// Maximum number of files that a message lists.
const NAMED: usize = 8;
/// Maximum length of a printed line, in characters.
const LINE: usize = 200;
/// With one of these extensions, a name without a folder counts as a file name. The extensions of
/// programming languages also count.
const EXTENSIONS: [&str; 12] =
    ["md", "txt", "toml", "json", "yaml", "yml", "ini", "cfg", "lock", "sql", "html", "css"];

/// A folder that was read.
pub(crate) struct SpecFolder {
    /// The tool that the folder belongs to.
    tool: SpecTool,
    /// The folder's name in messages.
    name: String,
    /// The last component of the folder's path.
    own_name: String,
    files: Vec<SpecFile>,
    /// Files that were not read. The reason follows the name, unless the reason is that the tool
    /// does not use files with this name.
    unread: Vec<String>,
}

/// The start of a session from a folder.
pub(crate) struct Begun {
    /// The origin of the session.
    pub origin: SessionOrigin,
    /// The plan.
    pub plan: String,
}

impl SpecFolder {
    /// Reads a folder; `None` if the path is not a folder.
    ///
    /// # Errors
    /// Exit 2: it belongs to neither tool, or cannot be read.
    pub(crate) fn at(context: &Context, path: &Path) -> anyhow::Result<Option<Self>> {
        // Without a slash at the end, which would follow a link.
        let full: PathBuf = context.cwd.join(path).components().collect();
        if !full.is_dir() {
            return Ok(None);
        }
        let cannot = |error: std::io::Error| {
            Error::usage(format!("{} cannot be read: {error}", path.display()))
        };
        if full.is_symlink() {
            // Whoever wrote the link would decide what a model reads, and is recorded as the idea.
            let target = full.read_link().map_err(cannot)?;
            let target = quoted(&target.to_string_lossy());
            return Err(Error::usage(format!("{} is a link to {target}", path.display()))
                .hint(format!("give the folder itself: git cowork new -F {target}"))
                .into());
        }
        let full = full.canonicalize().map_err(cannot)?;
        let mut found = Found::default();
        found.look(&full, "", 0).map_err(cannot)?;
        let Some(tool) = SpecTool::of(found.files.iter().map(String::as_str)) else {
            return Err(neither(path, &found).into());
        };
        found.files.sort();
        let (wanted, others): (Vec<String>, Vec<String>) =
            found.files.into_iter().partition(|file| tool.reads(file));
        let (mut files, mut unread) = (Vec::new(), found.odd);
        for file in wanted {
            match text_of(&full.join(&file)) {
                Ok(text) => files.push(SpecFile { path: file, text }),
                Err(why) => unread.push(format!("{} ({why})", one_line(&file, LINE))),
            }
        }
        unread.extend(others.iter().map(|file| one_line(file, LINE)));
        if found.more {
            unread.push(format!("everything beyond {MOST_FILES} files or {DEEPEST} folder levels"));
        }
        let main = if tool == SpecTool::SpecKit { "spec.md" } else { "proposal.md" };
        if !files.iter().any(|file| file.path == main) {
            let why = unread.iter().find(|one| one.starts_with(main)).cloned().unwrap_or_default();
            let message = format!("there is no idea in {}: {why}", path.display());
            let hint = format!("fix {main}, or give the idea in quotes");
            return Err(Error::usage(message).hint(hint).into());
        }
        files.sort_by_key(|file| order(&file.path));
        let own_name =
            full.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let top = context.git().ok().and_then(|git| git.top().canonicalize().ok());
        let inside = top.and_then(|top| full.strip_prefix(top).ok().map(Path::to_owned));
        let shown =
            inside.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| path.to_owned());
        let name = one_line(&shown.display().to_string(), LINE);
        Ok(Some(Self { tool, name, own_name, files, unread }))
    }

    /// Parses the files of the folder. A name without a folder counts as a file name if the commit
    /// `start` contains such a file.
    pub(crate) fn specified(&self, git: &Git, start: Option<&Oid>) -> Specified {
        let is_file = |name: &str| {
            let extension = name.rsplit_once('.').map(|(_, extension)| extension);
            extension.is_some_and(|one| EXTENSIONS.contains(&one))
                || languages::of_file(name).is_some()
                || start.is_some_and(|start| holds(git, start, name))
        };
        specs::specified(self.tool, &self.own_name, &self.files, &is_file)
    }

    /// The idea: the text of the files that were read, with a note that lists them.
    pub(crate) fn idea(&self, title: &str) -> String {
        format!("{title}\n\n{}\n\n{}", self.note(), specs::idea(&self.files))
    }

    /// The words for a session's name.
    pub(crate) fn words(&self) -> &str {
        self.own_name.trim_start_matches(|c: char| c.is_ascii_digit() || "-_".contains(c))
    }

    /// The draft of the plan, and the origin of the session.
    pub(crate) fn begun(&self, git: &Git, start: &Oid, found: &Specified) -> (Begun, Drafted) {
        let in_base = |path: &str| holds(git, start, path);
        let drafted = specs::draft(&self.prose(found), &found.records, &in_base);
        let origin = SessionOrigin {
            kind: self.tool.name().to_owned(),
            name: self.name.clone(),
            requirements: drafted.requirements,
            features: drafted.features,
            tasks: drafted.tasks,
            adopted: Vec::new(),
        };
        (Begun { origin, plan: drafted.text.clone() }, drafted)
    }

    /// The files that were read and those that were not, in at most two lines.
    fn note(&self) -> String {
        let read: Vec<String> = self.files.iter().map(|file| one_line(&file.path, LINE)).collect();
        let mut out = format!("From {} ({}): {}.", self.name, self.tool.name(), read.join(", "));
        if !self.unread.is_empty() {
            out += &format!("\nNot read: {}.", named(&self.unread));
        }
        out
    }

    /// The prose of the plan above the records.
    fn prose(&self, found: &Specified) -> String {
        let note = self.note().replace('\n', "\n\n");
        let mut out = format!("# {}\n\n{note}\n", one_line(&found.title, LINE));
        out += "\nThe titles below name the requirements, stories and tasks of that folder.\n";
        if !found.text_only.is_empty() {
            let all: Vec<String> = found.text_only.iter().map(|one| one_line(one, LINE)).collect();
            out += &format!("\nOnly in the text of the idea, not in records: {}.\n", named(&all));
        }
        if found.ticked > 0 {
            out += &format!(
                "\nTicked in tasks.md and not planned: {}.\n",
                count(found.ticked, "task")
            );
        }
        if !found.unclear.is_empty() {
            out += "\nTo be clarified:\n\n";
            let lines = found.unclear.iter().map(|one| format!("- {}\n", one_line(one, LINE)));
            out += &lines.collect::<String>();
        }
        out
    }

    /// Prints which files were read and which were not, and how they are used.
    pub(crate) fn tell(
        &self,
        context: &Context,
        found: &Specified,
        depth: Depth,
        drafted: Option<&Drafted>,
    ) {
        let note = |text: String| context.ui.emit(Event::Note { text });
        self.note().lines().for_each(|line| note(line.trim_end_matches('.').to_owned()));
        match drafted {
            Some(drafted) => {
                let [requirements, features, tasks] = [
                    count(drafted.requirements as usize, "requirement"),
                    count(drafted.features as usize, "feature"),
                    count(drafted.tasks as usize, "task"),
                ];
                note(format!(
                    "draft 1 of the plan is made from this folder: {requirements}, {features}, \
                     {tasks}"
                ));
                for one in &drafted.left_out {
                    context.ui.emit(Event::Warning { text: format!("not in the plan: {one}") });
                }
            }
            None => note(format!(
                "depth {depth}: the model writes the documents from these files (with --depth quick, \
                 their requirements and tasks become the plan)"
            )),
        }
        if found.ticked > 0 {
            note(format!(
                "{} already ticked in tasks.md; not planned",
                count(found.ticked, "task")
            ));
        }
        if !found.unclear.is_empty() {
            let wanted = count(found.unclear.len(), "place");
            let text = format!(
                "{wanted} marked [NEEDS CLARIFICATION]: {}",
                one_line(&found.unclear.join("; "), LINE)
            );
            context.ui.emit(Event::Warning { text });
        }
    }
}

/// The first items, and the number of the others.
fn named(all: &[String]) -> String {
    let first = all.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Sorts files by the order in which they are read.
fn order(path: &str) -> (usize, String) {
    let names = ["spec.md", "proposal.md", "specs/", "plan.md", "design.md", "tasks.md"];
    let place = names
        .iter()
        .position(|name| path == *name || name.ends_with('/') && path.starts_with(name));
    (place.unwrap_or(names.len()), path.to_owned())
}

fn neither(path: &Path, found: &Found) -> Error {
    let shown = path.display();
    let is_main = |one: &&String| one.starts_with("spec.md (") || one.starts_with("proposal.md (");
    if let Some(main) = found.odd.iter().find(is_main) {
        return Error::usage(format!("there is no idea in {shown}: {main}"))
            .hint("only regular files are read, no links: put the file itself into the folder");
    }
    let inner = found.files.iter().find_map(|file| {
        let (folder, name) = file.rsplit_once('/')?;
        ["spec.md", "proposal.md"].contains(&name).then_some(folder)
    });
    let error = Error::usage(format!(
        "{shown} is a folder of neither spec-kit (spec.md) nor OpenSpec (proposal.md)"
    ));
    match inner {
        Some(folder) => {
            let folder = path.join(folder.split("/specs/").next().unwrap_or(folder));
            error.hint(format!("git cowork new -F {}", quoted(&folder.to_string_lossy())))
        }
        None => error.hint("give a folder such as specs/001-NAME or openspec/changes/NAME, or a file with the idea"),
    }
}

/// True if a commit contains a file.
fn holds(git: &Git, commit: &Oid, path: &str) -> bool {
    let found = git.reader().entries(commit, &[path]);
    found.is_ok_and(|all| all.into_iter().flatten().any(|entry| entry.kind.is_blob()))
}

/// The files of a folder by their paths in it, and its entries that cannot be read as files.
#[derive(Default)]
struct Found {
    files: Vec<String>,
    odd: Vec<String>,
    more: bool,
}

impl Found {
    fn look(&mut self, folder: &Path, inside: &str, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        // The files of a folder come before its folders, in which there may be very many.
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries.sort_by_key(|entry| (is_folder(entry), entry.file_name()));
        for entry in entries {
            if self.files.len() + self.odd.len() >= MOST_FILES {
                self.more = true;
                return Ok(());
            }
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                self.odd.push(format!(
                    "{} (its name is not UTF-8)",
                    one_line(&entry.file_name().to_string_lossy(), LINE)
                ));
                continue;
            };
            let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_file() {
                self.files.push(path);
            } else if kind.is_dir() && depth < DEEPEST {
                if self.look(&entry.path(), &path, depth + 1).is_err() {
                    self.odd.push(format!("{} (it cannot be read)", one_line(&path, LINE)));
                }
            } else if kind.is_dir() {
                self.more = true;
            } else {
                let what = if kind.is_symlink() { "a link" } else { "not a file" };
                self.odd.push(format!("{} ({what})", one_line(&path, LINE)));
            }
        }
        Ok(())
    }
}

/// The text of a file, or why it is not read.
fn text_of(path: &Path) -> Result<String, String> {
    let file = fs::File::open(path).map_err(|error| format!("{error}"))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("{error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("larger than {} KiB", MOST_BYTES / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    if text.trim().is_empty() { Err("empty".to_owned()) } else { Ok(text) }
}
