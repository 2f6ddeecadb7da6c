//! `new -F`: reads the idea and a draft of the plan from the files in which another tool keeps
//! specifications.

use std::path::{Path, PathBuf};

use crate::artifact::SessionOrigin;
use crate::artifact::record_diff::count;
use crate::artifact::specs::{self, Choice, Drafted, Refusal, SpecFile, SpecKind, Specified};
use crate::cli::context::Context;
use crate::cli::session_cmd::spec_files::{self, Found, LINE, broken, named};
use crate::error::Error;
use crate::git::{Git, Oid};
use crate::languages;
use crate::shell_quote::quoted;
use crate::stage::Depth;
use crate::ui::one_line;

/// With one of these extensions, a name without a folder counts as a file name. The extensions of
/// programming languages also count.
const EXTENSIONS: [&str; 12] =
    ["md", "txt", "toml", "json", "yaml", "yml", "ini", "cfg", "lock", "sql", "html", "css"];
/// Maximum number of options that a refusal offers.
const OFFERED: usize = 8;

/// What a path stands for.
pub(crate) enum Given {
    /// Specifications of a known kind.
    Specs(Box<SpecFolder>),
    /// A few Markdown files, which are the idea.
    Idea(String),
}

/// Files that were read.
pub(crate) struct SpecFolder {
    /// The kind of the specifications.
    kind: &'static SpecKind,
    /// The path that was given.
    path: PathBuf,
    /// The name of the folder or file in messages.
    name: String,
    /// The last component of the folder's path.
    own_name: String,
    files: Vec<SpecFile>,
    /// Files that were not read. The reason follows the name, unless the reason is that the tool
    /// does not use files with this name.
    unread: Vec<String>,
    tag: Option<String>,
    task: Option<String>,
}

/// The start of a session from a folder.
pub(crate) struct Begun {
    /// The origin of the session.
    pub origin: SessionOrigin,
    /// The plan.
    pub plan: String,
}

impl Given {
    /// Reads a folder, or a file of a known kind; `None` for another file.
    ///
    /// # Errors
    /// Exit 2: it cannot be read, or there is no specification in it.
    pub(crate) fn at(
        context: &Context,
        path: &Path,
        choice: Choice<'_>,
    ) -> anyhow::Result<Option<Self>> {
        // Without a slash at the end, which would follow a link.
        let full: PathBuf = context.cwd.join(path).components().collect();
        let input = match (full.is_dir(), full.is_file()) {
            (true, _) => Some(folder(context, &full, path, choice)?),
            (_, true) => {
                file(context, &full, path, choice)?.map(|specs| Self::Specs(Box::new(specs)))
            }
            _ => None,
        };
        let options = [("--tag", choice.tag), ("--task", choice.task)];
        let option = options.into_iter().find_map(|(name, value)| value.map(|_| name));
        if let (None | Some(Self::Idea(_)), Some(option)) = (&input, option) {
            let text = format!("{option} does not apply: {} is only an idea", path.display());
            return Err(Error::usage(text)
                .hint("--tag is for tasks.json of Task Master, --task for a folder of Backlog.md")
                .into());
        }
        Ok(input)
    }
}

fn folder(
    context: &Context,
    full: &Path,
    path: &Path,
    choice: Choice<'_>,
) -> anyhow::Result<Given> {
    let cannot = |error: std::io::Error| broken(path, &error.to_string());
    refuse_link(full, path)?;
    let full = full.canonicalize().map_err(cannot)?;
    let files = Found::whole(&full).map_err(cannot)?;
    let Some(kind) = files.kind() else {
        let top = context.git().ok().and_then(|git| git.top().canonicalize().ok());
        let idea = spec_files::markdown_idea(&full, path, top.as_deref(), &files)?;
        return Ok(Given::Idea(idea));
    };
    let (root, shown, found) =
        whole_of(kind, &full, path).unwrap_or((full, path.to_owned(), files));
    let content = spec_files::read(&root, &shown, kind, found, choice.task)?;
    let specs = SpecFolder::new(context, kind, (path, &root), content, choice);
    Ok(Given::Specs(Box::new(specs)))
}

/// Returns the folder that a given folder is a part of (`.taskmaster` for `.taskmaster/tasks`), its
/// path in messages, and its files.
fn whole_of(kind: &SpecKind, full: &Path, path: &Path) -> Option<(PathBuf, PathBuf, Found)> {
    let above = full.parent()?;
    let files = Found::in_folder(above, 1).ok()?;
    let name = full.file_name()?.to_str()?;
    let place = path.parent().filter(|above| !above.as_os_str().is_empty());
    let place = place.map_or_else(|| path.join(".."), Path::to_owned);
    kind.is_whole_of(name, &files.files).then(|| (above.to_owned(), place, files))
}

