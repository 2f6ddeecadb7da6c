//! The kinds of specifications that are read: which files make a folder one of a kind, and what the
//! marks in them mean. A further kind is a further table.

use super::marks::Means::{
    Body, Command, Covers, Criterion, Feature, Files, Gate, Goal, Idea, Key, LeftOut, More, Named,
    Needs, Parts, Priority, Quality, Question, Reads, Removal, Requirement, Serves, State, Story,
    Summary, Task, Test, Title,
};
use super::marks::On::{Box, Cells, Field, Heading, Item, Label, Part, Text};
use super::marks::{Mark, Means, compiled, mark};

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Text of the idea.
    Prose,
    /// Requirements; the rest is text of the idea.
    Requirements,
    /// Tasks; the rest is named as left out.
    Tasks,
    /// One task or requirement, with fields in its front matter.
    Record(Means),
    /// A list of tasks in JSON or YAML.
    Data,
    /// Settings of the tool.
    Settings,
}

/// A kind of specification.
#[derive(Debug)]
pub struct SpecKind {
    /// The tool's name.
    pub name: &'static str,
    /// The file that a folder of the kind is known by, in messages.
    pub sign: &'static str,
    /// Patterns of files: a folder is of this kind if it has one of each pattern of a list.
    needs: &'static [&'static [&'static str]],
    /// A folder in it that may be given instead, and the pattern of a file beside that folder.
    inner: (&'static str, &'static str),
    /// Patterns of the files that are read, in order.
    pub(super) files: &'static [(&'static str, Role)],
    pub(super) marks: &'static [Mark],
}

impl SpecKind {
    /// Returns the kind of the folder that contains these files, given by their paths in it.
    pub fn of_folder(files: &[String]) -> Option<&'static Self> {
        let has = |pattern: &&'static str| files.iter().any(|file| matches(pattern, file));
        ALL.into_iter().find(|kind| kind.needs.iter().any(|all| all.iter().all(has)))
    }

    /// Returns the kind of a file that is read by itself.
    pub fn of_file(path: &str, text: &str) -> Option<&'static Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let found =
            ALONE.iter().find(|(file, inside, _)| matches(file, name) && matches(inside, text));
        found.map(|(.., kind)| *kind)
    }

    /// True if a folder with these files is the whole of which a folder with this name is given.
    pub fn is_whole_of(&self, inner: &str, files: &[String]) -> bool {
        self.inner.0 == inner && files.iter().any(|file| matches(self.inner.1, file))
    }

    /// Returns the path of a file of this kind that is read by itself.
    pub fn path_alone(&self, name: &str) -> String {
        let inner = format!("{}/{name}", self.inner.0);
        if self.role(name).is_none() && self.role(&inner).is_some() {
            inner
        } else {
            name.to_owned()
        }
    }

    /// True if a folder of this kind needs the file at this path.
    pub fn needs(&self, path: &str) -> bool {
        self.needs.iter().flat_map(|all| all.iter()).any(|pattern| matches(pattern, path))
    }

    /// True if a task of this kind is a requirement, too, where the files have none.
    pub(super) fn has_tasks_only(&self) -> bool {
        self.files.iter().any(|(_, role)| *role == Role::Data)
    }

    pub(super) fn role(&self, path: &str) -> Option<(usize, Role)> {
        let at = self.files.iter().position(|(pattern, _)| matches(pattern, path))?;
        self.files.get(at).map(|(_, role)| (at, *role))
    }
}

fn matches(pattern: &'static str, text: &str) -> bool {
    compiled(pattern).is_some_and(|pattern| pattern.is_match(text))
}

/// All kinds, in the order in which a folder is compared with them.
pub static ALL: [&SpecKind; 6] = [&OPENSPEC, &SPEC_KIT, &KIRO, &TASK_MASTER, &BMAD, &BACKLOG];

/// Files that are read by themselves: patterns of the name and of the text.
static ALONE: [(&str, &str, &SpecKind); 4] = [
    (r"^tasks\.json$", "", &TASK_MASTER),
    (r"^epics\.md$", r"(?m)^### Story \d", &BMAD),
    (r"\.md$", r"(?m)^---\s[\s\S]*^## Tasks & Acceptance", &BMAD),
    (BACKLOG_TASK, r"\A---\r?\nid: ", &BACKLOG),
];

