//! Random changes to messages and trailers: text above the trailers must not be parsed as trailers.

use super::message::{Message, Trailers, key};
use crate::random_cases::{cases, changed, corpus, piece};

#[test]
fn any_message_is_read_and_no_body_or_value_forges_a_trailer() {
    let texts = corpus("trailers");
    cases(|random| {
        let text = changed(random, &texts);
        let trailers = Trailers::parse(&text);
        assert_eq!(trailers, Trailers::of_any_paragraph(&text), "{text}");
        assert_eq!(
            Trailers::parse(&format!("s\n\n{}", trailers.render())).render().is_empty(),
            trailers.render().is_empty()
        );

        let mut ours = Trailers::default();
        ours.push(key::SESSION, "todo");
        ours.push(key::SESSION_ID, "1-2");
        let (from, to) = piece(random, &text);
        ours.push(key::REASON, &text[from..to]);
        let subject = changed(random, &texts);
        let message = Message { subject, body: text.clone(), trailers: ours.clone() };
        let written = message.render();
        assert_eq!(Trailers::parse(&written), ours, "{written}");
        // A person may add a trailer below.
        assert_eq!(Trailers::of_any_paragraph(&written), ours, "{written}");
        let below = format!("{written}{}{text}", random.choice(["", "\n", "\n# "]).unwrap());
        assert_eq!(Trailers::parse(&below), Trailers::of_any_paragraph(&below), "{below}");
        let more = format!("{written}Signed-off-by: Ana <ana@example.org>\n");
        assert!(Trailers::parse(&more).begin_with(&ours), "{more}");
    });
}
