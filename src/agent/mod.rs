//! One conversation of one role: turns, tool calls, nudges, and its transcript.
//!
//! An actor's conversation ends with its closing act, if nothing is missing, or with an answer
//! without tool calls; a critic's ends with its verdict. A model's mistakes are returned to it as a
//! tool result or a nudge, a bounded number of times. What the user types meanwhile is sent with
//! the actor's next request; if the conversation would have ended, there is one more request. Every
//! message is written to the transcript before the next request, so a killed run resumes where it
//! stopped and loses at most one call.

mod brief;
mod ending;
mod first_request;
mod no_progress;
mod notes;
mod talk;
mod transcript;
mod verdict;
mod window;

pub use brief::{Brief, Conversation};
pub use ending::{AfterWords, ClosingCheck, Ending, WithWords};
pub use first_request::{FirstAnswer, FirstRequest};
pub use notes::{Notes, UserNote};
pub use transcript::{EarlierConversation, RunId, RunTranscript};

use crate::event::{Event, Sink};
use crate::interrupt;
use crate::model::{Model, Reply, prose};
use crate::secret::Secrets;
use crate::tool::{self, Context};
use talk::Talk;

/// Runs one conversation to its end.
///
/// # Errors
/// The model cannot be reached or refuses, or a replay has no answer: exit 4. Nothing is undone.
pub async fn run(
    model: &dyn Model,
    brief: &Brief,
    context: &mut Context<'_>,
    transcript: &mut RunTranscript,
    ending: &mut dyn Ending,
    notes: &dyn Notes,
    sink: &dyn Sink,
) -> anyhow::Result<Conversation> {
    let secrets = context.workspace.secrets();
    let mut talk = Talk::begin(brief, context, transcript)?;
    let mut run = Conversation::default();
    talk.hear_wishes(brief, context).await;
    // Calls without an answer, because the last process died.
    let pending = talk.unanswered();
    talk.answer(&pending, brief, context, transcript, sink).await?;
    if let Some(reply) = talk.newest_answer() {
        // The last process died after it received this answer.
        let after = talk.after_words(brief, &reply, ending)?;
        if !go_on_after(&mut talk, brief, &reply, after, transcript)?
            && !talk.pass_on(brief, secrets, notes, transcript)?
        {
            talk.end(reply.content, &mut run);
            run.outcome = std::mem::take(&mut context.outcome);
            return Ok(run);
        }
    }
    while !context.outcome.ends_run(brief.role) {
        match talk.standing(&context.outcome, ending).await? {
            ClosingCheck::Open => {}
            ClosingCheck::Ends if talk.pass_on(brief, secrets, notes, transcript)? => {}
            ClosingCheck::Ends => {
                let words = talk.newest_words();
                talk.end(words, &mut run);
                break;
            }
            ClosingCheck::Lacks(missing) => {
                talk.keep_first_words();
                talk.tell(missing, transcript)?;
            }
        }
        talk.pass_on(brief, secrets, notes, transcript)?;
        if talk.turn >= brief.first_turn.saturating_add(brief.max_turns) {
            let text =
                format!("{} {} stopped after {} turns", brief.stage, brief.role, brief.max_turns);
            sink.emit(Event::Warning { text });
            break;
        }
        interrupt::check()?;
        let result = talk.ask(model, brief, secrets, sink).await;
        if talk.refused {
            // Another run would send the same conversation and be refused again.
            transcript.refused()?;
        }
        let Some(mut reply) = result? else {
            run.outgrown = true;
            break;
        };
        withhold(secrets, &mut reply);
        let after = talk.after_words(brief, &reply, ending)?;
        if let AfterWords::Document { tool, text } = &after {
            let arguments = tool::saving_call(tool, text, &reply.content);
            prose::adopt_document(&mut reply, tool, &arguments, talk.turn);
        }
        talk.hear(&mut reply, transcript)?;
        context.numbers.begin_answer();
        if reply.tool_calls.is_empty() {
            if !go_on_after(&mut talk, brief, &reply, after, transcript)?
                && !talk.pass_on(brief, secrets, notes, transcript)?
            {
                talk.end(reply.content, &mut run);
                break;
            }
            run.text.clone_from(&reply.content);
        } else {
            talk.answer(&reply.tool_calls, brief, context, transcript, sink).await?;
        }
    }
    run.outcome = std::mem::take(&mut context.outcome);
    transcript.end()?;
    Ok(run)
}

/// Tells the model what is missing after an answer without calls; returns false if nothing is
/// missing.
fn go_on_after(
    talk: &mut Talk,
    brief: &Brief,
    reply: &Reply,
    after: AfterWords,
    transcript: &mut RunTranscript,
) -> anyhow::Result<bool> {
    let has_reminder = talk.own().iter().any(verdict::is_reminder);
    let message = match (ending::nudge(brief, reply, talk.nudges, has_reminder), after) {
        (_, AfterWords::Lacks(missing)) => Some(missing),
        (nudge, _) => nudge.map(str::to_owned),
    };
    let goes_on = message.is_some();
    if let Some(message) = message {
        talk.tell(message, transcript)?;
    }
    Ok(goes_on)
}

/// Removes the user's secret keys from a reply before it is used.
fn withhold(secrets: &Secrets, reply: &mut Reply) {
    reply.content = secrets.withheld(&reply.content).into_owned();
    for call in &mut reply.tool_calls {
        call.arguments = secrets.withheld_in_json(&call.arguments);
    }
    if let Some(opaque) = &mut reply.opaque {
        opaque.withhold(secrets);
    }
}
