//! Options for requests to model servers, and the error for a server that cannot be reached.

use std::rc::Rc;
use std::time::Duration;

use crate::activity::{Activity, Watch};
use crate::cli::context::Context;
use crate::config::ModelConfig;
use crate::error::{Error, Kind};
use crate::event::{Event, Sink as _};
use crate::interrupt;
use crate::model::ModelError;
use crate::model::meter::{Meter, Notice};
use crate::model::options::BuildOptions;
use crate::pipeline::failed_tests;

/// Redraws of the live status line, per second.
const REDRAWS: u32 = 8;
/// Checks of the keyboard per redraw, if a person can type.
const LOOKS: u32 = 4;

/// Awaits the future `wanted` with the live status line shown, unless the user interrupts it first.
/// `meter` counts what the session has used.
pub(crate) async fn unless_interrupted<T>(
    context: &Context,
    meter: Option<&Meter>,
    wanted: impl Future<Output = T>,
) -> anyhow::Result<T> {
    tokio::select! {
        biased;
        () = interrupt::requested() => {
            // The request that is dropped reports nothing any more.
            context.ui.emit(Event::Now(Activity::Answered));
            context.ui.clear();
            Err(Error::new(Kind::Interrupted, "interrupted").into())
        }
        found = wanted => Ok(found),
        () = tick(context, meter) => Err(Error::new(Kind::Interrupted, "interrupted").into()),
    }
}

/// Redraws the live status line; never returns.
async fn tick(context: &Context, meter: Option<&Meter>) {
    let budget = context.config().map_or(0.0, |config| config.budget.usd);
    let looks = if context.attended() { LOOKS } else { 1 };
    loop {
        if let Some(meter) = meter {
            context.ui.uses(meter.used(), budget);
        }
        for _ in 0..REDRAWS {
            for _ in 0..looks {
                tokio::time::sleep(Duration::from_secs(1) / REDRAWS / looks).await;
                context.ui.keys();
            }
            context.ui.tick();
        }
    }
}

/// Shows warnings about requests to a model.
pub(crate) fn notice(context: &Context) -> Notice {
    let ui = Rc::clone(&context.ui);
    Rc::new(move |text: &str| ui.emit(Event::Warning { text: text.to_owned() }))
}

/// Shows the current activity; `None` with `--json`.
pub(crate) fn watch(context: &Context) -> Option<Watch> {
    let ui = Rc::clone(&context.ui);
    let watch = move |activity| {
        ui.emit(Event::Now(match activity {
            Activity::Prints { line, .. } => {
                let test = failed_test(&line);
                Activity::Prints { line, failed: test }
            }
            other => other,
        }));
    };
    (!context.global.json).then(|| -> Watch { Rc::new(watch) })
}

/// The test that a test runner's line reports as failed.
fn failed_test(line: &str) -> Option<String> {
    // The patterns of all runners are slow, so skip them for a line that contains none of these
    // words.
    let says = ["FAIL", "not ok", "✗", "✖", "✘", "×", "●", "ERROR"];
    says.iter().any(|word| line.contains(word)).then(|| failed_tests(line).pop_first())?
}

/// Shows what a request waits for.
fn waiting(context: &Context) -> Notice {
    let ui = Rc::clone(&context.ui);
    Rc::new(move |text: &str| ui.emit(Event::Note { text: text.to_owned() }))
}

/// Options for requests to a server, with their own meter.
pub(crate) fn options(context: &Context, base_url: &str) -> BuildOptions {
    let mut options = BuildOptions {
        no_stream: context.global.no_stream,
        notice: Some(notice(context)),
        waiting: Some(waiting(context)),
        watch: watch(context),
        proxy: proxy(context, base_url),
        env: context.env.clone(),
        ..BuildOptions::default()
    };
    if let Some(millis) = context.env.get("COWORK_TEST_RETRY_MS").and_then(|ms| ms.parse().ok()) {
        options.retry.second = Duration::from_millis(millis);
    }
    options
}

/// The environment variable that makes the HTTP client use a proxy for a base URL.
fn proxy(context: &Context, base_url: &str) -> Option<String> {
    let variable = if base_url.starts_with("https:") { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let names =
        [variable, "ALL_PROXY"].into_iter().flat_map(|name| [name.to_lowercase(), name.to_owned()]);
    let mut set = names.filter(|name| context.env.get(name).is_some_and(|value| !value.is_empty()));
    set.next()
}

/// The error for a server that cannot be used, with hints.
pub(crate) fn unreachable(model: &ModelConfig) -> impl Fn(ModelError) -> anyhow::Error + '_ {
    |error| {
        let without = "or try git-cowork without a model: git cowork demo";
        error.explained(Some(model)).hint(without).into()
    }
}
