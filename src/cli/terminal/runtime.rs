//! The runtime for asynchronous work.

/// A runtime on the current thread, enough to wait for models and commands.
pub(crate) fn current_thread() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
