//! The one step with the network: asked about once for each content of the files that say what is
//! fetched, before the first command that may need it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::lock_files::LockFiles;
use super::missing::{Dependencies, Missing};
use super::need::Need;
use super::needed::{Needed, needed, only_looks};
use super::projects::{Seen, look, needs};
use super::refused::login_wanted;
use crate::languages::{self, Manager};
use crate::workspace::command::process::{self, CommandResult};
use crate::workspace::command::settings::CommandSettings;
use crate::workspace::effects;
use crate::workspace::sandbox::{MayFetch, Sandbox, Wanted};
use crate::workspace::working_tree::WorkingTree;

/// What is known in this run.
#[derive(Default)]
pub(crate) struct Known {
    seen: RefCell<Vec<Seen>>,
    needs: RefCell<Vec<(String, Need)>>,
    /// By hash: fetched, or nothing to fetch; else what is missing.
    settled: RefCell<BTreeMap<String, Option<Missing>>>,
}

/// Where packages of a project were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// With what is installed.
    Installed,
    /// Among what was fetched for this repository.
    Fetched,
}

/// What a shell answers for a program that is not there (POSIX, 2.8.2).
const NO_SUCH_COMMAND: i32 = 127;

/// How a fetch that did not work ended, in one line.
fn why(result: &CommandResult) -> String {
    let said = format!("{}\n{}", result.stdout, result.stderr);
    if let Some(line) = login_wanted(&said) {
        return format!("a login is wanted, and this step is given none: {line}");
    }
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let telling = lines.iter().find(|line| line.to_lowercase().contains("error"));
    let line = telling.or(lines.last()).copied().unwrap_or("it said nothing");
    format!("{}: {line}", result.ending())
}

/// Finds out what the projects of a tree lack, and fetches it where a person agrees.
pub(crate) struct Fetcher<'a> {
    pub(crate) tree: &'a WorkingTree,
    pub(crate) settings: &'a CommandSettings,
    pub(crate) known: &'a Known,
}

