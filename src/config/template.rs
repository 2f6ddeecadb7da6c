//! The file `init` writes: every key with its meaning and its default, nothing set.

use super::fields::{Key, Rule, Section as _};
use super::schema::{SECTIONS, held};
use super::value::{Shape, Value};
use super::{Config, ToolConfig};

const HEAD: &str = "\
# Configuration of git-cowork for this project.
#
# Later wins: /etc/cowork/config.toml, ~/.config/cowork/config.toml, this file,
# `git config cowork.*` (same keys without _), environment (COWORK_LLM_API_KEY,
# COWORK_LLM_BASE_URL, COWORK_LLM_MODEL, else OPENAI_API_KEY, OPENAI_BASE_URL; for provider
# \"anthropic\" ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL), command line.
#
# This file comes with every clone. Keys marked (trust) count in it only after `git cowork trust`,
# on exactly what it says then; or put them into your own file or `git config`. Those marked
# (stricter) count before only where they allow less than you do: fewer, a narrower range, a stage
# more. A gate that you name yourself stays open in any case. Never put a key to a server into
# this file.
";

/// A project configuration in which everything is commented out. Prose follows `# `, keys `#`.
pub fn template_file() -> String {
    let usual = Config::default();
    let tool = ToolConfig {
        command: "make coverage".to_owned(),
        description: "Lists the lines that no test runs.".to_owned(),
        ..ToolConfig::default()
    };
    let mut text = HEAD.to_owned();
    for (section, keys) in SECTIONS {
        let (header, path) = match section {
            "models.*" => {
                text.push_str(
                    "\n# More models, with the same keys. What is not set is as in [llm].\n\
                     #[models.reviewer]\n#model = \"gpt-4.1-mini\"\n",
                );
                continue;
            }
            "stages.*" => ("#[stages.design]", "stages.design"),
            "budget.prices.*" => ("#[budget.prices.\"gpt-4.1\"]", "budget.prices.any"),
            "tools.*" => ("#[tools.coverage]", "tools.coverage"),
            fixed => ("", fixed),
        };
        text.push('\n');
        match header {
            "" => text.push_str(&format!("[{section}]\n")),
            header => text.push_str(&format!("{header}\n")),
        }
        for key in keys {
            let path: Vec<String> =
                path.split('.').chain(key.name.split('.')).map(str::to_owned).collect();
            let value = match section {
                "tools.*" => tool.held(key.name),
                _ => held(&usual, &path),
            };
            text.push_str(&described(key));
            let value = sample(key.shape, value.unwrap_or(Value::Text(String::new())));
            text.push_str(&format!("#{} = {value}\n", key.name));
        }
    }
    text
}

/// What the key is for, as a comment.
fn described(key: &Key) -> String {
    let rule = match key.rule {
        Rule::Free => "",
        Rule::Adds => " (adds)",
        Rule::Trust => " (trust)",
        Rule::Stricter | Rule::Capped => " (stricter)",
    };
    format!("#{rule}{}\n", key.about.join("\n#"))
}

/// The default in TOML; of what may not be said as it is, the first that may.
fn sample(shape: Shape, value: Value) -> String {
    match (shape, value) {
        (Shape::Choice(words), Value::Text(word)) if !words.contains(&word.as_str()) => {
            format!("{:?}", words[0])
        }
        (_, Value::Rate(None)) => "\"off\"".to_owned(),
        (_, value) => value.shown(),
    }
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
        let loaded = load_text(template_file());
        assert_eq!(loaded.config, Config::default());
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
        for (section, keys) in SECTIONS {
            let wanted: Vec<&str> = section.split('*').collect();
            for key in keys {
                let known = loaded.origins.keys().any(|set| {
                    set.starts_with(wanted[0]) && set.ends_with(&format!(".{}", key.name))
                });
                // Everything [models] can hold, [llm] shows.
                assert!(known || section == "models.*", "{section}.{}", key.name);
            }
        }
        assert_eq!(
            schema::KEYS.len(),
            SECTIONS.iter().map(|(_, keys)| keys.len()).sum::<usize>() + 2
        );
    }

    #[test]
    fn what_it_shows_is_the_default() {
        let text = template_file();
        for line in [
            "#model = \"gpt-4.1\"",
            "#gates = [\"triage\", \"idea\", \"prd\", \"design\", \"plan\", \"coding\"]",
            "# (stricter) Fewest and most top-level tasks.\n#tasks = [5, 12]",
            "#temperature.critic = 0.2",
            "#self_review = [\"plan\"]",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }
}