/// Reads a file of a known kind by itself.
fn file(
    context: &Context,
    full: &Path,
    path: &Path,
    choice: Choice<'_>,
) -> anyhow::Result<Option<SpecFolder>> {
    let cannot = |why: String| broken(path, &why);
    let (Some(name), Some(folder)) =
        (full.file_name().and_then(|name| name.to_str()), full.parent())
    else {
        return Ok(None);
    };
    // What cannot be read as an idea is refused where ideas are read.
    let Ok(Some(text)) = spec_files::text_of(full) else { return Ok(None) };
    let Some(kind) = SpecKind::of_file(name, &text) else { return Ok(None) };
    refuse_link(full, path)?;
    let alone = SpecFile { path: kind.path_alone(name), text };
    let id = specs::id_of(&alone).map_err(|refusal| Error::usage(refusal.text))?;
    // A story or a list of epics is complete in itself.
    let is_alone = name.ends_with(".md") && id.is_none();
    if is_alone {
        let content = (vec![alone], Vec::new());
        return Ok(Some(SpecFolder::new(context, kind, (path, full), content, choice)));
    }
    if choice.task.is_some() && name.ends_with(".md") {
        let text = format!("--task does not apply: {} is one task", path.display());
        return Err(Error::usage(text).hint("leave out --task, or give the folder").into());
    }
    let task = choice.task.or(id.as_deref().filter(|_| name.ends_with(".md")));
    let place = path.parent().unwrap_or(path);
    let folder = folder.canonicalize().map_err(|error| cannot(error.to_string()))?;
    let lookup =
        || Found::in_folder(&folder, 0).map(|found| (folder.clone(), place.to_owned(), found));
    let whole = whole_of(kind, &folder, place).map_or_else(lookup, Ok);
    let (root, shown, found) = whole.map_err(|error| cannot(error.to_string()))?;
    let content = spec_files::read(&root, &shown, kind, found, task)?;
    Ok(Some(SpecFolder::new(context, kind, (path, full), content, Choice { task, ..choice })))
}

/// Refuses a link: whoever wrote it would decide what a model reads, and is recorded as the idea.
fn refuse_link(full: &Path, path: &Path) -> anyhow::Result<()> {
    if !full.is_symlink() {
        return Ok(());
    }
    let target = full.read_link().map_err(|error| broken(path, &error.to_string()))?;
    let target = quoted(&target.to_string_lossy());
    Err(Error::usage(format!("{} is a link to {target}", path.display()))
        .hint(format!("give the folder or file itself: git cowork new -F {target}"))
        .into())
}

