//! Calls a function for each of many items, in several threads, each with a repository that libgit2
//! has opened for it. The caches of such a repository are bounded ([`crate::git::bounded`]).

use crate::git::caches::Caches;
use crate::git::{Git, fallback};
use crate::in_threads;

/// Number of items that a thread takes at a time.
const CHUNK: usize = 64;

/// The results of `question` for each item, in their order. `question` is called with a [`Git`] of
/// the same repository.
pub fn ask_each<T: Sync, A: Send>(
    git: &Git,
    things: &[T],
    question: impl Fn(&Git, &T) -> A + Sync,
) -> Vec<A> {
    let chunks: Vec<&[T]> = things.chunks(CHUNK).collect();
    // If only the binary can read, each answer starts a process.
    if chunks.len() < 2 || !fallback::is_read_in_process(git) {
        return things.iter().map(|thing| question(git, thing)).collect();
    }
    // The first `Git` works in this thread, where the repository is open already.
    let others = (1..in_threads::count()).map(|_| opened_again(git));
    let mut repositories: Vec<Git> = std::iter::once(git.clone()).chain(others).collect();
    let answers = in_threads::each(&mut repositories, &chunks, |git, chunk| {
        chunk.iter().map(|thing| question(git, thing)).collect::<Vec<A>>()
    });
    answers.into_iter().flatten().collect()
}

/// The same repository, not yet opened by libgit2.
fn opened_again(git: &Git) -> Git {
    Git { shared_caches: Caches::default(), ..git.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::test_repo::{FORMATS, Repo};

    #[test]
    fn answers_come_in_order_from_every_reader() {
        for options in FORMATS {
            let repo = Repo::with_commit_in(options);
            let head = repo.head();
            let things: Vec<usize> = (0..3 * CHUNK + 7).collect();
            let told = ask_each(&repo.git(), &things, |git, thing| {
                let there = *thing > 3 || git.reader().commit(&head).is_ok();
                there.then_some(thing * 2)
            });
            assert_eq!(told, things.iter().map(|n| Some(n * 2)).collect::<Vec<_>>());
        }
    }
}
