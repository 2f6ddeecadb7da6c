//! The meter: every try of every model in a run passes through it before and after it is sent. The
//! meter enforces the budget, and records what the work on each commit used.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::ledger::{RequestLedger, RequestPlace};
use super::{
    BoxFuture, Model, ModelError, OnText, Position, Request, Turn, budget, dialect, price,
};
use crate::config::{Budget, Price};
use crate::event::Usage;
use crate::spent::Spent;
use crate::stage::{Role, Stage};

/// Callback for messages to the user, one line each: a try failed, a parameter is left out, or the
/// budget runs low.
pub type Notice = Rc<dyn Fn(&str)>;

/// See the module documentation.
#[derive(Default)]
pub struct Meter {
    budget: RefCell<Budget>,
    notice: Option<Notice>,
    state: RefCell<MeterState>,
}

#[derive(Default)]
struct MeterState {
    ledger: RequestLedger,
    /// Usage before this run.
    before: Spent,
    /// Tip of the session's branch, on top of which the current work is done.
    on: String,
    /// Usage since the last [`Meter::take`].
    fresh: Vec<(String, Spent)>,
    /// The last time the clock was read; none while no work is in progress.
    clock: Option<Instant>,
    /// Milliseconds of work not yet charged to a request.
    millis: u64,
    /// Models whose requests have an unknown cost.
    costless: BTreeSet<String>,
}

/// Usage and cost of one try.
#[derive(Clone, Debug, Default)]
pub(super) struct Bill {
    /// The model that answered, as the server reports it.
    pub(super) model: String,
    /// Usage that the server counted, or an estimate; none if there was nothing to pay for.
    pub(super) usage: Option<Usage>,
    /// The usage is an estimate.
    pub(super) guessed: bool,
    /// The try was answered, and its usage is unknown.
    pub(super) uncounted: bool,
    /// The cost in dollars, if the server reports it.
    pub(super) usd: Option<f64>,
    /// True if the model costs nothing unless a price is configured.
    pub(super) free: bool,
}

/// The clock runs until this is dropped.
pub struct Working<'a>(&'a Meter);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.borrow_mut();
        state.tick();
        state.clock = None;
    }
}

impl Meter {
    /// A meter for this budget. Nothing is written to disk before [`Meter::open`].
    pub fn new(budget: Budget, notice: Option<Notice>) -> Self {
        Self { budget: budget.into(), notice, state: RefCell::default() }
    }

