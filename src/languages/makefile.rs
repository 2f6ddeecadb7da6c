//! Makefiles, which a project in any language can have.

use std::path::Path;

use super::commands::{ProjectCommands, text};

/// Names of Makefiles.
const NAMES: [&str; 3] = ["Makefile", "makefile", "GNUmakefile"];

/// True for the name of a Makefile.
pub(super) fn is_makefile(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Fills in each missing command with `make TARGET`, if the Makefile has a target of the command's
/// name.
pub(super) fn complete(mut commands: ProjectCommands, root: &Path) -> ProjectCommands {
    for (command, target) in
        [(&mut commands.test, "test"), (&mut commands.build, "build"), (&mut commands.lint, "lint")]
    {
        if command.is_empty() && has_target(root, target) {
            *command = format!("make {target}");
        }
    }
    commands
}

fn has_target(root: &Path, target: &str) -> bool {
    NAMES.iter().filter_map(|file| text(root, file)).any(|text| {
        text.lines().any(|line| {
            line.strip_prefix(target)
                .map(str::trim_start)
                .is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
        })
    })
}

/// Returns the recipe of the target `test`, on one line.
pub(super) fn test_recipe(text: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| {
        !line.strip_prefix("test").is_some_and(|rest| rest.trim_start().starts_with(':'))
    });
    let head = lines.next()?;
    let inline = head.split_once(';').map(|(_, command)| command.trim().to_owned());
    let below = lines.take_while(|line| line.starts_with('\t') || line.trim().is_empty());
    let below = below.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
    let all: Vec<String> = inline.into_iter().chain(below).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
