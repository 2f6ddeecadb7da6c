//! The file `init` writes: every key with its meaning, nothing set.

/// A project configuration in which everything is commented out. Prose follows `# `, keys `#`.
pub fn template_file() -> &'static str {
    include_str!("template.toml")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, Trust, load, schema};

    fn load_text(text: String) -> crate::config::Loaded {
        let project = Some((".cowork/config.toml".into(), text));
        load(&Sources { project, trust: Trust::Given, ..Sources::default() }).unwrap()
    }

    #[test]
    fn it_sets_nothing() {
        let loaded = load_text(template_file().to_owned());
        assert_eq!(loaded.config, crate::config::Config::default());
        assert!(loaded.origins.is_empty());
    }

    #[test]
    fn every_key_in_it_is_accepted_and_none_is_missing() {
        let uncommented: String = template_file()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(key) if !key.starts_with(' ') => format!("{key}\n"),
                _ => format!("{line}\n"),
            })
            .collect();
        let loaded = load_text(uncommented);
        for key in schema::KEYS {
            let wanted: Vec<&str> = key.pattern.split('*').collect();
            let known = loaded.origins.keys().any(|set| {
                set.starts_with(wanted[0]) && set.ends_with(wanted.last().copied().unwrap_or(""))
            });
            let alias = key.pattern == "project.editor";
            // Everything [models] can hold, [llm] shows.
            assert!(known || alias || key.pattern.starts_with("models."), "{}", key.pattern);
        }
    }
}