    /// Opens the ledger of a session whose branch is at the commit `on`; `recorded` is the usage
    /// according to its history. Requests made before there was a session are added to the ledger.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn open(&self, ledger: &Path, recorded: Spent, on: &str) -> anyhow::Result<()> {
        let mut state = self.state.borrow_mut();
        let mut opened_ledger = RequestLedger::read(ledger)?;
        opened_ledger.raise(recorded);
        state.before = opened_ledger.total();
        // Drop the usage of earlier requests: the ledger includes them.
        state.fresh.clear();
        let earlier = std::mem::replace(&mut state.ledger, opened_ledger);
        state.ledger.take_over(earlier, on)
    }

    /// Starts work on top of the commit `on`: the clock runs until the return value is dropped.
    pub fn work(&self, on: &str) -> Working<'_> {
        let mut state = self.state.borrow_mut();
        on.clone_into(&mut state.on);
        state.clock = Some(Instant::now());
        Working(self)
    }

    /// Everything the session has used, according to the ledger.
    pub fn used(&self) -> Spent {
        self.state.borrow().ledger.total()
    }

    /// The part of [`Self::used`] that this run has used.
    pub fn in_this_run(&self) -> Spent {
        let state = self.state.borrow();
        state.ledger.total().since(state.before)
    }

    /// The next unused turn number of a draft, for a question about the draft that is not part of
    /// the conversation that wrote it.
    pub fn next_turn(&self, stage: Stage, role: Role, iteration: u32) -> u32 {
        let of_draft = |place: &&RequestPlace| {
            (place.stage, place.role, place.iteration) == (Some(stage), role, iteration)
        };
        let state = self.state.borrow();
        let places = state.ledger.answered().iter().map(|answered| &answered.place);
        places.filter(of_draft).map(|place| place.turn).max().unwrap_or(0).saturating_add(1)
    }

    /// Sets the price of a model, unless the user has configured one.
    pub fn costs(&self, model: &str, price: Price) {
        self.budget.borrow_mut().prices.entry(model.to_owned()).or_insert(price);
    }

    /// What this usage costs with a model, in dollars; none if the model has no price.
    pub fn cost(&self, model: &str, usage: Usage) -> Option<f64> {
        price::cost(usage, model, &self.budget.borrow().prices)
    }

    /// Usage since the last call, by model.
    pub fn take(&self) -> Vec<(String, Spent)> {
        std::mem::take(&mut self.state.borrow_mut().fresh)
    }

    /// Usage, by model, of the requests for whose place `fits` returns true; a request that was
    /// repeated after a kill counts once.
    pub fn used_by(&self, fits: impl Fn(&RequestPlace) -> bool) -> Vec<(String, Spent)> {
        let state = self.state.borrow();
        let requests = state.ledger.answered().iter().filter(|request| fits(&request.place));
        requests.map(|request| (request.model.clone(), request.spent)).collect()
    }

    /// Allows a try, or returns an error about the limit that forbids it.
    pub(super) fn admit(
        &self,
        at: &Position,
        attempt: u32,
        model: &str,
        guess: Usage,
    ) -> Result<(), ModelError> {
        let mut state = self.state.borrow_mut();
        state.tick();
        let price = self.budget.borrow().prices.get(model).copied();
        // The estimate alone (four characters a token) is not reliable, so the counts of earlier
        // requests scale it.
        let input = state.ledger.share().map_or(0, |share| (guess.input as f64 * share) as u64);
        let cheapest = price.map_or(0.0, |price| price.input.min(price.cached));
        let next = Spent {
            usage: Usage { input, ..Usage::default() },
            micros: (input as f64 * cheapest) as u64,
            requests: 1,
            ..Spent::default()
        };
        let costless = state.costless.contains(model);
        let price_error =
            costless.then(|| budget::unpriced_error(&self.budget.borrow(), model)).flatten();
        if let Some(refusal) =
            price_error.or_else(|| budget::refusal(&self.budget.borrow(), &state.used(), &next))
        {
            // Only recorded so that a later status shows what to do next.
            if let Err(error) = state.ledger.refuse(model, next) {
                tracing::warn!("cannot record a refused request: {error:#}");
            }
            return Err(refusal);
        }
        let bill = Bill { usage: Some(guess), guessed: true, ..Bill::default() };
        let guess = self.charge(model, &bill);
        let place = RequestPlace::new(&state.on, at, attempt);
        state.ledger.sent(place, model, guess).map_err(|error| ModelError::Budget {
            message: format!("cannot record token usage: {error:#}"),
            hint: "free up disk space, or check the owner of the state directory".to_owned(),
        })
    }

    /// How long the session may still work; none if there is no limit.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let limit = Duration::from_secs(self.budget.borrow().wall_s);
        let mut state = self.state.borrow_mut();
        state.tick();
        let runs = !limit.is_zero() && state.clock.is_some();
        // One millisecond more, so that the budget is used up when this time has passed.
        let rest = || limit.saturating_sub(Duration::from_millis(state.used().millis));
        runs.then(|| rest() + Duration::from_millis(1))
    }

    /// Waits, but not longer than the session may work.
    ///
    /// # Errors
    /// The session's time limit ends the wait.
    pub(super) async fn pause(&self, wait: Duration) -> Result<(), ModelError> {
        let time = self.time_left().unwrap_or(wait);
        tokio::time::sleep(wait.min(time)).await;
        match self.refusal() {
            Some(refusal) if time < wait => Err(refusal),
            _ => Ok(()),
        }
    }

    /// The refusal of any further request, if the budget is used up.
    pub(super) fn refusal(&self) -> Option<ModelError> {
        let mut state = self.state.borrow_mut();
        state.tick();
        budget::refusal(&self.budget.borrow(), &state.used(), &Spent::default())
    }

    /// Counts a try that has ended. `model` is the configured name.
    pub(super) fn count(&self, model: &str, bill: &Bill) {
        let mut spent = self.charge(model, bill);
        let mut state = self.state.borrow_mut();
        state.tick();
        // The total before this request, so without its estimate.
        let before = state.ledger.settled();
        spent.millis = std::mem::take(&mut state.millis);
        if spent.unpriced > 0 {
            state.costless.insert(model.to_owned());
        }
        let answering_model = if bill.model.is_empty() { model } else { &bill.model };
        state.fresh.push((answering_model.to_owned(), spent));
        if let Err(error) = state.ledger.got(answering_model, spent) {
            // Only logged: `admit` allows no further request until the ledger can be written.
            tracing::error!("cannot record token usage: {error:#}");
        }
        let after = state.used();
        drop(state);
        for line in budget::warnings(&self.budget.borrow(), &before, &after) {
            tracing::warn!("{line}");
            if let Some(notice) = &self.notice {
                notice(&line);
            }
        }
    }

    fn charge(&self, model: &str, bill: &Bill) -> Spent {
        let mut spent = Spent { requests: 1, ..Spent::default() };
        let Some(usage) = bill.usage else {
            spent.uncounted = u64::from(bill.uncounted);
            spent.micros = bill.usd.map_or(0, budget::micros);
            spent.unpriced = u64::from(bill.uncounted && bill.usd.is_none() && !bill.free);
            return spent;
        };
        spent.usage = usage;
        spent.guessed = u64::from(bill.guessed);
        let budget = self.budget.borrow();
        let prices = &budget.prices;
        let configured_price = || {
            price::cost(usage, model, prices).or_else(|| price::cost(usage, &bill.model, prices))
        };
        match bill.usd.or_else(configured_price) {
            Some(usd) => spent.micros = budget::micros(usd),
            None => spent.unpriced = u64::from(!bill.free),
        }
        spent
    }
}

