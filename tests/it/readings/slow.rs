//! A session read slowly and plainly: `git log` with git's own reading of trailers, `git show` of
//! single files. It is written from what the commands are said to mean, and shares nothing with
//! how the program reads.

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::todo::STAGES;

/// A commit of a session.
#[derive(Debug)]
pub struct Entry {
    pub commit: String,
    parent: String,
    pub kind: Kind,
    trailers: Vec<(String, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Start,
    Stage(usize),
    Task(String),
    Draft(usize),
    /// Of which stage, and how it was answered.
    Review(usize, String),
    Other,
}

impl Entry {
    fn trailer(&self, key: &str) -> Option<&str> {
        let found = self.trailers.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    fn iterations(&self) -> u64 {
        self.trailer("Cowork-Iterations").map_or(1, |number| number.parse().unwrap())
    }

    /// `in=1 out=2 cached=3`
    fn tokens(&self) -> [u64; 3] {
        let text = self.trailer("Cowork-Tokens").unwrap_or_default();
        ["in=", "out=", "cached="].map(|name| {
            let number = text.split(' ').find_map(|word| word.strip_prefix(name));
            number.map_or(0, |number| number.parse().unwrap())
        })
    }

    fn completes(&self) -> bool {
        matches!(self.kind, Kind::Stage(_) | Kind::Start)
    }
}

/// A session as history tells it.
#[derive(Debug)]
pub struct Slow {
    name: String,
    tip: String,
    file: Value,
    pub history: Vec<Entry>,
}

impl Slow {
    /// `None` where the tip has no `session.json`.
    pub fn read(sandbox: &Sandbox, name: &str) -> Option<Self> {
        let tip = sandbox.git(&["rev-parse", &format!("refs/heads/cowork/{name}")]);
        let file = sandbox.git_outcome(&[
            "cat-file",
            "blob",
            &format!("{tip}:{}", path(name, "session.json")),
        ]);
        let file: Value = (file.code == 0).then(|| serde_json::from_str(&file.stdout).unwrap())?;
        let mut history = entries(sandbox, &tip, file["id"].as_str().unwrap());
        // What a start commit stands on was before the session.
        let event = |entry: &Entry| entry.trailer("Cowork-Event") == Some("start");
        let start = history.iter().rposition(event).unwrap_or(0);
        let history = history.split_off(start);
        Some(Self { name: name.to_owned(), tip, file, history })
    }

    /// Its commits, oldest first, for messages.
    pub fn told(&self) -> String {
        let lines = self.history.iter().map(|entry| {
            let trailers = [entry.trailer("Cowork-Tokens"), entry.trailer("Cowork-Tip")];
            format!("{:.8} {:?} {trailers:?}\n", entry.commit, entry.kind)
        });
        lines.collect()
    }

    fn last_stage(&self) -> Option<usize> {
        self.history.iter().rev().find_map(|entry| match entry.kind {
            Kind::Stage(stage) => Some(stage),
            _ => None,
        })
    }

    /// Where what is in progress begins.
    fn present(&self) -> usize {
        self.history.iter().rposition(Entry::completes).map_or(0, |at| at + 1)
    }

    /// The draft that waits on the branch, and whether it was answered.
    fn waiting(&self) -> Option<(usize, &Entry, bool)> {
        let recent = &self.history[self.present()..];
        let at = recent.iter().rposition(|entry| matches!(entry.kind, Kind::Draft(_)))?;
        let Kind::Draft(stage) = recent[at].kind else { return None };
        let answer = |entry: &Entry| matches!(&entry.kind, Kind::Review(of, _) if *of == stage);
        Some((stage, &recent[at], recent[at..].iter().any(answer)))
    }

    fn is_completed(&self) -> bool {
        self.last_stage() == Some(STAGES.len() - 1)
    }

    /// The stage that is worked on.
    fn stage(&self) -> Option<usize> {
        let next = self.last_stage().map_or(0, |last| last + 1);
        let waiting = self.waiting().map(|(stage, ..)| stage);
        if self.is_completed() { None } else { waiting.or(Some(next)) }
    }

