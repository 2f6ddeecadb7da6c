//! The files of a folder with specifications, and of which kind they are.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::artifact::specs::{self, SpecFile, SpecKind};
use crate::clean::few;
use crate::error::Error;
use crate::shell_quote::quoted;
use crate::ui::one_line;

/// Maximum size of a file that is read, in bytes.
const MOST_BYTES: u64 = 256 * 1024;
/// Maximum number of files that are found in a folder.
const MOST_FILES: usize = 20_000;
/// Maximum depth of nested folders.
const DEEPEST: usize = 8;
/// Maximum number of files of a folder of Markdown that is the idea, and of bytes in them.
const MOST_OF_IDEA: (usize, usize) = (20, 64 * 1024);
/// Maximum number of items that a message lists.
const NAMED: usize = 8;
/// Maximum length of a printed line, in characters.
pub(super) const LINE: usize = 200;

/// The files of a folder by their paths in it, and its entries that cannot be read as files, with
/// the reason.
#[derive(Default)]
pub(super) struct Found {
    pub files: Vec<String>,
    pub odd: Vec<(String, &'static str)>,
    pub more: bool,
}

impl Found {
    /// Lists a folder and the folders in it, to this depth.
    pub(super) fn in_folder(folder: &Path, depth: usize) -> std::io::Result<Self> {
        let mut all = Self::default();
        all.look(folder, "", depth)?;
        // What is below a depth that was asked for is not left out.
        all.more &= depth == DEEPEST;
        all.files.sort();
        Ok(all)
    }

    pub(super) fn whole(folder: &Path) -> std::io::Result<Self> {
        Self::in_folder(folder, DEEPEST)
    }

    /// The kind of the folder. A link counts as a file here, so that it is named and not passed over.
    pub(super) fn kind(&self) -> Option<&'static SpecKind> {
        let odd = self.odd.iter().map(|(path, _)| path.clone());
        SpecKind::of_folder(&self.files.iter().cloned().chain(odd).collect::<Vec<_>>())
    }

    fn look(&mut self, folder: &Path, inside: &str, depth: usize) -> std::io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
        // The files of a folder come before its folders, in which there may be very many.
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        entries.retain(|entry| entry.file_name() != ".git");
        entries.sort_by_key(|entry| (is_folder(entry), entry.file_name()));
        for entry in entries {
            if self.files.len() + self.odd.len() >= MOST_FILES {
                self.more = true;
                return Ok(());
            }
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                let name = entry.file_name().to_string_lossy().into_owned();
                self.odd.push((name, "its name is not UTF-8"));
                continue;
            };
            let path = if inside.is_empty() { name } else { format!("{inside}/{name}") };
            let kind = entry.file_type()?;
            if kind.is_file() {
                self.files.push(path);
            } else if kind.is_dir() && depth > 0 {
                if self.look(&entry.path(), &path, depth - 1).is_err() {
                    self.odd.push((path, "it cannot be read"));
                }
            } else if kind.is_dir() {
                self.more = true;
            } else {
                self.odd.push((path, if kind.is_symlink() { "a link" } else { "not a file" }));
            }
        }
        Ok(())
    }

    /// The folders in this one that are of a known kind, without those in one of them.
    fn kinds_below(&self) -> Vec<(String, &'static SpecKind)> {
        let mut folders: Vec<&str> =
            self.files.iter().filter_map(|file| Some(file.rsplit_once('/')?.0)).collect();
        folders.dedup();
        let mut out: Vec<(String, &'static SpecKind)> = Vec::new();
        for folder in folders {
            let start = format!("{folder}/");
            let is_inside = |(one, _): &(String, _)| start.starts_with(&format!("{one}/"));
            if out.iter().any(is_inside) {
                continue;
            }
            let names = self.files.iter().filter_map(|file| file.strip_prefix(&start));
            let names: Vec<String> = names.map(str::to_owned).collect();
            if let Some(kind) = SpecKind::of_folder(&names) {
                let whole = folder.rsplit_once('/').filter(|(above, inner)| {
                    let start = format!("{above}/");
                    let siblings = self.files.iter().filter_map(|file| file.strip_prefix(&start));
                    kind.is_whole_of(inner, &siblings.map(str::to_owned).collect::<Vec<_>>())
                });
                out.push((whole.map_or(folder, |(above, _)| above).to_owned(), kind));
            }
        }
        out
    }
}

