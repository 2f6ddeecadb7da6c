//! Facts about the project: the proposals of a session's actors that a person is asked about, and
//! the person's decisions on them.

use std::fs;

use anyhow::Context as _;

use crate::artifact::knowledge::{
    Fact, KNOWLEDGE, KNOWLEDGE_MAX, KnowledgeFile, PROPOSALS_MAX, Proposal, ProposalKind,
};
use crate::artifact::record_diff::count;
use crate::gate::{Gate, Learned, LearnedDecision, Mode};
use crate::git;
use crate::pipeline::files::approved_content;
use crate::pipeline::run::Run;
use crate::record::knowledge::{self, KnowledgeDecision};
use crate::record::{self, Recorded};
use crate::secret::WITHHELD;
use crate::session::{
    KeptDraft, ProposedBy, kept_draft, knowledge_at, proposals_of, undecided_knowledge,
};
use crate::stage::Stage;

/// Undoes what a killed run wrote while a person was deciding about facts.
pub(crate) fn take_back(run: &Run<'_>) -> anyhow::Result<()> {
    knowledge::take_back(&run.recorder(), &run.session.tip)
}

/// On a terminal, asks about the facts that this session and other delivered ones propose, and
/// commits the answer. Runs before `stage`, or after delivery if it is `None`; never while there is
/// a draft, which is based on the present tip.
///
/// # Errors
/// Interrupted at the menu, or git fails.
pub(crate) fn offer(run: &mut Run<'_>, stage: Option<Stage>) -> anyhow::Result<()> {
    if run.env.mode == Mode::Auto && run.env.gate.is_some() && stage.is_none() {
        return say_waiting(run);
    }
    if run.env.mode != Mode::Ask || run.env.gate.is_none() {
        return Ok(());
    }
    let (git, tip) = (run.env.git, run.session.tip.clone());
    if let Some(stage) = stage {
        let draft = kept_draft(git, &run.session, stage)?;
        if run.session.waiting().is_some()
            || matches!(draft, Some(KeptDraft::Live(_)))
            || record::draft_refs::has_files(&run.recorder(), &tip)?
            || !run.env.workspace.written().paths().is_empty()
        {
            return Ok(());
        }
    }
    let file = match knowledge_at(git, &tip)? {
        Ok(file) => file,
        Err(why) => {
            run.warn_once(format!("{KNOWLEDGE} {why}; no facts are added"));
            return Ok(());
        }
    };
    let pending = undecided_knowledge(git, run.env.refs, &run.session, &file)?;
    let proposals: Vec<Proposal> =
        pending.iter().flat_map(|one| one.proposals.iter().cloned()).collect();
    if proposals.is_empty() {
        return Ok(());
    }
    if !knowledge::may_write(&run.recorder(), &tip)? {
        run.warn_once(format!(
            "{KNOWLEDGE} differs from its committed version: commit or restore it to decide on new facts"
        ));
        return Ok(());
    }
    let Some(decision) = ask(run, &file, &proposals, &whose(&pending))? else { return Ok(()) };
    match knowledge::decide(&run.recorder(), &tip, &decision)? {
        Recorded::Done(commit) => {
            let (taken, dropped) = (decision.taken.len(), decision.dropped.len());
            run.note(format!("{KNOWLEDGE}: {taken} taken, {dropped} dropped: {}", commit.short()));
            run.advance(&commit)
        }
        Recorded::Refused(why) => {
            run.warn(format!("you will be asked again; {KNOWLEDGE} was not changed: {why}"));
            Ok(())
        }
    }
}

/// Reports facts that wait for a decision when nobody is asked.
fn say_waiting(run: &Run<'_>) -> anyhow::Result<()> {
    let git = run.env.git;
    let Ok(file) = knowledge_at(git, &run.session.tip)? else { return Ok(()) };
    let pending = undecided_knowledge(git, run.env.refs, &run.session, &file)?;
    let facts = pending.iter().map(|one| one.proposals.len()).sum::<usize>();
    if facts > 0 {
        let (facts, name) = (count(facts, "proposed fact"), &run.session.name);
        run.note(format!("{facts} about the project to decide on: git cowork resume {name}"));
    }
    Ok(())
}

