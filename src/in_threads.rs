//! Applies a function to many items, in several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum number of threads; it leaves processor time for other programs.
const MOST: usize = 4;

/// The number of threads to use: one per processor, up to [`MOST`].
pub(crate) fn count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(MOST)
}

/// Returns the results of `work` in the order of `things`. The first worker runs in the current
/// thread, each other one in a thread of its own.
pub(crate) fn each<W: Send, T: Sync, A: Send>(
    workers: &mut [W],
    things: &[T],
    work: impl Fn(&mut W, &T) -> A + Sync,
) -> Vec<A> {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(things.len())));
    let run = |worker: &mut W| {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = things.get(place) else { break };
            let answer = work(worker, thing);
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((place, answer));
        }
    };
    if let Some((first, others)) = workers.split_first_mut() {
        std::thread::scope(|scope| {
            for worker in others.iter_mut().take(things.len().saturating_sub(1)) {
                scope.spawn(|| run(worker));
            }
            run(first);
        });
    }
    let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_unstable_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_in_the_order_of_the_things() {
        for workers in 1..5 {
            let mut counts = vec![0; workers];
            let things: Vec<usize> = (0..100).collect();
            let answers = each(&mut counts, &things, |count, thing| {
                *count += 1;
                thing * 2
            });
            assert_eq!(answers, things.iter().map(|thing| thing * 2).collect::<Vec<_>>());
            assert_eq!(counts.iter().sum::<usize>(), 100);
        }
    }
}
