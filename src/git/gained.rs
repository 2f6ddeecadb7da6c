//! The commits that branches gained since a time. One walk for all branches finds which of them
//! reach each commit. It goes from newest to oldest, and no further back than requested: the
//! commits of a base branch are read once for any number of sessions that may be merged there.

use std::collections::{BinaryHeap, HashMap};

use anyhow::{Result, ensure};
use git2::ObjectType;
use memchr::memmem;

use super::binary::Binary;
use super::libgit2::Libgit2;
use super::object_text::CommitText;
use super::output::lossy;
use super::{Commit, Git, Oid, Reader as _};

/// A path of the walk ends after more than this many commits in a row that are too old, not after
/// the first, so that a single commit from a machine with a wrong clock hides nothing.
const OLD_IN_A_ROW: u8 = 16;

/// The commits that a walk has visited, and the tips from which it reached them.
#[derive(Debug, Default)]
pub struct Gained(HashMap<Key, Met>);

impl Gained {
    /// The marks of the tips that reach this commit; 0 if the walk did not visit it.
    pub fn marks_of(&self, commit: &Oid) -> u64 {
        self.0.get(&key(commit)).map_or(0, |met| met.marks)
    }
}

/// The bytes of an object id; SHA-1 ids are padded with zeros.
type Key = [u8; 32];

#[derive(Clone, Copy, Debug)]
struct Met {
    marks: u64,
    /// The number of commits in a row on the way here that are too old, including this one.
    old: u8,
}

/// The parts of a commit that a walk needs.
#[derive(Clone, Debug, Default)]
struct Seen {
    time: i64,
    parents: Vec<Key>,
    /// `None` if it does not contain the wanted words.
    message: Option<String>,
}

/// A source of commits; `None` for a commit that is missing.
trait Source {
    fn read(&mut self, commit: &Key) -> Result<Option<Seen>>;
}

/// The limits and the filter of a walk.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The oldest commit time (Unix seconds).
    pub since: i64,
    /// A word that a message must contain, ignoring case.
    pub word: &'a str,
    /// If there are any words here, messages that contain none of them may be left out.
    pub besides: &'a [&'a str],
    /// The known linear history of some commits: newest first, without the commit itself. All
    /// commits of a history but its last are marked without being read.
    pub lines: &'a HashMap<&'a Oid, &'a [Oid]>,
}

/// Walks from `tips`, each with its mark. Calls `see` with id, commit time and message of each
/// commit whose message is wanted.
///
/// # Errors
/// A tip is missing, or git fails.
pub fn find(
    git: &Git,
    tips: &[(Oid, u64)],
    wanted: &Wanted<'_>,
    see: &mut dyn FnMut(&Oid, i64, &str),
) -> Result<Gained> {
    let Wanted { since, word, besides, lines } = *wanted;
    let Some((first, _)) = tips.first() else { return Ok(Gained::default()) };
    let digits = first.as_str().len();
    let (mut told, lines) = (Vec::new(), keys(lines));
    // Commit objects do not show parents that grafts, shallow clones or replacements change.
    let plain = !git.common_dir().join("info/grafts").exists()
        && !git.common_dir().join("shallow").exists()
        && git.refs(&["refs/replace/"])?.is_empty();
    let fast = || {
        git.in_process(|opened| {
            told.clear();
            let word = word.to_ascii_lowercase().into_bytes();
            let besides = besides.iter().map(memmem::Finder::new).collect();
            let mut source = InProcess { opened, word, besides };
            walk(tips, since, &lines, &mut source, &mut told)
        })
    };
    let gained = match plain.then(fast).flatten() {
        Some(gained) => gained,
        None => {
            told.clear();
            walk(tips, since, &lines, &mut Asked::of(git, tips, word)?, &mut told)?
        }
    };
    for (commit, seen) in &told {
        let message = seen.message.as_deref().unwrap_or_default();
        see(&oid(commit, digits)?, seen.time, message);
    }
    Ok(gained)
}