const TASKS: &str = r"^tasks\.md$";
const DEPENDS: &str = r"(?i)\b(?:depends on|depends|dependencies):?\**\s+(?<needs>[\w.]+(?:(?:,| and| &)\s*T?\d[\w.]*)*)";

/// GitHub's spec-kit.
static SPEC_KIT: SpecKind = SpecKind {
    name: "spec-kit",
    sign: "spec.md",
    needs: &[&[r"^spec\.md$"]],
    inner: ("", ""),
    files: &[(SPEC, Role::Requirements), (r"^plan\.md$", Role::Prose), (TASKS, Role::Tasks)],
    marks: &[
        mark(SPEC, Heading, r"(?i)^primary user story", Story("US1 {title}")),
        mark(
            SPEC,
            Heading,
            r"(?i)^user story (?<key>\d+)[\s:–—-]*(?<title>.*?)\s*(?:\(Priority:\s*(?<priority>P\d)?.*)?$",
            Story("US{key} {title}"),
        ),
        mark(SPEC, Item, r"", Criterion).below(r"(?i)^acceptance scenario"),
        mark(SPEC, Label, r"(?i)^given\b", Criterion).below(r"(?i)^acceptance scenario"),
        mark(SPEC, Item, r"^(?<key>FR-\d\w*)[\s:–—-]+(?<text>.+)", Requirement("{key} {title}")),
        mark(SPEC, Item, r"^(?<key>NFR-\d\w*)[\s:–—-]+(?<text>.+)", Quality("{key} {title}")),
        mark(SPEC, Label, r"", Idea),
        mark(r"^plan\.md$", Heading, r"^Summary$", Summary),
        mark(TASKS, Label, r"(?i)^(?:goal|purpose):\s*(?<text>.+)", Goal),
        mark(TASKS, Label, r"(?i)^(?:independent test|checkpoint):\s*(?<text>.+)", Test),
        mark(TASKS, Part, DEPENDS, Needs),
        mark(TASKS, Box, r"", Task),
    ],
};
const SPEC: &str = r"^spec\.md$";

/// Fission's OpenSpec.
static OPENSPEC: SpecKind = SpecKind {
    name: "OpenSpec",
    sign: "proposal.md",
    needs: &[&[PROPOSAL]],
    inner: ("", ""),
    files: &[
        (PROPOSAL, Role::Prose),
        (DELTA, Role::Requirements),
        (r"^design\.md$", Role::Prose),
        (TASKS, Role::Tasks),
    ],
    marks: &[
        mark(PROPOSAL, Heading, r"^(?i)why$", Summary),
        mark(DELTA, Heading, CHANGED, Idea).below(r"(?i)^renamed"),
        mark(DELTA, Heading, CHANGED, Requirement("{folder}: {title} (changed)"))
            .below(r"(?i)^modified"),
        mark(DELTA, Heading, CHANGED, Removal("{folder}: Remove: {title}")).below(r"(?i)^removed"),
        mark(DELTA, Heading, CHANGED, Requirement("{folder}: {title}")),
        mark(DELTA, Heading, r"(?i)^scenario:\s*(?<text>.+)", Criterion),
        mark(TASKS, Part, DEPENDS, Needs),
        mark(TASKS, Box, r"", Task),
    ],
};
const PROPOSAL: &str = r"^proposal\.md$";
const DELTA: &str = r"^specs/.+/spec\.md$";
const CHANGED: &str = r"(?i)^requirement:\s*(?<title>.+)";

