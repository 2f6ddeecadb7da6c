//! Keeps a conversation inside the model's window. Old tool output is masked first, in one big
//! step, so that the cached prefix stays valid until the next such step. If that is not enough, the
//! run starts from scratch, from the artifacts.

use crate::excerpt;
use crate::model::{Message, ToolSpec};

/// Tool answers shorter than this, in bytes, are not worth masking.
const WORTH: usize = 400;
/// Minimum bytes of a tool answer, however small the window.
const LEAST: usize = 2_000;
const MASK: &str = "[output of an earlier call, left out to save space; call again if needed]";

/// Bytes that a conversation may take: four fifths of a window of `tokens` (at four bytes a token),
/// less the size of the offered tools.
pub(super) fn room(tokens: u64, tools: &[ToolSpec]) -> usize {
    let bytes = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(4) / 5 * 4;
    let tool_bytes: usize = tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
        .sum();
    bytes.saturating_sub(tool_bytes)
}

/// Makes a conversation fit into `room` bytes by masking. False if it still does not fit.
pub(super) fn fit(messages: &mut [Message], room: usize) -> bool {
    if total(messages) > room {
        // Mask down to half, so that the next turns do not change the beginning again.
        mask(messages, room / 2);
    }
    total(messages) <= room
}

/// True if a restart with this opening would free space. If the opening alone fills the room, a
/// restart does not help: the conversation is sent anyway, since the server's window may be larger
/// than configured.
pub(super) fn restart_helps(opening: &[Message], room: usize) -> bool {
    total(opening) <= room / 4 * 3
}

/// Masks tool answers, oldest first, until at most `target` bytes remain. Answers to the newest
/// turn stay: the model has not read them. True if that saved anything.
pub(super) fn mask(messages: &mut [Message], target: usize) -> bool {
    let newest = messages.iter().rposition(|m| matches!(m, Message::Assistant { .. })).unwrap_or(0);
    let mut bytes = total(messages);
    let mut won = false;
    for message in &mut messages[..newest] {
        if bytes <= target {
            break;
        }
        let Message::Tool { content, .. } = message else { continue };
        if content.len() > WORTH {
            bytes -= content.len() - MASK.len();
            MASK.clone_into(content);
            won = true;
        }
    }
    won
}

/// Cuts a tool's answer to fit into a window of `room` bytes together with the other answers to
/// the same turn, which take `used` bytes: all answers of a turn stay below half of the room.
pub(super) fn cut(text: String, room: usize, used: usize) -> String {
    let most = ((room / 2).saturating_sub(used) / 2).max(LEAST);
    if text.len() <= most {
        return text;
    }
    let excerpt_text = excerpt::beginning(&text, most);
    format!(
        "{}\n[cut: the first {} of {} bytes; ask for a smaller part]",
        excerpt_text.trim_end_matches('\n'),
        excerpt_text.len(),
        text.len()
    )
}

/// True if these messages leave a quarter of a window of `tokens` free, which is enough to
/// continue.
pub(super) fn leaves_room<'m>(messages: impl Iterator<Item = &'m Message>, tokens: u64) -> bool {
    messages.map(size).sum::<usize>() <= room(tokens, &[]) / 4 * 3
}

fn total(messages: &[Message]) -> usize {
    messages.iter().map(size).sum()
}

fn size(message: &Message) -> usize {
    match message {
        Message::System { content } | Message::User { content } => content.len(),
        Message::Tool { content, .. } => content.len(),
        Message::Assistant { content, tool_calls, opaque } => {
            content.len()
                + tool_calls.iter().map(|call| call.arguments.len()).sum::<usize>()
                + opaque.as_ref().map_or(0, |opaque| opaque.size())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(answers: &[usize]) -> Vec<Message> {
        let mut messages = vec![Message::User { content: "x".repeat(100) }];
        for size in answers {
            messages.push(Message::Assistant {
                content: String::new(),
                tool_calls: Vec::new(),
                opaque: None,
            });
            let (tool_call_id, content) = (String::new(), "x".repeat(*size));
            messages.push(Message::Tool { tool_call_id, content });
        }
        messages
    }

    fn sizes(messages: &[Message]) -> Vec<usize> {
        let tools = messages.iter().filter(|m| matches!(m, Message::Tool { .. }));
        tools.map(size).collect()
    }

    #[test]
    fn old_and_long_answers_are_masked_down_to_half() {
        let mut messages = conversation(&[1000, 10, 1000, 1000, 1000]);
        assert!(fit(&mut messages, 5_000));
        assert_eq!(sizes(&messages), [1000, 10, 1000, 1000, 1000]);
        assert!(fit(&mut messages, 4_000));
        let m = MASK.len();
        assert_eq!(sizes(&messages), [m, 10, m, m, 1000]);
        assert!(!fit(&mut messages, 1_000), "the newest answer stays");
        assert_eq!(sizes(&messages), [m, 10, m, m, 1000]);
        assert!(!mask(&mut messages, 0));
    }

    #[test]
    fn a_turns_answers_leave_room() {
        let room = 40_000;
        let mut used = 0;
        for _ in 0..3 {
            used += cut("ä".repeat(10_000), room, used).len();
        }
        assert!(used < room / 2, "{used}");
        assert_eq!(cut("short".to_owned(), 0, 0), "short");
    }

    #[test]
    fn a_restart_helps_only_if_the_opening_leaves_room() {
        let opening = [Message::User { content: "x".repeat(100) }];
        assert!(restart_helps(&opening, 200) && !restart_helps(&opening, 120));
    }

    #[test]
    fn tools_take_room() {
        let spec = crate::tool::specs(&["write_file"], "");
        assert_eq!(room(1000, &[]), 3200);
        assert!(room(1000, &spec) < room(1000, &[]) - 100);
        assert_eq!(room(10, &spec), 0);
    }
}
