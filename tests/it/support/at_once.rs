//! Several cases of one check at the same time.

/// Runs a check for each case, all at once, because each waits for whole seconds and not for the
/// processor. Returns the results in the order of the cases.
pub fn at_once<T: Send, R: Send>(
    cases: impl IntoIterator<Item = T>,
    check: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let check = &check;
    std::thread::scope(|scope| {
        let running: Vec<_> =
            cases.into_iter().map(|case| scope.spawn(move || check(case))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}
