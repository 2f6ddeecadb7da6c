//! A model behind an OpenAI-compatible server: one turn is one answered request, after any number
//! of tries. This is the only place that repeats tries.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::traits::RequestOptionsBuilder as _;
use futures::StreamExt as _;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::time::Instant;

use super::answer::{cut, take, whole};
use super::dialect::{self, DialectChoice, Refusals};
use super::discover::ListedModel;
use super::endpoint::Endpoint;
use super::failure::{self, FailedAt, Failure};
use super::growing::Growing;
use super::meter::{Bill, Meter, Notice};
use super::options::BuildOptions;
use super::rate::Rate;
use super::retry::{RetryPolicy, Tries};
use super::stream::Assembly;
use super::timeouts::{Timeouts, with_idle_timeout, within};
use super::transport::{self, Pulse, Transport};
use super::{
    BoxFuture, Message, Model, ModelError, ModelOrigin, OnText, Position, Reply, Request, Turn,
    arguments, discover, prose, written_tools,
};
use crate::config::ModelConfig;
use crate::event::Usage;

/// A model behind a server; roles with the same model share one value of this type. It remembers
/// what the server has refused, and has its own rate limit.
pub struct OpenAi {
    pub(super) config: ModelConfig,
    http: reqwest::Client,
    pub(super) endpoint: Arc<Endpoint>,
    /// Keys to remove from a server's messages.
    keys: Vec<String>,
    pub(super) retry: RetryPolicy,
    timeouts: Timeouts,
    notice: Option<Notice>,
    waiting: Option<Notice>,
    growing: Growing,
    pub(super) meter: Rc<Meter>,
    rate: Rate,
    pub(super) refused: Cell<Refusals>,
    choice: DialectChoice,
    chosen: OnceCell<String>,
    /// The model's last answer started with a thought whose opening tag is in the server's
    /// template.
    template_thinks: Cell<bool>,
    pub(super) proxy: Option<String>,
}