/// Reads the files of a kind. Returns them and the names of those that are not read, the reason
/// behind the name unless it is that the kind does not use such files.
///
/// # Errors
/// Exit 2: one of them is broken, or a link.
pub(super) fn read(
    folder: &Path,
    shown: &Path,
    kind: &SpecKind,
    found: Found,
    task: Option<&str>,
) -> Result<(Vec<SpecFile>, Vec<String>), Error> {
    if let Some((path, why)) = found.odd.iter().find(|(path, _)| kind.reads(path, task)) {
        return Err(broken(&shown.join(path), why));
    }
    let (wanted, mut others): (Vec<String>, Vec<String>) =
        found.files.into_iter().partition(|file| kind.reads(file, task));
    let (mut files, mut unread) = (Vec::new(), Vec::new());
    for path in wanted {
        match text_of(&folder.join(&path)).map_err(|why| broken(&shown.join(&path), &why))? {
            Some(text) => files.push(SpecFile { path, text }),
            None if kind.needs(&path) => return Err(broken(&shown.join(&path), "empty")),
            None => unread.push(format!("{} (empty)", one_line(&path, LINE))),
        }
    }
    let companions: Vec<String> = files.iter().flat_map(|file| kind.companions(file)).collect();
    for path in companions {
        match others.iter().position(|other| *other == path) {
            Some(at) => {
                let text =
                    text_of(&folder.join(&path)).map_err(|why| broken(&shown.join(&path), &why))?;
                files.push(SpecFile { path: others.remove(at), text: text.unwrap_or_default() });
            }
            None if files.iter().any(|file| file.path == path) => {}
            None => unread.push(format!("{} (not a file in the folder)", one_line(&path, LINE))),
        }
    }
    unread.extend(found.odd.iter().map(|(path, why)| format!("{} ({why})", one_line(path, LINE))));
    unread.extend(others.iter().map(|file| one_line(file, LINE)));
    if found.more {
        unread.push(format!("everything beyond {MOST_FILES} files or {DEEPEST} folder levels"));
    }
    Ok((files, unread))
}

/// Reads a folder of no kind as an idea: its Markdown files, if they are few.
///
/// # Errors
/// Exit 2: there is a known kind below or above it, or there is no Markdown or too much.
pub(super) fn markdown_idea(
    folder: &Path,
    shown: &Path,
    top: Option<&Path>,
    found: &Found,
) -> Result<String, Error> {
    let place = shown.display();
    let command = |path: &Path| format!("git cowork new -F {}", quoted(&path.to_string_lossy()));
    let above = folder
        .ancestors()
        .skip(1)
        .zip(shown.ancestors().skip(1).map(Some).chain([None].into_iter().cycle()));
    for (path, name) in above.take_while(|(path, _)| top.is_some_and(|top| path.starts_with(top))) {
        let Some(kind) = Found::in_folder(path, 1).ok().and_then(|found| found.kind()) else {
            continue;
        };
        let name = name.filter(|name| !name.as_os_str().is_empty()).unwrap_or(path);
        let text = format!("{place} is a part of {}, which is of {}", name.display(), kind.name);
        return Err(Error::usage(text).hint(command(name)));
    }
    let below = found.kinds_below();
    if !below.is_empty() {
        let each =
            below.iter().map(|(path, kind)| format!("{} ({})", one_line(path, LINE), kind.name));
        let text =
            format!("{place} holds specifications, and one is read: {}", named(each.collect()));
        let error = Error::usage(text);
        let some = below.iter().take(NAMED).map(|(path, _)| command(&shown.join(path)));
        return Err(some.fold(error, Error::hint));
    }
    let is_markdown = |path: &str| {
        let extension = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        ["md", "markdown"].contains(&&*extension)
    };
    if let Some((path, why)) = found.odd.iter().find(|(path, _)| is_markdown(path)) {
        return Err(broken(&shown.join(path), why));
    }
    let files: Vec<&String> = found.files.iter().filter(|path| is_markdown(path)).collect();
    let (most, most_bytes) = MOST_OF_IDEA;
    let why = match (files.is_empty(), found.files.len()) {
        _ if top == Some(folder) => "it is the whole repository".to_owned(),
        (true, _) => "there is no Markdown in it".to_owned(),
        (false, number) if number > most || found.more => {
            format!("it has more than the {most} files that can be an idea")
        }
        _ => {
            let mut text = String::new();
            for path in &files {
                let part =
                    text_of(&folder.join(path)).map_err(|why| broken(&shown.join(path), &why))?;
                text += &format!("<!-- {path} -->\n\n{}\n\n", part.unwrap_or_default().trim());
            }
            if text.len() <= most_bytes {
                let title = text.lines().find_map(|line| line.strip_prefix("# "));
                let names =
                    files.iter().map(|path| one_line(path, LINE)).collect::<Vec<_>>().join(", ");
                let title = title.map(|title| format!("{}\n\n", title.trim())).unwrap_or_default();
                return Ok(format!("{title}From {place} (Markdown): {names}.\n\n{}", text.trim()));
            }
            format!(
                "it has more than the {} KiB of Markdown that can be an idea",
                most_bytes / 1024
            )
        }
    };
    let signs: Vec<String> =
        specs::ALL.iter().map(|kind| format!("{} ({})", kind.sign, kind.name)).collect();
    let text = format!(
        "{place} is not a folder of specifications: no {} is in it; {why}",
        signs.join(", ")
    );
    Err(Error::usage(text).hint(
        "give a folder such as specs/001-NAME or openspec/changes/NAME, or a file with the idea",
    ))
}

/// The refusal of a file.
pub(super) fn broken(path: &Path, why: &str) -> Error {
    let name = one_line(&path.display().to_string(), LINE);
    Error::usage(format!("{name} cannot be read: {why}")).hint(
        "fix the file, or give the idea in quotes; only regular files in UTF-8 are read, no links",
    )
}

/// The first items, and the number of the others.
pub(super) fn named(all: Vec<String>) -> String {
    few(&all, NAMED, ", ")
}

/// The text of a file, `None` if it is empty, or why it is not read.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, String> {
    let file = fs::File::open(path).map_err(|error| format!("{error}"))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("{error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("larger than {} KiB", MOST_BYTES / 1024));
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}