impl MeterState {
    fn used(&self) -> Spent {
        let mut used = self.ledger.total();
        // Saturating: earlier usage was read from trailers, which anybody may have written.
        used.millis = used.millis.saturating_add(self.millis);
        used
    }

    fn tick(&mut self) {
        if let Some(clock) = &mut self.clock {
            let now = Instant::now();
            let past = now.duration_since(*clock).as_millis();
            // The rest of a millisecond is counted next time.
            if past > 0 {
                *clock = now;
                let millis = u64::try_from(past).unwrap_or(u64::MAX);
                self.millis = self.millis.saturating_add(millis);
            }
        }
    }
}

/// Counts the usage of a model that has no tries, only turns: a recording.
pub struct Metered<M> {
    inner: M,
    meter: Rc<Meter>,
}

impl<M: Model> Metered<M> {
    /// Counts the answers of `inner`; without a configured price they cost nothing.
    pub fn new(inner: M, meter: Rc<Meter>) -> Self {
        Self { inner, meter }
    }
}

impl<M: Model> Model for Metered<M> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn turn<'a>(&'a self, request: &'a Request, on_text: OnText<'a>) -> Turn<'a> {
        Box::pin(async move {
            let guess = dialect::estimate(request, 0);
            self.meter.admit(&request.position, 1, self.name(), guess)?;
            let answer = self.inner.turn(request, on_text).await;
            let usage = answer.as_ref().ok().map(|reply| reply.usage);
            let bill = Bill { usage, free: true, ..Bill::default() };
            self.meter.count(self.name(), &bill);
            answer
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), ModelError>> {
        self.inner.probe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_server::request;

    fn usage(input: u64) -> Usage {
        Usage { input, output: 10, cached: 0 }
    }

    fn bill(input: u64) -> Bill {
        Bill { usage: Some(usage(input)), ..Bill::default() }
    }

    #[test]
    fn a_request_that_is_known_not_to_fit_is_not_sent() {
        let budget = Budget { tokens: 200, ..Budget::default() };
        let meter = Meter::new(budget, None);
        let at = request().position;
        // No request is refused because of the estimate alone: a server may count much less.
        meter.admit(&at, 1, "m", usage(1000)).unwrap();
        meter.count("m", &bill(100));
        let refused = meter.admit(&at, 1, "m", usage(1000)).unwrap_err();
        assert!(matches!(refused, ModelError::Budget { .. }), "{refused}");
        meter.admit(&at, 1, "m", usage(500)).unwrap();
        assert_eq!(meter.take().len(), 1);
        assert!(meter.take().is_empty());
    }

    #[test]
    fn the_servers_price_counts_before_the_configured_one() {
        let price = Price { input: 2.0, output: 8.0, cached: 0.5 };
        let prices = [("m".to_owned(), price)].into();
        let meter = Meter::new(Budget { usd: 1.0, prices, ..Budget::default() }, None);
        let at = request().position;
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &bill(1000));
        assert_eq!(meter.used().micros, 2080);
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &Bill { usd: Some(0.5), ..bill(1000) });
        assert_eq!(meter.used().micros, 502_080);
        // A failed request without a cost is still a request.
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &Bill::default());
        assert_eq!((meter.used().micros, meter.used().requests), (502_080, 3));
    }

    #[test]
    fn eighty_percent_are_warned_of_when_reached() {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let lines = Rc::clone(&heard);
        let notice: Notice = Rc::new(move |line| lines.borrow_mut().push(line.to_owned()));
        let meter = Meter::new(Budget { tokens: 1000, ..Budget::default() }, Some(notice));
        let at = request().position;
        for n in 1..=8 {
            // The estimate is far above the server's count.
            meter.admit(&at, 1, "m", usage(5000)).unwrap();
            meter.count("m", &bill(90));
            assert_eq!(heard.borrow().len(), usize::from(n == 8), "{n}");
        }
    }

    #[test]
    fn money_that_cannot_be_counted_is_not_spent() {
        let meter = Meter::new(Budget { usd: 1.0, ..Budget::default() }, None);
        let at = request().position;
        meter.admit(&at, 1, "m", usage(1)).unwrap();
        meter.count("m", &bill(1000));
        let refused = meter.admit(&at, 1, "m", usage(1)).unwrap_err().to_string();
        assert!(refused.contains("the price of m is not known"), "{refused}");
        // A replay costs nothing.
        meter.admit(&at, 1, "r", usage(1)).unwrap();
        meter.count("r", &Bill { free: true, ..bill(1000) });
        meter.admit(&at, 1, "r", usage(1)).unwrap();
    }
}
