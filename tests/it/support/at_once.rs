//! Several cases of one check at the same time.

use std::panic::resume_unwind;

/// Runs a check for each case, all at once: most of their time they wait, for a limit of whole seconds
/// or for the end of something. Returns the results in the order of the cases.
pub fn at_once<T: Send, R: Send>(
    cases: impl IntoIterator<Item = T>,
    check: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let check = &check;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            cases.into_iter().map(|case| scope.spawn(move || check(case))).collect();
        let ended =
            running.into_iter().map(|one| one.join().unwrap_or_else(|why| resume_unwind(why)));
        ended.collect()
    })
}
