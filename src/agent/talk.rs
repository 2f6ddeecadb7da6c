//! A conversation in progress: its messages, the next answer, and the calls of a turn.

mod typed;

use std::cell::RefCell;
use std::time::Instant;

use super::brief::Brief;
use super::ending::{self, AfterWords, ClosingCheck, Ending};
use super::no_progress::ProgressWatch;
use super::transcript::{How, RunTranscript};
use super::window;
use crate::clean::one_line;
use crate::event::{Event, Sink};
use crate::model::{
    Message, Model, ModelError, Position, Reply, Request, ToolCall, ToolSpec, made_up_id,
};
use crate::moment;
use crate::secret::Secrets;
use crate::stage::Role;
use crate::tool::{self, Context, Outcome, Tool};
use crate::workspace::Seen;

/// The hint on what to do once the model can be asked again.
const THEN: &str = "then: git cowork resume; the draft is kept";

/// Tools whose only effect is a request in the outcome. A resumed run calls them again to restore
/// it.
const WISHES: [&str; 5] = [
    "request_replanning",
    "goto_stage",
    "request_human_review",
    "review_and_edit_content",
    "review_with_feedback_content",
];

/// A conversation in progress.
pub(super) struct Talk {
    messages: Vec<Message>,
    /// Number of messages before this part of the conversation.
    before: usize,
    /// Number of opening messages, up to the end of the brief; 0 if the conversation continues
    /// an earlier part.
    opening: usize,
    /// Tools offered to the model.
    tools: Vec<ToolSpec>,
    /// Bytes that the messages may take.
    room: usize,
    pub(super) turn: u32,
    /// Messages that git-cowork added, besides the opening and the answers to calls.
    pub(super) nudges: u32,
    /// The closing act was made.
    acted: bool,
    /// The model's words with the closing act, if the user has typed something after it: these
    /// words still end the conversation.
    closing_words: Option<String>,
    /// The words with the first closing act after which something was missing.
    first_words: Option<String>,
    /// Notes that the user typed in the interrupted run.
    sent_notes: Vec<String>,
    newest: NewestTurn,
    /// True if the conversation would be refused again as it is.
    pub(super) refused: bool,
    watch: ProgressWatch,
    /// Number of guard refusals in the transcript.
    refused_before: u32,
}

/// Results of the calls of the newest turn.
#[derive(Clone, Copy, Debug, Default)]
struct NewestTurn {
    /// At least one failed.
    failed: bool,
    /// At least one changed something.
    changed: bool,
}

impl Talk {
    pub(super) fn begin(
        brief: &Brief,
        context: &Context<'_>,
        transcript: &mut RunTranscript,
    ) -> anyhow::Result<Self> {
        let secrets = context.workspace.secrets();
        // Documents, conventions and files may contain a key; no model needs to see it.
        let prompt = Message::User { content: secrets.for_models(&brief.prompt).into_owned() };
        let goes_on = transcript.goes_on();
        let opening = match goes_on {
            true => vec![prompt],
            false => vec![Message::System { content: brief.system.clone() }, prompt],
        };
        let (before, own_messages) = transcript.begin(&opening)?;
        let mut tools = tool::specs(&brief.offered, &context.workspace.commands().told());
        tools.extend(context.command_tools.iter().map(Tool::spec));
        let mut talk = Self {
            messages: Vec::new(),
            before: before.len(),
            // A conversation that continues another can always restart from scratch.
            opening: if goes_on { 0 } else { opening.len() },
            room: window::room(brief.context_window, &tools),
            tools,
            turn: brief.first_turn,
            nudges: 0,
            acted: false,
            closing_words: None,
            first_words: None,
            sent_notes: Vec::new(),
            newest: NewestTurn::default(),
            refused: false,
            watch: ProgressWatch::new(brief.refusals, context.command_tools),
            refused_before: 0,
        };
        context.workspace.read_tracker().forget();
        let recall = |files: Vec<Seen>| {
            files.into_iter().for_each(|seen| context.workspace.read_tracker().recall(seen));
        };
        for earlier in before {
            recall(earlier.seen);
            talk.messages.push(earlier.message);
        }
        talk.messages.extend(opening);
        for earlier in own_messages {
            recall(earlier.seen);
            talk.remember(brief, earlier.message, earlier.how);
        }
        Ok(talk)
    }