    /// The draft of the present stage: the one that waits, else the one kept beside the branch, if
    /// it was made in the present run of the stage.
    fn draft(&self, sandbox: &Sandbox) -> Option<Entry> {
        if let Some((_, draft, _)) = self.waiting() {
            return entry(sandbox, &draft.commit);
        }
        let stage = self.stage()?;
        let name = format!("refs/cowork/drafts/{}/{}", self.name, STAGES[stage]);
        let kept = sandbox.git_outcome(&["rev-parse", "--verify", "-q", &name]);
        let draft = entry(sandbox, kept.stdout.trim()).filter(|_| kept.code == 0)?;
        let of_us = draft.trailer("Cowork-Session-Id") == self.file["id"].as_str();
        let aborted = draft.trailer("Cowork-Review") == Some("aborted");
        let recorded =
            |entry: &Entry| entry.kind == Kind::Stage(stage) && entry.parent == draft.parent;
        if !of_us || aborted || self.history.iter().any(recorded) {
            return None;
        }
        // It became a commit that git has taken off the branch since: only its tag is left.
        let below = sandbox.git(&["rev-list", &draft.commit, "--not", &self.tip]);
        let root = format!("refs/tags/cowork/{}/{}", self.name, STAGES[stage]);
        let tags =
            sandbox.git(&["for-each-ref", "--format=%(objectname)", &root, &format!("{root}-*")]);
        let became = |tag: &&str| {
            let parent = sandbox.git_outcome(&["rev-parse", "--verify", "-q", &format!("{tag}^1")]);
            parent.stdout.trim() == draft.parent && !below.lines().any(|commit| commit == *tag)
        };
        if tags.lines().any(|tag| became(&tag)) {
            return None;
        }
        let place = self.history.iter().position(|entry| entry.commit == draft.parent);
        let present = place.is_some_and(|place| place + 1 >= self.present());
        (draft.parent == self.tip || present).then_some(draft)
    }

    /// Whether all of it is in its base: as an ancestor, as files, or as a commit says.
    fn is_merged(&self, sandbox: &Sandbox) -> bool {
        let base = self.file["base"]["branch"].as_str().unwrap();
        let (here, there) = (format!("refs/heads/{base}"), format!("refs/remotes/*/{base}"));
        let tips = sandbox.git(&["for-each-ref", "--format=%(objectname)", &here, &there]);
        let of_tip = |tip: &str| {
            if !sandbox.git_fails(&["merge-base", "--is-ancestor", &self.tip, tip]) {
                return true;
            }
            let copy = self.copies(sandbox, &[tip]).into_iter().next();
            let file = show(sandbox, tip, &path(&self.name, "session.json"));
            let report = show(sandbox, tip, &path(&self.name, "delivery_report.md"));
            let file = file.filter(|_| report.is_some());
            let file = file.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            if file.is_none_or(|file| file["id"] != self.file["id"]) {
                return copy.is_some_and(|copy| copy.whole);
            }
            report == show(sandbox, &self.tip, &path(&self.name, "delivery_report.md"))
                && copy.is_none_or(|copy| copy.whole)
        };
        let others = ["--exclude=cowork/*", "--exclude=cowork-pr/*", "--branches"];
        let remotes = ["--exclude=*/cowork/*", "--exclude=*/cowork-pr/*", "--remotes"];
        let elsewhere = self.copies(sandbox, &[&others[..], &remotes].concat());
        tips.lines().any(of_tip) || elsewhere.iter().any(|copy| copy.is_merge && copy.whole)
    }

    /// The commits outside its history that speak for it, newest first.
    fn copies(&self, sandbox: &Sandbox, from: &[&str]) -> Vec<Copy> {
        let id = self.file["id"].as_str().unwrap();
        let copy = |entry: Entry| {
            let message = sandbox.git(&["log", "-1", "--format=%B", &entry.commit]);
            let quoted = |line: String| message.lines().any(|other| other.trim() == line);
            let (ours, stage) = (format!("Cowork-Session-Id: {id}"), "Cowork-Stage: delivery");
            let is_ours = entry.trailer("Cowork-Session-Id") == Some(id);
            let event = entry.trailer("Cowork-Event");
            let is_merge = is_ours && event == Some("merge");
            let delivers =
                is_ours && event.is_none() && entry.trailer("Cowork-Stage") == Some("delivery");
            let tip = entry.trailer("Cowork-Tip").filter(|_| is_ours);
            let whole = tip.is_none_or(|tip| tip == self.tip);
            let speaks = is_merge || delivers || (quoted(ours) && quoted(stage.to_owned()));
            speaks.then_some(Copy { whole, is_merge })
        };
        let commits = log(sandbox, &[from, &["--not", &self.tip]].concat());
        commits.into_iter().filter_map(copy).collect()
    }

    /// What `status --json` and `list --json` say, except why a run stopped.
    pub fn status(&self, sandbox: &Sandbox) -> Value {
        let waits = self.waiting().is_some_and(|(_, _, answered)| !answered);
        let state = match (self.is_completed(), waits) {
            (true, _) if self.is_merged(sandbox) => "merged",
            (true, _) => "completed",
            (false, true) => "waiting",
            (false, false) => "in_progress",
        };
        let draft = self.draft(sandbox);
        let counted =
            self.history.iter().filter(|e| matches!(e.kind, Kind::Stage(_) | Kind::Task(_)));
        let tokens = counted
            .chain(&draft)
            .map(Entry::tokens)
            .fold([0; 3], |sum, more| [sum[0] + more[0], sum[1] + more[1], sum[2] + more[2]]);
        json!({
            "session": self.name,
            "id": self.file["id"],
            "kind": "new",
            "state": state,
            "stage": self.stage().map(|stage| STAGES[stage]),
            "done": STAGES[..self.last_stage().map_or(0, |last| last + 1)],
            "iteration": draft.as_ref().map_or(0, Entry::iterations),
            "tip": self.tip,
            "base": self.file["base"],
            "tokens": {"in": tokens[0], "out": tokens[1], "cached": tokens[2]},
            "title": self.file["title"],
            "created_at": self.file["created_at"],
            "directory": format!(".cowork/sessions/{}", self.name),
        })
    }

