//! Additions to clap's `--help`: the commands in groups, and examples of each command.

use std::fmt::Write as _;

use clap::Command;

use crate::wrap::within;

/// Groups of commands, in the order in which a user meets them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Start a session", &["new", "modify", "adopt", "feedback", "demo"]),
    ("Work on a session", &["resume", "review", "revert", "undo", "restore"]),
    (
        "Look at sessions",
        &["status", "list", "watch", "log", "show", "diff", "why", "trace", "verify"],
    ),
    ("Deliver and clean up", &["merge", "pr", "archive", "delete", "prune"]),
    ("Set up", &["doctor", "models", "config", "init", "trust", "completions", "man"]),
];

/// Examples of each command, one per line.
const EXAMPLES: [(&str, &[&str]); 31] = [
    (
        "new",
        &[
            "git cowork new 'a todo list for the terminal'",
            "git cowork new -F specs/001-todo-list",
            "git cowork new --from todo@prd",
        ],
    ),
    (
        "modify",
        &["git cowork modify 'add due dates'", "git cowork modify --session todo 'add due dates'"],
    ),
    (
        "adopt",
        &["git cowork adopt feature/due-dates", "git cowork adopt origin/due-dates --base main"],
    ),
    ("feedback", &["gh pr view --comments | git cowork feedback -F -"]),
    ("demo", &["git cowork demo", "git cowork demo --ask", "git cowork demo /tmp/demo"]),
    ("resume", &["git cowork resume", "git cowork resume todo --review auto"]),
    (
        "review",
        &[
            "git cowork review --pass",
            "git cowork review --feedback 'no charts'",
            "git cowork review --goto plan",
        ],
    ),
    ("revert", &["git cowork revert --to design --reason 'one file is enough'"]),
    ("undo", &["git cowork undo", "git cowork undo --list"]),
    ("restore", &["git cowork restore todo", "git cowork restore todo 1"]),
    ("status", &["git cowork status", "git cowork status -v todo"]),
    ("list", &["git cowork list --all", "git cowork list --json"]),
    ("watch", &["git cowork watch", "git cowork watch todo --json"]),
    ("log", &["git cowork log --graph", "git cowork log --json todo"]),
    (
        "show",
        &[
            "git cowork show prd",
            "git cowork show --web",
            "git cowork show todo --web -o todo.html",
        ],
    ),
    ("diff", &["git cowork diff", "git cowork diff todo --without-artifacts"]),
    (
        "why",
        &[
            "git cowork why src/main.rs:12",
            "git cowork why src/main.rs:12,20 --json",
            "git cowork why src/main.rs",
        ],
    ),
    ("trace", &["git cowork trace", "git cowork trace REQ-002", "git cowork trace todo TASK-003"]),
    ("verify", &["git cowork verify", "git cowork verify --fix"]),
    ("merge", &["git cowork merge", "git cowork merge --without-artifacts"]),
    ("pr", &["git cowork pr --dry-run", "git cowork pr --draft"]),
    ("archive", &["git cowork archive todo"]),
    ("delete", &["git cowork delete todo", "git cowork delete todo --dry-run"]),
    ("prune", &["git cowork prune --dry-run", "git cowork prune --older-than 30d"]),
    ("doctor", &["git cowork doctor", "git cowork doctor --compare"]),
    ("models", &["git cowork models", "git cowork models --json"]),
    ("config", &["git cowork config --show-origin", "git cowork config llm.model"]),
    ("init", &["git cowork init", "git cowork init --hooks"]),
    ("trust", &["git cowork trust", "git cowork trust --revoke"]),
    ("completions", &["git cowork completions bash"]),
    ("man", &["git cowork man --install", "git cowork man merge"]),
];

/// Column at which a command's description begins.
const ABOUT: usize = 15;

/// Meaning of each exit code.
pub(crate) const EXIT_CODES: [(u8, &str); 7] = [
    (0, "done, or nothing to do"),
    (1, "the session failed: draft limit reached, stuck in a loop, checks fail, aborted"),
    (2, "wrong usage"),
    (3, "waiting for a person: a review, a question"),
    (4, "a problem with the model, credentials or configuration; or a budget was reached"),
    (5, "the repository is not ready: wrong branch, merge in progress, session locked"),
    (130, "interrupted"),
];

/// The examples of a command, one per line.
pub(crate) fn examples(name: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(command, _)| *command == name).map_or(&[], |(_, lines)| lines)
}

/// Adds the groups of commands, the examples in each command's long help, and a hint about the
/// manual, because git cannot find the manual unless it is installed.
pub(crate) fn explained(command: Command, has_manual: bool, screen: Option<usize>) -> Command {
    let style = *command.get_styles().get_header();
    let heading = |text: &str| format!("{}{text}:{}", style.render(), style.render_reset());
    let mut groups = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(groups, "{}", heading(title));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {name:<11}  {about}");
        }
        groups.push('\n');
    }
    let groups = within(&groups, screen, &|_| ABOUT);
    let manual = match has_manual {
        true => "'git help cowork' shows the manual.\n",
        false => {
            "'git help cowork' and 'git cowork --help' need the manual: git cowork man --install\n"
        }
    };
    let last = format!(
        "These aliases also work: continue (resume), approve (review --pass),\n\
         abort (review --abort), st (status), ls (list).\n\
         'git cowork help COMMAND' shows the options of a command, with examples.\n\
         {manual}"
    );
    let last = within(&last, screen, &|_| 0);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{}\n{{options}}\n\n{last}",
        heading("Options")
    );
    EXAMPLES.into_iter().fold(command.help_template(template), |command, (name, lines)| {
        let lines: String = lines.iter().map(|line| format!("\n  {line}")).collect();
        let examples = format!("{}{lines}", heading("Examples"));
        command.mut_subcommand(name, |command| command.after_long_help(examples))
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::super::Cli;
    use super::*;

    /// Splits a line into words as a shell does. A quoted part belongs to one word.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        for (at, part) in line.split('\'').enumerate() {
            match at % 2 {
                0 => {
                    let mut pieces = part.split(' ');
                    let first = pieces.next().unwrap_or_default();
                    words.last_mut().unwrap().push_str(first);
                    words.extend(pieces.map(str::to_owned));
                }
                _ => words.last_mut().unwrap().push_str(part),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn each_command_is_in_one_group_and_has_examples_that_can_be_typed() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Cli::command();
        let mut all: Vec<&str> =
            command.get_subcommands().filter(|c| !c.is_hide_set()).map(Command::get_name).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
        let mut explained: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        explained.sort_unstable();
        assert_eq!(explained, all);
        for (name, line) in
            EXAMPLES.iter().flat_map(|(name, all)| all.iter().map(move |l| (name, l)))
        {
            let typed = &line[line.find("git cowork").unwrap() + "git ".len()..];
            let parsed = Cli::command().try_get_matches_from(words(typed));
            let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
            assert_eq!(parsed.subcommand_name(), Some(*name), "{line}");
        }
    }

    #[test]
    fn help_shows_groups_and_examples() {
        let mut command = super::explained(Cli::command().bin_name("git cowork"), false, None);
        let help = command.render_long_help().to_string();
        assert!(help.contains("Look at sessions:\n  status       Show the state"), "{help}");
        assert!(!help.contains("Commands:"), "{help}");
        let revert = command.find_subcommand_mut("revert").unwrap().render_long_help().to_string();
        assert!(
            revert.ends_with(
                "Examples:\n  git cowork revert --to design --reason 'one file is enough'\n"
            ),
            "{revert}"
        );
    }
}
