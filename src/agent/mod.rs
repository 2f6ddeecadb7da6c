//! One conversation of one role: turns, tool calls, nudges, and its transcript.
//!
//! A draft ends at an answer without tool calls; a critic's run ends at its verdict. What a model
//! gets wrong goes back to it as a tool result or a nudge, a bounded number of times. Every
//! message is written to the transcript before the next one is asked for, so a run that was
//! killed goes on where it stopped and loses at most one call.

mod failure;
mod transcript;
mod watch;
mod window;

pub use transcript::Transcript;

use std::cell::RefCell;
use std::time::Instant;

use crate::event::{Event, Sink};
use crate::interrupt;
use crate::model::{
    Message, Model, ModelError, Position, Reply, Request, ToolCall, ToolSpec, made_up_id,
};
use crate::moment;
use crate::secret::Secrets;
use crate::stage::{Role, Stage};
use crate::tool::{self, Context, Outcome};
use failure::model_failure;
use transcript::How;
use watch::Watch;

/// How often a model is told to go on when its answer leads nowhere.
const MAX_NUDGES: u32 = 2;

/// Tools that only say something: what they said before a run was cut is heard by calling them
/// again.
const WISHES: [&str; 5] = [
    "request_replanning",
    "goto_stage",
    "request_human_review",
    "review_and_edit_content",
    "review_with_feedback_content",
];

/// Everything a run is given.
#[derive(Clone, Debug)]
pub struct Brief {
    /// Session name, for the request headers.
    pub session: String,
    /// Stage.
    pub stage: Stage,
    /// Role.
    pub role: Role,
    /// Draft number.
    pub iteration: u32,
    /// Task id, in coding.
    pub task: Option<String>,
    /// Who the model is and the rules.
    pub system: String,
    /// Documents and the stage's brief.
    pub prompt: String,
    /// Names of the tools on offer.
    pub tools: Vec<&'static str>,
    /// Sampling temperature.
    pub temperature: f64,
    /// Most turns.
    pub max_turns: u32,
    /// Tokens the model can hold.
    pub context_window: u64,
    /// Calls a guard refused earlier in this stage.
    pub refusals: u32,
}

/// What came of a conversation.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// What the tools were told.
    pub outcome: Outcome,
    /// The closing text.
    pub text: String,
    /// The conversation has outgrown the model's window, and what was done so far lies in the
    /// artifacts: another one can go on from there.
    pub outgrown: bool,
}

/// Runs one conversation to its end.
///
/// # Errors
/// When the model cannot be reached, refuses, or a replay has no answer: exit 4. Nothing that was
/// done before is undone.
pub async fn run(
    model: &dyn Model,
    brief: &Brief,
    context: &mut Context<'_>,
    transcript: &mut Transcript,
    sink: &dyn Sink,
) -> anyhow::Result<Conversation> {
    let secrets = context.workspace.secrets();
    let mut talk = Talk::begin(brief, context, transcript)?;
    let mut run = Conversation::default();
    talk.hear_wishes(brief, context).await;
    // Calls that were asked for but not answered when the last process died.
    let pending = talk.unanswered();
    talk.answer(&pending, brief, context, transcript, sink).await?;
    if let Some(text) = talk.closed() {
        // The last process died after the run's last answer.
        run.text = text;
        run.outcome = std::mem::take(&mut context.outcome);
        return Ok(run);
    }
    while talk.turn <= brief.max_turns && !context.outcome.ends_run(brief.role) {
        interrupt::check()?;
        let asked = talk.ask(model, brief, secrets, sink).await;
        if talk.refused {
            // Another run would only repeat what was refused.
            transcript.refused()?;
        }
        let Some(mut reply) = asked? else {
            run.outgrown = true;
            break;
        };
        withhold(secrets, &mut reply);
        let message = Message::Assistant {
            content: reply.content.clone(),
            tool_calls: reply.tool_calls.clone(),
            opaque: reply.opaque.take(),
        };
        transcript.message(&message)?;
        talk.messages.push(message);
        talk.turn += 1;
        if reply.tool_calls.is_empty() {
            run.text.clone_from(&reply.content);
            match talk.nudge(brief, &reply) {
                Some(nudge) => {
                    let message = Message::User { content: nudge.to_owned() };
                    transcript.message(&message)?;
                    talk.messages.push(message);
                }
                None => break,
            }
        } else {
            talk.answer(&reply.tool_calls, brief, context, transcript, sink).await?;
        }
    }
    if talk.turn > brief.max_turns {
        let text =
            format!("{} {} stopped after {} turns", brief.stage, brief.role, brief.max_turns);
        sink.emit(Event::Warning { text });
    }
    run.outcome = std::mem::take(&mut context.outcome);
    transcript.end()?;
    Ok(run)
}