impl SpecFolder {
    fn new(
        context: &Context,
        kind: &'static SpecKind,
        (path, full): (&Path, &Path),
        (files, unread): (Vec<SpecFile>, Vec<String>),
        choice: Choice<'_>,
    ) -> Self {
        let own_name = full.file_stem().filter(|_| full.is_file()).or(full.file_name());
        let own_name =
            own_name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let top = context.git().ok().and_then(|git| git.top().canonicalize().ok());
        let whole = full.canonicalize().ok();
        let inside =
            top.zip(whole).and_then(|(top, full)| full.strip_prefix(top).ok().map(Path::to_owned));
        let place =
            inside.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| path.to_owned());
        let name = one_line(&place.display().to_string(), LINE);
        let to_text = |text: Option<&str>| text.map(str::to_owned);
        let (tag, task) = (to_text(choice.tag), to_text(choice.task));
        Self { kind, path: path.to_owned(), name, own_name, files, unread, tag, task }
    }

    /// Parses the files. A name without a folder counts as a file name if the commit `start` contains
    /// such a file.
    ///
    /// # Errors
    /// Exit 2: a file is broken, or one of several specifications has to be chosen.
    pub(crate) fn specified(&self, git: &Git, start: Option<&Oid>) -> Result<Specified, Error> {
        let is_file = |name: &str| {
            let extension = name.rsplit_once('.').map(|(_, extension)| extension);
            extension.is_some_and(|one| EXTENSIONS.contains(&one))
                || languages::of_file(name).is_some()
                || start.is_some_and(|start| holds(git, start, name))
        };
        let choice = Choice { tag: self.tag.as_deref(), task: self.task.as_deref() };
        let specification =
            specs::specified(self.kind, &self.own_name, &self.files, choice, &is_file);
        specification.map_err(|Refusal { text, options }| {
            let error = Error::usage(format!("{}: {text}", self.name));
            let path = quoted(&self.path.to_string_lossy());
            let command = |[option, value]: &[String; 2]| {
                format!("git cowork new -F {path} {option} {}", quoted(value))
            };
            options.iter().take(OFFERED).map(command).fold(error, Error::hint)
        })
    }

    /// The idea: the text of the files that were read, with a note that lists them.
    pub(crate) fn idea(&self, found: &Specified) -> String {
        format!("{}\n\n{}\n\n{}", found.title, self.note(found).join("\n"), found.idea)
    }

    /// The draft of the plan, and the origin of the session.
    pub(crate) fn begun(&self, git: &Git, start: &Oid, found: &Specified) -> (Begun, Drafted) {
        let in_base = |path: &str| holds(git, start, path);
        let draft = specs::draft(&self.prose(found), &found.records, &in_base);
        let origin = SessionOrigin {
            kind: self.kind.name.to_owned(),
            name: self.name.clone(),
            requirements: draft.requirements,
            features: draft.features,
            tasks: draft.tasks,
            adopted: Vec::new(),
        };
        (Begun { origin, plan: draft.text.clone() }, draft)
    }

    /// The files that were read and those that were not, and what of them is not in the plan; each in
    /// a line.
    fn note(&self, found: &Specified) -> Vec<String> {
        let one = |text: &String| one_line(text, LINE);
        let list = |all: &[String]| all.iter().map(one).collect::<Vec<_>>().join(", ");
        let mut out =
            vec![format!("From {} ({}): {}.", self.name, self.kind.name, list(&found.read))];
        let rest = self.files.iter().filter(|file| !found.read.contains(&file.path));
        let unread: Vec<String> =
            self.unread.iter().cloned().chain(rest.map(|file| one(&file.path))).collect();
        if !unread.is_empty() {
            out.push(format!("Not read: {}.", named(unread)));
        }
        if !found.lines.is_empty() {
            out.push(format!("Left out, not a task: {}.", list(&found.lines)));
        }
        let left_out: Vec<String> = found
            .not_planned
            .iter()
            .map(|(why, names)| {
                let names = named(names.iter().map(one).collect());
                format!("{} ({names})", with_reason(why, &found.not_planned))
            })
            .collect();
        if !left_out.is_empty() {
            out.push(format!("Not planned: {}.", left_out.join(", ")));
        }
        out.extend(found.remarks.iter().map(|text| format!("Note: {}.", one(text))));
        out
    }

    /// The prose of the plan above the records.
    fn prose(&self, found: &Specified) -> String {
        let note = self.note(found).join("\n\n");
        let mut out = format!("# {}\n\n{note}\n", one_line(&found.title, LINE));
        out += "\nThe titles below name the requirements, stories and tasks of these files.\n";
        if !found.text_only.is_empty() {
            let all: Vec<String> = found.text_only.iter().map(|one| one_line(one, LINE)).collect();
            out += &format!("\nOnly in the text of the idea, not in records: {}.\n", named(all));
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
        let note = |text: String| context.note(text);
        self.note(found).iter().for_each(|line| note(line.trim_end_matches('.').to_owned()));
        match drafted {
            Some(drafted) => {
                let [requirements, features, tasks] = [
                    count(drafted.requirements as usize, "requirement"),
                    count(drafted.features as usize, "feature"),
                    count(drafted.tasks as usize, "task"),
                ];
                note(format!(
                    "draft 1 of the plan is made from these files: {requirements}, {features}, \
                     {tasks}"
                ));
                for one in &drafted.left_out {
                    context.warn(format!("not in the plan: {one}"));
                }
            }
            None => note(format!(
                "depth {depth}: the model writes the documents from these files (with --depth quick, \
                 their requirements and tasks become the plan)"
            )),
        }
        if !found.unclear.is_empty() {
            let places = count(found.unclear.len(), "place");
            context.warn(format!(
                "{places} to be clarified: {}",
                one_line(&found.unclear.join("; "), LINE)
            ));
        }
    }
}

/// The number of tasks that are left out for a reason: `2 tasks optional`.
fn with_reason(why: &str, all: &[(String, Vec<String>)]) -> String {
    let number = all.iter().find(|(one, _)| one == why).map_or(0, |(_, names)| names.len());
    format!("{} {why}", count(number, "task"))
}

/// True if a commit contains a file.
fn holds(git: &Git, commit: &Oid, path: &str) -> bool {
    let entries = git.reader().entries(commit, &[path]);
    entries.is_ok_and(|all| all.into_iter().flatten().any(|entry| entry.kind.is_blob()))
}
