//! Ruby: minitest, test-unit and rspec; rake, bundler, Rails; rubocop.
//!
//! No packages are fetched for Ruby: a `Gemfile` is a program that bundler would run with network
//! access, and so are the gems that it builds. Missing gems are reported as not installed.

use std::path::Path;

use super::commands::{ProjectCommands, files_in, text};
use super::language::{Language, NO_PATTERNS, PLAIN, Programs, RunnerOutput, TestCode};
use super::one_test::{OneTest, Project, TestName, any_of, each, same, up_to};
use crate::shell_quote::quoted;

pub(super) static RUBY: Language = Language {
    name: "ruby",
    also: &["rails"],
    extensions: &["rb", "rake", "gemspec"],
    manifests: &["Gemfile"],
    other_files: &["Rakefile"],
    tests: Some(TestCode {
        head: r#"^\s*(?:[xf]?(?:it|specify|example|scenario|test)\s*\(?\s*(?:'(?<name>[^']*)'|"(?<double>[^"]*)")|def\s+(?<function>test_\w+))"#,
        group: r#"^\s*(?:RSpec\.)?(?:x?describe|x?context|feature|class|module)\s+['"]?(?<name>[^'"\s]+)"#,
        skip: r"^\s*x(?:it|specify|example|describe|context)\b|^\s*(?:skip|pending|omit)\b|,\s*:?(?:skip|pending)\b",
        skip_all: r",\s*:?focus\b|^\s*f(?:it|describe|context)\b",
        assertion: r"\bexpect\b|\b(?:assert|refute)\w*|\.(?:should|must_|wont_)",
        comment: "#",
        ..NO_PATTERNS
    }),
    runners: RunnerOutput {
        failed: &[
            // rspec
            r"^rspec \S+ # (?<name>.+)$",
            MINITEST,
            // test-unit
            r"^(?:Failure|Error): (?<name>test[^(]*\([\w:]+\))",
        ],
        // minitest prints these headings before the name of each test, in a numbered list.
        not_tests: &["Failure:", "Error:", "Skipped:"],
        reports: &[MINITEST],
        ends: &[r"^\s+\d+\) (?:Failure|Error|Skipped):$", r"^\d+ runs, "],
        ..PLAIN.runners
    },
    one_test: Some(OneTest {
        passed: &[
            // minitest with -v
            r"^(?<name>[A-Z][\w:]*(?:[ \w:]*)#test_.*?) = [0-9.]+ s = \.$",
            // test-unit with -v
            r"^\s+(?<name>test[^:]*):\s+\.:",
            // rspec
            r#""description":"(?<name>(?:[^"\\]|\\.)*)","full_description":"(?:[^"\\]|\\.)*","status":"passed""#,
        ],
        names: |test| vec![test.joined("#"), test.name().to_owned()],
        command,
    }),
    commands,
    programs: Programs {
        run_tests: &["rake", "rails"],
        test_frameworks: &["rspec", "minitest"],
        take_paths: &["rspec", "bundle exec rspec", "rubocop", "bundle exec rubocop"],
        fix: &[("rubocop", "--autocorrect"), ("bundle exec rubocop", "--autocorrect")],
        not_installed: &["Run `bundle install` to install missing gems", "can't find gem "],
        ..PLAIN.programs
    },
    guidance: GUIDANCE,
    ..PLAIN
};

/// The heading of a failed test: `SumTest#test_carries [test/sum_test.rb:7]:`.
const MINITEST: &str = r"^(?<name>[A-Z][\w:]*(?:[ \w:]*)#test_.*?)(?: \[[^\]]*\])?:$";

/// Guidance for new Ruby code.
const GUIDANCE: &str = "\
    Ruby:\n\n\
    - Layout: code in `lib/NAME.rb` and `lib/NAME/`; a command is `exe/NAME`, which only calls \
      that code. A `Gemfile`, with its lock file, only where a gem is needed. Each file begins \
      with `# frozen_string_literal: true`.\n\
    - Tests, where they are asked for: with the framework the project has; a new project uses \
      minitest in `test/test_*.rb`, which needs no extra gem.\n\
    - Errors: raise specific subclasses of `StandardError`; no `rescue Exception`, no empty \
      `rescue`. A user's mistake ends in `warn` and an exit code that is not 0, not in a \
      backtrace.\n\
    - Dependencies: the standard library first (optparse, json, fileutils). A gem is named in the \
      design and in the `Gemfile`.\n\
    - Short methods, keyword arguments, `Struct` or `Data` for values; modules for functions \
      without state; no changes to other people's classes, no `method_missing`, no `eval`.\n";