/// Kiro, and other tools with the same three files, such as those in `.claude/specs`.
static KIRO: SpecKind = SpecKind {
    name: "Kiro",
    sign: "requirements.md and tasks.md",
    needs: &[&[NEEDED, TASKS], &[NEEDED, r"^design\.md$"]],
    inner: ("", ""),
    files: &[(NEEDED, Role::Requirements), (r"^design\.md$", Role::Prose), (TASKS, Role::Tasks)],
    marks: &[
        mark(
            NEEDED,
            Heading,
            r"(?i)^requirement (?<key>\d+)(?:\s*[:.–—-]\s*(?<title>.+))?$",
            Requirement("Requirement {key}: {title}"),
        ),
        mark(NEEDED, Heading, r"(?i)^non-?functional", Quality("Non-functional requirements")),
        mark(NEEDED, Heading, r"(?<title>.+)", Quality("{title}")).below(r"(?i)^non-?functional"),
        mark(NEEDED, Item, r"", Criterion).below(r"(?i)^(?:acceptance criteria|non-?functional)"),
        mark(r"^design\.md$", Heading, r"(?i)^overview$", Summary),
        mark(TASKS, Box, r"(?i)^(?:\d[\d.]*\s+)?(?:final )?checkpoint\b", LeftOut("as checkpoint")),
        mark(TASKS, Part, r"(?i)^File:\s*(?<files>.+)", Files),
        mark(TASKS, Part, r"(?i)^_?leverage:", Reads),
        mark(TASKS, Part, r"(?i)_requirements?:\s*(?<serves>[^_]+)_", Serves),
        mark(
            TASKS,
            Part,
            r"(?i)^(?:requirements?:|validates: requirements?)\s*(?<serves>.+)$",
            Serves,
        ),
        mark(
            TASKS,
            Part,
            r"(?i)^_?(?:depends on|depends|dependencies):?\s*(?<needs>[^_]+)_?$",
            Needs,
        ),
        mark(TASKS, Box, r"", Task),
    ],
};
const NEEDED: &str = r"^requirements\.md$";

/// Task Master.
static TASK_MASTER: SpecKind = SpecKind {
    name: "Task Master",
    sign: "tasks.json",
    needs: &[&[TASKS_JSON]],
    inner: ("tasks", r"^(?:state|config)\.json$"),
    files: &[
        (r"^docs/[^/]+\.(?:md|txt)$", Role::Prose),
        (r"^state\.json$", Role::Settings),
        (TASKS_JSON, Role::Data),
    ],
    marks: &[
        mark("^docs/", Heading, "^(?<title>.+)", Title),
        mark("", Field, "^id$", Key),
        mark("", Field, "^title$", Title),
        mark("", Field, "^(?:description|details)$", Body),
        mark("", Field, "^testStrategy$", Test),
        mark("", Field, "^dependencies$", Needs),
        mark("", Field, "^priority$", Priority),
        mark("", Field, "^status$", State(&["done", "completed", "cancelled", "deferred"])),
        mark("", Field, "^subtasks$", Parts),
    ],
};
const TASKS_JSON: &str = r"^(?:tasks/)?tasks\.json$";

/// Backlog.md.
static BACKLOG: SpecKind = SpecKind {
    name: "Backlog.md",
    sign: "task-1 - NAME.md",
    needs: &[&[BACKLOG_TASK]],
    inner: ("tasks", r"^config\.ya?ml$"),
    files: &[
        (r"^config\.ya?ml$", Role::Settings),
        (BACKLOG_TASK, Role::Record(Requirement("{key} {title}"))),
    ],
    marks: &[
        mark("", Field, "^id$", Key),
        mark("", Field, "^title$", Title),
        mark("", Field, "^priority$", Priority),
        mark("", Field, "^dependencies$", Needs),
        mark("", Field, "^parent_task_id$", Serves),
        mark("", Field, "^modified_files$", Files),
        mark("", Field, "^(?:labels|references|documentation)$", Named),
        mark("", Field, "^status$", State(&[])),
        mark("", Box, r"^(?:#\d+\s+)?(?<text>.+)", Criterion).below("^(?:AC|DOD)$"),
        mark("", Item, r"(?<text>.+)", Task).below("^SECTION:PLAN$"),
        mark("", Item, "", Body).below("^SECTION:DESCRIPTION$"),
        mark("", Text, "", Body).below("^SECTION:DESCRIPTION$"),
        mark("", Label, "", Body).below("^SECTION:DESCRIPTION$"),
    ],
};
pub(super) const BACKLOG_TASK: &str =
    r"^(?:tasks/)?(?:task-[^/]*|[A-Za-z]+-\d+(?:\.\d+)* - [^/]*)\.md$";

