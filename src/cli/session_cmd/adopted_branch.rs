//! `adopt BRANCH`: turns the commits of a branch into tasks of a plan. The commits are not changed;
//! `session.json` records the commits of each task.

use std::collections::BTreeSet;

use crate::artifact::record_diff::count;
use crate::artifact::sections::Record;
use crate::artifact::specs::{Drafted, draft};
use crate::artifact::{AdoptedTask, Feature, IdKind, Requirement, SessionOrigin, Task};
use crate::git::{self, Commit, Git, Oid};
use crate::session::{Trailers, key};
use crate::ui::one_line;

/// Maximum number of tasks; if a branch has more commits, several of them share a task.
const MOST_TASKS: usize = 100;
/// Maximum number of files in a task.
const MOST_FILES: usize = 40;
/// Maximum length of a title, in characters.
const TITLE: usize = 100;
/// Maximum length of a commit message that is copied into a task, in characters.
const BODY: usize = 2_000;

/// Maximum number of titles in the description of a branch.
const MOST_TITLES: usize = 12;

/// The commits of a branch that its base lacks.
pub(crate) struct Adopted {
    /// The branch name as the user typed it.
    branch: String,
    /// The title of the session.
    title: String,
    /// Each task's commits, oldest first.
    tasks: Vec<Work>,
    /// Commits that change nothing, and merges.
    pub left_out: usize,
}

/// The commits of a task.
struct Work {
    commits: Vec<Commit>,
    files: Vec<String>,
}

/// The name of a session that one of these commits belongs to.
pub(crate) fn session_in(commits: &[Commit]) -> Option<String> {
    commits.iter().find_map(|commit| {
        let trailers = Trailers::parse(&commit.message);
        trailers.get(key::SESSION_ID)?;
        trailers.get(key::SESSION).map(str::to_owned)
    })
}

impl Adopted {
    /// Groups the commits of a branch into tasks. Git lists `commits` with the newest first; `tip`
    /// is the newest commit of the branch.
    ///
    /// # Errors
    /// Git cannot be read.
    pub(crate) fn read(
        git: &Git,
        (branch, title): (&str, &str),
        tip: &Oid,
        commits: Vec<Commit>,
    ) -> anyhow::Result<Self> {
        let all = commits.len();
        let mut tasks: Vec<Work> = Vec::new();
        let since = commits.last().and_then(|oldest| oldest.parents.first());
        let renames = git::paths::renames(git, since, tip)?;
        for commit in commits.into_iter().rev().filter(|commit| commit.parents.len() < 2) {
            let Some(files) = files(git, tip, &commit, &renames)? else { continue };
            let target = fixed_by(commit.subject());
            let owner = target.and_then(|subject| {
                let is_it = |work: &Work| work.commits.iter().any(|one| one.subject() == subject);
                tasks.iter().rposition(is_it)
            });
            match owner {
                Some(at) => tasks[at].add(commit, files),
                None => tasks.push(Work { commits: vec![commit], files }),
            }
        }
        let each = tasks.len().div_ceil(MOST_TASKS).max(1);
        let tasks = join(join_without_files(tasks), each);
        let used: usize = tasks.iter().map(|work| work.commits.len()).sum();
        let (branch, title) = (branch.to_owned(), title.to_owned());
        Ok(Self { branch, title, tasks, left_out: all - used })
    }

    /// True if there is nothing to adopt.
    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The text of the session's idea: its title, a summary, and the list of commits.
    pub(crate) fn idea(&self) -> String {
        let commits = self.tasks.iter().flat_map(|work| &work.commits);
        let lines = commits.map(|commit| {
            format!("- {} {}\n", commit.id.abbreviated(), one_line(commit.subject(), TITLE))
        });
        format!("{}\n\n{}\n\n{}", self.title, self.note(), lines.collect::<String>())
    }

    /// What the branch does: the message of its only commit, else what its commits do.
    fn purpose(&self) -> String {
        if let [work] = &self.tasks[..]
            && let [commit] = &work.commits[..]
        {
            let body = commit.message.split_once('\n').map_or("", |(_, body)| body).trim();
            let first = body.split("\n\n").next().unwrap_or_default();
            let first = one_line(&first.split_whitespace().collect::<Vec<_>>().join(" "), BODY);
            // A list, code or trailers are no sentence.
            let is_prose = first.starts_with(char::is_alphanumeric) && first.ends_with('.');
            return if is_prose { first } else { sentence(&[work.title()]) };
        }
        let mut titles: Vec<String> = self.tasks.iter().map(Work::title).collect();
        let more = titles.len().saturating_sub(MOST_TITLES);
        titles.truncate(MOST_TITLES);
        if more > 0 {
            titles.push(format!("{more} more"));
        }
        sentence(&titles)
    }