/// Returns commands only if there are tests: a `Gemfile` alone may be for tools of another
/// language.
fn commands(root: &Path) -> Option<ProjectCommands> {
    let gemspecs = files_in(root, "").filter(|name| name.ends_with(".gemspec"));
    let bundles: Vec<String> = ["Gemfile", "Gemfile.lock"]
        .into_iter()
        .map(str::to_owned)
        .chain(gemspecs)
        .filter_map(|file| text(root, &file))
        .collect();
    let program = |gem: &str| {
        let bundle = root.join("Gemfile").is_file();
        let is_bundled = bundle && bundles.iter().any(|text| text.contains(gem));
        if is_bundled { format!("bundle exec {gem}") } else { gem.to_owned() }
    };
    let has = |file: &str| root.join(file).is_file();
    let test = if has(".rspec") || has("spec/spec_helper.rb") {
        program("rspec")
    } else if has("bin/rails") && root.join("test").is_dir() {
        "bin/rails test".to_owned()
    } else if text(root, "Rakefile").is_some_and(|text| tests(&text)) {
        format!("{} test", program("rake"))
    } else {
        let folder = ["test", ""].into_iter().find(|folder| files_in(root, folder).any(is_test))?;
        let all = if folder.is_empty() { "./" } else { "./test/**/" };
        format!(
            "ruby -Ilib -Itest -e 'Dir[\"{all}{{test_*,*_test}}.rb\"].sort.each {{ |file| require file }}'"
        )
    };
    let lint = if has(".rubocop.yml") { program("rubocop") } else { String::new() };
    Some(ProjectCommands { test, lint, ..ProjectCommands::default() })
}

/// True if a `Rakefile` has a task `test`.
fn tests(rakefile: &str) -> bool {
    let task = |line: &str| {
        let name =
            line.trim_start().strip_prefix("task ")?.trim_start_matches([' ', ':', '"', '\'']);
        let rest = name.strip_prefix("test")?;
        Some(!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    rakefile.contains("TestTask") || rakefile.lines().any(|line| task(line) == Some(true))
}

fn command(tests: &[TestName<'_>], project: &Project<'_>) -> Option<String> {
    let paths = each(tests, |test| quoted(test.path)).join(" ");
    // Runners of minitest and test-unit take one name, or an expression in slashes.
    let name = match tests {
        [test] => quoted(test.name()),
        tests => {
            quoted(&format!("/^{}$/", any_of(&each(tests, |test| regex::escape(test.name())))))
        }
    };
    let own_test = commands(project.root).map(|commands| commands.test).unwrap_or_default();
    for command in [project.tests, &own_test] {
        if let Some(rspec) = up_to(command, "rspec") {
            let names = each(tests, |test| format!(" -e {}", quoted(test.name()))).concat();
            return Some(format!("{rspec} {paths}{names} --format json"));
        }
        if let Some(rails) = up_to(command, "rails") {
            return Some(format!("{rails} test {paths} -v -n {name}"));
        }
    }
    let bundle = project.root.join("Gemfile").is_file() && own_test.starts_with("bundle exec ");
    let ruby = if bundle { "bundle exec ruby" } else { "ruby" };
    let path = same(tests.iter().map(|test| test.path))?;
    Some(format!("{ruby} -Ilib -Itest {} -v -n {name}", quoted(path)))
}

fn is_test(name: String) -> bool {
    name.strip_suffix(".rb")
        .is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_follow_from_the_projects_tools() {
        let plain = |all: &str| {
            format!(
                "ruby -Ilib -Itest -e 'Dir[\"{all}{{test_*,*_test}}.rb\"].sort.each {{ |file| require file }}'"
            )
        };
        let (in_folder, at_top) = (plain("./test/**/"), plain("./"));
        for (files, test, lint) in [
            (&[(".rspec", ""), (".rubocop.yml", "")][..], "rspec", "rubocop"),
            (
                &[
                    ("spec/spec_helper.rb", ""),
                    ("Gemfile", "gem 'rspec'\ngem \"rubocop\""),
                    (".rubocop.yml", ""),
                ],
                "bundle exec rspec",
                "bundle exec rubocop",
            ),
            (
                &[("bin/rails", ""), ("test/x.rb", ""), ("Gemfile", "gem 'rails'")],
                "bin/rails test",
                "",
            ),
            (&[("Rakefile", "Minitest::TestTask.create\n")], "rake test", ""),
            (
                &[
                    ("Rakefile", "task :test do\nend\n"),
                    ("Gemfile", "gemspec"),
                    ("a.gemspec", "'rake'"),
                ],
                "bundle exec rake test",
                "",
            ),
            (&[("Rakefile", "task :testing\n"), ("test/sum_test.rb", "")], &in_folder, ""),
            (&[("test_sum.rb", "")], &at_top, ""),
        ] {
            let dir = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            let found = commands(dir.path()).unwrap();
            assert_eq!((found.test.as_str(), found.lint.as_str()), (test, lint), "{files:?}");
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Gemfile"), "gem 'cocoapods'").unwrap();
        std::fs::write(dir.path().join("contest.rb"), "").unwrap();
        assert_eq!(commands(dir.path()), None);
    }
}