/// A conversation in progress.
struct Talk {
    messages: Vec<Message>,
    /// Messages it was opened with.
    opening: usize,
    /// What is on offer.
    tools: Vec<ToolSpec>,
    /// Bytes its messages may have.
    room: usize,
    turn: u32,
    nudges: u32,
    /// The conversation as it is would be refused again.
    refused: bool,
    watch: Watch,
    /// Refusals by a guard in what a transcript brought back.
    refused_before: u32,
}

impl Talk {
    fn begin(
        brief: &Brief,
        context: &Context<'_>,
        transcript: &mut Transcript,
    ) -> anyhow::Result<Self> {
        let secrets = context.workspace.secrets();
        // Documents and conventions may hold a key of the user's; no model has to know it.
        let messages = vec![
            Message::System { content: brief.system.clone() },
            Message::User { content: secrets.withheld(&brief.prompt).into_owned() },
        ];
        let earlier = transcript.begin(&messages)?;
        let tools = tool::specs(&brief.tools, &context.workspace.commands().told());
        let mut talk = Self {
            opening: messages.len(),
            messages,
            room: window::room(brief.context_window, &tools),
            tools,
            turn: 1,
            nudges: 0,
            refused: false,
            watch: Watch::new(brief.refusals),
            refused_before: 0,
        };
        context.workspace.read_tracker().forget();
        for earlier in earlier {
            earlier.seen.into_iter().for_each(|seen| context.workspace.read_tracker().recall(seen));
            talk.remember(earlier.message, earlier.how);
        }
        Ok(talk)
    }

    /// Takes up a message of a run that was cut, as if it had just come.
    fn remember(&mut self, message: Message, how: How) {
        match &message {
            Message::Assistant { .. } => self.turn += 1,
            Message::User { .. } => self.nudges += 1,
            Message::Tool { tool_call_id, content } => {
                self.refused_before += u32::from(how == How::Guarded);
                let mut calls = self.newest_calls().iter();
                if let Some(call) = calls.find(|call| call.id == *tool_call_id).cloned() {
                    self.watch.note(self.turn, &call, how, content);
                }
            }
            Message::System { .. } => {}
        }
        self.messages.push(message);
    }

    /// What the run that was cut asked for besides its effects, and whether it had gone astray.
    async fn hear_wishes(&self, brief: &Brief, context: &mut Context<'_>) {
        context.outcome.guard_refusals += self.refused_before;
        let pending = self.unanswered();
        for call in self.newest_calls() {
            if WISHES.contains(&call.name.as_str()) && !pending.contains(call) {
                tool::call(context, &brief.tools, call).await;
            }
        }
        context.outcome.astray = self.watch.astray();
    }

    /// The closing text, if the conversation has come to its end.
    fn closed(&self) -> Option<String> {
        match self.messages.last() {
            Some(Message::Assistant { content, tool_calls, .. }) if tool_calls.is_empty() => {
                Some(content.clone())
            }
            _ => None,
        }
    }

