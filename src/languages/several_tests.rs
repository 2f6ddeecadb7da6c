//! Several named tests in one process, for all languages: what an output tells of each, and the commands.

use super::one_test_tests::{handled, parts_of, told};
use super::*;

#[test]
fn a_name_that_may_be_another_tests_tells_nothing() {
    let (yes, no) = (Some(true), None);
    for (path, name, others, output, expected) in [
        ("a.test.js", "s › adds", &["l › adds"][..], "▶ s\n  ✔ adds (1ms)\n▶ l\n", [yes, no, no]),
        ("a.test.js", "s › adds", &["l › adds"], "▶ s\n  ✔ adds\n▶ l\n  ✔ adds\n", [yes, no, no]),
        ("a.test.js", "s › adds", &["l › more"], "▶ s\n  ✔ adds\n▶ l\n  ✔ more\n", [yes, yes, yes]),
        (
            "a.test.ts",
            "s › adds",
            &["b.test.ts::l › adds"],
            " ✓ a.test.ts > s > adds 3ms\n ✓ b.test.ts > l > adds 1ms\n",
            [yes, yes, yes],
        ),
        ("tests/a.rs", "adds", &["tests/b.rs::adds"], "test adds ... ok\n", [yes, no, no]),
        ("tests/a.rs", "adds", &["tests/b.rs::lists"], "test adds ... ok\n", [yes, yes, yes]),
        (
            "a/a_test.go",
            "TestAdd",
            &["b/b_test.go::TestAdd"],
            "--- PASS: TestAdd (0s)\n",
            [yes, no, no],
        ),
        (
            "t/test_a.py",
            "test_x",
            &["t/test_b.py::test_x"],
            "t/test_a.py::test_x[1] PASSED\nt/test_a.py::test_x[2] PASSED\nt/test_b.py::test_x FAILED\n",
            [yes, yes, yes],
        ),
        (
            "t/test_a.py",
            "A › test_x",
            &["t/test_b.py::A › test_x"],
            "test_x (test_a.A.test_x) ... ok\ntest_x (test_b.A.test_x) ... ok\n",
            [yes, yes, yes],
        ),
        (
            "test/SumTest.java",
            "SumTest › adds",
            &["test/SumTest.java::SumTest › more"],
            "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.03 s -- in a.SumTest\n",
            [yes, no, yes],
        ),
        (
            "test/SumTest.java",
            "SumTest › adds",
            &["test/SumTest.java::SumTest › more"],
            "[INFO] a.SumTest.adds -- Time elapsed: 0.01 s\n[INFO] a.SumTest.more -- Time elapsed: 0.01 s\n",
            [yes, yes, yes],
        ),
        (
            "test/SumTest.java",
            "SumTest › adds",
            &["test/SumTest.java::SumTest › more"],
            "[ERROR] a.SumTest.adds -- Time elapsed: 0.01 s <<< FAILURE!\n",
            [no, no, no],
        ),
        ("t/test_a.py", "test_x", &[], "t/test_a.py::test_x FAILED\n", [Some(false); 3]),
    ] {
        assert_eq!(told(path, name, others, output), expected, "{path} {output}");
    }
}

#[test]
fn only_a_certain_failure_of_several_tests_is_told() {
    let (yes, no, unknown) = (Some(true), Some(false), None);
    for (path, name, others, output, expected) in [
        ("a.test.js", "adds", &[][..], "never adds FAILED\n", [no, unknown, no]),
        ("a.test.js", "adds", &[], "✔ adds\nnever adds FAILED\n", [yes, unknown, yes]),
        ("a.test.js", "adds", &[], "adds FAILED\n", [no; 3]),
        ("a.test.js", "adds", &[], "✔ adds\nadds FAILED\n", [no, unknown, no]),
        ("a.test.js", "s › adds", &["l › adds"], "adds FAILED\n", [no, unknown, unknown]),
        ("a.test.js", "s › adds", &["l › adds"], "s › adds FAILED\n", [no; 3]),
        ("t/test_a.py", "test_x", &[], "t/test_a.py::test_x[1] FAILED\n", [no; 3]),
        ("a_test.go", "TestAdd", &[], "example.com/a TestAdd FAILED\n", [no; 3]),
        ("a_test.go", "Add", &[], "example.com/a TestAdd FAILED\n", [unknown; 3]),
        ("tests/sum.cc", "adds", &[], "Sums.adds FAILED\n", [no, unknown, no]),
    ] {
        assert_eq!(told(path, name, others, output), expected, "{path} {output}");
    }
}