    /// `2 of 5 tasks`, while the session is in coding and at least one is done.
    pub fn tasks(&self, sandbox: &Sandbox) -> Option<String> {
        let coding = self.stage().is_some_and(|stage| STAGES[stage] == "coding");
        let at = self.draft(sandbox).map_or_else(|| self.tip.clone(), |draft| draft.commit);
        let plan = show(sandbox, &at, &path(&self.name, "implementation_plan.json"));
        let plan: Value = serde_json::from_str(&plan.filter(|_| coding)?).ok()?;
        let tasks = plan["tasks"].as_array()?;
        let committed = |task: &&Value| {
            let id = task["id"].as_str().unwrap();
            self.history.iter().any(|entry| entry.kind == Kind::Task(id.to_owned()))
        };
        let done = tasks.iter().filter(committed).count();
        (done > 0).then(|| format!("{done} of {} tasks", tasks.len()))
    }

    /// What feedback the tip tells of.
    pub fn feedback(&self, sandbox: &Sandbox) -> Vec<String> {
        let text = show(sandbox, &self.tip, &path(&self.name, "feedback_history.json"));
        let said: Vec<Value> = text.map_or(Vec::new(), |text| serde_json::from_str(&text).unwrap());
        said.iter().map(|entry| entry["details"].as_str().unwrap().to_owned()).collect()
    }
}

/// A commit outside the history of a session that says what it delivered.
struct Copy {
    whole: bool,
    is_merge: bool,
}

fn path(session: &str, file: &str) -> String {
    format!(".cowork/sessions/{session}/{file}")
}

fn show(sandbox: &Sandbox, commit: &str, path: &str) -> Option<String> {
    let shown = sandbox.git_outcome(&["cat-file", "blob", &format!("{commit}:{path}")]);
    (shown.code == 0).then_some(shown.stdout)
}

/// Every commit below the tip that carries the id, oldest first.
fn entries(sandbox: &Sandbox, tip: &str, id: &str) -> Vec<Entry> {
    let mut all = log(sandbox, &["--topo-order", "--reverse", tip]);
    all.retain(|entry| entry.trailer("Cowork-Session-Id") == Some(id));
    all
}

fn entry(sandbox: &Sandbox, commit: &str) -> Option<Entry> {
    log(sandbox, &["-1", commit]).pop()
}

/// The commits that `git log` names; none where it fails.
fn log(sandbox: &Sandbox, args: &[&str]) -> Vec<Entry> {
    let format = "--format=%H%x01%P%x01%(trailers:only,unfold)%x02";
    let shown = sandbox.git_outcome(&[&["log", format], args, &["--"]].concat()).stdout;
    let commits = shown.split_terminator('\u{2}').map(str::trim_start);
    let commits = commits.filter(|commit| !commit.is_empty()).map(|commit| {
        let mut parts = commit.splitn(3, '\u{1}').map(str::to_owned);
        let (commit, parents) = (parts.next().unwrap(), parts.next().unwrap());
        let trailers = parts.next().unwrap();
        let trailers = trailers.lines().filter_map(|line| line.split_once(": "));
        let trailers = trailers.map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
        let parent = parents.split(' ').next().unwrap_or_default().to_owned();
        let mut entry = Entry { commit, parent, kind: Kind::Other, trailers: trailers.collect() };
        entry.kind = kind(&entry);
        entry
    });
    commits.collect()
}

fn kind(entry: &Entry) -> Kind {
    let stage = entry.trailer("Cowork-Stage");
    let stage = stage.and_then(|name| STAGES.iter().position(|stage| *stage == name));
    match (entry.trailer("Cowork-Event"), stage) {
        (Some("start"), None) => Kind::Start,
        (Some("start") | None, Some(stage)) => Kind::Stage(stage),
        (Some("draft"), Some(stage)) => Kind::Draft(stage),
        (Some("review"), Some(stage)) => entry
            .trailer("Cowork-Review")
            .map_or(Kind::Other, |how| Kind::Review(stage, how.to_owned())),
        (None, None) => {
            entry.trailer("Cowork-Task").map_or(Kind::Other, |task| Kind::Task(task.to_owned()))
        }
        _ => Kind::Other,
    }
}