    /// Adds a message of an interrupted run, as if it had just arrived.
    fn remember(&mut self, brief: &Brief, message: Message, how: How) {
        match &message {
            Message::Assistant { .. } => self.begin_turn(),
            Message::User { content } if how == How::Typed => {
                self.keep_closing_words();
                self.sent_notes.push(content.clone());
            }
            Message::User { .. } => {
                self.keep_first_words();
                self.nudges += 1;
            }
            Message::Tool { tool_call_id, content } => {
                self.refused_before += u32::from(how == How::Guarded);
                let mut calls = self.newest_calls().iter();
                if let Some(call) = calls.find(|call| call.id == *tool_call_id).cloned() {
                    self.note(brief, &call, how, content);
                }
            }
            Message::System { .. } => {}
        }
        self.messages.push(message);
    }

    /// Repeats those calls of the interrupted run whose only effect was a request, and restores the
    /// reason why a person should look at the run.
    pub(super) async fn hear_wishes(&self, brief: &Brief, context: &mut Context<'_>) {
        context.outcome.guard_refusals += self.refused_before;
        let pending = self.unanswered();
        for call in self.newest_calls() {
            if WISHES.contains(&call.name.as_str()) && !pending.contains(call) {
                tool::call(context, &brief.tools, call).await;
            }
        }
        context.outcome.astray = self.watch.astray();
    }

    fn begin_turn(&mut self) {
        self.turn += 1;
        self.newest = NewestTurn::default();
    }

    /// Adds the model's answer to the conversation.
    pub(super) fn hear(
        &mut self,
        reply: &mut Reply,
        transcript: &mut RunTranscript,
    ) -> anyhow::Result<()> {
        let message = Message::Assistant {
            content: reply.content.clone(),
            tool_calls: reply.tool_calls.clone(),
            opaque: reply.opaque.take(),
        };
        transcript.message(&message)?;
        self.messages.push(message);
        self.begin_turn();
        Ok(())
    }

    /// Records the result of a call of the newest turn. Returns a note to append to its answer, if
    /// any.
    fn note(&mut self, brief: &Brief, call: &ToolCall, how: How, answer: &str) -> Option<String> {
        let name = call.name.as_str();
        match how {
            How::Done => {
                if brief.closing.contains(&name) {
                    self.acted = true;
                    self.closing_words = None;
                }
                self.newest.changed |= self.watch.changes_something(name);
            }
            How::Typed => {}
            How::Failed | How::Guarded => self.newest.failed = true,
        }
        self.watch.note(self.turn, call, how, answer)
    }

    /// Decides whether the conversation is over, after a turn whose calls are all answered.
    pub(super) async fn standing(
        &self,
        outcome: &Outcome,
        ending: &mut dyn Ending,
    ) -> anyhow::Result<ClosingCheck> {
        let is_answered = matches!(self.messages.last(), Some(Message::Tool { .. }));
        if !is_answered || !self.acted || self.newest.failed || !self.newest.changed {
            return Ok(ClosingCheck::Open);
        }
        Ok(match ending.standing(outcome).await? {
            ClosingCheck::Lacks(_) if !ending::may_tell(self.nudges) => ClosingCheck::Ends,
            standing => standing,
        })
    }

    /// Decides what to do with an actor's answer. An answer with calls gets no reply.
    pub(super) fn after_words(
        &self,
        brief: &Brief,
        reply: &Reply,
        ending: &dyn Ending,
    ) -> anyhow::Result<AfterWords> {
        let whole = reply.tool_calls.is_empty() && !reply.is_cut();
        if !whole || brief.role != Role::Actor {
            return Ok(AfterWords::Ends);
        }
        let after = match self.acted {
            true => ending.after_act()?,
            false => ending.after_words(&reply.content, self.nudges)?,
        };
        Ok(match after {
            AfterWords::Document { tool, .. } if !brief.tools.contains(&tool) => AfterWords::Ends,
            AfterWords::Lacks(_) if !ending::may_nudge(self.nudges) => AfterWords::Ends,
            after => after,
        })
    }

    /// Sends the model a message that does not answer a call.
    pub(super) fn tell(
        &mut self,
        content: String,
        transcript: &mut RunTranscript,
    ) -> anyhow::Result<()> {
        let message = Message::User { content };
        transcript.message(&message)?;
        self.messages.push(message);
        self.nudges += 1;
        Ok(())
    }

    /// The messages of this part of the conversation.
    pub(super) fn own(&self) -> &[Message] {
        &self.messages[self.before..]
    }

    /// The last message, if it is an answer without tool calls: the run was interrupted after it.
    pub(super) fn newest_answer(&self) -> Option<Reply> {
        match self.messages.last() {
            Some(Message::Assistant { content, tool_calls, .. }) if tool_calls.is_empty() => {
                Some(Reply { content: content.clone(), ..Reply::default() })
            }
            _ => None,
        }
    }

    /// The calls of the newest turn.
    fn newest_calls(&self) -> &[ToolCall] {
        let newest = self.own().iter().rev().find_map(|message| match message {
            Message::Assistant { tool_calls, .. } => Some(tool_calls.as_slice()),
            _ => None,
        });
        newest.unwrap_or_default()
    }

