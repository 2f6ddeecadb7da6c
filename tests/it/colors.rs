//! `color.cowork.<slot>`: the user's colours, in git's words for them.

use crate::support::Sandbox;
#[cfg(unix)]
use crate::support::snapshot::styled;

#[test]
fn a_slot_has_the_users_colour_and_a_wrong_one_is_said_once() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["config", "color.cowork.success", "ul 208"]);
    let shown = sandbox.cowork(&["status", "--color", "always"]).exits(0);
    assert!(shown.stdout.contains("\x1b[4;38;5;208m"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("\x1b[32m"), "{}", shown.stdout);
    assert_eq!(shown.stderr, "");
    sandbox.git(&["config", "color.cowork.success", "greenish"]);
    let shown = sandbox.cowork(&["status", "--color", "always"]).exits(0);
    assert!(shown.stdout.contains("\x1b[32m"), "{}", shown.stdout);
    let said = "color.cowork.success: 'greenish' is not a colour";
    assert_eq!(shown.stderr.matches(said).count(), 1, "{}", shown.stderr);
    let plain = sandbox.cowork(&["status"]).exits(0);
    assert!(!plain.stdout.contains('\x1b'), "{}", plain.stdout);
}

#[cfg(unix)]
#[test]
fn a_gate_has_the_users_colours() {
    let sandbox = Sandbox::stopped_after("idea");
    sandbox.git(&["config", "color.cowork.header", "magenta"]);
    sandbox.git(&["config", "color.cowork.success", "ul 208"]);
    let mut screen = sandbox.screen(100, &["resume", "--stop-after", "prd"]);
    screen.shows(|now| now.trim_end().ends_with('▸'));
    let seen = styled(screen.seen());
    assert!(seen.contains("⟨magenta⟩━━ prd · draft 1 "), "{seen}");
    assert!(seen.contains("⟨underline 208⟩✓⟨⟩ 3 requirements"), "{seen}");
    screen.types("q");
    assert_eq!(screen.ends().0, 3);
}
