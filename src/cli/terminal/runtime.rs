//! What asynchronous work runs on.

/// A runtime for the one thing that waits: the model and commands.
pub(crate) fn current_thread() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