/// The BMAD method.
static BMAD: SpecKind = SpecKind {
    name: "BMAD",
    sign: "SPEC.md or epics.md",
    needs: &[&[r"^SPEC\.md$"], &[EPICS]],
    inner: ("stories", r"^SPEC\.md$"),
    files: &[
        (r"^SPEC\.md$", Role::Requirements),
        (EPICS, Role::Requirements),
        (r"^stories\.yaml$", Role::Data),
        (STORY, Role::Record(Task)),
    ],
    marks: &[
        mark(r"^SPEC\.md$", Heading, r"(?i)^why$", Summary),
        mark(r"^SPEC\.md$", Item, r"^(?<key>CAP-\d+)\W*(?<title>.*)", Requirement("{key} {title}")),
        mark(r"^SPEC\.md$", Item, r"(?i)^success:\s*(?<text>.+)", Criterion)
            .below("(?i)^capabilities"),
        mark(r"^SPEC\.md$", Item, r"(?i)^intent:\s*(?<text>.+)", Body).below("(?i)^capabilities"),
        mark(r"^SPEC\.md$|^stories/", Item, "", Question).below("(?i)^open questions"),
        mark(EPICS, Heading, r"(?i)^epic \d", Idea).below("(?i)^epic list"),
        mark(
            EPICS,
            Heading,
            r"(?i)^epic (?<key>\d+):\s*(?<title>.+)",
            Feature("Epic {key}: {title}"),
        ),
        mark(
            EPICS,
            Heading,
            r"(?i)^story (?<key>\d+\.\d+):\s*(?<title>.+)",
            Requirement("Story {key}: {title}"),
        ),
        mark(EPICS, Item, COVERED, Covers).below("(?i)coverage map"),
        mark(EPICS, Text, COVERED, Covers).below("(?i)coverage map"),
        mark(EPICS, Item, r"^(?<key>FR-?\d+)\W+(?<text>.+)", Requirement("{key} {title}"))
            .below("(?i)^functional requirements"),
        mark(EPICS, Text, r"^(?<key>FR-?\d+)\W+(?<text>.+)", Requirement("{key} {title}"))
            .below("(?i)^functional requirements"),
        mark(EPICS, Item, r"^(?<key>NFR-?\d+)\W+(?<text>.+)", Quality("{key} {title}"))
            .below("(?i)^non-?functional requirements"),
        mark(EPICS, Text, r"^(?<key>NFR-?\d+)\W+(?<text>.+)", Quality("{key} {title}"))
            .below("(?i)^non-?functional requirements"),
        mark(EPICS, Text, r"(?i)^given\b", Criterion).below("(?i)^story"),
        mark(EPICS, Text, r"(?i)^(?:when|then|and|but)\b", More).below("(?i)^acceptance criteria"),
        mark(EPICS, Item, r"", Criterion).below("(?i)^acceptance criteria"),
        mark(r"^stories\.yaml$|^stories/", Field, "^id$", Key),
        mark("", Field, "^title$", Title),
        mark("", Field, "^(?:description|invoke_dev_with)$", Body),
        mark("", Field, "^(?:spec|done)_checkpoint$", Gate),
        mark("", Field, "^status$", State(&["done"])),
        mark("", Field, "^context$", Named),
        mark(STORY, Box, r"^`(?<files>[^`]+)`\s+-+\s+(?<text>.+)", Task),
        mark(STORY, Box, r"", Task),
        mark(STORY, Item, r"", Criterion).below("(?i)^acceptance criteria"),
        mark(STORY, Cells, r"", Criterion).below("(?i)matrix"),
        mark(STORY, Item, r"", Command).below("(?i)^(?:verification|commands)"),
        mark(STORY, Text, r"", Body).below("(?i)^intent"),
        mark(STORY, Label, r"", Body).below("(?i)^(?:intent|boundaries)"),
        mark(STORY, Item, r"", Body).below("(?i)^(?:intent|boundaries)"),
    ],
};
const EPICS: &str = r"^epics\.md$";
const STORY: &str = r"^stories/[^/]+\.md$";
const COVERED: &str = r"(?i)^(?<key>FR-?\d+)\W+Epic (?<serves>\d+)";
