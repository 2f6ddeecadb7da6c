//! Edits of randomly changed texts, compared with a simple replacement.

use super::*;
use crate::test_random::{cases, changed, corpus, piece};

#[test]
fn any_edit_is_refused_or_replaces_its_passage() {
    let texts = corpus("edits");
    let mut made = 0;
    cases(|random| {
        let text = changed(random, &texts);
        let (from, to) = piece(random, &text);
        let mut old = text[from..to].to_owned();
        if random.u8(0..3) == 0 {
            old = changed(random, &[old]);
        }
        let new_text = changed(random, &texts);
        let edit = Edit { old_text: old.clone(), new_text: new_text.clone(), replace_all: false };
        let edited = apply("a.txt", &text, std::slice::from_ref(&edit));
        if let Ok(edited) = &edited {
            assert_ne!(edited.text, text, "an edit that changes nothing was made");
            made += 1;
        }
        // Of two edits, both are applied or none.
        let missing =
            Edit { old_text: "\u{1}not there".into(), new_text: String::new(), replace_all: false };
        assert!(apply("a.txt", &text, &[edit, missing]).is_err());
        // For plain lines, a unique passage is replaced and nothing else.
        let is_plain = |text: &str| !text.contains(['\r', '\u{feff}']);
        let whole = old.ends_with('\n') && new_text.ends_with('\n') && text.ends_with('\n');
        let once = text.find(&old) == text.rfind(&old) && text.contains(&old);
        if is_plain(&text) && is_plain(&new_text) && whole && once {
            let expected = text.replacen(&old, &new_text, 1);
            match edited {
                Ok(edited) => assert_eq!(edited.text, expected, "{old:?}"),
                Err(_) => assert_eq!(expected, text, "refused: {old:?} by {new_text:?}"),
            }
        }
    });
    assert!(made > 0, "no edit was made");
}