    pub(super) fn unanswered(&self) -> Vec<ToolCall> {
        let answered_ids: Vec<&str> = self
            .own()
            .iter()
            .filter_map(|message| match message {
                Message::Tool { tool_call_id, .. } => Some(tool_call_id.as_str()),
                _ => None,
            })
            .collect();
        let calls = self.newest_calls().iter();
        calls.filter(|call| !answered_ids.contains(&call.id.as_str())).cloned().collect()
    }

    /// Requests the next answer; `None` if the conversation no longer fits into the model's window.
    pub(super) async fn ask(
        &mut self,
        model: &dyn Model,
        brief: &Brief,
        secrets: &Secrets,
        sink: &dyn Sink,
    ) -> anyhow::Result<Option<Reply>> {
        let may_restart = self.messages.len() > self.opening;
        if !window::fit(&mut self.messages, self.room)
            && may_restart
            && window::restart_helps(&self.messages[..self.opening], self.room)
        {
            return Ok(None);
        }
        let mut tries = 0;
        loop {
            let request = Request {
                position: Position {
                    session: brief.session.clone(),
                    stage: Some(brief.stage),
                    role: brief.role,
                    iteration: brief.iteration,
                    task: brief.task.clone(),
                    turn: self.turn,
                },
                messages: self.messages.clone(),
                tools: self.tools.clone(),
                temperature: brief.temperature,
                workplace: None,
            };
            sink.emit(Event::Speaker { stage: brief.stage, role: brief.role });
            let begun = Instant::now();
            let stream = RefCell::new(secrets.stream());
            let show = |text: String| {
                if !text.is_empty() {
                    sink.emit(Event::Text { text });
                }
            };
            let on_text = |text: &str| {
                let text = stream.borrow_mut().push(text);
                show(text);
            };
            let answer = model.turn(&request, &on_text).await;
            moment::end();
            match answer {
                Ok(mut reply) => {
                    show(stream.borrow_mut().end());
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
                Err(ModelError::TooLong { .. }) if may_restart => return Ok(None),
                Err(error) => {
                    self.refused = error.is_about_the_conversation();
                    return Err(error.explained(model.config()).hint(THEN).into());
                }
            }
        }
    }

    /// Gives calls unique ids. Some servers restart their numbering in every turn, or in every part
    /// of a conversation, but each answer must match one call.
    fn unique_ids(&self, reply: &mut Reply) {
        let is_used = |id: &str| {
            self.messages.iter().any(|message| match message {
                Message::Assistant { tool_calls, .. } => tool_calls.iter().any(|c| c.id == id),
                _ => false,
            })
        };
        for (at, call) in reply.tool_calls.iter_mut().enumerate() {
            if is_used(&call.id) || call.id.is_empty() {
                let ids = (self.turn..).map(|turn| made_up_id(turn, at));
                let Some(id) = ids.into_iter().find(|id| !is_used(id)) else { continue };
                if let Some(opaque) = &mut reply.opaque {
                    opaque.rename_call(&call.id, &id);
                }
                call.id = id;
            }
        }
    }

    pub(super) async fn answer(
        &mut self,
        calls: &[ToolCall],
        brief: &Brief,
        context: &mut Context<'_>,
        transcript: &mut RunTranscript,
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
                command_failed: answer.command_failed,
                answer: answer.text.lines().next().unwrap_or_default().to_owned(),
            });
            for text in context.workspace.io_errors().new_ones() {
                sink.emit(Event::Warning { text });
            }
            context.workspace.io_errors().require_room()?;
            context.workspace.require_branch()?;
            let note = self.note(brief, call, how, &answer.text);
            let mut content = window::cut(answer.text, self.room, used);
            if let Some(note) = note {
                content.push_str(&format!("\n({note})"));
            }
            used += content.len();
            let message = Message::Tool { tool_call_id: call.id.clone(), content };
            transcript.answer(&message, how, context.workspace.read_tracker().take_new())?;
            self.messages.push(message);
        }
        context.outcome.astray = self.watch.astray();
        Ok(())
    }
}

fn brief_arguments(arguments: &str) -> String {
    const WIDTH: usize = 60;
    let value: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let keys = ["path", "title", "name", "command", "task_id", "id", "pattern", "summary"];
    let text = keys.iter().find_map(|key| value.get(key).and_then(|v| v.as_str()));
    let text = text.unwrap_or_default();
    let mut line = one_line(text.lines().next().unwrap_or_default(), WIDTH + 1);
    if text.lines().nth(1).is_some() && !line.ends_with('…') {
        line.push('…');
    }
    line
}
