//! Handles a failed try: wait, send less, or give up with an error.

use std::time::Duration;

use super::ModelError;
use super::dialect::Refusals;
use super::failure::{FailedAt, Failure};
use super::openai::OpenAi;
use super::retry::{self, Tries};

/// How often a request is repeated because its answer did not end in time.
const ENDLESS_RETRIES: u32 = 1;

impl OpenAi {
    /// Handles a failed try; `Ok` means to try again.
    pub(super) async fn recover(
        &self,
        failure: Failure,
        tries: &mut Tries,
    ) -> Result<(), ModelError> {
        let gave_up = match failure {
            Failure::Parameter { name, refusals } => {
                self.leave_out(name, refusals);
                return Ok(());
            }
            Failure::Missing { name, refusals } => {
                self.refused.set(refusals);
                self.tell(&format!("the model server requires {name}: sending a placeholder"));
                return Ok(());
            }
            Failure::Transient { at, message, retry_after, busy } => {
                return self.wait(at, &message, retry_after, busy, tries).await;
            }
            Failure::Endless => return self.ask_for_the_end(tries),
            Failure::Unexplained { status, message } => {
                let message = self.clean(&message);
                let before = self.refused.get();
                if tries.unexplained.is_none() && !before.bare && !tries.elsewhere {
                    self.tell(&format!(
                        "{message}; it names no parameter: trying once with a minimal request"
                    ));
                    self.refused.set(before.bare_minimum());
                    let error = ModelError::Refused { status: Some(status), message };
                    tries.unexplained = Some((error, before));
                    return Ok(());
                }
                let status = Some(status);
                ModelError::Refused { status, message }
            }
            Failure::Refused { status, message } => {
                ModelError::Refused { status, message: self.clean(&message) }
            }
            Failure::Declined { message } => ModelError::Declined { message: self.clean(&message) },
            Failure::TooLong { message } => ModelError::TooLong { message: self.clean(&message) },
        };
        // The minimal request did not help: report the first refusal, and restore the parameters.
        if let Some((first, before)) = tries.unexplained.take() {
            self.refused.set(before);
            if matches!(gave_up, ModelError::Refused { .. }) {
                return Err(first);
            }
        }
        Err(gave_up)
    }

    fn leave_out(&self, name: &str, refusals: Refusals) {
        let line = format!("the model server refuses {name}: sending requests without it");
        // A model that does not think has no encrypted thoughts, so this needs no warning.
        match refusals.include == self.refused.get().include {
            true => self.tell(&line),
            false => tracing::info!("{line}"),
        }
        self.refused.set(refusals);
    }

    async fn wait(
        &self,
        at: FailedAt,
        message: &str,
        requested_wait: Option<Duration>,
        busy: bool,
        tries: &mut Tries,
    ) -> Result<(), ModelError> {
        tries.failures += 1;
        let failures = tries.failures;
        let mut message = self.clean(message);
        if let Some(requested_wait) =
            requested_wait.filter(|requested_wait| *requested_wait > retry::LONGEST)
        {
            message.push_str(&format!(" (it asks to wait {})", retry::shown(requested_wait)));
            tracing::error!("{message}; given up");
            return Err(ModelError::Unavailable { at, message, tries: failures });
        }
        if let Some(proxy) = self.proxy.as_ref().filter(|_| at == FailedAt::Connecting) {
            message.push_str(&format!(
                " (sent through the proxy in {proxy}; NO_PROXY excludes hosts)"
            ));
        }
        let retries = retry::tries_again(self.config.max_retries, busy, requested_wait);
        if failures > retries {
            tracing::error!("{message}; given up after {failures} tries");
            return Err(ModelError::Unavailable { at, message, tries: failures });
        }
        let wait = retry::delay(failures, requested_wait, fastrand::f64());
        let suffix = if requested_wait == Some(wait) { ", as requested" } else { "" };
        let wait_text = retry::shown(wait);
        self.tell(&format!(
            "{message}; trying again in {wait_text}{suffix} ({failures} of {retries})"
        ));
        self.meter.pause(self.retry.sleep(wait)).await
    }

    fn ask_for_the_end(&self, tries: &mut Tries) -> Result<(), ModelError> {
        let (limit, ends_work) = tries.limit;
        if ends_work {
            return self.meter.refusal().map_or(Ok(()), Err);
        }
        tries.endless += 1;
        let seconds = limit.unwrap_or_default().as_secs_f64();
        if tries.endless > ENDLESS_RETRIES {
            tracing::error!("again, the answer is not complete after {seconds:.0} s");
            return Err(ModelError::Endless { seconds, tries: tries.endless });
        }
        self.tell(&format!(
            "the answer is not complete after {seconds:.0} s (answer_s): trying once more"
        ));
        Ok(())
    }
}
