//! Renderers of events: for a terminal, and as JSON lines.
//!
//! A renderer never fails: if its output is closed, it remembers that and writes nothing more; the
//! caller can check `broken()`. Prompts are in `gate`, tables in `cli`.

mod clean;
mod json;
mod live;
mod markdown;
mod out;
mod styled;
mod table;
mod terminal;
mod title;
mod typing;

pub use crate::clean::{one_line, sanitize};
pub use clean::{escaped_json, painted};
pub use json::JsonLines;
pub use live::above;
pub use markdown::markdown;
pub use out::Output;
pub(crate) use out::{elapsed, stdout_columns};
pub(crate) use terminal::bar;
pub use terminal::{Look, Terminal, Verbosity};
pub use title::Knows;

#[cfg(test)]
mod testing {
    //! An output that tests can read back.

    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    pub(super) struct Captured(Arc<Mutex<Vec<u8>>>);

    impl Captured {
        pub(super) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A pipe whose reader is gone.
    pub(super) struct Broken;

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
