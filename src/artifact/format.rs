//! The format of `session.json`, and the migration of older formats.
//!
//! Within a major version, a newer program reads and upgrades older formats. Across major versions,
//! only the formats in [`MIGRATIONS`] are upgraded; any other format is reported and left
//! unchanged.

use serde_json::{Map, Value};

use super::SCHEMA_VERSION;

/// A format's number, major and minor.
type Version = (u32, u32);

/// A migration from one format to a later one.
struct Migration {
    from: Version,
    to: Version,
    /// Converts the fields that changed; the caller sets the format's number.
    apply: fn(&mut Map<String, Value>),
}

/// All migrations that change fields, in order.
const MIGRATIONS: [Migration; 1] = [Migration { from: (1, 0), to: (1, 1), apply: note_depth }];

/// Before 1.1, when records became sections of the documents, every session had all stages, gates
/// and critics, whatever its `depth` said.
fn note_depth(file: &mut Map<String, Value>) {
    file.insert("depth".to_owned(), Value::from("thorough"));
}

/// How a `session.json` relates to the current format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// It has the current format.
    Present,
    /// It had an older format, whose number is given, and was upgraded in memory.
    Raised(String),
    /// Its format is too old to upgrade.
    TooOld(String),
    /// Its format is newer or unknown.
    Unknown(String),
}

/// Upgrades the content of a `session.json` to the current format if possible. Unknown fields are
/// kept.
pub fn raise(file: &mut Map<String, Value>) -> Format {
    match parse(SCHEMA_VERSION) {
        Some(ours) => raise_by(&MIGRATIONS, ours, file),
        None => Format::Unknown(SCHEMA_VERSION.to_owned()),
    }
}

fn raise_by(steps: &[Migration], ours: Version, file: &mut Map<String, Value>) -> Format {
    let written = match file.get("schema_version") {
        None => return Format::TooOld("(none)".to_owned()),
        Some(Value::String(text)) => match parse(text) {
            Some(version) => version,
            None => return Format::Unknown(text.clone()),
        },
        Some(other) => return Format::Unknown(other.to_string()),
    };
    if written == ours {
        return Format::Present;
    }
    if written > ours {
        return Format::Unknown(render(written));
    }
    let mut at = written;
    let mut raised = file.clone();
    for step in steps {
        // A minor version that changes no field has no migration, so a migration may start at a
        // later minor version than `at`.
        if step.from == at || step.from.0 == at.0 && at < step.from {
            (step.apply)(&mut raised);
            at = step.to;
        }
    }
    if at.0 != ours.0 {
        return Format::TooOld(render(written));
    }
    *file = raised;
    file.insert("schema_version".to_owned(), Value::from(render(ours)));
    Format::Raised(render(written))
}

fn parse(version: &str) -> Option<Version> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn render((major, minor): Version) -> String {
    format!("{major}.{minor}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn format_1_0_had_all_stages() {
        let mut raised = file(json!({"schema_version": "1.0", "depth": "quick", "theirs": [1]}));
        assert_eq!(raise(&mut raised), Format::Raised("1.0".to_owned()));
        assert_eq!(raised["schema_version"], SCHEMA_VERSION);
        assert_eq!((&raised["depth"], &raised["theirs"]), (&json!("thorough"), &json!([1])));
    }

    #[test]
    fn unknown_formats_are_left_unchanged() {
        for (version, expected) in [
            (json!("1.1"), Format::Present),
            (json!("1.2"), Format::Unknown("1.2".to_owned())),
            (json!("2.0"), Format::Unknown("2.0".to_owned())),
            (json!("one"), Format::Unknown("one".to_owned())),
            (json!(1), Format::Unknown("1".to_owned())),
            (json!("0.8"), Format::TooOld("0.8".to_owned())),
            (json!(null), Format::Unknown("null".to_owned())),
        ] {
            let before = file(json!({"schema_version": version, "idea": "x"}));
            let mut after = before.clone();
            assert_eq!(raise(&mut after), expected);
            assert_eq!(after, before, "{version}");
        }
    }

    #[test]
    fn migrations_are_applied_in_order_from_the_files_format() {
        fn note(file: &mut Map<String, Value>, step: &str) {
            let so_far = file.get("steps").and_then(Value::as_str).unwrap_or_default();
            file.insert("steps".to_owned(), Value::from(format!("{so_far}{step}")));
        }
        let steps = [
            Migration { from: (0, 9), to: (1, 0), apply: |file| note(file, "a") },
            Migration { from: (1, 2), to: (1, 3), apply: |file| note(file, "b") },
            Migration { from: (1, 3), to: (1, 4), apply: |file| note(file, "c") },
        ];
        for (from, taken) in
            [("0.9", "abc"), ("1.0", "bc"), ("1.2", "bc"), ("1.3", "c"), ("1.4", "")]
        {
            let mut old = file(json!({"schema_version": from, "steps": ""}));
            assert_eq!(raise_by(&steps, (1, 5), &mut old), Format::Raised(from.to_owned()));
            assert_eq!(old["steps"], taken, "from {from}");
            assert_eq!(old["schema_version"], "1.5");
        }
        let old = file(json!({"schema_version": "1.1", "steps": ""}));
        let mut too_old = old.clone();
        assert_eq!(raise_by(&steps, (2, 0), &mut too_old), Format::TooOld("1.1".to_owned()));
        assert_eq!(too_old, old);
    }
}
