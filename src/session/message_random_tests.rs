//! Random changes to messages and trailers: text above the trailers must not be parsed as trailers.

use super::key;
use super::message::Message;
use super::message_body::{read, written};
use super::trailers::Trailers;
use crate::test_random::{cases, changed, corpus, piece};

#[test]
fn any_message_is_read_and_no_body_or_value_forges_a_trailer() {
    let texts = corpus("trailers");
    cases(|random| {
        let text = changed(random, &texts);
        let trailers = Trailers::parse(&text);
        assert_eq!(trailers, Trailers::of_any_paragraph(&text).0, "{text}");
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
        assert_eq!(Trailers::of_any_paragraph(&written).0, ours, "{written}");
        let below = format!("{written}{}{text}", random.choice(["", "\n", "\n# "]).unwrap());
        assert_eq!(Trailers::parse(&below), Trailers::of_any_paragraph(&below).0, "{below}");
        let more = format!("{written}Signed-off-by: Ana <ana@example.org>\n");
        assert!(Trailers::parse(&more).begin_with(&ours), "{more}");
    });
}

/// Words, and the number of line breaks before each: what wrapping must not change.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn any_body_is_read_back_as_it_was_written() {
    let texts = [corpus("trailers"), corpus("edits")].concat();
    cases(|random| {
        let text = changed(random, &texts);
        let message = Message { subject: "s".into(), body: text.clone(), ..Message::default() };
        let lines = written(&text);
        let body = read(&lines);
        assert_eq!(written(&body), lines, "{text}");
        assert_eq!(read(&written(&body)), body, "{text}");
        let plain: String = text.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
        assert_eq!(words(&body), words(&plain), "{text}");
        // Wrapping alone changes no line.
        let one: String = body.split('\n').next().unwrap_or_default().to_owned();
        assert_eq!(read(&written(&one)), one);
        assert!(message.render().starts_with("s\n\n"), "{text}");
    });
}
