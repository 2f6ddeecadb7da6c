//! A person's question about a draft (`t` at the gate): the actor answers with read-only tools. It
//! is neither feedback nor a decision, and does not count as a draft.

use crate::agent::WithWords;
use crate::error::{Kind, hints_of, kind_of};
use crate::event::Event;
use crate::gate::Reply;
use crate::pipeline::brief::part::Part;
use crate::pipeline::brief::{conversation, reader};
use crate::pipeline::draft::keep;
use crate::pipeline::prompts::{QUESTION, Variables};
use crate::pipeline::step::{self, Step};
use crate::stage::Role;
use crate::stages::CHALLENGER;

/// Asks the question, shows the answer and saves both with the draft. Returns the gate's reply.
pub(crate) async fn ask(step: &mut Step<'_, '_>, question: &str) -> anyhow::Result<Reply> {
    let result = answer(step, question).await;
    step.draft.credit.merge(step::take_credit(step.run));
    let reply = |text: String| Reply { text, redraws: false, calls: true };
    let answer = match result {
        Ok(answer) => answer,
        Err(error) if kind_of(&error) == Kind::Model => return Ok(reply(no_answer(&error))),
        Err(error) => return Err(error),
    };
    if answer.trim().is_empty() {
        return Ok(reply("the actor gave no answer".to_owned()));
    }
    let (stage, iteration) = (step.spec.stage, step.draft.iteration);
    keep::keep_answer(step, (question, &answer))?;
    let question = question.to_owned();
    step.run.env.sink.emit(Event::QuestionAnswered { stage, iteration, question, answer });
    Ok(reply(String::new()))
}

async fn answer(step: &Step<'_, '_>, question: &str) -> anyhow::Result<String> {
    let variables = conversation::brief_variables(step)?;
    let variables = Variables { question: question.to_owned(), ..variables };
    let part = Part {
        again: Some(QUESTION),
        question: Some(number(step)),
        extra: reader::draft_for_reader(step.run, step.spec)?,
        ..Part::new(step, Role::Actor, QUESTION, CHALLENGER.tools(), variables)
    };
    let refusals = step.draft.refusals;
    Ok(conversation::converse(step.run, &part, refusals, &mut WithWords).await?.text)
}

/// The number of this question about the draft: each question has its own transcript.
fn number(step: &Step<'_, '_>) -> u32 {
    let begins = format!("{}.{}.{}.question-", step.spec.stage, step.draft.iteration, Role::Actor);
    let files = std::fs::read_dir(step.run.env.state.transcripts()).into_iter().flatten().flatten();
    let numbers = files.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        name.strip_prefix(&begins)?.strip_suffix(".jsonl")?.parse::<u32>().ok()
    });
    numbers.max().unwrap_or(0).saturating_add(1)
}

/// The message if there is no answer, with the hints that apply here.
fn no_answer(error: &anyhow::Error) -> String {
    let mut text = format!("the actor did not answer: {error:#}");
    for hint in hints_of(error).iter().filter(|hint| !hint.contains("git cowork resume")) {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}