    /// A one-line summary of the adopted commits.
    pub(crate) fn note(&self) -> String {
        let commits: usize = self.tasks.iter().map(|work| work.commits.len()).sum();
        let authors: BTreeSet<&str> =
            self.tasks.iter().flat_map(|work| &work.commits).map(|one| name(&one.author)).collect();
        let authors: Vec<String> = authors.into_iter().map(|one| one_line(one, TITLE)).collect();
        let by = match &authors[..] {
            [first, second, third, more @ ..] if !more.is_empty() => {
                format!("{first}, {second}, {third} and {}", count(more.len(), "other"))
            }
            few => few.join(", "),
        };
        format!("Adopted from {}: {} by {by}.", self.branch, count(commits, "commit"))
    }

    /// The number of tasks.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The draft of the plan, and the origin of the session. `in_base` returns true for a path that
    /// the base contains.
    pub(crate) fn plan(&self, in_base: &dyn Fn(&str) -> bool) -> (Drafted, SessionOrigin) {
        let (requirement, feature) = (IdKind::Requirement.format(1), IdKind::Feature.format(1));
        let titles: Vec<String> = self.tasks.iter().map(Work::title).collect();
        let title = one_line(&self.title, TITLE);
        let mut records = vec![
            Record::Requirement(Requirement {
                id: requirement.clone(),
                title: title.clone(),
                description: self.purpose(),
                acceptance_criteria: titles.iter().cloned().map(Into::into).collect(),
                ..Requirement::default()
            }),
            Record::Feature(Feature {
                id: feature.clone(),
                name: title.clone(),
                description: self.purpose(),
                requirement_ids: vec![requirement.clone()],
                ..Feature::default()
            }),
        ];
        let mut tasks = Vec::new();
        for (at, (work, title)) in self.tasks.iter().zip(titles).enumerate() {
            let id = IdKind::Task.format(u32::try_from(at + 1).unwrap_or(u32::MAX));
            records.push(Record::Task(Task {
                id: id.clone(),
                title,
                description: work.description(),
                feature_id: feature.clone(),
                requirement_ids: vec![requirement.clone()],
                files_to_create: work.files.clone(),
                acceptance_criteria: vec![work.criterion()],
                ..Task::default()
            }));
            let commits = work.commits.iter().map(|commit| commit.id.to_string()).collect();
            tasks.push(AdoptedTask { task: id, commits });
        }
        let prose = format!(
            "# {title}\n\n{}\n\nThe commits are not changed; each task is done in the commits that it names.\n",
            self.note()
        );
        let plan = draft(&prose, &records, in_base);
        let origin = SessionOrigin {
            kind: "branch".to_owned(),
            name: self.branch.clone(),
            requirements: plan.requirements,
            features: plan.features,
            tasks: plan.tasks,
            adopted: tasks,
        };
        (plan, origin)
    }
}

impl Work {
    fn add(&mut self, commit: Commit, files: Vec<String>) {
        self.commits.push(commit);
        let new: Vec<String> =
            files.into_iter().filter(|file| !self.files.contains(file)).collect();
        self.files.extend(new);
        self.files.truncate(MOST_FILES);
    }

    fn join(&mut self, other: Self) {
        let mut files = Some(other.files);
        let commits = other.commits.into_iter();
        commits.for_each(|one| self.add(one, files.take().unwrap_or_default()));
    }

    fn title(&self) -> String {
        let first = self.commits.first().map(Commit::subject).unwrap_or_default();
        let first = one_line(first, TITLE);
        let first = if first.trim().is_empty() { "Without a subject".to_owned() } else { first };
        match self.commits.len() {
            0 | 1 => first,
            more => format!("{first} (+ {})", count(more - 1, "commit")),
        }
    }

