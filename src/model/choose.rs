//! Creates a model from its configuration.

use std::path::Path;

use super::agents::AgentProgram;
use super::meter::Metered;
use super::openai::OpenAi;
use super::options::BuildOptions;
use super::replay::Replay;
use super::{Model, ModelError};
use crate::config::{AGENT, ModelConfig};
use crate::error::Error;

/// Creates the model that a configuration describes. The base URL is already resolved; for provider
/// `replay` it is the path of a recording. Opens no connection.
///
/// # Errors
///
/// Of kind `Model`: a base URL or key that cannot be used, a recording that cannot be read.
pub fn build(config: &ModelConfig, options: BuildOptions) -> anyhow::Result<Box<dyn Model>> {
    match config.provider.as_str() {
        "replay" if config.base_url.is_empty() => {
            Err(Error::model("no recording to replay").hint("name one with --replay FILE").into())
        }
        "replay" => {
            let path = config.base_url.trim_start_matches("file://");
            let replay = Replay::open(Path::new(path))?;
            Ok(Box::new(Metered::new(replay, options.meter)))
        }
        AGENT => match AgentProgram::new(config, options) {
            Ok(agent) => Ok(Box::new(agent)),
            Err(error) => Err(Error::model(error.to_string()).into()),
        },
        _ => Ok(Box::new(server(config, options)?)),
    }
}

/// Creates the client for a model server.
///
/// # Errors
///
/// Of kind `Model`: its base URL or key cannot be used.
pub fn server(config: &ModelConfig, options: BuildOptions) -> anyhow::Result<OpenAi> {
    OpenAi::new(config, options).map_err(|error| match error {
        ModelError::Refused { message, .. } => {
            Error::model(format!("the model cannot be used: {message}")).into()
        }
        error => Error::model(error.to_string()).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Kind, kind_of};
    use crate::model::test_server::config;

    #[test]
    fn an_invalid_configuration_is_explained() {
        let error = |provider: &str, base_url: &str, key: &str| {
            let mut config = config(base_url);
            config.provider = provider.into();
            config.api_key = key.into();
            let error = build(&config, BuildOptions::default()).err().unwrap();
            assert_eq!(kind_of(&error), Kind::Model);
            error.to_string()
        };
        for url in ["", "ftp://x"] {
            assert!(error("openai", url, "").contains("http"));
        }
        let message = error("openai", "http://127.0.0.1:1/v1", "secret\n");
        assert!(message.contains("key") && !message.contains("secret"));
        assert!(error("replay", "/no/such/file", "").contains("/no/such/file"));
    }

    #[test]
    fn presets_are_servers() {
        for provider in ["openai", "anthropic", "ollama", "lmstudio", "llamacpp", "vllm"] {
            let mut config = config("http://127.0.0.1:1/v1/");
            config.provider = provider.into();
            assert_eq!(build(&config, BuildOptions::default()).unwrap().name(), "m");
        }
    }
}