#[test]
fn one_command_runs_several_tests() {
    let several = |files: &[&str], tests: &str, named: &[&str]| {
        let tree = tempfile::tempdir().unwrap();
        for path in files {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let named: Vec<(&str, Vec<String>)> = named
            .iter()
            .map(|name| name.split_once("::").unwrap())
            .map(|(path, name)| (path, parts_of(name)))
            .collect();
        let named: Vec<TestName<'_>> =
            named.iter().map(|(path, parts)| TestName { path, parts }).collect();
        let project = Project { root: tree.path(), tests };
        (handled(named[0].path).command)(&named, &project).unwrap_or_default()
    };
    for (files, tests, named, command) in [
        (
            &["src/lib.rs"][..],
            "cargo test",
            &[
                "src/a.rs::tests › zero",
                "tests/add.rs::adds",
                "tests/add.rs::more",
                "tests/x.rs::x",
            ][..],
            "cargo test --no-fail-fast --lib --bins --test add --test x -- --exact a::tests::zero adds more x",
        ),
        (&["a/Cargo.toml", "b/Cargo.toml"], "", &["a/tests/x.rs::x", "b/tests/y.rs::y"], ""),
        (
            &[],
            "pytest -q",
            &["t/test_a.py::A › test_x", "t/test_b.py::test_y"],
            "pytest -v t/test_a.py::A::test_x t/test_b.py::test_y",
        ),
        (
            &[],
            "",
            &["t/test_a.py::A › test_x", "t/test_b.py::B › test_x"],
            "PYTHONPATH=t${PYTHONPATH:+:$PYTHONPATH} python3 -m unittest -v -b test_a.A.test_x test_b.B.test_x",
        ),
        (&["u/__init__.py"], "", &["t/test_a.py::A › test_x", "u/test_b.py::B › test_x"], ""),
        (
            &["u/__init__.py"],
            "",
            &["test_a.py::A › test_x", "u/test_b.py::B › test_x"],
            "python3 -m unittest -v -b test_a.A.test_x u.test_b.B.test_x",
        ),
        (
            &[],
            "node --test",
            &["a.test.js::s › adds", "b.test.js::it's", "b.test.js::l › adds"],
            r"node --test --test-reporter=spec --test-name-pattern='adds$' --test-name-pattern='it'\''s$' a.test.js b.test.js",
        ),
        (
            &[],
            "npx jest",
            &["a.test.js::s › adds", "b.test.js::more"],
            "npx jest --runTestsByPath a.test.js b.test.js -t '^(s adds|more)$' --verbose",
        ),
        (
            &[],
            "npx vitest run",
            &["a.test.js::s › adds", "a.test.js::more"],
            "npx vitest run a.test.js -t '(s adds|more)$' --reporter=verbose",
        ),
        (
            &[],
            "npx mocha",
            &["a.test.js::s › adds", "b.test.js::more"],
            "npx mocha a.test.js b.test.js -g '(s adds|more)$'",
        ),
        (&["web/package.json"], "jest", &["web/a.test.js::x", "b.test.js::y"], ""),
        (
            &[],
            "go test ./...",
            &["sum/a_test.go::TestAdd", "sum/b_test.go::TestMore"],
            "go test -v -count=1 -run '^(TestAdd|TestMore)$' ./sum",
        ),
        (&[], "go test ./...", &["sum/a_test.go::TestAdd", "list/a_test.go::TestList"], ""),
        (
            &[],
            "bundle exec rspec",
            &["spec/a_spec.rb::Sum › adds", "spec/b_spec.rb::List › is empty"],
            "bundle exec rspec spec/a_spec.rb spec/b_spec.rb -e adds -e 'is empty' --format json",
        ),
        (
            &[],
            "bin/rails test",
            &["test/a_test.rb::A › test_x", "test/b_test.rb::B › test_y"],
            "bin/rails test test/a_test.rb test/b_test.rb -v -n '/^(test_x|test_y)$/'",
        ),
        (
            &[],
            "rake test",
            &["test/a_test.rb::A › test_x", "test/a_test.rb::A › test_y"],
            "ruby -Ilib -Itest test/a_test.rb -v -n '/^(test_x|test_y)$/'",
        ),
        (&[], "rake test", &["test/a_test.rb::A › test_x", "test/b_test.rb::B › test_y"], ""),
        (
            &[],
            "dotnet test",
            &["T/SumTests.cs::SumTests › Adds", "T/SumTests.cs::SumTests › More"],
            "dotnet test --filter 'FullyQualifiedName~SumTests.Adds|FullyQualifiedName~SumTests.More' --logger 'console;verbosity=detailed'",
        ),
        (
            &[],
            "vendor/bin/phpunit",
            &["tests/SumTest.php::SumTest › testAdds", "tests/SumTest.php::SumTest › testMore"],
            "vendor/bin/phpunit --teamcity --filter '/::(testAdds|testMore)( with data set .*)?$/' tests/SumTest.php",
        ),
        (
            &[],
            "vendor/bin/phpunit",
            &["tests/SumTest.php::SumTest › testAdds", "tests/ListTest.php::ListTest › testX"],
            "",
        ),
        (
            &["pom.xml"],
            "mvn verify",
            &[
                "t/SumTest.java::SumTest › adds",
                "t/ListTest.java::ListTest › x",
                "t/SumTest.java::SumTest › more",
            ],
            "mvn -B -Dsurefire.reportFormat=plain -Dtest='SumTest#adds+more,ListTest#x' test",
        ),
        (&["a/pom.xml", "b/pom.xml"], "", &["a/X.java::X › x", "b/Y.java::Y › y"], ""),
        (
            &[],
            "ctest --test-dir build",
            &["tests/sum.cc::adds", "tests/sum.cc::more"],
            "ctest --test-dir build -V -R '(^|[./:])adds$|^sum$|(^|[./:])more$|^sum$'",
        ),
        (
            &[],
            "",
            &["a.bats::adds two", "b.bats::lists (all)"],
            r"bats --tap --filter '^(adds two|lists \(all\))$' a.bats b.bats",
        ),
    ] {
        assert_eq!(several(files, tests, named), command);
    }
    let command =
        several(&["build.gradle"], "gradle check", &["t/A.java::A › x", "t/B.java::B › y"]);
    assert!(command.ends_with(" test --tests '*A.x' --tests '*B.y'"), "{command}");
}
