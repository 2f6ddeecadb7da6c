//! Creates a model from its configuration.

use std::path::Path;

use super::agents::AgentProgram;
use super::meter::Metered;
use super::openai::{BuildOptions, OpenAi};
use super::replay::Replay;
use super::{Model, ModelError};
use crate::config::{AGENT, HOSTED_APIS, LOOPBACK_SERVERS, ModelConfig};
use crate::error::Error;

/// Creates the model that a configuration describes. The base URL is already resolved; for provider
/// `replay` it is the path of a recording. Opens no connection.
///
/// # Errors
///
/// Of kind `Model`: an unknown provider, a base URL or key that cannot be used, a recording that
/// cannot be read.
pub fn build(config: &ModelConfig, options: BuildOptions) -> anyhow::Result<Box<dyn Model>> {
    match config.provider.as_str() {
        provider if servers().any(|server| server == provider) => {
            if config.base_url.is_empty() {
                return Err(Error::model("no model server is configured")
                    .hint("set COWORK_LLM_BASE_URL, or OPENAI_API_KEY for the hosted API")
                    .hint("or start a local server, such as `ollama serve`")
                    .hint("or try git-cowork without a model: git cowork demo")
                    .into());
            }
            Ok(Box::new(server(config, options)?))
        }
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
        other => Err(Error::model(format!("unknown model provider '{other}'"))
            .hint(format!("one of: {}, agent, replay", servers().collect::<Vec<_>>().join(", ")))
            .into()),
    }
}

/// The providers that are servers.
fn servers() -> impl Iterator<Item = &'static str> {
    let local = LOOPBACK_SERVERS.iter().map(|(name, _)| *name);
    HOSTED_APIS.iter().map(|api| api.provider).chain(local)
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
    use crate::error::{Kind, hints_of, kind_of};
    use crate::model::testserver::config;

    #[test]
    fn an_invalid_configuration_is_explained() {
        let error = |provider: &str, base_url: &str, key: &str| {
            let mut config = config(base_url);
            config.provider = provider.into();
            config.api_key = key.into();
            let error = build(&config, BuildOptions::default()).err().unwrap();
            assert_eq!(kind_of(&error), Kind::Model);
            (error.to_string(), hints_of(&error).len())
        };
        assert!(error("bard", "", "").0.contains("bard"));
        assert_eq!(error("openai", "", "").1, 3);
        assert!(error("openai", "ftp://x", "").0.contains("http"));
        let (message, _) = error("openai", "http://127.0.0.1:1/v1", "secret\n");
        assert!(message.contains("key") && !message.contains("secret"));
        assert!(error("replay", "/no/such/file", "").0.contains("/no/such/file"));
    }

    #[test]
    fn presets_are_servers() {
        for provider in servers() {
            let mut config = config("http://127.0.0.1:1/v1/");
            config.provider = provider.into();
            assert_eq!(build(&config, BuildOptions::default()).unwrap().name(), "m");
        }
    }
}
