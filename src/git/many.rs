//! Calls a function for each of many items, in several threads, each with a repository that libgit2
//! has opened for it. The caches of such a repository are bounded ([`super::bounded`]).

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Git, fallback};

/// Number of items that a thread takes at a time.
const CHUNK: usize = 256;

/// Maximum number of threads: reading is bound by the processor, which others use as well.
const THREADS: usize = 4;

/// The results of `question` for each item, in their order. It is called with a [`Git`] of the same
/// repository.
pub fn ask_each<T: Sync, A: Send>(
    git: &Git,
    things: &[T],
    question: impl Fn(&Git, &T) -> A + Sync,
) -> Vec<A> {
    let chunks: Vec<&[T]> = things.chunks(CHUNK).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(THREADS).min(chunks.len());
    // If only the binary can read, each answer starts a process.
    if chunks.len() < 2 || !fallback::is_read_in_process(git) {
        return things.iter().map(|thing| question(git, thing)).collect();
    }
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(chunks.len())));
    let work = || {
        let git = opened_again(git);
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = chunks.get(place) else { break };
            let told: Vec<A> = chunk.iter().map(|thing| question(&git, thing)).collect();
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((place, told));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().flat_map(|(_, told)| told).collect()
}

/// The same repository, not yet opened by libgit2.
fn opened_again(git: &Git) -> Git {
    Git { opened: fallback::Opened::default(), ..git.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::test_repo::Repo;
    use super::*;

    #[test]
    fn answers_come_in_order_from_every_reader() {
        for options in [&[][..], &["--ref-format=reftable"]] {
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