impl Fetcher<'_> {
    /// What the projects lack after everything was fetched that may be.
    pub(crate) async fn missing(&self) -> anyhow::Result<Vec<Missing>> {
        if !self.settings.prefix.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.known;
        let seen = look(&self.tree.root);
        if *known.seen.borrow() != seen {
            let needs = needs(&self.tree.root, &seen);
            known.needs.replace(needs.into_iter().map(|need| (need.hash(), need)).collect());
            known.seen.replace(seen);
        }
        let all = known.needs.borrow().clone();
        let sandbox = &self.settings.sandbox;
        // Asked last: it starts a process, and most runs need nothing.
        if all.is_empty() || !sandbox.keeps_off_network()? {
            return Ok(Vec::new());
        }
        for manager in languages::managers() {
            // What is missing and was decided about stays so in this run.
            let open = |(hash, need): &&(String, Need)| {
                need.manager.name == manager.name
                    && !matches!(known.settled.borrow().get(hash), Some(Some(_)))
            };
            let own: Vec<&(String, Need)> = all.iter().filter(open).collect();
            let settled = |(hash, _): &&(String, Need)| known.settled.borrow().contains_key(hash);
            if !own.iter().all(settled) {
                let outcomes = self.settle(manager, &own, sandbox).await?;
                known.settled.borrow_mut().extend(outcomes);
            }
        }
        let settled = known.settled.borrow();
        Ok(all.iter().filter_map(|(hash, _)| settled.get(hash).cloned().flatten()).collect())
    }

    /// Whether what `command` needs is there, and what is missing of it in words.
    pub(crate) async fn lacking(
        &self,
        command: &str,
    ) -> anyhow::Result<(Dependencies, Vec<String>)> {
        let missing = match only_looks(command) {
            true => Vec::new(),
            false => self.missing().await?,
        };
        let needs = self.known.needs.borrow();
        let projects: Vec<(&str, &Path)> =
            needs.iter().map(|(_, need)| (need.manager.name, need.place.as_path())).collect();
        let mut state = Dependencies::Present;
        let mut words = Vec::new();
        for missing in &missing {
            let project = (missing.manager, missing.place.as_path());
            let found = match needed(command, &self.tree.root, project, &projects) {
                Needed::Not => continue,
                Needed::Perhaps => Dependencies::PartlyMissing,
                Needed::Surely => Dependencies::Missing,
            };
            state = state.max(found);
            words.push(missing.sentence());
        }
        Ok((state, words))
    }

    /// Finds out of one manager's projects whether something is missing, asks, fetches.
    async fn settle(
        &self,
        manager: &'static Manager,
        own: &[&(String, Need)],
        sandbox: &Sandbox,
    ) -> anyhow::Result<BTreeMap<String, Option<Missing>>> {
        let mut outcomes = BTreeMap::new();
        let Some(fetched) = sandbox.fetched() else {
            outcomes.extend(own.iter().map(|(hash, _)| (hash.clone(), None)));
            return Ok(outcomes);
        };
        fetched.prepare()?;
        let mut found = Vec::new();
        for (hash, need) in own {
            found.push(self.find(hash, need, sandbox, None).await?);
        }
        let absent = |found: &[Option<Found>]| found.contains(&None);
        let mut whys = BTreeMap::new();
        let mut undecided = false;
        if absent(&found) {
            // Where all projects share one directory, those that are installed are fetched along:
            // commands are given one of the two.
            let along = |at: usize| found[at].is_none() || manager.shared;
            let asked: Vec<usize> = (0..own.len()).filter(|at| along(*at)).collect();
            let wanted = self.wanted(own, &asked, sandbox);
            let may = match sandbox.person() {
                Some(person) => {
                    // Who is asked may edit files meanwhile.
                    effects::compare_now(self.tree)?;
                    person.may_fetch(&wanted)?
                }
                None => MayFetch::NobodyThere,
            };
            match may {
                MayFetch::Yes => {
                    for at in asked {
                        let (hash, need) = own[at];
                        if found[at] == Some(Found::Fetched) {
                            continue;
                        }
                        match self.fetch(hash, need, sandbox).await? {
                            Ok(()) => found[at] = Some(Found::Fetched),
                            Err(why) => {
                                whys.insert(at, why);
                            }
                        }
                    }
                }
                MayFetch::No(why) => {
                    for at in (0..own.len()).filter(|at| found[*at].is_none()) {
                        if let Some(person) = sandbox.person() {
                            person
                                .tell(&not_fetched(&self.wanted(own, &[at], sandbox), &why), true);
                        }
                        whys.insert(at, why.clone());
                    }
                }
                MayFetch::NobodyThere => undecided = true,
            }
        }
        if manager.shared {
            self.choose(manager, own, &mut found, sandbox).await?;
        }
        let elsewhere = "they are not where those of another project of this repository are";
        for (at, (hash, need)) in own.iter().enumerate() {
            let missing = Missing {
                named: need.named(),
                why: whys.remove(&at).unwrap_or_else(|| match undecided {
                    true => "nobody could be asked".to_owned(),
                    false => elsewhere.to_owned(),
                }),
                by_hand: need.by_hand(&self.tree.root, here().as_deref()),
                undecided,
                manager: manager.name,
                place: need.place.clone(),
            };
            outcomes.insert(hash.clone(), found[at].is_none().then_some(missing));
        }
        Ok(outcomes)
    }

    /// Where the packages of a project are; looked for only where `only` says, if it does.
    async fn find(
        &self,
        hash: &str,
        need: &Need,
        sandbox: &Sandbox,
        only: Option<Found>,
    ) -> anyhow::Result<Option<Found>> {
        let manager = need.manager;
        let Some(fetched) = sandbox.fetched() else { return Ok(None) };
        let target = fetched.python(hash);
        let asked = |place: Found| only.is_none_or(|only| only == place);
        if asked(Found::Fetched) && fetched.is_done(hash) && need.left(&self.tree.root) {
            use_what_was_fetched(sandbox, need, &target);
            return Ok(Some(Found::Fetched));
        }
        if let Some(list) = manager.list {
            std::fs::write(target.with_extension("txt"), list(&need.place, &need.files))?;
        }
        if (manager.is_installed)(&self.tree.root, &need.place, &need.files) {
            return Ok(Some(Found::Installed));
        }
        // What was fetched for other contents may be enough, too.
        let places: &[Found] = match manager.shared {
            true => &[Found::Installed, Found::Fetched],
            false => &[Found::Installed],
        };
        let mut there = None;
        for place in places.iter().filter(|place| asked(**place)) {
            sandbox.use_fetched(manager.name, *place == Found::Fetched);
            let line = need.line(manager.complete, &self.tree.root, &target);
            let complete = process::run_confined(
                self.tree,
                self.settings,
                &line,
                LockFiles::of(self.tree, need)?,
            )
            .await?;
            let unreadable = manager.unreadable.iter().any(|words| complete.stderr.contains(words));
            // Everything is there, or the manager is not, or it is not about packages.
            if unreadable || matches!(complete.exit, Some(0 | NO_SUCH_COMMAND)) {
                there = Some(*place);
                break;
            }
        }
        // What one project lacks takes nothing away from the others.
        sandbox.use_fetched(manager.name, false);
        Ok(there)
    }

    /// Of a manager that keeps all packages in one directory, commands are given the one in which
    /// all projects find theirs; else the one of the outermost, and the others lack theirs.
    async fn choose(
        &self,
        manager: &'static Manager,
        own: &[&(String, Need)],
        found: &mut [Option<Found>],
        sandbox: &Sandbox,
    ) -> anyhow::Result<()> {
        let Some(first) = found.iter().copied().flatten().next() else { return Ok(()) };
        let all_in = |found: &[Option<Found>], place| {
            found.iter().all(|found| found.is_none_or(|found| found == place))
        };
        let mut chosen = first;
        if !all_in(found, first) {
            // Each of them may well be in the other directory, too.
            for place in [Found::Fetched, Found::Installed] {
                let mut there = Vec::new();
                for ((hash, need), before) in own.iter().zip(found.iter()) {
                    there.push(match before {
                        Some(before) if *before != place => {
                            self.find(hash, need, sandbox, Some(place)).await?
                        }
                        same => *same,
                    });
                }
                let enough = found.iter().zip(&there).all(|(a, b)| a.is_none() || b.is_some());
                if enough {
                    found.copy_from_slice(&there);
                    chosen = place;
                    break;
                }
            }
            for found in found.iter_mut().filter(|found| **found != Some(chosen)) {
                *found = None;
            }
        }
        sandbox.use_fetched(manager.name, chosen == Found::Fetched);
        Ok(())
    }

    fn wanted(&self, own: &[&(String, Need)], asked: &[usize], sandbox: &Sandbox) -> Wanted {
        let asked = || asked.iter().map(|at| own[*at]);
        let target = |hash: &str| sandbox.fetched().map(|f| f.python(hash)).unwrap_or_default();
        let line = |(hash, need): &(String, Need)| {
            need.line(need.manager.fetch, &self.tree.root, &target(hash))
        };
        let named = asked().map(|(_, need)| need.named()).collect::<Vec<_>>();
        Wanted {
            command: asked().map(line).collect::<Vec<_>>().join(" && "),
            named: named.join("; "),
            by_hand: asked()
                .map(|(_, need)| need.by_hand(&self.tree.root, here().as_deref()))
                .collect::<Vec<_>>()
                .join(" && "),
            hashes: asked().map(|(hash, _)| hash.clone()).collect(),
        }
    }

    /// Fetches for one project; else why that failed.
    async fn fetch(
        &self,
        hash: &str,
        need: &Need,
        sandbox: &Sandbox,
    ) -> anyhow::Result<Result<(), String>> {
        let (Some(fetched), Some(person)) = (sandbox.fetched(), sandbox.person()) else {
            return Ok(Err("nobody could be asked".to_owned()));
        };
        let (manager, target) = (need.manager, fetched.python(hash));
        let wanted = self.wanted(&[&(hash.to_owned(), need.clone())], &[0], sandbox);
        let Wanted { command, named, .. } = &wanted;
        person.tell(&format!("fetching dependencies ({named}): {command}"), false);
        // What is to be found in the tree has to be there before: where Landlock is alone, a
        // command makes nothing new at its top.
        if manager.leaves == "node_modules" {
            let _ = std::fs::create_dir(self.tree.root.join(&need.place).join(manager.leaves));
        }
        let result = process::run_fetching(
            self.tree,
            self.settings,
            command,
            LockFiles::of(self.tree, need)?,
        )
        .await?;
        if !result.succeeded() {
            let why = format!("fetching them failed ({})", why(&result));
            person.tell(&not_fetched(&wanted, &why), true);
            person.failed(&wanted, &why);
            return Ok(Err(why));
        }
        use_what_was_fetched(sandbox, need, &target);
        if !manager.after.is_empty() {
            let after = need.line(manager.after, &self.tree.root, &target);
            let after = process::run_confined(
                self.tree,
                self.settings,
                &after,
                LockFiles::of(self.tree, need)?,
            )
            .await?;
            if !after.succeeded() {
                let text =
                    format!("{} without the network failed ({})", manager.after, why(&after));
                person.tell(&text, true);
            }
        }
        fetched.set_done(hash)?;
        Ok(Ok(()))
    }
}

fn not_fetched(wanted: &Wanted, why: &str) -> String {
    format!(
        "dependencies were not fetched ({}): {why}. Checks that need them are not run; to have them, \
         run it yourself: {}",
        wanted.named, wanted.by_hand
    )
}

/// Where the person is who reads what to type.
fn here() -> Option<PathBuf> {
    std::env::current_dir().ok()?.canonicalize().ok()
}

fn use_what_was_fetched(sandbox: &Sandbox, need: &Need, packages: &Path) {
    if need.manager.list.is_some() {
        sandbox.use_python(packages.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_in_one_line() {
        let result = CommandResult {
            exit: Some(101),
            stderr: "  Updating index\nerror: no such host\n\nCaused by:\n  x\n".to_owned(),
            ..CommandResult::default()
        };
        assert_eq!(why(&result), "exit 101: error: no such host");
    }
}