    /// The calls of the newest turn.
    fn newest_calls(&self) -> &[ToolCall] {
        let newest = self.messages.iter().rev().find_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls.as_slice()),
            _ => None,
        });
        newest.unwrap_or_default()
    }

    fn unanswered(&self) -> Vec<ToolCall> {
        let answered: Vec<&str> = self
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
                _ => None,
            })
            .collect();
        let calls = self.newest_calls().iter();
        calls.filter(|call| !answered.contains(&call.id.as_str())).cloned().collect()
    }

    /// The next answer; none when the conversation has outgrown the model's window.
    async fn ask(
        &mut self,
        model: &dyn Model,
        brief: &Brief,
        secrets: &Secrets,
        sink: &dyn Sink,
    ) -> anyhow::Result<Option<Reply>> {
        let may_begin_afresh = self.messages.len() > self.opening;
        if !window::fit(&mut self.messages, self.room)
            && may_begin_afresh
            && window::restart_helps(&self.messages[..self.opening], self.room)
        {
            return Ok(None);
        }
        let mut tries = 0;
        loop {
            let request = Request {
                position: Position {
                    session: brief.session.clone(),
                    stage: brief.stage,
                    role: brief.role,
                    iteration: brief.iteration,
                    task: brief.task.clone(),
                    turn: self.turn,
                },
                messages: self.messages.clone(),
                tools: self.tools.clone(),
                temperature: brief.temperature,
            };
            sink.emit(Event::Speaker { stage: brief.stage, role: brief.role });
            let begun = Instant::now();
            let shown = RefCell::new(secrets.stream());
            let show = |text: String| {
                if !text.is_empty() {
                    sink.emit(Event::Text { text });
                }
            };
            let on_text = |text: &str| {
                let text = shown.borrow_mut().push(text);
                show(text);
            };
            let answer = model.turn(&request, &on_text).await;
            moment::end();
            match answer {
                Ok(mut reply) => {
                    show(shown.borrow_mut().end());
                    self.unique_ids(&mut reply);
                    sink.emit(Event::ModelRequest {
                        stage: brief.stage,
                        role: brief.role,
                        iteration: brief.iteration,
                        turn: self.turn,
                        usage: reply.usage,
                        millis: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                    });
                    return Ok(Some(reply));
                }
                Err(ModelError::TooLong { .. })
                    if tries == 0 && window::mask(&mut self.messages, 0) =>
                {
                    tries += 1;
                    let text =
                        "the conversation was too long for the model: old tool output was left out";
                    sink.emit(Event::Warning { text: text.to_owned() });
                }
                Err(ModelError::TooLong { .. }) if may_begin_afresh => return Ok(None),
                Err(error) => {
                    self.refused = error.is_about_the_conversation();
                    return Err(model_failure(error));
                }
            }
        }
    }

    /// Some servers number calls again in every turn; answers must find their call.
    fn unique_ids(&self, reply: &mut Reply) {
        for (at, call) in reply.tool_calls.iter_mut().enumerate() {
            let used = self.messages.iter().any(|message| match message {
                Message::Assistant { tool_calls, .. } => tool_calls.iter().any(|c| c.id == call.id),
                _ => false,
            });
            if used || call.id.is_empty() {
                let id = made_up_id(self.turn, at);
                if let Some(opaque) = &mut reply.opaque {
                    opaque.rename_call(&call.id, &id);
                }
                call.id = id;
            }
        }
    }

    async fn answer(
        &mut self,
        calls: &[ToolCall],
        brief: &Brief,
        context: &mut Context<'_>,
        transcript: &mut Transcript,
        sink: &dyn Sink,
    ) -> anyhow::Result<()> {
        let mut used = 0;
        for call in calls {
            let refusals = context.outcome.guard_refusals;
            let answer = tool::call(context, &brief.tools, call).await;
            let how = match answer.ok {
                true => How::Done,
                false if context.outcome.guard_refusals > refusals => How::Guarded,
                false => How::Failed,
            };
            sink.emit(Event::ToolCall {
                tool: call.name.clone(),
                brief: brief_arguments(&call.arguments),
                ok: answer.ok,
                answer: answer.text.lines().next().unwrap_or_default().to_owned(),
            });
            for text in context.workspace.io_errors().new_ones() {
                sink.emit(Event::Warning { text });
            }
            context.workspace.io_errors().require_room()?;
            let told = self.watch.note(self.turn, call, how, &answer.text);
            let mut content = window::cut(answer.text, self.room, used);
            if let Some(told) = told {
                content.push_str(&format!("\n({told})"));
            }
            used += content.len();
            let message = Message::Tool { tool_call_id: call.id.clone(), content };
            transcript.answer(&message, how, context.workspace.read_tracker().take_new())?;
            self.messages.push(message);
        }
        context.outcome.astray = self.watch.astray();
        Ok(())
    }

    /// What to say to an answer without tool calls; `None` ends the run.
    fn nudge(&mut self, brief: &Brief, reply: &Reply) -> Option<&'static str> {
        if self.nudges >= MAX_NUDGES {
            return None;
        }
        let cut = reply.finish_reason.as_deref() == Some("length");
        let marked = crate::model::prose::verdict_marker(&reply.content).is_some();
        let nudge = if cut {
            "Your answer was cut because it was too long. Go on from there, in smaller steps."
        } else if matches!(brief.role, Role::Critic | Role::Challenger) && !marked {
            "You have not given your verdict. Call exit_loop to approve, provide_feedback to say \
             what must change, or request_replanning if an earlier stage is wrong."
        } else if reply.content.trim().is_empty() && brief.role == Role::Actor {
            "Your answer was empty. Go on with the tools you have; when you are done, say so in \
             one sentence."
        } else {
            return None;
        };
        self.nudges += 1;
        Some(nudge)
    }
}

/// Takes the user's keys out of what a model says, before anything is done with it.
fn withhold(secrets: &Secrets, reply: &mut Reply) {
    reply.content = secrets.withheld(&reply.content).into_owned();
    for call in &mut reply.tool_calls {
        call.arguments = secrets.withheld_in_json(&call.arguments);
    }
    if let Some(opaque) = &mut reply.opaque {
        opaque.withhold(secrets);
    }
}

fn brief_arguments(arguments: &str) -> String {
    const WIDTH: usize = 60;
    let value: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let named = ["path", "title", "name", "command", "task_id", "id", "pattern", "summary"];
    let text = named.iter().find_map(|key| value.get(key).and_then(|v| v.as_str()));
    let mut line: String =
        text.unwrap_or_default().lines().next().unwrap_or_default().chars().take(WIDTH).collect();
    if text.is_some_and(|text| text.chars().count() > WIDTH) {
        line.push('…');
    }
    line
}