fn walk(
    tips: &[(Oid, u64)],
    since: i64,
    lines: &HashMap<Key, Vec<Key>>,
    source: &mut dyn Source,
    told: &mut Vec<(Key, Seen)>,
) -> Result<Gained> {
    let mut met: HashMap<Key, Met> = HashMap::new();
    let mut queue: BinaryHeap<(i64, Key, Vec<Key>)> = BinaryHeap::new();
    let mut reached = |commit: Key, marks: u64, old: u8, met: &mut HashMap<Key, Met>| {
        let known = met.get(&commit).copied();
        let (marks, before) = match known {
            Some(known) if known.marks | marks == known.marks && known.old <= old => {
                return Ok(None);
            }
            Some(known) => (known.marks | marks, known.old.min(old)),
            None => (marks, old),
        };
        let Some(seen) = source.read(&commit)? else {
            met.insert(commit, Met { marks, old: u8::MAX });
            return anyhow::Ok(None);
        };
        let old = if seen.time < since { before } else { 0 };
        met.insert(commit, Met { marks, old });
        let next = (old <= OLD_IN_A_ROW).then(|| (seen.time, commit, seen.parents.clone()));
        if known.is_none() && seen.message.is_some() {
            told.push((commit, Seen { parents: Vec::new(), ..seen }));
        }
        Ok(next)
    };
    for (tip, marks) in tips {
        queue.extend(reached(key(tip), *marks, 1, &mut met)?);
    }
    while let Some((_, commit, parents)) = queue.pop() {
        let Met { marks, old } = met[&commit];
        if let Some((last, line)) = lines.get(&commit).and_then(|line| line.split_last()) {
            for commit in line {
                met.entry(*commit).or_insert(Met { marks, old: 0 }).marks |= marks;
            }
            queue.extend(reached(*last, marks, 1, &mut met)?);
            continue;
        }
        for parent in parents {
            queue.extend(reached(parent, marks, old + 1, &mut met)?);
        }
    }
    Ok(Gained(met))
}

fn keys(lines: &HashMap<&Oid, &[Oid]>) -> HashMap<Key, Vec<Key>> {
    lines.iter().map(|(tip, line)| (key(tip), line.iter().map(key).collect())).collect()
}

/// Reads the commit objects themselves.
struct InProcess<'a> {
    opened: &'a Libgit2,
    word: Vec<u8>,
    besides: Vec<memmem::Finder<'a>>,
}

impl Source for InProcess<'_> {
    fn read(&mut self, commit: &Key) -> Result<Option<Seen>> {
        let commit = git2::Oid::from_bytes(&commit[..self.opened.id_bytes()])?;
        let read = self.opened.read_once(commit, |kind, text| {
            ensure!(kind == ObjectType::Commit, "{commit} is not a commit");
            self.seen(text)
        });
        read.map(Some)
    }
}

impl InProcess<'_> {
    /// Parses a commit object.
    fn seen(&self, text: &[u8]) -> Result<Seen> {
        let commit = CommitText::of(text)?;
        let message = commit.message;
        let parents = commit.parent_digits().iter().map(|digits| digits_key(digits)).collect();
        let wanted =
            self.besides.is_empty() || self.besides.iter().any(|word| word.find(message).is_some());
        let told = (wanted && has(message, &self.word)).then(|| lossy(message));
        let message = told.map(|told| told.trim_matches('\n').to_owned());
        Ok(Seen { time: commit.committed(), parents, message })
    }
}

/// True if a text contains a word, ignoring case; the word is given in lower case.
fn has(text: &[u8], word: &[u8]) -> bool {
    let Some((&first, _)) = word.split_first() else { return true };
    let mut places = memchr::memchr2_iter(first, first.to_ascii_uppercase(), text);
    places.any(|at| {
        text.get(at..at + word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word))
    })
}

/// The whole history, with the parents that git reports. It is not limited by time: git would leave
/// out a tip with a wrong clock, and everything behind it.
struct Asked(HashMap<Key, Seen>);

