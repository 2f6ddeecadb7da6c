//! `git cowork pr`: pushes a session's branch and opens a pull request; no other command pushes.

use std::fmt::Write as _;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use crate::cli::args::Answer;
use crate::cli::context::Context;
use crate::cli::remote::push::{self, refused};
use crate::cli::session_cmd::approved;
use crate::cli::session_cmd::delivered;
use crate::cli::session_cmd::lock::{self, LockedSession};
use crate::cli::session_cmd::workspace::with_recorder;
use crate::clock;
use crate::error::Error;
use crate::event::{Event, Sink as _};
use crate::forge::{Address, LONGEST_BODY, Program, PullRequest, without_credentials};
use crate::git::{self, Git, Oid, Push, RefName};
use crate::record::{self, Delivery, LOGS, Published, logs};
use crate::session::{RefNames, Session, SessionName, began, merged, review_base};

/// The text of the request, in the session's state directory, for a person to copy.
const TEXT_FILE: &str = "pull-request.md";

#[derive(Debug, Args)]
pub(crate) struct PrArgs {
    /// Session name [default: the branch you are on, or the newest delivered session]
    #[arg(value_name = "SESSION")]
    name: Option<SessionName>,
    /// Push to this remote [default: the one git would choose, or the only one, or origin]
    #[arg(long, value_name = "R")]
    remote: Option<String>,
    /// Open the pull request as a draft pull request
    #[arg(long)]
    draft: bool,
    /// Also push the session's stage tags
    #[arg(long)]
    tags: bool,
    /// Push even if nobody approved the current content of a stage; this option works only on a
    /// terminal
    #[arg(long)]
    force: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Push only the code, as branch cowork-pr/SESSION, without .cowork/sessions
    #[arg(long)]
    without_artifacts: bool,
}

/// The pull request: its branches, remotes and text.
struct Proposal {
    session: Session,
    /// The branch to push, and its commit.
    branch: RefName,
    commit: Oid,
    /// The remote to push to, and its URL.
    remote: String,
    url: String,
    /// The base branch, its remote, and its last known commit.
    base: String,
    base_remote: String,
    base_commit: Oid,
    delivery: Delivery,
}

impl Proposal {
    /// The text of the pull request, which its forge accepts.
    fn text(&self, place: Option<&(Address, Option<String>)>) -> String {
        self.delivery.text(place.map_or(LONGEST_BODY, |(into, _)| into.longest_body()))
    }

    /// The repository that receives the pull request, and the owner of the fork if the branch is
    /// pushed to a fork.
    fn place(&self, git: &Git) -> anyhow::Result<Option<(Address, Option<String>)>> {
        let Some(head) = Address::of_remote(&self.url) else { return Ok(None) };
        let into = Address::of_remote(&git::remote::push_url(git, &self.base_remote)?);
        Ok(match into {
            Some(into) if into.host == head.host && into.path != head.path => {
                let owner = head.owner().to_owned();
                Some((into, Some(owner)))
            }
            _ => Some((head, None)),
        })
    }
}

