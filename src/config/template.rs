//! The file that `init` writes: every key with its description and its default, all commented out.

use super::fields::{Key, Rule, Section as _};
use super::schema::{SECTIONS, value_of};
use super::value::{Value, ValueType};
use super::{Config, ToolConfig};

const HEAD: &str = "\
# Configuration of git-cowork for this project.
#
# Later sources win: /etc/cowork/config.toml, ~/.config/cowork/config.toml, this file,
# `git config cowork.*` (the same keys without _), the environment (COWORK_LLM_API_KEY,
# COWORK_LLM_BASE_URL and COWORK_LLM_MODEL, otherwise OPENAI_API_KEY and OPENAI_BASE_URL; for
# provider \"anthropic\", ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL; for other hosted APIs the usual
# variable of their key), the command line.
#
# Every clone has this file, so it is not trusted by default. Keys marked (trust) count only after
# `git cowork trust`, which accepts exactly the current contents; or set them in your own file or
# with `git config`. Without trust, keys marked (stricter) count only if they allow less than your
# own configuration: a smaller number, a narrower range, one more stage. A gate that you configure
# yourself always stays. Never put a server's API key into this file.
";

/// Returns a project configuration in which everything is commented out: text after `# `, keys
/// after `#`.
/// These keys of `[project]` are set: the project's convention of messages wants them.
pub fn template_file(set: &[(&str, String)]) -> String {
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
                    "\n# More models, with the same keys. A key that is not set is taken from [llm].\n\
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
                "tools.*" => tool.value_of(key.name),
                _ => value_of(&usual, &path),
            };
            text.push_str(&described(key));
            let value = sample(key.shape, value.unwrap_or(Value::Text(String::new())));
            let set = set.iter().find(|(name, _)| section == "project" && *name == key.name);
            text.push_str(&match set {
                Some((name, value)) => format!("{name} = {value}\n"),
                None => format!("#{} = {value}\n", key.name),
            });
        }
    }
    text
}

/// Returns the key's description as a comment.
fn described(key: &Key) -> String {
    let rule = match key.rule {
        Rule::Free => "",
        Rule::Adds => " (adds)",
        Rule::Trust => " (trust)",
        Rule::Stricter | Rule::Capped => " (stricter)",
    };
    format!("#{rule}{}\n", key.about.join("\n#"))
}

/// Returns the default as TOML, or the first allowed word if the default is not an allowed one.
fn sample(shape: ValueType, value: Value) -> String {
    match (shape, value) {
        (ValueType::Choice(words), Value::Text(word)) if !words.contains(&word.as_str()) => {
            format!("{:?}", words[0])
        }
        (_, Value::Rate(None)) => "\"off\"".to_owned(),
        (_, value) => value.shown(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigSources, Trust, load, schema};

    fn load_text(text: String) -> crate::config::Loaded {
        let project = Some((".cowork/config.toml".into(), text));
        load(&ConfigSources { project, trust: Trust::Given, ..ConfigSources::default() }).unwrap()
    }

    #[test]
    fn the_template_sets_nothing() {
        let loaded = load_text(template_file(&[]));
        assert_eq!(loaded.config, Config::default());
        assert!(loaded.origins.is_empty());
    }

    #[test]
    fn the_template_has_every_key_and_all_are_accepted() {
        let uncommented: String = template_file(&[])
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
                // [llm] has every key of [models].
                assert!(known || section == "models.*", "{section}.{}", key.name);
            }
        }
        assert_eq!(
            schema::KEYS.len(),
            SECTIONS.iter().map(|(_, keys)| keys.len()).sum::<usize>() + 2
        );
    }

    #[test]
    fn the_template_shows_the_defaults() {
        let text = template_file(&[]);
        for line in [
            "#model = \"gpt-4.1\"",
            "#gates = [\"triage\", \"idea\", \"prd\", \"design\", \"plan\", \"coding\"]",
            "# (stricter) Usual minimum, which is advice only, and maximum number of top-level tasks.\n#tasks = [5, 12]",
            "#temperature.critic = 0.2",
            "#self_review = [\"plan\"]",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    }
}