    /// The messages and the authors of the commits.
    fn description(&self) -> String {
        let mut out = String::new();
        for commit in &self.commits {
            let body = commit.message.split_once('\n').map_or("", |(_, body)| body).trim();
            let body: String = body.chars().take(BODY).collect();
            let by = one_line(name(&commit.author), TITLE);
            let subject = one_line(commit.subject(), BODY);
            // If there is only one commit, its subject is the title.
            let is_title = self.commits.len() == 1 && subject.chars().count() < TITLE;
            let subject = if is_title { ".".to_owned() } else { format!(": {subject}") };
            out += &format!("Commit {} by {by}{subject}\n\n", commit.id.abbreviated());
            if !body.is_empty() {
                out += &format!("{body}\n\n");
            }
        }
        out.trim_end().to_owned()
    }

    fn criterion(&self) -> String {
        let ids: Vec<String> =
            self.commits.iter().map(|commit| commit.id.abbreviated().to_string()).collect();
        let ids = ids.join(", ");
        match self.commits.len() {
            1 => format!("the code does what the message of {ids} says"),
            _ => format!("the code does what the messages of {ids} say"),
        }
    }
}

/// These phrases as one sentence.
fn sentence(phrases: &[String]) -> String {
    let text = phrases.join("; ");
    format!("{}.", text.trim_end_matches(['.', ' ']))
}

/// `Ana Example` of `Ana Example <ana@example.org>`.
fn name(author: &str) -> &str {
    author.split(" <").next().unwrap_or(author)
}

/// The subject of the commit that a `fixup!`, `squash!` or `amend!` commit corrects.
fn fixed_by(subject: &str) -> Option<&str> {
    let rest =
        ["fixup! ", "squash! ", "amend! "].iter().find_map(|mark| subject.strip_prefix(mark))?;
    // A fixup of a fixup corrects the first commit.
    Some(fixed_by(rest).unwrap_or(rest))
}

/// The files of a commit that still exist at the tip, maybe renamed, and whose names a plan can
/// contain; `None` if the commit changes nothing.
fn files(
    git: &Git,
    tip: &Oid,
    commit: &Commit,
    renames: &[(String, String)],
) -> anyhow::Result<Option<Vec<String>>> {
    let reader = git.reader();
    let changes = reader.diff(commit.parents.first(), &commit.id)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let odd = |c: char| c.is_control() || c.is_whitespace() || "`|".contains(c);
    let paths: Vec<String> = changes.into_iter().map(|change| change.path).collect();
    let fits = |path: &&str| !path.starts_with(".cowork/") && !path.contains(odd);
    let names: Vec<&str> = paths.iter().map(String::as_str).filter(fits).collect();
    let entries = reader.entries(tip, &names)?;
    let (there, gone): (Vec<_>, Vec<_>) =
        names.into_iter().zip(entries).partition(|(_, entry)| entry.is_some());
    let mut files: Vec<String> = there.into_iter().map(|(path, _)| path.to_owned()).collect();
    let now: Vec<&str> = gone.into_iter().map(|(path, _)| renamed(path, renames)).collect();
    let targets = reader.entries(tip, &now)?;
    for (path, _) in now.into_iter().zip(targets).filter(|(_, entry)| entry.is_some()) {
        if fits(&path) && !files.iter().any(|one| one == path) {
            files.push(path.to_owned());
        }
    }
    files.truncate(MOST_FILES);
    Ok(Some(files))
}

/// The name of a file after all renames, which are in order, oldest first.
fn renamed<'a>(path: &'a str, renames: &'a [(String, String)]) -> &'a str {
    renames.iter().fold(path, |path, (old, new)| if path == old { new } else { path })
}

/// Joins each task that has no files (they are all gone) to the task before it, or, if there is
/// none before it, to the first task that has files.
fn join_without_files(tasks: Vec<Work>) -> Vec<Work> {
    let mut out: Vec<Work> = Vec::new();
    for work in tasks {
        // Only the first task can be without files.
        let is_first = out.last().is_some_and(|last| last.files.is_empty());
        match out.last_mut().filter(|_| work.files.is_empty() || is_first) {
            Some(last) => last.join(work),
            None => out.push(work),
        }
    }
    out
}

/// Joins neighbouring tasks, `each` at a time, into one task.
fn join(tasks: Vec<Work>, each: usize) -> Vec<Work> {
    let mut out: Vec<Work> = Vec::new();
    for (at, work) in tasks.into_iter().enumerate() {
        match out.last_mut().filter(|_| at % each != 0) {
            Some(last) => last.join(work),
            None => out.push(work),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::fixed_by;

    #[test]
    fn a_correction_names_the_first_commit() {
        assert_eq!(fixed_by("fixup! squash! Add a"), Some("Add a"));
        assert_eq!(fixed_by("Add a"), None);
    }
}