impl OpenAi {
    /// Opens no connection. Fails on a base URL or key that cannot be sent.
    pub fn new(config: &ModelConfig, options: BuildOptions) -> Result<Self, ModelError> {
        let refuse = |message: String| ModelError::Refused { status: None, message };
        let mut config = config.clone();
        config.base_url.truncate(config.base_url.trim_end_matches('/').len());
        let url = reqwest::Url::parse(&config.base_url).ok();
        if !url.is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
            return Err(refuse("the base URL is not an http(s) address".into()));
        }
        let choice = DialectChoice::configured(&config);
        let endpoint = Endpoint::for_model(&config, choice.dialect()).map_err(|_| {
            refuse("the API key has characters that are not allowed in a header".into())
        })?;
        let timeouts = options
            .timeouts
            .unwrap_or_else(|| Timeouts::from_seconds(config.timeout_s, config.answer_s));
        let http = transport::http_client(&config.base_url, timeouts.connect)
            .map_err(|why| refuse(format!("cannot set up HTTP: {why}")))?;
        Ok(Self {
            http,
            endpoint: Arc::new(endpoint),
            keys: config.secrets(),
            retry: options.retry,
            timeouts,
            notice: options.notice,
            waiting: options.waiting,
            growing: Growing::new(options.watch),
            meter: options.meter,
            rate: Rate::new(config.rate_limit),
            refused: Cell::new(Refusals { stream: options.no_stream, ..Refusals::default() }),
            choice,
            chosen: OnceCell::new(),
            template_thinks: Cell::new(false),
            proxy: options.proxy,
            config,
        })
    }

    /// What the server has refused so far (including streaming, if it is switched off).
    pub fn refusals(&self) -> Refusals {
        self.refused.get()
    }

    async fn ask(&self, request: &Request, on_text: &dyn Fn(&str)) -> Result<Reply, ModelError> {
        if self.name().is_empty() {
            self.look().await?;
        }
        if !request.messages.iter().any(|message| matches!(message, Message::Assistant { .. })) {
            self.refused.set(self.refused.get().for_new_conversation());
        }
        let guess = dialect::estimate(request, 0);
        let mut spent = Usage::default();
        let (mut requests, mut tries) = (0, Tries::default());
        loop {
            self.rate.acquire(&self.meter, self.waiting.as_ref()).await?;
            requests += 1;
            self.meter.admit(&request.position, requests, self.name(), guess)?;
            let mut assembly = Assembly::new(self.template_thinks.get());
            tries.limit = self.timeouts.of_answer(self.meter.time_left());
            let attempt = self.attempt(request, &mut assembly, on_text);
            let outcome = match within(tries.limit.0, attempt).await {
                Some(outcome) => outcome,
                None if assembly.finish_reason.is_some() => Ok(()),
                None => Err(Failure::Endless),
            };
            self.growing.ends();
            let outcome = outcome.and_then(|()| assembly.failed().map_or(Ok(()), Err));
            let bill = self.bill(request, &assembly, outcome.is_ok());
            spent += bill.usage.unwrap_or_default();
            self.meter.count(self.name(), &bill);
            let failure = match outcome {
                Ok(()) => {
                    let rest = assembly.end_text();
                    if !rest.is_empty() {
                        on_text(&rest);
                    }
                    self.template_thinks.set(assembly.template_thinks());
                    let refusals = self.refused.get();
                    // A gateway's name for a model does not say which one it is.
                    let cache = refusals.cache || dialect::cost_more(&self.answered(&assembly));
                    self.refused.set(Refusals { cache, ..refusals });
                    self.choice.answered();
                    return Ok(self.reply(request, assembly, spent, requests));
                }
                Err(failure) => failure,
            };
            let elsewhere = failure.points_elsewhere(self.choice.dialect());
            if let Some(line) = elsewhere.and_then(|how| self.choice.turn(how, self.name())) {
                self.tell(&line);
                continue;
            }
            tries.elsewhere = elsewhere.is_some();
            self.recover(failure, &mut tries).await?;
        }
    }

    /// One try. Output before a failure stays in `assembly`, because it was paid for.
    async fn attempt(
        &self,
        request: &Request,
        assembly: &mut Assembly,
        on_text: &dyn Fn(&str),
    ) -> Result<(), Failure> {
        let dialect = self.choice.dialect();
        let reasoning = self.choice.gives_up_reasoning();
        let refusals = Refusals { reasoning, ..self.refused.get() };
        let mut reader = dialect.reader();
        let in_words;
        let request = if refusals.tools && !request.tools.is_empty() {
            in_words = written_tools::in_words(request);
            &in_words
        } else {
            request
        };
        let body = dialect.body(request, &self.origin(), &self.config, refusals);
        tracing::debug!(
            "request: {} {}, draft {}, turn {}: model {}, {} messages, {} tools, temperature {}, \
             stream {}, {dialect:?}",
            super::stage_name(request.position.stage),
            request.position.role,
            request.position.iteration,
            request.position.turn,
            self.name(),
            request.messages.len(),
            request.tools.len(),
            request.temperature,
            !refusals.stream
        );
        self.growing.asks(self.name(), self.endpoint.server(), self.timeouts.first);
        let pulse = Arc::new(Pulse::start());
        let service = Transport {
            http: self.http.clone(),
            endpoint: Arc::clone(&self.endpoint),
            pulse: Arc::clone(&pulse),
            stream: !refusals.stream,
        };
        // Otherwise organisation and project would be taken from the environment.
        let config = OpenAIConfig::new()
            .with_api_base(self.endpoint.base_url())
            .with_api_key("")
            .with_org_id("")
            .with_project_id("");
        let client = Client::build(self.http.clone(), config).with_http_service(service);
        // The client sends any body to any path, so the request can be in the chosen dialect.
        let builder = client.chat().headers(headers(&request.position)).path(dialect.path());
        let builder =
            builder.map_err(|error| Failure::transient(FailedAt::Waiting, error.to_string()))?;
        if refusals.stream {
            let answer = builder.create_byot(body);
            let answer = with_idle_timeout(answer, &pulse, self.timeouts.first, false).await?;
            let answer = whole(answer, &reader, refusals, &pulse)?;
            return take(&answer, &mut reader, refusals, assembly, on_text);
        }
        let stream = builder.create_stream_byot::<_, Value>(body);
        let mut events = match with_idle_timeout(stream, &pulse, self.timeouts.first, false).await?
        {
            Ok(events) => events,
            Err(error) => {
                let answer = whole(Err(error), &reader, refusals, &pulse)?;
                return take(&answer, &mut reader, refusals, assembly, on_text);
            }
        };
        let mut finish_time = None;
        loop {
            let limit = self.limit(assembly);
            let event = with_idle_timeout(events.next(), &pulse, limit, assembly.started());
            let event = match assembly.finish_reason {
                // Keep-alive comments do not extend the wait.
                Some(_) => {
                    let time_left =
                        *finish_time.get_or_insert_with(Instant::now) + limit - Instant::now();
                    within(Some(time_left), event).await.unwrap_or(Err(Failure::Endless))
                }
                None => event.await,
            };
            let event = match event {
                Ok(event) => event,
                // Some servers leave the connection open after the end of the answer.
                Err(_) if assembly.finish_reason.is_some() => return Ok(()),
                Err(silent) => return Err(silent),
            };
            match event {
                Some(Ok(value)) => {
                    take(&value, &mut reader, refusals, assembly, on_text)?;
                    self.growing.grows(assembly, |line| self.clean(line));
                }
                Some(Err(_)) | None if assembly.finish_reason.is_some() => return Ok(()),
                None if reader.ends_with_done() && pulse.is_done() && assembly.has_answer() => {
                    return Ok(());
                }
                Some(Err(error)) => return Err(cut(&pulse, Some(&error))),
                None => return Err(cut(&pulse, None)),
            }
        }
    }

    /// The silence allowed now: long before the first token, short after the last.
    fn limit(&self, assembly: &Assembly) -> Duration {
        match assembly {
            a if a.finish_reason.is_some() => self.timeouts.silence.min(Duration::from_secs(5)),
            a if a.thinks_quietly() => self.timeouts.first,
            a if a.started() => self.timeouts.silence,
            _ => self.timeouts.first,
        }
    }

    /// Usage of a try: counted by the server, else estimated. A failure before the first token is
    /// assumed to cost nothing.
    fn bill(&self, request: &Request, assembly: &Assembly, complete: bool) -> Bill {
        let reported_usage = assembly.usage;
        let is_paid = complete || assembly.started() || reported_usage.is_some();
        let guess = || dialect::estimate(request, assembly.chars());
        Bill {
            model: self.answered(assembly),
            usage: is_paid.then(|| reported_usage.unwrap_or_else(guess)),
            guessed: is_paid && reported_usage.is_none(),
            usd: assembly.usd,
            ..Bill::default()
        }
    }

    /// Name of the model that answered, from the server or else from the configuration. It ends up
    /// in commits, so the server's text is checked.
    fn answered(&self, assembly: &Assembly) -> String {
        let reported_name = assembly.model.as_deref().map(|name| self.clean(name));
        reported_name
            .filter(|name| !name.is_empty() && name.len() < 200)
            .unwrap_or_else(|| self.name().to_owned())
    }

    /// The requested model: the opaque data of its answers is sent back only to it.
    fn origin(&self) -> ModelOrigin {
        ModelOrigin::new(&self.config.base_url, self.name())
    }

    fn reply(&self, request: &Request, mut assembly: Assembly, usage: Usage, n: u32) -> Reply {
        let turn = request.position.turn;
        let mut tool_calls = assembly.take_calls(turn);
        for call in &mut tool_calls {
            call.name = arguments::tool_name(&call.name, &request.tools).to_owned();
        }
        let opaque = assembly.take_opaque(self.origin());
        let mut reply = Reply {
            model: self.answered(&assembly),
            tool_calls,
            content: assembly.text().to_owned(),
            opaque,
            finish_reason: assembly.finish_reason,
            usage,
            requests: n,
        };
        prose::adopt_calls(&mut reply, &request.tools, turn);
        reply
    }

    /// The models that the server lists; empty if it has no list.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the key.
    pub async fn offered(&self) -> Result<Vec<ListedModel>, ModelError> {
        let server = self.endpoint.server();
        self.growing.asks(server, server, Duration::ZERO);
        let mut tries = Tries::default();
        let models = loop {
            match discover::models(&self.http, &self.endpoint).await {
                Ok(models) => break Ok(discover::chat_models(models)),
                Err(failure) => match self.recover(failure, &mut tries).await {
                    Ok(()) => {}
                    Err(error) => break Err(error),
                },
            }
        };
        self.growing.ends();
        models
    }

    /// Requests the list of models: this checks that the server is running, and chooses a model if
    /// none is configured.
    async fn look(&self) -> Result<(), ModelError> {
        let models = self.offered().await?;
        if self.name().is_empty() {
            let Some(first) = models.into_iter().next() else {
                let message = "no model is configured, and the server lists none".to_owned();
                return Err(ModelError::Refused { status: None, message });
            };
            self.chosen.get_or_init(|| first.id);
        }
        Ok(())
    }

    pub(super) fn clean(&self, message: &str) -> String {
        failure::clean(message, &self.keys)
    }

    pub(super) fn tell(&self, line: &str) {
        tracing::warn!("{line}");
        if let Some(notice) = &self.notice {
            notice(line);
        }
    }
}

impl Model for OpenAi {
    fn name(&self) -> &str {
        let chosen = self.chosen.get().map_or("", String::as_str);
        if self.config.model.is_empty() { chosen } else { &self.config.model }
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(self.ask(request, on_text))
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(self.look())
    }

    fn config(&self) -> Option<&ModelConfig> {
        Some(&self.config)
    }
}

/// Headers with the position of the request, so that a gateway can attribute its cost.
fn headers(position: &Position) -> HeaderMap {
    let pairs = [
        ("cowork-session", position.session.clone()),
        ("cowork-stage", super::stage_name(position.stage).to_owned()),
        ("cowork-role", position.role.to_string()),
        ("cowork-iteration", position.iteration.to_string()),
        ("cowork-task", position.task.clone().unwrap_or_default()),
    ];
    let valid = |(name, value): (&'static str, String)| {
        let value = Some(value).filter(|value| !value.is_empty())?;
        Some((HeaderName::from_static(name), HeaderValue::from_str(&value).ok()?))
    };
    pairs.into_iter().filter_map(valid).collect()
}