pub(crate) fn run(context: &Context, args: &PrArgs) -> Answer {
    let refs = context.refs()?;
    let name = delivered::name(context, args.name.as_ref())?;
    let held = lock::hold_session(context, &name, "git cowork pr")?;
    let git = &held.git;
    git::state::require_identity(git)?;
    let session = delivered::completed(context, &name)?;
    if let Some(merged) = merged(git, &refs, &session)? {
        let text = format!("{name} is already merged{}", delivered::said_by(&merged, &session));
        context.ui.emit(Event::Note { text });
        return Ok(0);
    }
    approved::require(context, git, &session, args.force)?;
    let proposal = proposal(context, args, &held, session)?;
    let place = proposal.place(git)?;
    let program = place.as_ref().and_then(|(into, owner)| {
        let program = Program::find(into, git.top(), context.env.iter())?;
        // glab opens a pull request from a fork only in a working tree of that fork.
        (program.name() == "gh" || owner.is_none()).then_some(program)
    });
    if args.dry_run {
        return say_what_would_be(context, args, &proposal, place.as_ref(), program.as_ref());
    }
    if refs.session_of(&RefNames::local(&proposal.base)).is_some() {
        require_base(git, &proposal)?;
    }
    push_all(context, args, &held, &proposal)?;
    match (&place, program) {
        (Some((into, owner)), Some(program)) => {
            let request = PullRequest {
                into,
                base: &proposal.base,
                head: proposal.branch.short(),
                head_owner: owner.as_deref(),
                title: &proposal.delivery.title,
                text: &proposal.text(place.as_ref()),
                draft: args.draft,
            };
            open(context, &proposal, &program, &request)
        }
        _ => by_hand(context, args, &held, &proposal, place.as_ref()),
    }
}

fn proposal(
    context: &Context,
    args: &PrArgs,
    held: &LockedSession,
    session: Session,
) -> anyhow::Result<Proposal> {
    let git = &held.git;
    let refs = context.refs()?;
    let name = session.name.clone();
    let remote = push::remote(git, args.remote.as_deref(), &refs.short_branch(&name))?;
    let url = git::remote::push_url(git, &remote)?;
    let base = match review_base(git, &refs, &session)? {
        Some(base) => base,
        None => push::remote_head(git, &remote)?.ok_or_else(|| {
            Error::repository(format!(
                "'{name}' was not started on a branch, and {remote} has no default branch"
            ))
            .hint(format!("set it: git remote set-head {remote} --auto"))
        })?,
    };
    let follows = git::settings::get(git, &format!("branch.{base}.remote"))?;
    let known = git::remote::all(git)?;
    let base_remote = follows.filter(|name| known.contains(name)).unwrap_or_else(|| remote.clone());
    let base_commit = base_commit(git, &base_remote, &base, &session)?;
    let project = &context.config()?.project;
    let delivery = Delivery::of_session(git, &session, project, &context.secrets()?)?;
    let (branch, commit) = if args.without_artifacts {
        let branch = RefNames::without_artifacts(&name);
        let pushed = RefNames::remote(&remote, branch.short());
        let mut before = Vec::new();
        for place in [branch.as_str(), &pushed] {
            before.extend(git.resolve(place)?);
        }
        let commit = with_recorder(context, held, &name, &session.tip, |recorder| {
            record::merge::code_branch(
                recorder,
                &session,
                &base_commit,
                &delivery.message(),
                &before,
            )
        })?;
        (branch, commit)
    } else {
        (refs.branch(&name), session.tip.clone())
    };
    Ok(Proposal { session, branch, commit, remote, url, base, base_remote, base_commit, delivery })
}

/// The last known commit of the base branch on its remote, or the local base branch, or the commit
/// the session started from.
fn base_commit(git: &Git, remote: &str, base: &str, session: &Session) -> anyhow::Result<Oid> {
    for place in [RefNames::remote(remote, base), RefNames::local(base)] {
        if let Some(commit) = git.resolve(&place)? {
            return Ok(commit);
        }
    }
    began(git, session)
}

/// Makes sure that the remote has the base branch: a pull request against another session's branch
/// needs it there.
fn require_base(git: &Git, proposal: &Proposal) -> anyhow::Result<()> {
    let (base, remote) = (&proposal.base, &proposal.base_remote);
    if git::remote::has_branch(git, remote, base)? {
        return Ok(());
    }
    Err(Error::repository(format!("this session is based on {base}, which is not on {remote}"))
        .hint(format!("push it first: git push {remote} {base}"))
        .hint(format!(
            "or merge {base} first; the pull request then goes to the branch into which {base} was \
             merged"
        ))
        .into())
}