impl Asked {
    fn of(git: &Git, tips: &[(Oid, u64)], word: &str) -> Result<Self> {
        let tips: Vec<Oid> = tips.iter().map(|(tip, _)| tip.clone()).collect();
        let word = word.to_ascii_lowercase().into_bytes();
        let seen = |Commit { id, parents, committer_time: time, message, .. }: Commit| {
            let message = has(message.as_bytes(), &word).then_some(message);
            (key(&id), Seen { time, parents: parents.iter().map(key).collect(), message })
        };
        let commits = Binary::new(git.clone()).walk(&tips, &[])?;
        Ok(Self(commits.into_iter().map(seen).collect()))
    }
}

impl Source for Asked {
    fn read(&mut self, commit: &Key) -> Result<Option<Seen>> {
        Ok(self.0.get(commit).cloned())
    }
}

fn key(oid: &Oid) -> Key {
    digits_key(oid.as_str().as_bytes())
}

fn digits_key(digits: &[u8]) -> Key {
    let mut key = [0; 32];
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => 0,
    };
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0]) << 4 | digit(pair[1]);
    }
    key
}

fn oid(key: &Key, digits: usize) -> Result<Oid> {
    ensure!(digits <= 2 * key.len(), "an id of {digits} digits");
    Ok(key[..digits / 2].iter().map(|byte| format!("{byte:02x}")).collect::<String>().parse()?)
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::{FORMATS, Repo};
    use super::*;
    use crate::git::refs;

    /// Makes a commit with this time (Unix seconds) on the current branch.
    fn at(repo: &Repo, time: i64, message: &str) -> Oid {
        repo.git()
            .with_env(vec![("GIT_COMMITTER_DATE".into(), format!("@{time} +0000").into())])
            .write(["commit", "-q", "--allow-empty", "-m", message])
            .checked()
            .unwrap();
        repo.head()
    }

    /// The result of git: the marks of the tips that reach the commit.
    fn slow(git: &Git, tips: &[(Oid, u64)], commit: &Oid) -> u64 {
        let reached = tips.iter().filter(|(tip, _)| refs::is_ancestor(git, commit, tip).unwrap());
        reached.fold(0, |marks, (_, mark)| marks | mark)
    }

    #[test]
    fn a_walk_finds_the_tips_that_reach_each_commit() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let first = at(&repo, 2_000_000_000, "first\n\nCowork-Session-Id: 0");
            let second = at(&repo, 2_000_000_100, "second\n\ncowork-session-ID: 1");
            repo.run(&["checkout", "-q", "-b", "side", first.as_str()]);
            // Newer than the commit that merges it.
            let side = at(&repo, 2_000_009_000, "side\n\nCowork-Session-Id: 2\n");
            repo.run(&["checkout", "-q", "-b", "other", first.as_str()]);
            let other = at(&repo, 2_000_000_300, "other");
            repo.run(&["checkout", "-q", "main"]);
            let unmerged = repo.head();
            repo.run(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
            let tips =
                [(repo.head(), 1), (other.clone(), 2), (unmerged.clone(), 4), (side.clone(), 8)];
            let mut said = Vec::new();
            let none = HashMap::new();
            let (since, word) = (2_000_000_000, "Cowork-Session-Id");
            let wanted = Wanted { since, word, besides: &[], lines: &none };
            let gained = find(&git, &tips, &wanted, &mut |commit, time, message| {
                said.push((commit.clone(), time, message.lines().next().unwrap().to_owned()));
            })
            .unwrap();
            for commit in [&first, &second, &side, &other, &unmerged, &repo.head()] {
                assert_eq!(gained.marks_of(commit), slow(&git, &tips, commit), "{options:?}");
            }
            assert_eq!(gained.marks_of(&first.zero_like()), 0);
            said.sort();
            let mut expected = vec![
                (first, 2_000_000_000, "first".to_owned()),
                (second, 2_000_000_100, "second".to_owned()),
                (side, 2_000_009_000, "side".to_owned()),
            ];
            expected.sort();
            assert_eq!(said, expected, "{options:?}");
        }
    }

    #[test]
    fn one_wrong_clock_hides_nothing_and_a_long_past_is_not_read() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let past: Vec<Oid> = (0..40).map(|n| at(&repo, 1_500_000_000 + n, "past")).collect();
        let session = at(&repo, 2_000_000_000, "session");
        at(&repo, 5, "a clock that was never set");
        let tip = at(&repo, 2_000_000_200, "newest");
        let none = HashMap::new();
        let wanted = Wanted { since: 2_000_000_000, word: "x-y-z", besides: &[], lines: &none };
        let gained = find(&git, &[(tip, 1)], &wanted, &mut |_, _, _| {}).unwrap();
        assert_eq!(gained.marks_of(&session), 1);
        assert_eq!((gained.marks_of(&past[39]), gained.marks_of(&past[0])), (1, 0));
    }

    #[test]
    fn replaced_and_grafted_parents_are_followed() {
        let repo = Repo::with_commit();
        let git = repo.git();
        let first = repo.head();
        let second = at(&repo, 2_000_000_000, "second");
        let tip = at(&repo, 2_000_000_100, "third");
        let none = HashMap::new();
        let all = Wanted { since: 0, word: "x-y-z", besides: &[], lines: &none };
        let marks = || {
            let gained = find(&git, &[(tip.clone(), 1)], &all, &mut |_, _, _| {}).unwrap();
            gained.marks_of(&second)
        };
        assert_eq!(marks(), 1);
        repo.run(&["replace", "--graft", tip.as_str(), first.as_str()]);
        assert_eq!(marks(), 0);
        repo.run(&["replace", "-d", tip.as_str()]);
        repo.file(".git/info/grafts", &format!("{tip} {first}\n"));
        assert_eq!(marks(), 0);
    }

    #[test]
    fn what_is_known_to_be_one_line_is_reached_without_being_read() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let git = repo.git();
            let base = at(&repo, 2_000_000_000, "base x-y-z");
            repo.run(&["checkout", "-q", "-b", "side"]);
            let mut line: Vec<Oid> =
                (1..5).map(|n| at(&repo, 2_000_000_000 + n, "one x-y-z delivery")).collect();
            let tip = line.pop().unwrap();
            line.reverse();
            let inside = line[1].clone();
            line.push(base.clone());
            repo.run(&["checkout", "-q", "main"]);
            at(&repo, 2_000_000_050, "main x-y-z");
            repo.run(&["merge", "-q", "--no-ff", "-m", "merge x-y-z", "side"]);
            for tips in [
                vec![(repo.head(), 1)],
                vec![(repo.head(), 1), (inside.clone(), 2), (base.clone(), 4)],
                vec![(inside.clone(), 2), (tip.clone(), 4), (repo.head(), 1)],
            ] {
                let lines = HashMap::from([(&tip, line.as_slice())]);
                let mut told = Vec::new();
                let wanted = Wanted { since: 0, word: "X-Y-Z", besides: &[], lines: &lines };
                let mut see = |commit: &Oid, _, _: &str| told.push(commit.clone());
                let gained = find(&git, &tips, &wanted, &mut see).unwrap();
                for commit in line.iter().chain([&tip, &base, &repo.head()]) {
                    assert_eq!(gained.marks_of(commit), slow(&git, &tips, commit), "{options:?}");
                }
                assert!([&tip, &base].iter().all(|commit| told.contains(commit)), "{options:?}");
                assert!(!told.contains(&line[0]), "{options:?}: it is read");
            }
            let wanted =
                Wanted { since: 0, word: "x-y-z", besides: &["delivery"], lines: &HashMap::new() };
            let mut told = Vec::new();
            let mut see = |commit: &Oid, _, message: &str| {
                told.extend(message.contains("delivery").then(|| commit.clone()));
            };
            find(&git, &[(repo.head(), 1)], &wanted, &mut see).unwrap();
            assert_eq!(told.len(), 4, "{options:?}");
        }
    }
}