/// The session that proposes the facts. If several sessions do, lists each fact with its session.
fn whose(pending: &[ProposedBy]) -> String {
    match pending {
        [one] => one.session.to_string(),
        several => {
            let facts = several.iter().flat_map(|one| {
                one.proposals.iter().map(|proposal| format!("{}: {}", one.session, proposal.fact))
            });
            facts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// A person's decision; `None` if the person is to be asked again later.
fn ask(
    run: &Run<'_>,
    file: &KnowledgeFile,
    proposals: &[Proposal],
    sessions: &str,
) -> anyhow::Result<Option<KnowledgeDecision>> {
    let Some(gate) = &run.env.gate else { return Ok(None) };
    let mut text = file.with(proposals).text().to_owned();
    let mut diff = difference(run, gate, file.text(), &text)?;
    (gate.call)("facts about the project are proposed");
    loop {
        let editor = gate.editor.name();
        let question = Learned { count: proposals.len(), sessions, diff: &diff, editor };
        let title = "facts about the project are proposed";
        let remarks = diff.lines().filter(|line| !line.starts_with("@@")).map(str::to_owned);
        approved_content::open_menu(run, title, Learned::choices(), remarks.collect());
        let decision = gate.learned(&question);
        run.env.gates.close(None);
        let new_text = match decision? {
            LearnedDecision::Later => return Ok(None),
            LearnedDecision::Drop => file.text().to_owned(),
            LearnedDecision::Take => text.clone(),
            LearnedDecision::Edit => {
                match gate.editor.edit_text(gate.scratch, &text, ".md") {
                    Ok(Some(edited)) => text = edited,
                    Ok(None) => run.note(
                        "the file was left unchanged or empty, so nothing is decided; press d to \
                         drop all facts",
                    ),
                    Err(error) => run.warn(format!("{error:#}")),
                }
                diff = difference(run, gate, file.text(), &text)?;
                continue;
            }
        };
        if new_text.len() > KNOWLEDGE_MAX {
            run.warn(format!(
                "{KNOWLEDGE} would be larger than 64 KiB; remove facts from it, or drop these"
            ));
            continue;
        }
        return Ok(Some(decided(file, proposals, new_text)));
    }
}

/// The decision that a new text of the file implies.
fn decided(file: &KnowledgeFile, proposals: &[Proposal], text: String) -> KnowledgeDecision {
    let now = KnowledgeFile::parse(&text);
    let mut decision = KnowledgeDecision::default();
    for one in proposals {
        let fact = one.fact.to_string();
        match now.is_changed_by(one) {
            true => decision.dropped.push(fact),
            false => decision.taken.push(fact),
        }
    }
    // Facts in the person's own words.
    let is_proposed = |fact: &Fact| {
        proposals.iter().any(|one| one.kind == ProposalKind::Learned && one.fact.says(&fact.text))
    };
    let additions = now.facts().filter(|fact| !file.says(&fact.text) && !is_proposed(fact));
    decision.taken.extend(additions.map(ToString::to_string));
    decision.text = (text != file.text()).then_some(text);
    decision
}

fn difference(run: &Run<'_>, gate: &Gate<'_>, old: &str, new: &str) -> anyhow::Result<String> {
    let paths = ["knowledge.old", "knowledge.new"].map(|name| gate.scratch.join(name));
    for (path, text) in paths.iter().zip([old, new]) {
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    let diff = git::diff::files(run.env.git, &paths[0], &paths[1]);
    paths.iter().for_each(|path| drop(fs::remove_file(path)));
    diff
}

/// The proposals that contain no secret and change the file, up to the maximum number.
///
/// # Errors
/// Git cannot be read.
pub(crate) fn acceptable(run: &Run<'_>, proposals: Vec<Proposal>) -> anyhow::Result<Vec<Proposal>> {
    if proposals.is_empty() {
        return Ok(proposals);
    }
    let file = knowledge_at(run.env.git, &run.session.tip)?.unwrap_or_default();
    let mut list: Vec<Proposal> = Vec::new();
    for one in proposals {
        let Some(one) = that_changes(&file, one) else { continue };
        if list.iter().any(|other| other.fact.is_same(&one.fact)) {
            continue;
        }
        if holds_secret(run, &one) {
            run.warn_once(format!(
                "a fact that was proposed for {KNOWLEDGE} holds what looks like a key; it is dropped"
            ));
        } else if list.len() < PROPOSALS_MAX {
            list.push(one);
        } else {
            run.warn_once(format!(
                "more than {PROPOSALS_MAX} facts were proposed for {KNOWLEDGE}; the others are dropped"
            ));
        }
    }
    Ok(list)
}

/// The proposal with the file's wording; `None` if it would change nothing.
fn that_changes(file: &KnowledgeFile, one: Proposal) -> Option<Proposal> {
    match one.kind {
        ProposalKind::Learned => file.is_changed_by(&one).then_some(one),
        ProposalKind::Outdated => {
            let entry = file.find(&one.fact.to_string()).or_else(|| file.find(&one.fact.text));
            entry.map(|fact| Proposal { fact: fact.clone(), ..one })
        }
    }
}

fn holds_secret(run: &Run<'_>, one: &Proposal) -> bool {
    let text = one.fact.to_string();
    text.contains(WITHHELD) || run.env.workspace.secrets().blanked(&text) != text
}

/// The proposals as trailer values.
pub(crate) fn trailers(proposals: &[Proposal]) -> Vec<String> {
    proposals.iter().map(ToString::to_string).collect()
}

/// The proposals in the session's commits of code since reviewers last reopened it.
pub(crate) fn proposed_by_code(run: &Run<'_>) -> Vec<Proposal> {
    let commits = run.session.newest_round().iter().filter(|entry| entry.brings_code());
    commits.flat_map(|entry| proposals_of(&entry.trailers)).collect()
}