fn push_all(
    context: &Context,
    args: &PrArgs,
    held: &LockedSession,
    proposal: &Proposal,
) -> anyhow::Result<()> {
    let git = &held.git;
    let Proposal { branch, commit, remote, session, .. } = proposal;
    let mut lease = None;
    if args.without_artifacts {
        // Expect the commit that git-cowork pushed last. If a fetch brought a newer commit,
        // git-cowork must not overwrite it.
        let last = git.resolve(branch.as_str())?;
        let theirs = git.resolve(&RefNames::remote(remote, branch.short()))?;
        lease = Some(if theirs.as_ref() == Some(commit) { theirs } else { last });
    }
    let mut refs = vec![Push { from: commit.clone(), to: branch.clone(), lease }];
    if args.tags {
        for tag in git::refs::list(git, &RefNames::labels(&session.name))? {
            refs.push(Push { from: tag.object, to: tag.name, lease: None });
        }
    }
    let text = format!("pushing {} to {remote}", branch.short());
    context.ui.emit(Event::Note { text });
    let outcome = git::remote::push(git, remote, &refs, context.attended())?;
    refused(outcome, branch, remote, &proposal.url, &session.name)?;
    if args.without_artifacts {
        with_recorder(context, held, &session.name, &session.tip, |recorder| {
            record::merge::keep_code_branch(recorder, commit)
        })?;
        return Ok(());
    }
    publish_logs(context, held, session, remote)
}

/// Pushes the logs of the session's checks as notes. The branch is already pushed, so a remote that
/// refuses notes is only a warning.
fn publish_logs(
    context: &Context,
    held: &LockedSession,
    session: &Session,
    remote: &str,
) -> anyhow::Result<()> {
    let published = with_recorder(context, held, &session.name, &session.tip, |recorder| {
        record::logs::publish(recorder, session, remote, context.attended())
    });
    let why = match published {
        Ok(Published::Done(0)) => return Ok(()),
        Ok(Published::Done(logs)) => {
            let what = if logs == 1 { "log" } else { "logs" };
            let text = format!("pushed {logs} check {what} to refs/notes/{LOGS} on {remote}");
            context.ui.emit(Event::Note { text });
            return Ok(());
        }
        Ok(Published::Refused(said)) => said,
        Err(error) => format!("{error:#}"),
    };
    let text = format!(
        "the check logs were not pushed to refs/notes/{LOGS} on {remote}: {}; the branch was pushed",
        why.trim()
    );
    context.ui.emit(Event::Warning { text });
    Ok(())
}

fn open(
    context: &Context,
    proposal: &Proposal,
    program: &Program,
    request: &PullRequest<'_>,
) -> Answer {
    let note = |text: &str| context.ui.emit(Event::Note { text: text.to_owned() });
    let opened = match program.open(request) {
        Ok(opened) => opened,
        Err(error) => {
            let mut said = Error::repository(format!("{error:#}"))
                .hint(format!("{} is pushed", proposal.branch.short()));
            if let Some(url) = request.into.compare(request.base, request.head, request.head_owner)
            {
                said = said.hint(format!("open it by hand: {url}"));
            }
            return Err(said.into());
        }
    };
    if opened.existed {
        note("the branch already has a pull request, which now shows the pushed commits");
    } else if opened.plain {
        note("the forge accepts no draft pull requests here: this one is ready for review");
    }
    if context.global.json {
        return answer(context, proposal, Some(&opened.url), Some(opened.existed));
    }
    context.print(&format!("{}\n", opened.url))?;
    Ok(0)
}

