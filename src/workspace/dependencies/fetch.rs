//! The fetch step, the only one with network access: a person is asked once for each version of the
//! manifests and lock files, before the first command that may need the dependencies.

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
use crate::path_text::decoded;
use crate::workspace::command::process::{self, CommandResult};
use crate::workspace::command::settings::CommandSettings;
use crate::workspace::sandbox::{MayFetch, Sandbox, Wanted};
use crate::workspace::working_tree::WorkingTree;

/// Results cached for this run.
#[derive(Default)]
pub(crate) struct Known {
    seen: RefCell<Vec<Seen>>,
    needs: RefCell<Vec<(String, Need)>>,
    /// By hash: `None` if no dependencies are missing, otherwise the missing ones.
    settled: RefCell<BTreeMap<String, Option<Missing>>>,
}

/// Where the packages of a project were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Among the installed packages.
    Installed,
    /// Among the packages fetched for this repository.
    Fetched,
}

/// Exit code of a shell if a program does not exist (POSIX, 2.8.2).
const NO_SUCH_COMMAND: i32 = 127;

/// Describes a failed fetch in one line.
fn why(result: &CommandResult) -> String {
    let said = format!("{}\n{}", result.stdout, result.stderr);
    if let Some(line) = login_wanted(&said) {
        return format!("the registry requires a login, and this step has none: {line}");
    }
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let telling = lines.iter().find(|line| line.to_lowercase().contains("error"));
    let line = telling.or(lines.last()).copied().unwrap_or("no output");
    format!("{}: {line}", result.ending())
}

/// Finds missing dependencies of a tree's projects, and fetches them if a person agrees.
pub(crate) struct Fetcher<'a> {
    pub(crate) tree: &'a WorkingTree,
    pub(crate) settings: &'a CommandSettings,
    pub(crate) known: &'a Known,
}

impl Fetcher<'_> {
    /// Returns the dependencies still missing after all permitted ones were fetched.
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
        // Checked last: it starts a process, and most runs need no dependencies.
        if all.is_empty() || !sandbox.keeps_off_network()? {
            return Ok(Vec::new());
        }
        for manager in languages::managers() {
            // A decision about missing dependencies applies for the whole run.
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

    /// Returns the state of the dependencies that `command` needs, and descriptions of the missing
    /// ones.
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

    /// Finds the missing dependencies of one manager's projects, asks, and fetches.
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
        self.settings.lend_first(self.tree)?;
        fetched.prepare()?;
        let mut found = Vec::new();
        for (hash, need) in own {
            found.push(self.find(hash, need, sandbox, None).await?);
        }
        let absent = |found: &[Option<Found>]| found.contains(&None);
        let mut whys = BTreeMap::new();
        let mut undecided = false;
        if absent(&found) {
            // If all projects share one package directory, installed packages are fetched too:
            // commands get either the installed or the fetched ones.
            let along = |at: usize| found[at].is_none() || manager.shared;
            let asked: Vec<usize> = (0..own.len()).filter(|at| along(*at)).collect();
            let wanted = self.wanted(own, &asked, sandbox);
            let may = match sandbox.person() {
                Some(person) => person.may_fetch(&wanted)?,
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
        let elsewhere =
            "commands can use only one package directory, and it does not contain these packages";
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

    /// Returns where the packages of a project are; `only` restricts the search to one place.
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
        // Packages fetched for another version of the files may suffice.
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
            // Success, or the manager is not installed, or its error is not about packages.
            if unreadable || matches!(complete.exit, Some(0 | NO_SUCH_COMMAND)) {
                there = Some(*place);
                break;
            }
        }
        // Packages missing in one project must not affect the others.
        sandbox.use_fetched(manager.name, false);
        Ok(there)
    }

    /// For a manager that keeps all packages in one directory: selects the directory that contains
    /// the packages of all projects or, if there is none, the directory with those of the outermost
    /// project. Projects whose packages are elsewhere then lack them.
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
            // Packages found in one of the two directories may be in the other one, too.
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

    /// Fetches the dependencies of one project; returns the reason if that fails.
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
        // Create this directory first: with Landlock alone, a command cannot create entries at the
        // top of the tree.
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
        let installed = need.place.join(manager.leaves);
        if !manager.leaves.is_empty()
            && let Some(folder) = self.settings.check_folder(self.tree)?
        {
            folder.lend_fetched(&decoded(installed.as_os_str().as_encoded_bytes()))?;
        }
        fetched.set_done(hash)?;
        Ok(Ok(()))
    }
}

fn not_fetched(wanted: &Wanted, why: &str) -> String {
    format!(
        "dependencies were not fetched ({}): {why}. Checks that need them are skipped; to fetch \
         them yourself: {}",
        wanted.named, wanted.by_hand
    )
}

/// The user's current directory, used in commands that the user can paste.
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
    fn a_failure_is_described_in_one_line() {
        let result = CommandResult {
            exit: Some(101),
            stderr: "  Updating index\nerror: no such host\n\nCaused by:\n  x\n".to_owned(),
            ..CommandResult::default()
        };
        assert_eq!(why(&result), "exit 101: error: no such host");
    }
}
