//! The picture that README begins with is what the program shows.

use crate::support::Sandbox;
use crate::support::svg::svg;

/// Where it is, below the root of this repository.
const FILE: &str = "docs/gate.svg";

#[test]
fn the_picture_in_the_readme_is_a_gate_of_the_demo() {
    let sandbox = Sandbox::nowhere();
    let folder = sandbox.root().join("demo").display().to_string();
    let mut screen = sandbox.screen_of((100, 34), &["demo", "--ask", &folder]);
    for stage in ["idea", "prd", "prd", "design", "plan"] {
        if stage != "idea" {
            screen.types("p");
        }
        screen.shows(|now| {
            now.contains(&format!("the gate of {stage}, explained"))
                && now.trim_end().ends_with("Enter shows the gate ▸")
        });
        screen.types("\r");
        screen.shows(|now| now.contains("your decision") && now.trim_end().ends_with("\n▸"));
    }
    let made = svg(screen.seen(), "git cowork asks a person to decide about a plan");
    screen.types("q");
    assert_eq!(screen.ends().0, 3);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if std::env::var_os("COWORK_UPDATE_SCREENS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(path, made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    let again = "make it again: COWORK_UPDATE_SCREENS=1 cargo test --test it picture::";
    assert_eq!(steady(&kept), steady(&made), "{again}");
}

/// Without the seconds that it took.
fn steady(picture: &str) -> String {
    regex::Regex::new(r"\d+ s\b").unwrap().replace_all(picture, "0 s").into_owned()
}