/// If no program can open the pull request: prints the URL of the page on which to open it by hand,
/// and the text of the pull request.
fn by_hand(
    context: &Context,
    args: &PrArgs,
    held: &LockedSession,
    proposal: &Proposal,
    place: Option<&(Address, Option<String>)>,
) -> Answer {
    let path = held.state.path().join(TEXT_FILE);
    let text = format!("{}\n\n{}", proposal.delivery.title, proposal.text(place));
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    let url = place.and_then(|(into, owner)| {
        into.compare(&proposal.base, proposal.branch.short(), owner.as_deref())
    });
    if context.global.json {
        return answer(context, proposal, url.as_deref(), None);
    }
    let note = |text: String| context.ui.emit(Event::Note { text });
    if let Some(url) = &url {
        context.print(&format!("{url}\n\n"))?;
        note("open the pull request on that page".to_owned());
        if args.draft {
            note("mark it as a draft there".to_owned());
        }
    }
    note(format!("its title and text: {}", path.display()));
    context.print(&request_text(held, proposal)?)?;
    Ok(0)
}

/// The text that `git request-pull` prints, or a similar text, without the credentials in the URL.
fn request_text(held: &LockedSession, proposal: &Proposal) -> anyhow::Result<String> {
    let Proposal { remote, url, branch, base_commit, commit, .. } = proposal;
    let clean = without_credentials(url);
    if let Some(text) = git::remote::request_pull(&held.git, base_commit, remote, branch)? {
        return Ok(text.replace(url.as_str(), &clean));
    }
    Ok(format!(
        "The following changes since commit {base_commit}\n\nare available in the Git repository at:\n\n  {clean} {}\n\nfor you to fetch changes up to {commit}:\n\n  {}\n",
        branch.short(),
        proposal.delivery.title
    ))
}

fn answer(
    context: &Context,
    proposal: &Proposal,
    url: Option<&str>,
    existed: Option<bool>,
) -> Answer {
    let line = json!({
        "event": "pull_request", "at": clock::rfc3339(clock::now()), "session": proposal.session.name.as_str(),
        "branch": proposal.branch.short(), "base": proposal.base, "remote": proposal.remote,
        "commit": proposal.commit.as_str(), "url": url,
        "opened": existed == Some(false), "existed": existed == Some(true),
    });
    context.print(&format!("{line}\n"))?;
    Ok(0)
}

fn say_what_would_be(
    context: &Context,
    args: &PrArgs,
    proposal: &Proposal,
    place: Option<&(Address, Option<String>)>,
    program: Option<&Program>,
) -> Answer {
    let Proposal { session, branch, remote, url, base, delivery, .. } = proposal;
    let (head, clean) = (branch.short(), without_credentials(url));
    let mut out = format!("Push     {head} to {remote} ({clean})\n");
    if args.tags {
        let tags = git::refs::list(context.git()?, &RefNames::labels(&session.name))?;
        let names: Vec<&str> = tags.iter().map(|tag| tag.name.short()).collect();
        let _ = writeln!(out, "Tags     {}", names.join(", "));
    }
    let logs = logs::named(session).len();
    if logs > 0 && !args.without_artifacts {
        let what = if logs == 1 { "check" } else { "checks" };
        let _ = writeln!(out, "Logs     of {logs} {what} to refs/notes/{LOGS}");
    }
    let draft = if args.draft { ", as a draft" } else { "" };
    match (program, place) {
        (Some(program), Some((into, _))) => {
            let _ = writeln!(
                out,
                "Open     {base} <- {head} on {}/{} with {}{draft}",
                into.host,
                into.path,
                program.name()
            );
        }
        (_, Some((into, owner))) => {
            let url = into.compare(base, head, owner.as_deref());
            let by = url.unwrap_or_else(|| "the text of git request-pull".to_owned());
            let _ = writeln!(out, "By hand  {base} <- {head}: {by}");
        }
        _ => {
            let _ = writeln!(out, "By hand  {base} <- {head}: the text of git request-pull");
        }
    }
    let _ = write!(out, "Title    {}\n\n{}", delivery.title, proposal.text(place));
    context.page(&out)?;
    let text = "nothing was pushed: this was a dry run".to_owned();
    context.ui.emit(Event::Note { text });
    Ok(0)
}
